"""The datasets of a feed: what is delivered, what of it is visible, and how fresh that is."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from penstock.model.lanes import dataset_of
from penstock.model.window import Place
from penstock.model.window_cost import NO_DATASET, Spent
from penstock.protocol.feed_book.state import FeedState
from penstock.serve.brief_entries import BriefEntries, BriefEntry
from penstock.serve.feed_facts import DatasetFacts
from penstock.serve.hidden_offsets import Hidden

FRESH_WALK = 50  # entries before the first hidden window of a dataset that are looked at


def datasets_of(
    state: FeedState,
    undone: Sequence[BriefEntry],
    hidden: Hidden,
    entries: BriefEntries,
    now_s: float,
) -> Iterator[DatasetFacts]:
    """All datasets that windows have delivered to, in the order in which they came.

    `undone` are the undone entries, or the oldest of them.
    """
    newest_ms = max((p.last_timestamp_ms for _, _, p in state.known_partitions()), default=-1)
    waiting = _files_undone(state, undone)
    unread = _datasets_in(state, state.undone.keys() - {entry.number for entry in undone})
    for name in names_of(state):
        spent = state.spent_datasets.get(name, Spent(name))
        starts: dict[Place, int] = hidden.get(name, {})
        visible_ms = newest_ms if not starts else _visible_ms(state, undone, entries, name)
        fresh_s = None if visible_ms is None or visible_ms < 0 else now_s - visible_ms / 1000
        yield DatasetFacts(
            name,
            spent,
            None if name in unread else spent.files - waiting[name],
            starts,
            None if fresh_s is None else max(fresh_s, 0.0),
        )


def names_of(state: FeedState) -> list[str]:
    """The datasets in the order in which the journal met them; older ones without a cost last."""
    met = [name for name in state.spent_datasets if name != NO_DATASET]
    return [*met, *sorted(state.schemas.keys() - set(met))]


def _datasets_in(state: FeedState, numbers: Iterable[int]) -> set[str]:
    return {dataset_of(part) for number in numbers for part in state.undone[number].parts}


def _files_undone(state: FeedState, undone: Sequence[BriefEntry]) -> Counter[str]:
    """How many files of each dataset are decided and not proven visible."""
    found: Counter[str] = Counter()
    for entry in undone:
        names = _datasets_in(state, [entry.number])
        for spent in entry.body.cost.datasets if entry.body.cost is not None else ():
            if spent.name in names:
                found[spent.name] += spent.files
    return found


def _visible_ms(
    state: FeedState, undone: Sequence[BriefEntry], entries: BriefEntries, dataset: str
) -> int | None:
    """The newest time of a record before the first window of a dataset that is not visible."""
    mine = (entry.number for entry in undone if dataset in _datasets_in(state, [entry.number]))
    first = min(mine)
    windows = entries.windows_before(first, FRESH_WALK)
    return next((each.newest_ms for each in windows if each.newest_ms is not None), None)
