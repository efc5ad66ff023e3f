"""Where records come from, and which of them the next window reads."""
