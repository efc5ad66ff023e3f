"""Staged files by the window in whose name they were written."""

from collections.abc import Callable, Iterable, Sequence, Set

from penstock.api.store import Store
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.staged import StagedRef


def discard_windows(
    store: Store, staging: str, data_prefixes: Sequence[str], windows: Set[str]
) -> None:
    """Destroy whatever these windows have staged; for windows known never to be decided."""
    discard_each(store, staged_of(store, staging, data_prefixes, windows.__contains__))


def staged_of(
    store: Store, staging: str, data_prefixes: Sequence[str], is_wanted: Callable[[str], bool]
) -> list[StagedRef]:
    """What lies staged for windows that are wanted."""
    return [ref for ref in store.list_staged(staging, data_prefixes) if is_wanted(ref.window)]


def discard_each(store: Store, refs: Iterable[StagedRef]) -> int:
    """Destroy each; returns how many. All are tried before the first error is raised."""
    removed = 0
    first: StoreUnavailable | OutcomeUnknown | None = None
    for ref in refs:
        try:
            store.discard(ref)
        except (StoreUnavailable, OutcomeUnknown) as error:
            first = first or error
        else:
            removed += 1
    if first is not None:
        raise first
    return removed
