"""Columns of Arrow as a few long arrays, for compiled loops that write rows.

It is the way back of `column_pools`: a compiled function is compiled again for every other type of
its arguments, so all columns of a kind are parts of one array, whatever the schema is.

    numbers   8 bytes per value, twice 8 for a decimal; of a text, bytes, a list or a map where
              each value begins, and one more for the end of the last
    flags     1 byte per value: booleans, and whether there is a value
    data      texts and bytes, end to end

Columns are numbered in the order in which a schema is walked: of every value first whether there is
one, then what it is, then what is inside.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.buffers import buffers_of
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets, Words, overlapping

NO_FLAGS = -1  # in place of where flags begin: all values are there
_NUMBERS, _FLAGS = 0, 1
_PAD = 16  # more than a copy of whole words reads further


class RowPools(NamedTuple):
    """The arrays. `bases` says where each column begins in that of its kind.

    `words` has eight bytes at every place of `data`. `values` is how many values, lists, maps and
    structs there are, absent ones too.
    """

    bases: Numbers
    numbers: Numbers
    flags: Octets
    data: Octets
    words: Words
    values: int


def plain_type(kind: pa.DataType, *, is_top: bool = True) -> pa.DataType:
    """A type without values that are written once and referred to, and without short offsets.

    Integers are of 64 bits, but for columns of 32 bits. Raises `ValueError` for a type that no
    column of ours has.
    """
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type, is_top=is_top)
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(plain_type(each.type, is_top=False)) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(pa.string(), plain_type(kind.item_type, is_top=False))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(plain_type(kind.value_type, is_top=False))
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_int32(kind) and is_top:
        return kind
    if pa.types.is_signed_integer(kind):
        return pa.int64()
    if not _is_plain(kind):
        raise ValueError(f"no column is of type {kind}")
    return kind


def _is_plain(kind: pa.DataType) -> bool:
    is_time = pa.types.is_timestamp(kind) and kind.unit in {"ms", "us"}
    return is_time or any(
        each(kind)
        for each in (
            pa.types.is_boolean,
            pa.types.is_float64,
            pa.types.is_string,
            pa.types.is_binary,
            pa.types.is_date32,
            pa.types.is_decimal128,
        )
    )


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of a schema in plain types."""
    return pa.schema([pa.field(each.name, plain_type(each.type)) for each in schema])


def row_pools(columns: Sequence[pa.Array]) -> RowPools:
    """The arrays of some columns of plain types; each has as many rows as the others."""
    filler = _Filler()
    for column in columns:
        filler.walk(column)
    return filler.pools()


class _Filler:
    """Walks columns and gathers their buffers."""

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._parts: tuple[list[Words], list[Words]] = ([], [])
        self._ends = [0, 0]
        self._data: list[Octets] = []
        self._data_end = 0
        self._values = 0

    def pools(self) -> RowPools:
        """All that was gathered, each kind in one array."""
        data = np.concatenate([*self._data, np.zeros(_PAD, np.uint8)])
        return RowPools(
            np.array(self._bases, np.int64),
            np.concatenate([*self._parts[_NUMBERS], np.zeros(1, np.int64)]),
            np.concatenate([*self._parts[_FLAGS], np.zeros(1, np.uint8)]),
            data,
            overlapping(data, "<i8"),
            self._values,
        )

    def walk(self, array: pa.Array) -> None:
        """Gather a column, with all that is inside."""
        kind = array.type
        self._values += len(array)
        self._put_validity(array)
        if pa.types.is_struct(kind):
            for number in range(kind.num_fields):
                self.walk(array.field(number))
        elif pa.types.is_map(kind):
            first, count = self._put_offsets(array)
            self.walk(array.keys.slice(first, count))
            self.walk(array.items.slice(first, count))
        elif pa.types.is_list(kind):
            first, count = self._put_offsets(array)
            self.walk(array.values.slice(first, count))
        elif pa.types.is_string(kind) or pa.types.is_binary(kind):
            data, offsets = buffers_of(array)
            self._put(_NUMBERS, offsets + self._data_end)
            self._data.append(data)
            self._data_end += len(data)
        elif pa.types.is_boolean(kind):
            self._put(_FLAGS, _bits(array, 1))
        else:
            self._put(_NUMBERS, _fixed(array))

    def _put_validity(self, array: pa.Array) -> None:
        if array.null_count:
            self._put(_FLAGS, _bits(array, 0))
        else:
            self._bases.append(NO_FLAGS)

    def _put_offsets(self, array: pa.Array) -> tuple[int, int]:
        """Where items begin, counted from the first one; which items these are."""
        offsets = array.offsets.to_numpy() if len(array) else np.zeros(1, np.int32)
        first, last = int(offsets[0]), int(offsets[-1])
        self._put(_NUMBERS, offsets.astype(np.int64) - first)
        return first, last - first

    def _put(self, pool: int, values: Words) -> None:
        self._bases.append(self._ends[pool])
        self._parts[pool].append(values)
        self._ends[pool] += len(values)


def _bits(array: pa.Array, buffer: int) -> Octets:
    """A byte for each bit of a buffer."""
    if len(array) == 0:
        return np.empty(0, np.uint8)
    octets = np.frombuffer(array.buffers()[buffer], np.uint8)
    end = array.offset + len(array)
    return np.unpackbits(octets[: -(-end // 8)], count=end, bitorder="little")[array.offset :]


def _fixed(array: pa.Array) -> Numbers:
    """Values of a fixed width, as numbers of eight bytes."""
    width = array.type.byte_width
    kind = np.int32 if width == 4 else np.int64
    if len(array) == 0:
        return np.empty(0, np.int64)
    words = max(width // 8, 1)
    found = np.frombuffer(array.buffers()[1], kind)
    return found[words * array.offset : words * (array.offset + len(array))].astype(np.int64)
