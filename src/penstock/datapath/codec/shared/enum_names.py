"""The names of enums by their numbers: as tables, and as bytes of which columns are made.

Enums are written as numbers. Of each, the table has how many it has, its numbers in order, and for
each number the place of its name, in which a compiled loop looks by halving.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.compiled import inlined
from penstock.datapath.codec.shared.value_types import Integer


@dataclass(slots=True)
class EnumNames:
    """The tables of all enums of one schema, end to end, and all their names."""

    numbers: list[int] = field(default_factory=list)
    symbols: bytearray = field(default_factory=bytearray)

    def add(self, names: Mapping[int, str]) -> tuple[int, tuple[Numbers, Numbers]]:
        """Where the table of an enum begins; and its names as pieces of bytes, the first first."""
        first, begins, sizes = len(self.numbers), [], []
        for name in names.values():
            begins.append(len(self.symbols))
            self.symbols += name.encode()
            sizes.append(len(self.symbols) - begins[-1])
        places = {number: place for place, number in enumerate(names)}
        ordered = sorted(names)
        self.numbers += [len(places), *ordered, *(places[each] for each in ordered)]
        return first, (np.array(begins, np.int64), np.array(sizes, np.int64))

    def table(self) -> Numbers:
        """All tables as one array, which is never empty."""
        return np.array([*self.numbers, 0], np.int64)


@inlined
def find_name(names: Numbers, table: int, number: int) -> Integer:
    """The place of a number among an enum's symbols, by halving; -1 if it has no name."""
    count = names[table]
    low, high = table + 1, table + count
    while low < high:
        middle = (low + high) // 2
        if names[middle] < number:
            low = middle + 1
        else:
            high = middle
    return names[low + count] if names[low] == number else np.int64(-1)
