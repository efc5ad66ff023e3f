"""The table of `penstock status`: a row per feed, in 100 columns or as wide as it takes."""

import os
import sys
import textwrap
from collections.abc import Mapping, Sequence

from penstock.cli.printable import printable
from penstock.model.debt import Debt
from penstock.model.plural import number_of, size_in_words
from penstock.status.snapshot import FeedSnapshot

COLUMNS = 100
FEW = 4  # more partitions than this are shown as a sum
_GAP = 2
_CUT = "..."
_LEAST = len(_CUT) + 1
_NARROWEST = 40

Row = dict[str, object]


def rows_of(found: Sequence[FeedSnapshot], wide: bool) -> list[Row]:
    """The rows of all feeds. Without `wide` they fit, so long as names of feeds can be cut."""
    if wide:
        return [{**_narrow(each), **_rest(each)} for each in found]
    return fitted([_narrow(each) for each in found], "feed")


def fitted(rows: list[Row], *names: str) -> list[Row]:
    """The rows, with the values of these columns cut until all fit, those of the first one first.

    Each keeps a few characters: if that is still too wide, so are the rows.
    """
    for name in names:
        others = [other for other in rows[0] if other != name] if rows else []
        room = COLUMNS - sum(_GAP + _width(rows, other) for other in others)
        most = max(room, len(name), _LEAST)
        rows = [{**row, name: _cut(row[name], most)} for row in rows]
    return rows


def columns_of_output(environ: Mapping[str, str]) -> int:
    """The width of the terminal, or what `COLUMNS` says it is; 100 if it is not known."""
    given = environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or COLUMNS
    except (OSError, ValueError):
        return COLUMNS


def wrapped(sentence: str, columns: int) -> list[str]:
    """A sentence in lines of so many characters; names are never broken."""
    return textwrap.wrap(
        printable(sentence),
        max(columns, _NARROWEST),
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _narrow(found: FeedSnapshot) -> Row:
    """What most people look for."""
    return {
        "feed": found.feed,
        "state": found.state,
        "lag": "?" if found.lag_records is None else f"{found.lag_records:,}",
        "lag time": duration(found.lag_seconds),
        "newest read": duration(found.freshness_seconds),
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
        "to compact": to_compact(found.compaction_debt),
        "watermark": " ".join(places) or "-",
    }


def to_compact(debt: Debt | None) -> str:
    """`312 (1.4 GB)`: how many small files a compaction would rewrite."""
    if debt is None:
        return "?"
    return f"{debt.files:,} ({size_in_words(debt.size_bytes)})" if debt.files else "-"


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


def _cut(value: object, most: int) -> object:
    text = str(value)
    return value if len(text) <= most else text[: most - len(_CUT)] + _CUT
