"""Laws that hold for every input, tried on many."""
