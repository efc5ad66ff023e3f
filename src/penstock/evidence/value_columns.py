"""Sums over all values of rows: what shows that a rewrite has changed, lost or moved none of them.

Each value is hashed with the path of its column and the position of its row, and the hashes are
added modulo 2^64. So the sum depends neither on the order of rows nor on how they are cut into
batches, and two values that have changed their rows give another sum. A value that is null adds
nothing: a row has the same sum before and after its file got a column that it does not have. The
position of a row is part of the hash of each of its values, and is none of them.

The sum of a rewrite stands in its entry, so the hash belongs to the journal's format and must never
change within it.
"""

import hashlib
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.evidence.position_columns import (
    Hashes,
    mix64_columns,
    position_hashes,
    split_by_place,
)
from penstock.model.fork import ROW_COLUMN

MASK = (1 << 64) - 1
_BASE = 0x9E3779B97F4A7C15  # odd, so that its powers can be divided by
_CHUNK_BYTES = 1 << 18  # of texts that are hashed in one step
_LONG_BYTES = 1 << 16  # a longer text is hashed by itself
_PRESENT = np.uint64(0xD6E8FEB86659FD93)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

_POSITION = frozenset({"_topic", "_partition", "_offset", ROW_COLUMN})

Whole = npt.NDArray[np.int64]


class Unhashable(ValueError):
    """A column of a type that no file format of a feed has."""


def value_sum(rows: pa.RecordBatch) -> int:
    """The sum of all values of some rows, which have their positions in `_topic` and so on."""
    numbers = rows[ROW_COLUMN].to_numpy() if ROW_COLUMN in rows.schema.names else None
    offsets = rows["_offset"].to_numpy()
    total = 0
    for topic, partition, chosen in split_by_place(rows["_topic"], rows["_partition"]):
        mine = rows if isinstance(chosen, slice) else rows.take(pa.array(chosen))
        keys = position_hashes(
            topic, partition, offsets[chosen], None if numbers is None else numbers[chosen]
        )
        for name, column in zip(mine.schema.names, mine.columns, strict=True):
            if name in _POSITION:
                continue
            total += _sum_of(column, _mixed(keys, _seed(name)))
    return total & MASK


def _sum_of(values: pa.Array, keys: Hashes) -> int:
    """The sum of some values, each with a key of its own."""
    if values.null_count:
        there = values.is_valid()
        values, keys = values.filter(there), keys[there.to_numpy(zero_copy_only=False)]
    if len(values) == 0:
        return 0
    kind = values.type
    if pa.types.is_struct(kind):
        return _sum_of_struct(values, keys)
    if pa.types.is_map(kind):
        start, end = values.offsets[0].as_py(), values.offsets[-1].as_py()
        parts = [values.keys.slice(start, end - start), values.items.slice(start, end - start)]
        return _sum_of_items(values, keys, parts)
    if pa.types.is_list(kind):
        start, end = values.offsets[0].as_py(), values.offsets[-1].as_py()
        return _sum_of_items(values, keys, [values.values.slice(start, end - start)])
    return _added(_mixed(keys, _hashes(values)))


def _sum_of_struct(values: pa.Array, keys: Hashes) -> int:
    """That it is there, and its members. A member that is null adds nothing, as one that is not."""
    total = _added(_mixed(keys, _PRESENT))
    for field, part in zip(values.type, values.flatten(), strict=True):
        total += _sum_of(part, _mixed(keys, _seed(f".{field.name}")))
    return total


def _sum_of_items(values: pa.Array, keys: Hashes, parts: list[pa.Array]) -> int:
    """How many items there are, and each with its place among them."""
    offsets = values.offsets.to_numpy().astype(np.int64)
    lengths = np.diff(offsets)
    with np.errstate(over="ignore"):
        total = _added(_mixed(keys, lengths.astype(np.uint64) + _PRESENT))
    places = np.arange(lengths.sum()) - np.repeat(offsets[:-1] - offsets[0], lengths)
    of_items = _mixed(np.repeat(keys, lengths), places.astype(np.uint64) + _GOLDEN)
    for number, part in enumerate(parts):
        total += _sum_of(part, _mixed(of_items, _seed(f"[{number}]")))
    return total


