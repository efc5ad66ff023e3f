"""Avro records that lie end to end, as in the blocks of a file, to Arrow columns within bounds.

Whoever reads blocks knows how many records each has, but not where one ends and the next begins:
that shows only when they are read, by the compiled loop for single records.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.avro.program import Program, RecordProgram
from penstock.datapath.codec.avro.program_reader import read_record
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets, Words, overlapping
from penstock.datapath.codec.shared.column_pools import (
    BEFORE,
    CAPACITY,
    COUNT,
    FLAGS,
    NUMBERS,
    OWN,
    WANTED,
    ItemRates,
    Pools,
)
from penstock.datapath.codec.shared.column_tree import ColumnMaker
from penstock.datapath.codec.shared.compiled import compiled
from penstock.datapath.codec.shared.compiled_bytes import Payloads

POOL_BYTES = 8 << 20  # for the values of one piece
MOST_BYTES = 1 << 30  # for those of one record
_ROWS = OWN + 3
_PAD = 16
_WRONG = -2


class RecordsBroken(ValueError):
    """Bytes that are not records of the schema, end to end."""


@dataclass(slots=True)
class RunReader:
    """Reads records of one schema, piece by piece. One thread."""

    program: RecordProgram
    _rates: ItemRates = field(init=False)
    _widths: Numbers = field(init=False)

    def __post_init__(self) -> None:
        layout = self.program.layout
        self._rates = ItemRates(np.zeros(layout.level_count))
        self._widths = np.zeros(layout.level_count, np.int64)
        for kind, level, width in zip(layout.kinds, layout.levels, layout.widths, strict=True):
            bytes_each = {NUMBERS: 8, FLAGS: 1}.get(kind, 12)
            self._widths[level] += bytes_each * width

    def pieces(
        self, data: Octets, count: int, columns: Sequence[int], most_rows: int
    ) -> Iterator[list[pa.Array]]:
        """Some columns of so many records, as many at a time as have room in memory.

        Raises `RecordsBroken`, also if there are bytes behind the last record.
        """
        padded = np.concatenate((data, np.zeros(_PAD, np.uint8)))
        words, at, rows = overlapping(padded, "<i8"), 0, 0
        while rows < count:
            wanted = min(count - rows, most_rows, self._rows_within(POOL_BYTES))
            run = self._run(padded, words, at, len(data), wanted)
            yield [self._array(run, number) for number in columns]
            at, rows = int(run.payloads.ends[-1]), rows + len(run.payloads.ends)
        if at != len(data):
            raise RecordsBroken(f"{len(data) - at} bytes behind the last record of a block")

    def _run(self, data: Octets, words: Words, at: int, end: int, wanted: int) -> ColumnMaker:
        """As many of the next records as their items have room for, and at least one."""
        layout = self.program.layout
        capacity = self._rates.capacity(wanted)
        while True:
            begins, ends = np.zeros(wanted, np.int64), np.full(wanted, end)
            begins[0] = at
            payloads = Payloads(data, words, begins, ends, end)
            walk = np.zeros((_ROWS, layout.level_count), np.int64)
            walk[CAPACITY] = capacity
            pools = layout.allocate(capacity)
            found = read_run(self.program.program, payloads, pools, walk)
            if found == _WRONG:
                raise RecordsBroken("a record that does not have the schema of the file")
            if found:
                self._rates.learn(walk[COUNT], found)
                part = payloads._replace(begins=begins[:found], ends=ends[:found])
                return ColumnMaker(part, pools, walk[COUNT], np.zeros(found, bool))
            wanted = 1
            capacity = np.where(walk[WANTED] > 0, 2 * capacity, capacity)
            capacity[0] = wanted
            if int((capacity * self._widths).sum()) > MOST_BYTES:
                raise RecordsBroken("a record with more items than any that was written")

    def _array(self, run: ColumnMaker, number: int) -> pa.Array:
        made = run.make(self.program.nodes[number])
        if run.bad.any():
            raise RecordsBroken("a text that is not UTF-8")
        return made

    def _rows_within(self, most_bytes: int) -> int:
        """How many records have room, if all are like those before; at least one."""
        items = self._rates.per_record * self._widths
        return max(1, int(most_bytes // max(1.0, self._widths[0] + items.sum())))


@compiled
def read_run(program: Program, payloads: Payloads, pools: Pools, walk: Numbers) -> int:
    """Read records until a level is full: how many there are room for; _WRONG if one is broken.

    Where records end is written into the payloads, which have the end of the block there first.
    """
    levels, count = walk.shape[1], len(payloads.begins)
    for row in range(count):
        walk[COUNT, 0] = row + 1
        for level in range(1, levels):
            walk[BEFORE, level] = walk[COUNT, level]
        end = payloads.ends[row]
        at = read_record(program, payloads, pools, walk, row)
        if at == -1:
            walk[COUNT, 0] = row
            for level in range(1, levels):
                walk[COUNT, level] = walk[BEFORE, level]
            return row
        if at > end:
            return _WRONG
        payloads.ends[row] = at
        if row + 1 < count:
            payloads.begins[row + 1] = at
    return count
