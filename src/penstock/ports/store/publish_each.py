"""One act on many staged files, each for itself: what fails for one does not stop the others."""

from collections.abc import Callable, Iterable
from functools import partial

from penstock.errors import ForeignFile, OutcomeUnknown, StagedGone, StoreUnavailable
from penstock.model.staged import StagedHandle
from penstock.runtime.surroundings import Acts, one_by_one

_FAILURES = (ForeignFile, StagedGone, StoreUnavailable, OutcomeUnknown)


def those_that_fail(
    act: Callable[[StagedHandle], None],
    handles: Iterable[StagedHandle],
    do_all: Callable[[Acts], None] = one_by_one,
) -> set[str]:
    """Act on each; the final names of those for which it failed, as publishing may fail."""
    failed: set[str] = set()

    def attempt(handle: StagedHandle) -> None:
        try:
            act(handle)
        except _FAILURES:
            failed.add(handle.final)

    do_all([partial(attempt, handle) for handle in handles])
    return failed