def _hashes(values: pa.Array) -> Hashes:
    """The hash of each value; none is null."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _hashes(values.dictionary)[values.indices.to_numpy().astype(np.int64)]
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _hashes_of_bytes(values)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _hashes_of_bytes(values.cast(pa.binary()))
    if pa.types.is_boolean(kind):
        return mix64_columns(values.cast(pa.uint8()).to_numpy().astype(np.uint64) + _GOLDEN)
    if pa.types.is_decimal128(kind):
        start = values.offset * 2
        words = np.frombuffer(values.buffers()[1], np.uint64)[start : start + 2 * len(values)]
        return mix64_columns(mix64_columns(words[::2] + _GOLDEN) ^ words[1::2])
    if pa.types.is_floating(kind):
        bits = values.to_numpy().astype(np.float64).view(np.uint64)
        return mix64_columns(bits + _GOLDEN)
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return mix64_columns(_whole(values).astype(np.uint64) + _GOLDEN)
    raise Unhashable(f"values of type {kind} cannot be compared")


def _whole(values: pa.Array) -> Whole:
    """Times as the whole numbers that they are made of."""
    kind = values.type
    if pa.types.is_temporal(kind):
        is_narrow = pa.types.is_date32(kind) or pa.types.is_time32(kind)
        values = values.view(pa.int32() if is_narrow else pa.int64())
    numbers: Whole = values.to_numpy().astype(np.int64)
    return numbers


def _hashes_of_bytes(values: pa.Array) -> Hashes:
    """The hashes of texts: polynomials of their bytes, many texts at once."""
    ends = pc.binary_length(values).to_numpy().astype(np.int64)
    found = np.empty(len(values), np.uint64)
    for start, end in _chunks(ends):
        some = values.slice(start, end - start)
        if end == start + 1 and ends[start] > _LONG_BYTES:
            value = some[0].as_py()
            raw = value.encode() if isinstance(value, str) else value
            digest = hashlib.blake2b(raw, digest_size=8).digest()
            found[start] = int.from_bytes(digest, "big")
        else:
            found[start:end] = _polynomials(some)
    return mix64_columns(found ^ mix64_columns(ends.astype(np.uint64) + _GOLDEN))


def _chunks(lengths: Whole) -> Iterator[tuple[int, int]]:
    """Slices of some texts, each of a bounded number of bytes; a long text is alone."""
    start = size = 0
    for number, length in enumerate(lengths.tolist()) if _is_much(lengths) else ():
        if length > _LONG_BYTES:
            if start < number:
                yield start, number
            yield number, number + 1
            start, size = number + 1, 0
            continue
        if size + length > _CHUNK_BYTES:
            yield start, number
            start, size = number, 0
        size += length
    if start < len(lengths):
        yield start, len(lengths)


def _is_much(lengths: Whole) -> bool:
    return bool(lengths.sum() > _LONG_BYTES)


def _polynomials(values: pa.Array) -> Hashes:
    """Of texts that are not long, all of them together."""
    offsets_buffer, data = values.buffers()[1:]
    offsets = np.frombuffer(offsets_buffer, np.int32)[
        values.offset : values.offset + len(values) + 1
    ].astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    if first == last:
        return np.zeros(len(values), np.uint64)
    raised, lowered = _powers()
    with np.errstate(over="ignore"):
        terms = np.frombuffer(data, np.uint8)[first:last].astype(np.uint64) + np.uint64(1)
        sums = np.concatenate(([np.uint64(0)], np.cumsum(terms * raised[: last - first])))
        at = offsets - first
        found: Hashes = (sums[at[1:]] - sums[at[:-1]]) * lowered[at[:-1]]
    return found


@lru_cache(maxsize=1)
def _powers() -> tuple[Hashes, Hashes]:
    """The powers of the base modulo 2^64, and what undoes each of them."""
    return _power_table(_BASE), _power_table(pow(_BASE, -1, 1 << 64))


def _power_table(base: int) -> Hashes:
    count = _CHUNK_BYTES + _LONG_BYTES + 1
    with np.errstate(over="ignore"):
        factors = np.full(count, base, np.uint64)
        factors[0] = 1
        table: Hashes = np.multiply.accumulate(factors)
    return table


def _mixed(keys: Hashes, values: Hashes | np.uint64) -> Hashes:
    return mix64_columns(keys ^ values)


def _added(hashes: Hashes) -> int:
    return int(hashes.sum(dtype=np.uint64))


@lru_cache(maxsize=16_384)
def _seed(path: str) -> np.uint64:
    """What tells the columns of a row apart."""
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).digest()
    return np.uint64(int.from_bytes(digest[:8], "big"))
