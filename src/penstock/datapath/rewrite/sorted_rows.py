"""Rows in the order of partitions, offsets and row numbers, whatever their number.

What comes is sorted in runs of bounded size. Runs but the only one wait on the task's own disk, in
blocks; in the end one block of each run is in memory, and whatever lies before the end of all of
these blocks is next. Nothing rests on the order in which rows come, although files have theirs in
order: then sorting a run finds nothing to do.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.datapath.stage.spool import Place, Spool
from penstock.model.fork import ROW_COLUMN

RUN_BYTES = 64 << 20
BLOCK_BYTES = 2 << 20

Key = tuple[int, int, int]  # a partition, an offset, the number of a row
Column = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Block:
    """Some rows of a run that wait."""

    first: Key
    last: Key
    place: Place


class SortedRows:
    """Takes the rows of one topic, all with the same columns; then gives them in order. Once."""

    def __init__(self, run_bytes: int = RUN_BYTES, block_bytes: int = BLOCK_BYTES) -> None:
        self._run_bytes = run_bytes
        self._block_bytes = block_bytes
        self._spool = Spool()
        self._runs: list[list[_Block]] = []
        self._waiting: list[pa.RecordBatch] = []
        self._size = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Take rows, in any order."""
        if rows.num_rows:
            self._waiting.append(rows)
            self._size += rows.nbytes
        if self._size >= self._run_bytes:
            self._end_run()

    def in_order(self) -> Iterator[pa.RecordBatch]:
        """All rows, in batches."""
        if not self._runs:
            if self._waiting:
                yield from self._blocks(self._sorted())
            return
        if self._waiting:
            self._end_run()
        yield from self._merged([_Cursor(self._spool, run) for run in self._runs])

    def clear(self) -> None:
        """Give the memory and the place on the disk back; safe to repeat."""
        self._waiting, self._runs, self._size = [], [], 0
        self._spool.clear()

    def _end_run(self) -> None:
        run = []
        for rows in self._blocks(self._sorted()):
            keys = keys_of(rows)
            place = self._spool.put(pa.Table.from_batches([rows]))
            run.append(_Block(keys.at(0), keys.at(-1), place))
        self._runs.append(run)

    def _sorted(self) -> pa.RecordBatch:
        rows = pa.concat_batches(self._waiting)
        self._waiting, self._size = [], 0
        return in_order(rows)

    def _blocks(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Some rows in slices of about the same bytes each."""
        count = max(1, self._block_bytes * rows.num_rows // max(1, rows.nbytes))
        for start in range(0, rows.num_rows, count):
            yield rows.slice(start, count)

    def _merged(self, cursors: list["_Cursor"]) -> Iterator[pa.RecordBatch]:
        while left := [each for each in cursors if not each.is_over]:
            bound = min(each.last for each in left)
            # A run that begins later need not be read yet.
            parts = [each.up_to(bound) for each in left if each.first <= bound]
            yield in_order(pa.concat_batches(parts))


class _Cursor:
    """How far a run was given out. Its block of now is in memory only while it is read."""

    def __init__(self, spool: Spool, run: list[_Block]) -> None:
        self._spool = spool
        self._left = list(reversed(run))
        self._rows: pa.RecordBatch | None = None

    @property
    def is_over(self) -> bool:
        """True when all of it was given out."""
        return not self._left

    @property
    def first(self) -> Key:
        """The position of the next row."""
        return self._left[-1].first if self._rows is None else keys_of(self._rows).at(0)

    @property
    def last(self) -> Key:
        """The position of the last row of the block of now."""
        return self._left[-1].last

    def up_to(self, bound: Key) -> pa.RecordBatch:
        """The next rows of the block of now, up to a position, which is one of them or after."""
        if self._rows is None:
            (self._rows,) = self._spool.get(self._left[-1].place).to_batches()
        count = keys_of(self._rows).count_up_to(bound)
        found = self._rows.slice(0, count)
        self._rows = self._rows.slice(count)
        if self._rows.num_rows == 0:
            self._rows = None
            self._left.pop()
        return found


@dataclass(frozen=True, slots=True)
class Keys:
    """The positions of some rows of one topic, as columns."""

    partitions: Column
    offsets: Column
    rows: Column

    def at(self, number: int) -> Key:
        """One of them."""
        return (
            int(self.partitions[number]), int(self.offsets[number]), int(self.rows[number])
        )  # fmt: skip

    def count_up_to(self, bound: Key) -> int:
        """How many are at a position or before it; they are in order."""
        partition, offset, row = bound
        is_in = self.offsets < offset
        is_in |= (self.offsets == offset) & (self.rows <= row)
        is_in &= self.partitions == partition
        is_in |= self.partitions < partition
        return int(is_in.sum())

    def are_in_order(self) -> bool:
        """True when none is before the one that it follows."""
        steps = np.diff(self.partitions)
        offset_steps, row_steps = np.diff(self.offsets), np.diff(self.rows)
        is_later = (steps == 0) & ((offset_steps > 0) | ((offset_steps == 0) & (row_steps >= 0)))
        return bool((is_later | (steps > 0)).all())


def keys_of(rows: pa.RecordBatch) -> Keys:
    """The positions of some rows."""
    numbers = rows.schema.names.count(ROW_COLUMN)
    offsets = rows["_offset"].to_numpy()
    return Keys(
        rows["_partition"].to_numpy().astype(np.int64),
        offsets,
        rows[ROW_COLUMN].fill_null(0).to_numpy().astype(np.int64)
        if numbers
        else np.zeros(len(offsets), np.int64),
    )


def in_order(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows in the order of their positions."""
    keys = keys_of(rows)
    if keys.are_in_order():
        return rows
    return rows.take(pa.array(np.lexsort((keys.rows, keys.offsets, keys.partitions))))
