"""Memory into which compiled loops read records: a few long arrays that hold all columns.

A compiled function is compiled again for every other type of its arguments, so it is given the
same few arrays whatever the schema is. Every column is a part of one of them:

    numbers   8 bytes per value, or twice 8 for a decimal
    flags     1 byte per value: booleans, and whether there is a value
    pieces    where a text or bytes begin in the data, and their size; of a list only how many items

A column belongs to a level: level 0 has a place for every record, each list or map has a level of
its own with a place for every item. Everything is zero at first, so that what is absent need not be
written. Only the number of records is known before; a level that is full is made larger.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from penstock.datapath.codec.shared.byte_gather import Numbers, Octets, Words

NUMBERS, FLAGS, PIECES = 0, 1, 2
# The rows of a walk, which is a loop's account of the levels: how many places of each are taken,
# how many there are, and were taken before this record, and whether it needs more. The rows behind
# these are the loop's own.
COUNT, CAPACITY, BEFORE, WANTED, OWN = range(5)
_ROWS = OWN + 3
_FEWEST_PLACES = 256


class Pools(NamedTuple):
    """The arrays. `bases` says where each column begins in that of its kind."""

    bases: Numbers
    numbers: Numbers
    flags: Octets
    starts: Numbers
    sizes: Words


@dataclass(slots=True)
class PoolLayout:
    """Which columns there are, in the order in which a program was made for them."""

    kinds: list[int] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    level_count: int = 1

    def add_level(self) -> int:
        """A level for the items of a list or map."""
        self.level_count += 1
        return self.level_count - 1

    def add_column(self, kind: int, level: int, width: int = 1) -> int:
        """A column, by its number."""
        self.kinds.append(kind)
        self.levels.append(level)
        self.widths.append(width)
        return len(self.kinds) - 1

    def allocate(self, capacity: Numbers) -> Pools:
        """Arrays of zeros, with so many places per level."""
        bases = np.zeros(len(self.kinds), np.int64)
        ends = [0, 0, 0]
        for column, (kind, level, width) in enumerate(
            zip(self.kinds, self.levels, self.widths, strict=True)
        ):
            bases[column] = ends[kind]
            ends[kind] += width * int(capacity[level])
        return Pools(
            bases,
            np.zeros(ends[NUMBERS], np.int64),
            np.zeros(ends[FLAGS], np.uint8),
            np.zeros(ends[PIECES], np.int64),
            np.zeros(ends[PIECES], np.int32),
        )

    def enlarge(self, pools: Pools, counts: Numbers, capacity: Numbers) -> Pools:
        """Larger arrays with what the first places of each level hold."""
        larger = self.allocate(capacity)
        for column, (kind, level, width) in enumerate(
            zip(self.kinds, self.levels, self.widths, strict=True)
        ):
            old, new = int(pools.bases[column]), int(larger.bases[column])
            size = width * int(counts[level])
            for before, after in _arrays_of(kind, pools, larger):
                after[new : new + size] = before[old : old + size]
        return larger


def _arrays_of(kind: int, pools: Pools, larger: Pools) -> list[tuple[Words, Words]]:
    if kind == NUMBERS:
        return [(pools.numbers, larger.numbers)]
    if kind == FLAGS:
        return [(pools.flags, larger.flags)]
    return [(pools.starts, larger.starts), (pools.sizes, larger.sizes)]


@dataclass(slots=True)
class ItemRates:
    """How many items records had per level, so that the next batch starts with enough places."""

    per_record: Words

    def capacity(self, records: int) -> Numbers:
        """Places per level for so many records."""
        found = (self.per_record * records).astype(np.int64) + _FEWEST_PLACES
        found[0] = records
        return found

    def learn(self, counts: Numbers, records: int) -> None:
        """Remember what a batch had, and an eighth more."""
        if records:
            self.per_record = np.maximum(self.per_record * 0.9, counts * (1.125 / records))


def filled(
    layout: PoolLayout,
    rates: ItemRates,
    records: int,
    read_records: Callable[[Pools, Numbers, int], int],
) -> tuple[Pools, Numbers]:
    """Let a loop read all records; what it has filled, and how many places of each level it took.

    The loop is given pools, a walk and the first record. When a level is full it returns the record
    that did not fit, with the counts of before, and later reads that again into larger pools, in
    which the places of that record are zero as they were.
    """
    walk = np.zeros((_ROWS, layout.level_count), np.int64)
    walk[CAPACITY] = rates.capacity(records)
    pools, row = layout.allocate(walk[CAPACITY]), 0
    while (row := read_records(pools, walk, row)) < records:
        walk[COUNT, 0] = row
        likely = walk[COUNT] * records // max(row, 1)
        larger = np.maximum(2 * walk[CAPACITY], likely + likely // 8)
        walk[CAPACITY] = np.where(walk[WANTED] > 0, larger, walk[CAPACITY])
        walk[WANTED] = 0
        pools = layout.enlarge(pools, walk[COUNT], walk[CAPACITY])
    walk[COUNT, 0] = records
    rates.learn(walk[COUNT], records)
    return pools, walk[COUNT]
