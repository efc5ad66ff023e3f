"""Events about values that did not fit their columns: one per field and window."""

from collections.abc import Iterable, Iterator

from penstock.feeds.run_events import Event
from penstock.model.field_conflicts import FieldConflict, all_conflicts
from penstock.model.read_ways import ReadWays

MOST_TOLD = 20  # fields of a window; the rest is in `penstock schema conflicts`


def conflict_events(feed: str, window: str, ways: Iterable[ReadWays]) -> Iterator[Event]:
    """What did not fit in a window, the most records first.

    A field that is only new is not told: the next window has a column for it.
    """
    found = [each for each in all_conflicts(ways) if not each.is_new]
    for conflict in found[:MOST_TOLD]:
        yield _event(feed, window, conflict)


def _event(feed: str, window: str, conflict: FieldConflict) -> Event:
    rows = "1 record has" if conflict.records == 1 else f"{conflict.records:,} records have"
    if conflict.wanted:
        column, values = f"is read as {conflict.wanted}", "another kind of value there"
    else:
        column, values = f"has no column, because {conflict.why}", "a value there"
    sentence = (
        f"window {window}: {conflict.path} of {conflict.dataset} {column}; {rows} {values} "
        f"({', '.join(conflict.found)}), which is in `_rest`; see "
        f"`penstock schema conflicts {feed}/{conflict.dataset}`"
    )
    return Event(
        feed,
        "conflict",
        sentence,
        {
            "window": window,
            "dataset": conflict.dataset,
            "path": conflict.path,
            "wanted": conflict.wanted,
            "found": " ".join(conflict.found),
            "cause": conflict.cause,
            "records": conflict.records,
            "topic": conflict.topic,
            "partition": conflict.partition,
            "offset": conflict.offset,
        },
        "warning",
    )
