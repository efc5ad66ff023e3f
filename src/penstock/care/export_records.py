"""Exports quarantined records to a file of JSON lines, piece by piece."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from penstock.api.store import Store
from penstock.care.quarantine_parts import quarantine_parts
from penstock.care.record_lines import encode_line
from penstock.care.replay import live_files, live_records
from penstock.datapath.stage.quarantine_rows import QuarantinePart, wanted_pieces
from penstock.datapath.stage.quarantine_writer import SCHEMA
from penstock.model.fork import ROW_COLUMN
from penstock.protocol.feed_book.feed_journal import FeedFold

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ROWS_AT_ONCE = 1_000

Row = dict[str, Any]  # Any: the columns of a row have different types


def waiting_parts(
    fold: FeedFold, datasets: frozenset[str] | None = None, fingerprint: str = ""
) -> list[QuarantinePart]:
    """The records that wait in the quarantine and are visible, by partition; of a deep fold."""
    return quarantine_parts(live_records(fold), live_files(fold), datasets, fingerprint)


def waiting_rows(store: Store, part: QuarantinePart) -> Iterator[Row]:
    """The rows of a part with all their columns; Kafka's timestamp as an ISO text."""
    for piece in wanted_pieces(store, part, SCHEMA.names):
        rows = piece.wanted.nonzero()[0]
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[start : start + _ROWS_AT_ONCE]
            batch = piece.batch.take(pa.array(some))
            stamps = batch["_timestamp"].cast(pa.timestamp("ms")).cast(pa.int64()).to_pylist()
            names = [name for name in batch.schema.names if name != "_timestamp"]
            found = batch.select(names).to_pylist()
            numbers = piece.numbers[some].tolist()
            for row, stamp, number in zip(found, stamps, numbers, strict=True):
                yield {**row, "_timestamp": _time(stamp), "stamp": stamp, ROW_COLUMN: number}


def export_lines(store: Store, parts: Iterable[QuarantinePart]) -> Iterator[bytes]:
    """The records of some parts, a line each."""
    for part in parts:
        for row in waiting_rows(store, part):
            yield encode_line(row, part.covered.topic_id)


def _time(kafka_ms: int | None) -> str:
    """A time in ISO form, or in milliseconds outside the years 1 to 9999."""
    if kafka_ms is None:
        return ""
    try:
        return (_EPOCH + timedelta(milliseconds=kafka_ms)).isoformat()
    except OverflowError:
        return f"{kafka_ms} ms"
