"""Batches in which a record is more than one row, or a row that is not its first.

Such a batch has the column `row`: the number of each row within its Kafka record.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from penstock.model.fork import FORK_ROWS, ForkSpec
from penstock.model.position_columns import Offsets
from penstock.shape.conditions import fulfils, fulfils_values

ROW = "row"
ROWS_AT_ONCE = 131_072
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])


def numbers_of(batch: Any, rows: Any) -> Offsets | None:
    """The numbers of some rows; None when each is the first of its record."""
    if ROW not in batch.schema.names:
        return None
    numbers: Offsets = batch[ROW].to_numpy()[rows]
    return numbers


def or_firsts(numbers: Offsets | None, count: int) -> Offsets:
    """The numbers of so many rows; zeros where each is the first of its record."""
    return np.zeros(count, np.int64) if numbers is None else numbers


def as_fork(batch: Any, rows: Any, place: int) -> Any:
    """Some records once more, as rows of a fork; `place` counts forks from 1."""
    before = or_firsts(numbers_of(batch, rows), len(rows))
    return with_numbers(batch.take(pa.array(rows)), before + place * FORK_ROWS)


def with_numbers(batch: Any, numbers: Offsets) -> Any:
    """A batch whose rows have these numbers."""
    names = batch.schema.names
    if ROW in names:
        return batch.set_column(names.index(ROW), ROW, pa.array(numbers))
    return batch.append_column(ROW, pa.array(numbers))


def fork_members(fork: ForkSpec, dataset: str, fields: dict[str, Any], count: int) -> Any:
    """Which records of a dataset fulfil a fork's conditions."""
    if not fork.is_for(dataset):
        return np.empty(0, np.int64)
    good = np.ones(count, dtype=bool)
    for condition in fork.when:
        values = fields[condition.path]
        ask = fulfils if isinstance(values, pa.Array) else fulfils_values
        good &= ask(values, condition)
    return np.flatnonzero(good)


@dataclass(frozen=True, slots=True)
class Spread:
    """A batch in which elements of arrays are rows.

    `fresh` are the rows beyond the first of each record; `empty` those whose array is empty, which
    have no document.
    """

    batch: Any
    fresh: Any
    empty: Any


def spread_arrays(batch: Any) -> Iterator[Spread]:
    """The elements of JSON arrays as rows, in batches of a bounded size.

    What is no array of objects stays one row: whoever decodes it says what is wrong with it.
    """
    if not any(_is_array(value) for value in batch["value"]):
        none = np.empty(0, np.int64)
        yield Spread(batch, none, none)
        return
    documents = [_documents(value) for value in batch["value"]]
    counts = np.fromiter((len(each) for each in documents), np.int64, len(documents))
    sizes = np.maximum(counts, 1)  # an empty array is a row, too, until it is filtered
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        done = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, done + ROWS_AT_ONCE, "right")))
        yield _spread(batch.slice(start, end - start), documents[start:end], sizes[start:end])
        start = end


def _spread(batch: Any, documents: list[list[bytes]], sizes: Any) -> Spread:
    ends = np.cumsum(sizes)
    places = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
    whole = np.repeat(np.arange(len(sizes)), sizes)
    values = [value for each in documents for value in (each or [b""])]
    spread = batch.take(pa.array(whole))
    column = batch.schema.names.index("value")
    spread = spread.set_column(column, "value", pa.array(values, batch["value"].type))
    before = numbers_of(batch, whole)
    numbers = places if before is None else places + before
    empty = (ends - 1)[[not each for each in documents]]
    return Spread(with_numbers(spread, numbers), np.flatnonzero(places), empty)


def _documents(value: pa.Scalar) -> list[Any]:
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
    return found


def _is_array(value: pa.Scalar) -> bool:
    buffer = value.as_buffer()
    return buffer is not None and bytes(buffer[:64]).lstrip(b" \t\r\n").startswith(b"[")
