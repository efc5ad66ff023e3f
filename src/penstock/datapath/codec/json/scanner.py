"""Records of one dataset to columns, by the scanner: memory, chunks, and what was met on the way.

A chunk holds at most `MOST_AT_ONCE` values, so that memory is bounded by more than bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.json import scan_layout as layout
from penstock.datapath.codec.json.decode_plan import DecodePlan
from penstock.datapath.codec.json.inference import is_learnable, may_be_column
from penstock.datapath.codec.json.partial_decode import value_at_text
from penstock.datapath.codec.json.scan_columns import ScannedColumns, texts_at
from penstock.datapath.codec.json.scan_kernel import scan_records
from penstock.datapath.codec.json.scan_tables import AskedField, ScanPlan
from penstock.datapath.codec.shared.buffers import buffers_of, is_utf8
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers, Octets
from penstock.datapath.codec.shared.machine_words import PADDING
from penstock.datapath.codec.shared.value_count import MOST_AT_ONCE
from penstock.datapath.codec.shared.value_types import ColumnValue
from penstock.model.event_paths import path_below
from penstock.model.pinned_types import TypeTree
from penstock.model.read_ways import LONG_NAME, ReadCounts

_LOG_SHARE = 8  # bytes of records for each entry that the log has room for, to begin with
_FEWEST = 1_024


@dataclass(frozen=True, slots=True)
class Payloads:
    """Records for the scanner: their bytes end to end, padded, and where each lies.

    `is_text` is False for those that are not UTF-8, which the scanner does not see.
    """

    data: Octets
    starts: Numbers
    ends: Numbers
    is_text: Mask

    @staticmethod
    def of(values: pa.Array) -> "Payloads":
        """The payloads of an array of bytes."""
        data, offsets = buffers_of(values)
        whole = np.empty(len(data) + PADDING, np.uint8)
        whole[: len(data)] = data
        whole[len(data) :] = 0
        return Payloads(whole, offsets[:-1], offsets[1:], _are_texts(values))

    def take(self, rows: Numbers) -> "Payloads":
        """Some of them."""
        return Payloads(self.data, self.starts[rows], self.ends[rows], self.is_text[rows])


def _are_texts(values: pa.Array) -> Mask:
    """Which payloads are UTF-8; each is looked at alone only if the batch is not."""
    try:
        values.cast(pa.large_string())
    except pa.ArrowInvalid:
        return np.array([is_utf8(payload) for payload in values.to_pylist()], np.bool_)
    return np.ones(len(values), np.bool_)


@dataclass(frozen=True, slots=True)
class Scanned:
    """A chunk of records.

    members      the numbers of the records that were read
    left         those that were not
    tags         of `left`, where the route's field has another text, or -1
    batch        the columns, and `_rest`
    fields       the values of the fields that were asked for: a column, or a list
    unknown      paths of fields without a column that could be given one, with the first record
                 that shows each: its place in `members`, as in `counts`
    """

    members: Numbers
    left: Numbers
    tags: Numbers
    batch: pa.RecordBatch
    fields: dict[str, list[ColumnValue] | pa.Array]
    unknown: dict[str, int]
    counts: ReadCounts


def scan(
    payloads: Payloads, plan: DecodePlan, tables: ScanPlan, types: TypeTree | None = None
) -> Iterator[Scanned]:
    """Read records, chunk by chunk. `types` are settled by the configuration."""
    first, count = 0, len(payloads.starts)
    most = max(MOST_AT_ONCE // int(tables.cells[layout.FLAT_ROWS]), 1)
    while first < count:
        some = slice(first, min(first + most, count))
        chunk = _Chunk(payloads, some, tables)
        read = chunk.read()
        yield chunk.scanned(plan, first, read, types or TypeTree())
        first += read


class _Chunk:
    """Some records on their way through the scanner."""

    def __init__(self, payloads: Payloads, some: slice, tables: ScanPlan) -> None:
        self._starts = np.ascontiguousarray(payloads.starts[some])
        self._ends = np.ascontiguousarray(payloads.ends[some])
        refused = ~payloads.is_text[some]
        self._statuses = np.where(refused, layout.REFUSED, layout.READ).astype(np.int64)
        self._tags = np.full(len(self._starts), -1, np.int64)
        self._tables = tables
        size = int((self._ends - self._starts).sum())
        self._scan = _memory(tables, payloads.data, len(self._starts), size)

    def read(self) -> int:
        """Let the scanner read as many as there is room for; how many it has tried."""
        count, first, cells = len(self._starts), 0, self._scan.cells
        while True:
            first = scan_records(
                self._scan, self._starts, self._ends, first, self._statuses, self._tags
            )
            if first == count or cells[layout.ITEM_VALUES] > 2 * cells[layout.MAX_VALUES]:
                return int(first)
            self._grow(int(self._ends[first] - self._starts[first]))

    def _grow(self, size: int) -> None:
        """Make room for a record of this size."""
        log, rest = self._scan.log, self._scan.rest
        more = np.empty(2 * (len(log) + size + _FEWEST), np.int64)
        more[: len(log)] = log
        longer = np.empty(2 * len(rest) + size + _FEWEST, np.uint8)
        longer[: len(rest)] = rest
        self._scan = self._scan._replace(log=more, rest=longer)
        self._scan.cells[layout.LOG_ROOM] = len(more) // 2
        self._scan.cells[layout.REST_ROOM] = len(longer)

    def scanned(self, plan: DecodePlan, first: int, read: int, types: TypeTree) -> Scanned:
        """What became of the records, of which the first has this number."""
        self._convert_later()
        statuses = self._statuses[:read]
        good = np.flatnonzero(statuses == layout.READ)
        left = np.flatnonzero(statuses != layout.READ)
        columns = ScannedColumns(self._tables, self._scan)
        rest = texts_at(self._scan.rest, self._scan.rest_at[: len(good)])
        batch = pa.RecordBatch.from_arrays([*columns.members(0), rest], schema=plan.schema)
        fields = {path: self._values(asked, columns) for path, asked in self._tables.asked.items()}
        unknown, counts = self._unknown(types)
        counts.fast = len(good)
        return Scanned(good + first, left + first, self._tags[left], batch, fields, unknown, counts)

    def _convert_later(self) -> None:
        """Convert the doubles that the scanner has left."""
        cells, scan = self._scan.cells, self._scan
        count = int(cells[layout.LATER_USED])
        later = cells[layout.LATER : layout.LATER + 4 * count].reshape(-1, 4)
        for row, place, start, end in later.tolist():
            bits = np.float64(self._text(start, end)).view(np.int64)
            if row >= 0:
                scan.values[row * int(cells[layout.STRIDE]) + place] = bits
            else:
                scan.log[2 * place + 1] = bits

    def _text(self, start: int, end: int) -> bytes:
        return self._scan.data[start:end].tobytes()

    def _values(self, asked: AskedField, columns: ScannedColumns) -> list[ColumnValue] | pa.Array:
        """The plain values of a field, as a look at it gives them."""
        row = int(self._tables.nodes[asked.node, layout.CAPTURE])
        start = row * int(self._scan.cells[layout.STRIDE])
        captured = self._scan.values[start : start + columns.rows]
        odd = np.flatnonzero(captured >= 0)
        if asked.is_column and not len(odd):
            return columns.array(asked.node)
        found: list[ColumnValue] = [None] * columns.rows
        if asked.is_column:
            found = columns.array(asked.node).to_pylist()
        for at, text in zip(odd.tolist(), captured[odd].tolist(), strict=True):
            start = text >> 32
            found[at] = value_at_text(
                self._text(start, start + (text >> 1 & 0x7FFFFFFF)), asked.below
            )
        return found

    def _unknown(self, types: TypeTree) -> tuple[dict[str, int], ReadCounts]:
        """The fields that could be given a column, and counts of what went to `_rest`."""
        cells = self._scan.cells
        counts = ReadCounts(empty=int(cells[layout.EMPTY_VALUES]))
        unknown: dict[str, int] = {}
        if cells[layout.REST_USED] == 0:
            return unknown, counts
        end = layout.BY_NODE + len(self._tables.shapes) * layout.BY_NODE_FIELDS
        by_node = cells[layout.BY_NODE : end].reshape(-1, layout.BY_NODE_FIELDS)
        conflicts = by_node[:, layout.CONFLICTS :]
        for node, found in zip(*np.nonzero(conflicts[:, : layout.KINDS]), strict=True):
            shape = self._tables.shapes[node]
            wanted = "" if shape is None else shape.type.kind
            misfit = (self._tables.paths[node], wanted, layout.FOUND[found])
            earliest = int(conflicts[node, layout.KINDS + found])
            counts.add_misfit(misfit, earliest, int(conflicts[node, found]))
        met = cells[layout.MET : layout.BY_NODE].reshape(-1, layout.MET_FIELDS)
        for place in np.flatnonzero(met[:, layout.MET_TRIES]).tolist():
            self._unknown_field(met[place].tolist(), types, unknown, counts)
        return unknown, counts

    def _unknown_field(
        self, met: list[int], types: TypeTree, unknown: dict[str, int], counts: ReadCounts
    ) -> None:
        """One field without a column."""
        name = self._text(met[layout.MET_KEY], met[layout.MET_KEY_END]).decode()
        path = path_below(self._tables.paths[met[layout.MET_NODE]], name)
        is_short = may_be_column(name)
        for kind, found in enumerate(layout.FOUND):
            records = met[layout.MET_COUNTS + kind]
            if records:
                misfit = (path, "", found if is_short else LONG_NAME)
                counts.add_misfit(misfit, met[layout.MET_FIRSTS + kind], records)
        for number, start, end in _tries(met) if is_short else ():
            if is_learnable(self._text(start, end), types.at(path)):
                unknown[path] = number
                return


def _tries(met: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """The values that were kept of an unknown field: number of the record, start, end."""
    for each in range(met[layout.MET_TRIES]):
        at = layout.MET_VALUES + 3 * each
        yield met[at], met[at + 1], met[at + 2]


def _memory(tables: ScanPlan, data: Octets, records: int, size: int) -> layout.Scan:
    """Memory for so many records of so many bytes."""
    rows, lists = int(tables.cells[layout.FLAT_ROWS]), int(tables.cells[layout.LISTS])
    # An odd number of cache lines, so that columns do not compete for the same places in a cache.
    stride = (records + 7) // 8 * 8 | 8
    by_node = len(tables.shapes) * layout.BY_NODE_FIELDS
    cells = np.zeros(layout.BY_NODE + by_node + 2 * lists, np.int64)
    cells[: len(tables.cells)] = tables.cells
    entries = size // _LOG_SHARE + _FEWEST
    cells[layout.STRIDE] = stride
    cells[layout.LOG_ROOM] = cells[layout.REST_ROOM] = entries
    return layout.Scan(
        data=data,
        nodes=tables.nodes.reshape(-1),
        links=tables.links,
        names=tables.names,
        cells=cells,
        values=np.empty((rows + int(tables.cells[layout.CAPTURES])) * stride, np.int64),
        valid=np.zeros(rows * stride, np.uint8),
        log=np.empty(2 * entries, np.int64),
        rest=np.empty(entries, np.uint8),
        rest_at=np.empty(stride, np.int64),
        scratch=np.empty(layout.SCRATCH + PADDING, np.uint8),
    )
