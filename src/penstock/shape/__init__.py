"""Shape: which dataset a record belongs to, when it happened, and which directory it lies in."""
