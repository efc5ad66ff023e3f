"""The live records of the quarantine with their raw bytes, one by one and in groups."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from penstock.api.file_format import FileUnreadable
from penstock.api.store import Store
from penstock.audit.errors import QuarantineUnreadable
from penstock.datapath.formats.arrow_errors import first_line
from penstock.datapath.formats.quarantine_format import QUARANTINE_FORMAT
from penstock.model.fork import ROW_COLUMN
from penstock.model.manifest import QUARANTINE
from penstock.model.ranges import OffsetSet
from penstock.model.record_position import Position
from penstock.model.value import Value
from penstock.protocol.feed_book.inventory import Inventory, LiveFile
from penstock.protocol.feed_book.state import FeedState, is_pending

Place = tuple[str, int, str, int]  # topic, partition, dataset, number of the row in its record
Lives = dict[Place, dict[str, OffsetSet]]  # the live offsets, by topic id

BATCH_ROWS = 10_000
MOST_GROUPS = 5_000
SAMPLE_BYTES = 400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COLUMNS = {
    "_topic", "_partition", "_offset", "_timestamp", "key", "value", "headers", "reason", "detail",
    "fingerprint", "dataset", "owner",
}  # fmt: skip


class QuarantinedRecord(Value, frozen=True, kw_only=True):
    """One complete broken record. `time` is Kafka's; `dataset` is empty when none was found.

    `row` is above 0 for a further row of a record that became several rows. `topic_id`
    distinguishes a topic that was deleted and created again; it is empty if a file has records of
    both.
    """

    position: Position
    topic_id: str
    time: str
    reason: str
    detail: str
    fingerprint: str
    dataset: str
    team: str
    key: bytes | None
    value: bytes | None
    headers: str | None
    row: int = 0


class QuarantineGroup(Value, frozen=True):
    """Records that are broken in the same way, with the start of one of them as a sample."""

    fingerprint: str
    count: int
    reason: str
    datasets: tuple[str, ...]
    first: Position
    last: Position
    sample: bytes | None

    @classmethod
    def of(cls, record: QuarantinedRecord) -> "QuarantineGroup":
        """A group with one record."""
        at, datasets = record.position, (record.dataset,)
        return cls(record.fingerprint, 1, record.reason, datasets, at, at, _sample(record))

    def with_record(self, record: QuarantinedRecord) -> "QuarantineGroup":
        """The group with one more record; the first record stays the sample."""
        at = record.position
        return QuarantineGroup(
            self.fingerprint,
            self.count + 1,
            self.reason,
            tuple(sorted({*self.datasets, record.dataset})),
            min(self.first, at),
            max(self.last, at),
            _sample(record) if at < self.first else self.sample,
        )


class Groups(Value, frozen=True):
    """The largest groups, the largest first; and how many smaller ones were left out."""

    shown: tuple[QuarantineGroup, ...]
    others: int = 0
    other_records: int = 0


def groups(store: Store, state: FeedState, inventory: Inventory, most: int = MOST_GROUPS) -> Groups:
    """The live records by fingerprint.

    Only the counts of all fingerprints are kept in memory, because a producer can cause any number
    of them. If there are too many, a second pass reads only the largest ones.
    """
    counts: Counter[str] = Counter()
    found: dict[str, QuarantineGroup] = {}
    for record in records(store, state, inventory):
        counts[record.fingerprint] += 1
        if record.fingerprint in found or len(found) < most:
            _put(found, record)
    if len(counts) > most:
        largest = {fingerprint for fingerprint, _ in counts.most_common(most)}
        found = {}
        for record in records(store, state, inventory):
            if record.fingerprint in largest:
                _put(found, record)
    shown = sorted(found.values(), key=lambda group: (-group.count, group.first))
    rest = counts.total() - sum(group.count for group in shown)
    return Groups(tuple(shown), len(counts) - len(shown), rest)


def _put(found: dict[str, QuarantineGroup], record: QuarantinedRecord) -> None:
    known = found.get(record.fingerprint)
    group = QuarantineGroup.of(record) if known is None else known.with_record(record)
    found[record.fingerprint] = group


def _sample(record: QuarantinedRecord) -> bytes | None:
    return None if record.value is None else record.value[:SAMPLE_BYTES]


def records(store: Store, state: FeedState, inventory: Inventory) -> Iterator[QuarantinedRecord]:
    """Every live record, file by file; those that were replayed or dropped are left out."""
    live = _live_offsets(inventory)
    for final, file in sorted(inventory.files_of(QUARANTINE).items()):
        if is_pending(state, file.number, QUARANTINE):
            continue
        covered = {part.topic_id for part in inventory.quarantine[final]}
        for row in _rows(store, final, file):
            ids = _lives_of(live, row, covered)
            if ids:
                yield _record(row, ids[0] if len(ids) == 1 else "")


def waiting_records(state: FeedState, inventory: Inventory) -> int:
    """How many quarantined records are decided and not yet visible."""
    return sum(
        file.evidence.count
        for file in inventory.files_of(QUARANTINE).values()
        if is_pending(state, file.number, QUARANTINE)
    )


def _live_offsets(inventory: Inventory) -> Lives:
    """The live offsets by what rows contain; rows do not contain their topic id."""
    live: Lives = {}
    for (topic, topic_id, partition, dataset, row), offsets in inventory.records.items():
        if offsets.runs:
            live.setdefault((topic, partition, dataset, row), {})[topic_id] = offsets
    return live


def _lives_of(live: Lives, row: dict[str, Any], covered: set[str]) -> list[str]:
    """The possible topic ids of a row; none when the row is not live.

    The ranges of its file give the id, so that a record of an earlier topic id is not mistaken for
    one of the present id. A window's file has one id; a rewritten file may have several, or none.
    """
    place = (row["_topic"], row["_partition"], row["dataset"] or "", row.get(ROW_COLUMN, 0))
    return [
        topic_id
        for topic_id, offsets in live.get(place, {}).items()
        if (not covered or topic_id in covered) and _holds(offsets, row["_offset"])
    ]


def _holds(offsets: OffsetSet, offset: int) -> bool:
    index = bisect_right(offsets.runs, offset, key=lambda run: run[0]) - 1
    return index >= 0 and offset < offsets.runs[index][1]


def _rows(store: Store, final: str, file: LiveFile) -> Iterator[dict[str, Any]]:
    source = store.open_read(final)
    if source is None:
        raise QuarantineUnreadable(final, f"it is gone, with {file.evidence.count} records")
    with source:
        try:
            opened = QUARANTINE_FORMAT.open(source)
            absent = COLUMNS - set(opened.schema.names)
            if absent:
                raise QuarantineUnreadable(final, f"it has no column {', '.join(sorted(absent))}")
            wanted = sorted(COLUMNS | ({ROW_COLUMN} & set(opened.schema.names)))
            for batch in opened.pieces(wanted, BATCH_ROWS):
                yield from _with_numbers_for_times(batch).to_pylist()
        except (FileUnreadable, pa.ArrowException, OSError) as error:
            raise QuarantineUnreadable(final, first_line(error)) from error


def _with_numbers_for_times(batch: Any) -> Any:
    """Kafka's times as milliseconds: a producer may choose any time, and Python's end in 9999."""
    column = batch.schema.get_field_index("_timestamp")
    times = batch.column(column).cast(pa.timestamp("ms")).cast(pa.int64())
    return batch.set_column(column, "_timestamp", times)


def _time(kafka_ms: int | None) -> str:
    """A time in ISO form, or in milliseconds outside the years 1 to 9999."""
    if kafka_ms is None:
        return ""
    try:
        return (_EPOCH + timedelta(milliseconds=kafka_ms)).isoformat()
    except OverflowError:
        return f"{kafka_ms} ms"


def _record(row: dict[str, Any], topic_id: str) -> QuarantinedRecord:
    return QuarantinedRecord(
        position=Position(row["_topic"], row["_partition"], row["_offset"]),
        topic_id=topic_id,
        time=_time(row["_timestamp"]),
        reason=row["reason"],
        detail=row["detail"] or "",
        fingerprint=row["fingerprint"],
        dataset=row["dataset"] or "",
        team=row["owner"] or "",
        key=row["key"],
        value=row["value"],
        headers=row["headers"],
        row=row.get(ROW_COLUMN, 0),
    )
