"""Deleting many objects, each for itself: what fails for one does not stop the others."""

from collections.abc import Callable, Iterable
from functools import partial

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.runtime.surroundings import Acts, one_by_one


def keys_not_deleted(
    delete: Callable[[str], None],
    keys: Iterable[str],
    do_all: Callable[[Acts], None] = one_by_one,
) -> set[str]:
    """Delete each; the keys for which it is not certain that nothing is there now."""
    left: set[str] = set()

    def attempt(key: str) -> None:
        try:
            delete(key)
        except (StoreUnavailable, OutcomeUnknown):
            left.add(key)

    do_all([partial(attempt, key) for key in keys])
    return left
