"""The table of `penstock status`: a row per feed, in 100 columns or as wide as it takes."""

from collections.abc import Sequence

from penstock.model.plural import number_of
from penstock.status.snapshot import FeedSnapshot

COLUMNS = 100
FEW = 4  # more partitions than this are shown as a sum
_GAP = 2
_CUT = "..."

Row = dict[str, object]


def rows_of(found: Sequence[FeedSnapshot], wide: bool) -> list[Row]:
    """The rows of all feeds. Without `wide` they fit, so long as names of feeds can be cut."""
    if wide:
        return [{**_narrow(each), **_rest(each)} for each in found]
    rows = [_narrow(each) for each in found]
    room = COLUMNS - sum(_GAP + _width(rows, name) for name in list(rows[0])[1:]) if rows else 0
    return [{**row, "feed": _cut(str(row["feed"]), max(room, len(_CUT) + 1))} for row in rows]


def _narrow(found: FeedSnapshot) -> Row:
    """What most people look for."""
    return {
        "feed": found.feed,
        "state": found.state,
        "lag": "?" if found.lag_records is None else f"{found.lag_records:,}",
        "lag time": duration(found.lag_seconds),
        "newest row": duration(found.freshness_seconds),
        "last window": duration(found.last_window_age_s) if found.windows else "-",
        "quarantined": quarantined(found),
        "parked": len(found.parked) or "-",
    }


def _rest(found: FeedSnapshot) -> Row:
    """What is shown with --wide."""
    places = [f"{p.topic}/{p.partition}:{p.watermark}" for p in found.partitions]
    if len(places) > FEW:
        offsets = sum(p.watermark for p in found.partitions)
        places = [f"{number_of(len(places), 'partition')}, {offsets:,}"]
    return {
        "windows": found.windows,
        "ended at": (found.last_window_at or "-")[:19],
        "undone": found.undone,
        "epoch": found.epoch,
        "watermark": " ".join(places) or "-",
    }


def quarantined(found: FeedSnapshot) -> str:
    """`52 of 449`: how many records wait in the quarantine, of all that ever came into it."""
    ever = found.counts.quarantined
    waiting = ever - found.left_quarantine
    return f"{ever:,}" if waiting == ever else f"{waiting:,} of {ever:,}"


def duration(seconds: float | None) -> str:
    """A duration, rounded to one unit."""
    if seconds is None:
        return "?"
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.0f}s"


def _width(rows: list[Row], name: str) -> int:
    return max(len(name), *(len(str(row[name])) for row in rows))


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - len(_CUT)] + _CUT
