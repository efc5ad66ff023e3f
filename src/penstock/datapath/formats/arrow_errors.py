"""What Arrow's readers raise for bytes that they cannot read, and how it is said in one line."""

import pyarrow as pa

# Damaged bytes give the first three, and columns that are put together in an odd way the others.
UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError)
_LONGEST = 200


def first_line(error: Exception) -> str:
    """What an error says, in a line of bearable length."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:_LONGEST].rstrip(".")
