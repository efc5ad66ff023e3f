"""Exit codes: which one is returned when several feeds have one each."""

from collections.abc import Iterable

HALTED = 5  # a feed waits for an operator
REFUSED = 2  # only another configuration can mend it
FAILED = 1  # for a cause that may pass


def worst(codes: Iterable[int]) -> int:
    """The exit code that says most: a feed that needs a person before one that just failed."""
    found = set(codes)
    return next((code for code in (HALTED, 3, 4, 2, 75, 1) if code in found), 0)
