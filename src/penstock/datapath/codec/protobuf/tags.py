"""Protobuf's tags at many cursors: which field comes next, how long it is, and how to get past it.

A tag is the number of a field and, in its lowest three bits, how the value is written.
"""

from dataclasses import dataclass

import numpy as np

from penstock.datapath.codec.protobuf.types import (
    EIGHT_BYTES,
    FOUR_BYTES,
    LAST_NUMBER,
    LENGTH,
    VARINT,
)
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers, overlapping
from penstock.datapath.codec.shared.cursors import Cursors

WIDTHS = {FOUR_BYTES: 4, EIGHT_BYTES: 8}
_WIRES = (VARINT, LENGTH, FOUR_BYTES, EIGHT_BYTES)
_MOST_UNKNOWN = 16  # each takes a round


@dataclass(frozen=True, slots=True)
class Tag:
    """The bytes before a field, as a number of `width` bytes."""

    word: int
    width: int

    def found(self, cursors: Cursors) -> Mask:
        """Where a field comes next; its tag is stepped over there. Never in a refused record."""
        if self.width == 1:
            here: Mask = (cursors.data[cursors.at] == self.word) & (cursors.at < cursors.end)
        else:
            word = overlapping(cursors.data, "<u8")[cursors.at] & np.uint64(256**self.width - 1)
            here = (word == np.uint64(self.word)) & (cursors.at + self.width <= cursors.end)
        cursors.at = cursors.at + (here if self.width == 1 else here * self.width)
        return here


def tag_of(number: int, wire: int) -> Tag:
    left, raw = (number << 3) | wire, bytearray()
    while left >= 128:
        raw.append(left & 127 | 128)
        left >>= 7
    raw.append(left)
    return Tag(int.from_bytes(raw, "little"), len(raw))


def length_ranges(cursors: Cursors, present: Mask) -> tuple[Numbers, Numbers]:
    """Step over a length and as many bytes; where they begin and end. Nothing where it is not."""
    if present.all():
        length = cursors.varints().view(np.int64)
    else:
        length = np.zeros(len(cursors), np.int64)
        mine = np.flatnonzero(present)
        some = cursors.some(mine)
        length[mine] = some.varints().view(np.int64)
        cursors.put(mine, some)
    return cursors.byte_ranges(length)


def skip_value(cursors: Cursors, wire: int) -> tuple[Numbers, Numbers]:
    """Step over a value; where it begins and ends."""
    if wire == LENGTH:
        return length_ranges(cursors, np.ones(len(cursors), bool))
    start = cursors.at
    if wire == VARINT:
        cursors.varints()
    else:
        cursors.skip(WIDTHS[wire])
    return start, cursors.at


def skip_unknown(cursors: Cursors, known: Numbers) -> None:
    """Step over fields at the end that the schema does not have: those of a newer schema.

    A field that it has, which is out of order, and anything that is not a field are refused.
    """
    for _ in range(_MOST_UNKNOWN):
        mine = np.flatnonzero(cursors.at < cursors.end)
        if len(mine) == 0:
            return
        some = cursors.some(mine)
        tag = some.varints()
        number, wire = (tag >> np.uint64(3)).astype(np.int64), (tag & np.uint64(7)).astype(np.int64)
        some.refuse((number < 1) | (number > LAST_NUMBER) | np.isin(number, known))
        some.refuse(~np.isin(wire, _WIRES))
        for each in _WIRES:
            chosen = np.flatnonzero((wire == each) & ~some.bad)
            part = some.some(chosen)
            skip_value(part, each)
            some.put(chosen, part)
        cursors.put(mine, some)
