"""Arrow arrays of what a compiled loop has left in its pools, without a look at single values.

A tree of `ColumnNode`s, made with the program of a schema, says which part of the pools is what.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.buffers import is_utf8
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers, Octets, Words
from penstock.datapath.codec.shared.column_pools import Pools
from penstock.datapath.codec.shared.compiled_bytes import Payloads, gathered

NodeKind = Literal[
    "number", "day", "float", "boolean", "decimal", "text", "bytes", "uuid", "enum", "struct",
    "list", "map",
]  # fmt: skip
_UUID_BYTES, _UUID_TEXT = 16, 36
_UUID_DIGITS = [place for place in range(_UUID_TEXT) if place not in {8, 13, 18, 23}]
_HEX = np.array([list(b"%02x" % octet) for octet in range(256)], np.uint8)
ALWAYS = -1  # in place of a column of flags


@dataclass(frozen=True, slots=True, eq=False)
class ColumnNode:
    """One column of an event at some level. `valid` is the column that says where it has a value.

    `column` is where its values are, or how many items a list has. Items are the only child of a
    list; a map has keys and values. An enum's values are places in `symbols`: where each of them
    begins and how long it is.
    """

    kind: NodeKind
    arrow: pa.DataType
    level: int
    column: int = 0
    valid: int = ALWAYS
    children: tuple["ColumnNode", ...] = ()
    symbols: tuple[Numbers, Words] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ColumnMaker:
    """Makes the columns of one batch. `counts` is how many places of each level are used.

    A record with a text that is not UTF-8 becomes one of the `bad`.
    """

    payloads: Payloads
    pools: Pools
    counts: Numbers
    bad: Mask

    def make(self, node: ColumnNode, around: pa.Buffer | None = None) -> pa.Array:
        """An array for a node; `around` says where the struct around has a value.

        What is in a struct that is null is null too, so that it can be taken alone.
        """
        count = int(self.counts[node.level])
        validity = around if node.valid == ALWAYS else self._validity(node.valid, count)
        if node.kind == "struct":
            parts = [self.make(child, validity) for child in node.children]
            return pa.Array.from_buffers(node.arrow, count, [validity], children=parts)
        if node.kind in {"list", "map"}:
            return self._items(node, count, validity)
        if node.kind in {"text", "bytes"}:
            return self._pieces(node, count, validity)
        if node.kind == "uuid":
            return _array(node.arrow, *self._uuids(node, count), validity)
        if node.symbols is not None:
            begins, sizes = node.symbols
            places = self._part(self.pools.numbers, node.column, count)
            starts = self.payloads.symbols + begins[places]
            pieces = gathered(self.payloads.words, starts, sizes[places])
            return _array(node.arrow, *pieces, validity)
        return pa.Array.from_buffers(node.arrow, count, [validity, self._values(node, count)])

    def _validity(self, column: int, count: int) -> pa.Buffer | None:
        """Bits for the flags of a column; None if all are set."""
        flags = self._part(self.pools.flags, column, count)
        if int(np.count_nonzero(flags)) == count:
            return None
        return pa.py_buffer(np.packbits(flags, bitorder="little"))

    def _values(self, node: ColumnNode, count: int) -> pa.Buffer:
        """Values of a fixed width."""
        if node.kind == "boolean":
            flags = self._part(self.pools.flags, node.column, count)
            return pa.py_buffer(np.packbits(flags, bitorder="little"))
        width = 2 if node.kind == "decimal" else 1
        found = self._part(self.pools.numbers, node.column, width * count)
        if node.kind == "day":
            return pa.py_buffer(found.astype(np.int32))
        if node.kind == "float":  # no kind of NaN is worth numpy's warning
            with np.errstate(invalid="ignore"):
                return pa.py_buffer(found.astype(np.uint32).view(np.float32).astype(np.float64))
        return pa.py_buffer(found)

    def _items(self, node: ColumnNode, count: int, validity: pa.Buffer | None) -> pa.Array:
        offsets = np.zeros(count + 1, np.int32)
        np.cumsum(self._part(self.pools.sizes, node.column, count), out=offsets[1:])
        parts = [self.make(child) for child in node.children]
        if node.kind == "map":
            pair = pa.struct([node.arrow.key_field, node.arrow.item_field])
            parts = [pa.Array.from_buffers(pair, len(parts[0]), [None], children=parts)]
        buffers = [validity, pa.py_buffer(offsets)]
        return pa.Array.from_buffers(node.arrow, count, buffers, children=parts)

    def _pieces(self, node: ColumnNode, count: int, validity: pa.Buffer | None) -> pa.Array:
        starts = self._part(self.pools.starts, node.column, count)
        sizes = self._part(self.pools.sizes, node.column, count)
        offsets, joined = gathered(self.payloads.words, starts, sizes)
        if node.kind == "text" and not _is_ascii(joined):
            found = _array(pa.binary(), offsets, joined, None)
            try:
                found.cast(pa.string())
            except pa.ArrowInvalid:
                wrong = np.array([not is_utf8(each) for each in found.to_pylist()])
                self._refuse(starts[wrong])
                sizes = np.where(wrong, np.int32(0), sizes)
                offsets, joined = gathered(self.payloads.words, starts, sizes)
        return _array(node.arrow, offsets, joined, validity)

    def _uuids(self, node: ColumnNode, count: int) -> tuple[Words, Octets]:
        """Pieces of 16 bytes as texts such as 01234567-89ab-cdef-0123-456789abcdef."""
        starts = self._part(self.pools.starts, node.column, count)
        sizes = self._part(self.pools.sizes, node.column, count)
        _, joined = gathered(self.payloads.words, starts, sizes)
        texts = np.full((len(joined) // _UUID_BYTES, _UUID_TEXT), ord("-"), np.uint8)
        texts[:, _UUID_DIGITS] = _HEX[joined].reshape(len(texts), 2 * _UUID_BYTES)
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(np.where(sizes > 0, _UUID_TEXT, 0), out=offsets[1:])
        if offsets[-1] >= 2**31:
            raise OverflowError(f"{offsets[-1]} bytes in one column of a batch")
        return offsets.astype(np.int32), texts.reshape(-1)

    def _refuse(self, places: Numbers) -> None:
        """Refuse the records in which these places of the data are."""
        self.bad[np.searchsorted(self.payloads.ends, places, side="right")] = True

    def _part(self, pool: Words, column: int, size: int) -> Words:
        base = int(self.pools.bases[column])
        return pool[base : base + size]


def _array(
    arrow: pa.DataType, offsets: Words, joined: Octets, validity: pa.Buffer | None
) -> pa.Array:
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(joined)]
    return pa.Array.from_buffers(arrow, len(offsets) - 1, buffers)


def _is_ascii(octets: Octets) -> bool:
    """True if no byte has its highest bit, as in most texts: then all are UTF-8, at one look."""
    return not (octets.view(np.int8) < 0).any()
