"""Arrow's columns, made of what was scanned: buffers are cut out of a few long ones.

No value is looked at here. What is done per column is done in microseconds, since there may be
hundreds of columns with a few values each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.datapath.codec.json import scan_layout as layout
from penstock.datapath.codec.json.decode_plan import JsonType
from penstock.datapath.codec.json.scan_gather import (
    gather_texts,
    pack_bits,
    spread_log,
    sum_counts,
    text_sizes,
)
from penstock.datapath.codec.json.scan_tables import ScanPlan
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.machine_words import PADDING

_ALIGNED = 64  # bytes; where buffers of Arrow should begin
_WORD = 8
_TEXTS = frozenset({layout.TEXT, layout.SCALARS, layout.JSON})
_COLLECTIONS = frozenset({layout.LIST, layout.MAP})


def _rounded(size: Numbers) -> Numbers:
    """Sizes up to the next place where a buffer should begin."""
    return (size + _ALIGNED - 1) // _ALIGNED * _ALIGNED


def _begins(sizes: Numbers) -> tuple[Numbers, int]:
    """Where buffers of these sizes begin when they lie one behind the other, and the whole size."""
    ends = np.cumsum(_rounded(sizes))
    starts: Numbers = np.concatenate((np.zeros(1, np.int64), ends[:-1])) if len(sizes) else ends
    return starts, int(ends[-1]) if len(sizes) else 0


@dataclass(slots=True)
class _Values:
    """The values of some nodes in one array: where those of each begin, and how many there are."""

    nodes: list[int]
    values: Numbers
    valid: Octets
    bases: Numbers
    counts: Numbers


class ScannedColumns:
    """The columns of a chunk of records."""

    def __init__(self, plan: ScanPlan, work: layout.Scan) -> None:
        self._plan = plan
        self._kinds: list[int] = plan.nodes[:, layout.KIND].tolist()
        self.rows = int(work.cells[layout.GOOD])
        self._counts: dict[int, int] = {}
        self._numbers: dict[int, Numbers] = {}
        self._validity: dict[int, tuple[pa.Buffer | None, int]] = {}
        self._offsets: dict[int, pa.Buffer] = {}
        self._texts: dict[int, pa.Buffer] = {}
        self._take(self._flat(work), work.data)
        if work.cells[layout.LISTS]:
            self._take(self._listed(work), work.data)

    def _flat(self, work: layout.Scan) -> _Values:
        rows = self._plan.nodes[:, layout.FLAT]
        nodes = np.flatnonzero(rows > 0)  # the event itself has the first row
        bases = rows[nodes] * work.cells[layout.STRIDE]
        counts = np.full(len(nodes), self.rows, np.int64)
        return _Values(nodes.tolist(), work.values, work.valid, bases, counts)

    def _listed(self, work: layout.Scan) -> _Values:
        owners = np.array(self._plan.owners, np.int64)
        nodes = np.flatnonzero(owners >= 0)
        start = len(work.cells) - 2 * int(work.cells[layout.LISTS])
        counts = work.cells[start + owners[nodes]]
        bases, size = _begins(counts)
        values = np.empty(size + PADDING, np.int64)
        valid = np.zeros(size + PADDING, np.uint8)
        by_node = np.zeros(len(owners), np.int64)
        by_node[nodes] = bases
        spread_log(work.log, int(work.cells[layout.LOG_USED]), by_node, values, valid)
        return _Values(nodes.tolist(), values, valid, bases, counts)

    def _take(self, found: _Values, data: Octets) -> None:
        """Make the buffers of some nodes."""
        counts = found.counts.tolist()
        self._counts.update(zip(found.nodes, counts, strict=True))
        for node, base, count in zip(found.nodes, found.bases.tolist(), counts, strict=True):
            self._numbers[node] = found.values[base : base + count]
        self._take_validity(found)
        texts = [at for at, node in enumerate(found.nodes) if self._kinds[node] in _TEXTS]
        if texts:
            self._take_texts(found, texts, data)
        lists = [at for at, node in enumerate(found.nodes) if self._kinds[node] in _COLLECTIONS]
        if lists:
            bases, sizes = found.bases[lists], found.counts[lists]
            offsets = np.empty(int(sizes.sum()) + len(lists), np.int32)
            sum_counts(found.values, found.valid, bases, sizes, offsets)
            self._cut_offsets(found, lists, offsets)

    def _take_validity(self, found: _Values) -> None:
        starts, size = _begins((found.counts + 7) // 8)
        bits = np.empty(size + PADDING, np.uint8)
        clear = np.zeros(len(starts), np.int64)
        pack_bits(found.valid, found.bases, found.counts, bits, starts, clear)
        cut = zip(found.nodes, found.counts.tolist(), starts.tolist(), clear.tolist(), strict=True)
        for node, count, start, nulls in cut:
            buffer = pa.py_buffer(bits[start : start + (count + 7) // 8]) if nulls else None
            self._validity[node] = (buffer, nulls)

    def _take_texts(self, found: _Values, texts: list[int], data: Octets) -> None:
        bases, counts = found.bases[texts], found.counts[texts]
        sizes = np.zeros(len(texts), np.int64)
        text_sizes(found.values, found.valid, bases, counts, sizes)
        starts, size = _begins(sizes)
        out = np.empty(size + PADDING, np.uint8)
        offsets = np.empty(int(counts.sum()) + len(texts), np.int32)
        gather_texts(data, found.values, found.valid, bases, counts, offsets, out, starts)
        ends = self._cut_offsets(found, texts, offsets)
        for at, start, end in zip(texts, starts.tolist(), ends, strict=True):
            self._texts[found.nodes[at]] = pa.py_buffer(out[start : start + end])

    def _cut_offsets(
        self, found: _Values, places: list[int], offsets: npt.NDArray[np.int32]
    ) -> list[int]:
        """Give each column its offsets; the last one of each."""
        start, ends = 0, []
        for place in places:
            node = found.nodes[place]
            size = self._counts[node] + 1
            self._offsets[node] = pa.py_buffer(offsets[start : start + size])
            start += size
            ends.append(int(offsets[start - 1]))
        return ends

    # --- arrays ----------------------------------------------------------------------------------

    def members(self, node: int) -> list[pa.Array]:
        """The columns of the members of an object, in the order of the schema."""
        found, child = [], int(self._plan.nodes[node, layout.FIRST])
        while child >= 0:
            found.append(self.array(child))
            child = int(self._plan.nodes[child, layout.NEXT])
        return found

    def array(self, node: int) -> pa.Array:
        """The column of a node."""
        shape, kind = self._plan.shapes[node], self._kinds[node]
        count = self._counts[node]
        validity, nulls = self._validity[node]
        if shape is None:  # the keys of a map
            buffers = [None, self._offsets[node], self._texts[node]]
            return pa.Array.from_buffers(pa.string(), count, buffers, 0)
        if kind in _TEXTS:
            buffers = [validity, self._offsets[node], self._texts[node]]
            return pa.Array.from_buffers(shape.arrow, count, buffers, nulls)
        if kind == layout.STRUCT:
            children = self.members(node)
            return pa.Array.from_buffers(shape.arrow, count, [validity], nulls, 0, children)
        if kind in _COLLECTIONS:
            buffers, items = [validity, self._offsets[node]], [self._items(node, shape)]
            return pa.Array.from_buffers(shape.arrow, count, buffers, nulls, 0, items)
        numbers = _stored(self._numbers[node], shape)
        return pa.Array.from_buffers(shape.arrow, count, [validity, numbers], nulls)

    def _items(self, node: int, shape: JsonType) -> pa.Array:
        row = self._plan.nodes[node]
        items = self.array(int(row[layout.ITEM]))
        if self._kinds[node] == layout.LIST:
            return items
        keys = self.array(int(row[layout.FIRST]))
        entries = pa.struct([shape.arrow.key_field, shape.arrow.item_field])
        return pa.Array.from_buffers(entries, len(items), [None], 0, 0, [keys, items])


def _stored(numbers: Numbers, shape: JsonType) -> pa.Buffer:
    """Numbers in the form that a column has them in."""
    if shape.type.kind == "boolean":
        return pa.py_buffer(np.packbits(numbers.astype(np.bool_), bitorder="little"))
    if shape.type.kind == "date":
        return pa.py_buffer(numbers.astype(np.int32))
    if shape.type.unit_us != 1:
        return pa.py_buffer(numbers * shape.type.unit_us)
    return pa.py_buffer(numbers)


def texts_at(data: Octets, places: Numbers) -> pa.Array:
    """The texts that lie in some places; null where a place is below zero."""
    valid = (places >= 0).astype(np.uint8)
    count = len(places)
    if not valid.any():
        return pa.nulls(count, pa.string())
    bases, counts = np.zeros(1, np.int64), np.full(1, count, np.int64)
    sizes = np.zeros(1, np.int64)
    text_sizes(places, valid, bases, counts, sizes)
    out, offsets = np.empty(int(sizes[0]) + PADDING, np.uint8), np.empty(count + 1, np.int32)
    gather_texts(data, places, valid, bases, counts, offsets, out, np.zeros(1, np.int64))
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers: Sequence[pa.Buffer] = [bits, pa.py_buffer(offsets), pa.py_buffer(out)]
    return pa.Array.from_buffers(pa.string(), count, buffers)
