"""Batches in which a record is more than one row, or a row that is not its first.

Such a batch has the column `row`: the number of each row within its Kafka record.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.datapath.shape.convert.conditions import fulfils, fulfils_values
from penstock.datapath.shape.route.placing import ForkAnswers
from penstock.datapath.stage.batch_decoder import RecordGroup
from penstock.datapath.stage.row_arrays import Chosen, Rows
from penstock.evidence.position_columns import Offsets
from penstock.model.fork import FORK_ROWS, ForkSpec

ROW = "row"
ROWS_AT_ONCE = 131_072
SPREAD_BYTES = 32 * 1024 * 1024
_ROW_BYTES = 64
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])


def numbers_of(batch: pa.RecordBatch, rows: Chosen) -> Offsets | None:
    """The numbers of some rows; None when each is the first of its record."""
    if ROW not in batch.schema.names:
        return None
    numbers: Offsets = batch[ROW].to_numpy()[rows]
    return numbers


def largest_of(batch: pa.RecordBatch) -> int:
    """A bound for the bytes of any record: the longest key, value and headers together."""
    columns = (batch[name] for name in ("key", "value", "headers"))
    return sum(pc.max(pc.binary_length(each)).as_py() or 0 for each in columns)


def or_firsts(numbers: Offsets | None, count: int) -> Offsets:
    """The numbers of so many rows; zeros where each is the first of its record."""
    return np.zeros(count, np.int64) if numbers is None else numbers


def as_fork(group: RecordGroup, place: int) -> RecordGroup:
    """Records once more, as rows of a fork; `place` counts forks from 1."""
    batch, rows = group.origin.batch, group.origin.rows
    before = or_firsts(numbers_of(batch, rows), len(rows))
    return group.moved(with_numbers(batch.take(pa.array(rows)), before + place * FORK_ROWS))


def with_numbers(batch: pa.RecordBatch, numbers: Offsets) -> pa.RecordBatch:
    """A batch whose rows have these numbers."""
    names = batch.schema.names
    if ROW in names:
        return batch.set_column(names.index(ROW), ROW, pa.array(numbers))
    return batch.append_column(ROW, pa.array(numbers))


def fork_members(
    fork: ForkSpec, dataset: str, group: RecordGroup, asked: ForkAnswers | None
) -> Rows:
    """Which records of a dataset fulfil a fork's conditions, or its function names it for."""
    if not fork.is_for(dataset):
        return np.empty(0, np.int64)
    if fork.call is not None:
        return np.flatnonzero(asked.named(fork, fork.call)) if asked else np.empty(0, np.int64)
    count = len(group)
    good = np.ones(count, dtype=bool) if asked is None else asked.sure(count)
    for condition in fork.when:
        values = group.content.column(condition.path)
        if isinstance(values, pa.Array):
            good &= fulfils(values, condition)
        else:
            good &= fulfils_values(values, condition)
    return np.flatnonzero(good)


@dataclass(frozen=True, slots=True)
class Spread:
    """A batch in which elements of arrays are rows.

    `fresh` are the rows beyond the first of each record; `empty` those whose array is empty, which
    have no document.
    """

    batch: pa.RecordBatch
    fresh: Rows
    empty: Rows


def spread_arrays(batch: pa.RecordBatch) -> Iterator[Spread]:
    """The elements of JSON arrays as rows, in batches of a bounded size.

    What is not an array of objects stays one row; the decoder says what is wrong with it.
    """
    if not any(_is_array(value) for value in batch["value"]):
        none = np.empty(0, np.int64)
        yield Spread(batch, none, none)
        return
    documents = [_documents(value) for value in batch["value"]]
    counts = np.fromiter((len(each) for each in documents), np.int64, len(documents))
    sizes = np.maximum(counts, 1)  # an empty array is a row, too, until it is filtered
    whole = np.repeat(np.arange(len(sizes)), sizes)
    places = np.arange(len(whole)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    values = [value for each in documents for value in (each or [b""])]
    for start, end in _cuts(_repeated_bytes(batch)[whole]):
        mine = whole[start:end]
        numbered = _elements(batch, mine, places[start:end], values[start:end])
        yield Spread(numbered, np.flatnonzero(places[start:end]), np.flatnonzero(counts[mine] == 0))


def _elements(
    batch: pa.RecordBatch, whole: Rows, places: Rows, values: list[bytes | None]
) -> pa.RecordBatch:
    """Rows with these values, and all else of the records that they are of.

    The records' own values stay behind: a copy of an array for each of its elements would grow as
    the square of its length.
    """
    at = batch.schema.names.index("value")
    others = batch.drop_columns(["value"]).take(pa.array(whole))
    spread = others.add_column(at, "value", pa.array(values, batch["value"].type))
    before = numbers_of(batch, whole)
    return with_numbers(spread, places if before is None else places + before)


def _repeated_bytes(batch: pa.RecordBatch) -> Rows:
    """What each row of a record takes besides its value, about."""
    found = np.full(batch.num_rows, _ROW_BYTES, np.int64)
    for name in ("key", "headers"):
        if name in batch.schema.names:
            lengths = pc.fill_null(pc.binary_length(batch[name]), 0)
            found += lengths.to_numpy(zero_copy_only=False)
    return found


def _cuts(weights: Rows) -> Iterator[tuple[int, int]]:
    """Parts of rows, none of which is too long or too heavy; a part may end within a record."""
    ends = np.cumsum(weights)
    start = 0
    while start < len(ends):
        done = ends[start - 1] if start else 0
        enough = int(np.searchsorted(ends, done + SPREAD_BYTES, "right"))
        end = max(start + 1, min(enough, start + ROWS_AT_ONCE))
        yield start, end
        start = end


def _documents(value: pa.Scalar) -> list[bytes | None]:
    """The objects of an array; anything else, as it is."""
    payload = value.as_py()
    if payload is None or not _is_array(value):
        return [payload]
    try:
        elements = _ELEMENTS.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        return [payload]
    found = [bytes(each) for each in elements]
    if len(found) > FORK_ROWS or not all(each.startswith(b"{") for each in found):
        return [payload]
    return [*found]


def _is_array(value: pa.Scalar) -> bool:
    buffer = value.as_buffer()
    return buffer is not None and bytes(buffer[:64]).lstrip(b" \t\r\n").startswith(b"[")
