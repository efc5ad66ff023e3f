"""Which exit code is returned when several feeds have one each."""

from collections.abc import Iterable


def worst(codes: Iterable[int]) -> int:
    """The exit code that says most: a feed that needs a person before one that just failed."""
    found = set(codes)
    return next((code for code in (5, 3, 4, 2, 75, 1) if code in found), 0)
