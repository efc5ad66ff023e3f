"""The independent count: Kafka read by another client, the lake read by pyarrow.

Nothing here uses the journal, the evidence or any other part of the pipeline. It only relies on
this: a record has a position (partition, offset), a row has the position it came from, and each
position must be found exactly once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from penstock.demo.folders import Folder
from penstock.testing.kafka_client import ReadRecord

Spot = tuple[int, int]  # partition, offset


class Row(NamedTuple):
    """A row of the lake: its position, and the id of its event."""

    spot: Spot
    id: int | None


class Refused(NamedTuple):
    """A record in the quarantine, with its raw bytes."""

    spot: Spot
    value: bytes | None
    reason: str


class _Event(msgspec.Struct):
    id: int


_event_decoder = msgspec.json.Decoder(_Event)


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of every record. The tuples have positions, and should all be empty."""

    records: int
    written: int
    quarantined: int
    filtered: int
    lost: tuple[Spot, ...] = ()
    doubled: tuple[Spot, ...] = ()
    changed: tuple[Spot, ...] = ()
    invented: tuple[Spot, ...] = ()

    @property
    def is_clean(self) -> bool:
        """True when each record was found once, unchanged."""
        return not (self.lost or self.doubled or self.changed or self.invented)

    def sentence(self) -> str:
        """The number of lost and doubled records as text."""
        words = f"{len(self.lost):,} lost, {len(self.doubled):,} doubled"
        for name, spots in (("changed", self.changed), ("invented", self.invented)):
            words += f", {len(spots):,} {name}" if spots else ""
        return words


def tally(records: Iterable[ReadRecord], rows: Iterable[Row], refused: Iterable[Refused]) -> Tally:
    """Compare the lake with the source. Records without a value may be missing, by rule.

    Rows are compared by the id of their event, refused records by all their bytes.
    """
    found: dict[Spot, list[int | bytes | None]] = {}
    written = quarantined = 0
    for row in rows:
        found.setdefault(row.spot, []).append(row.id)
        written += 1
    for each in refused:
        found.setdefault(each.spot, []).append(each.value)
        quarantined += 1
    total = filtered = 0
    lost, doubled, changed = [], [], []
    for record in records:
        total += 1
        spot = (record.partition, record.offset)
        held = found.pop(spot, [])
        if not held and record.value is None:
            filtered += 1
        elif not held:
            lost.append(spot)
        elif len(held) > 1:
            doubled.append(spot)
        elif not _is_same(held[0], record.value):
            changed.append(spot)
    spots = (tuple(sorted(each)) for each in (lost, doubled, changed, found))
    return Tally(total, written, quarantined, filtered, *spots)


def rows_of(feed: Folder) -> Iterator[Row]:
    """Every row that a reader of the directories finds."""
    for name in feed.data():
        table = feed.open(name).read(columns=["_partition", "_offset", "id"])
        columns = (table.column(name).to_pylist() for name in table.column_names)
        named = dict(zip(table.column_names, columns, strict=True))
        ids = named.get("id") or [None] * table.num_rows
        for partition, offset, number in zip(
            named["_partition"], named["_offset"], ids, strict=True
        ):
            yield Row((partition, offset), number)


def refused_of(quarantine: Folder) -> Iterator[Refused]:
    """Every record in the quarantine."""
    for name in quarantine.parquet():
        table = quarantine.open(name).read(columns=["_partition", "_offset", "value", "reason"])
        for each in table.to_pylist():
            yield Refused((each["_partition"], each["_offset"]), each["value"], each["reason"])


def landed(feed: Folder) -> dict[tuple[str, str], int]:
    """Rows by type and day, from the directory names."""
    counts: Counter[tuple[str, str]] = Counter()
    for name in feed.data():
        kind, day = name.split("/")[:2]
        counts[kind, day.removeprefix("day=")] += feed.open(name).metadata.num_rows
    return dict(sorted(counts.items()))


def _is_same(held: int | bytes | None, value: bytes | None) -> bool:
    if isinstance(held, bytes):
        return held == value
    if value is None:
        return False  # a row without a record in Kafka
    try:
        return _event_decoder.decode(value).id == held
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
