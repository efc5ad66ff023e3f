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
from penstock.datapath.codec.shared.cursors import Lanes

WIDTHS = {FOUR_BYTES: 4, EIGHT_BYTES: 8}
_WIRES = (VARINT, LENGTH, FOUR_BYTES, EIGHT_BYTES)
_MOST_UNKNOWN = 16  # each takes a round


@dataclass(frozen=True, slots=True)
class Tag:
    """The bytes before a field, as a number of `width` bytes."""

    word: int
    width: int

    def found(self, lanes: Lanes) -> Mask:
        """Where a field comes next; its tag is stepped over there. Never in a refused record."""
        if self.width == 1:
            here: Mask = (lanes.data[lanes.at] == self.word) & (lanes.at < lanes.end)
        else:
            word = overlapping(lanes.data, "<u8")[lanes.at] & np.uint64(256**self.width - 1)
            here = (word == np.uint64(self.word)) & (lanes.at + self.width <= lanes.end)
        lanes.at = lanes.at + (here if self.width == 1 else here * self.width)
        return here


def tag_of(number: int, wire: int) -> Tag:
    left, raw = (number << 3) | wire, bytearray()
    while left >= 128:
        raw.append(left & 127 | 128)
        left >>= 7
    raw.append(left)
    return Tag(int.from_bytes(raw, "little"), len(raw))


def spans(lanes: Lanes, present: Mask) -> tuple[Numbers, Numbers]:
    """Step over a length and as many bytes; where they begin and end. Nothing where it is not."""
    if present.all():
        length = lanes.varints().view(np.int64)
    else:
        length = np.zeros(len(lanes), np.int64)
        mine = np.flatnonzero(present)
        some = lanes.some(mine)
        length[mine] = some.varints().view(np.int64)
        lanes.put(mine, some)
    return lanes.spans(length)


def over(lanes: Lanes, wire: int) -> tuple[Numbers, Numbers]:
    """Step over a value; where it begins and ends."""
    if wire == LENGTH:
        return spans(lanes, np.ones(len(lanes), bool))
    start = lanes.at
    if wire == VARINT:
        lanes.varints()
    else:
        lanes.skip(WIDTHS[wire])
    return start, lanes.at


def skip_unknown(lanes: Lanes, known: Numbers) -> None:
    """Step over fields at the end that the schema does not have: those of a newer schema.

    A field that it has, which is out of order then, and anything that is no field are refused.
    """
    for _ in range(_MOST_UNKNOWN):
        mine = np.flatnonzero(lanes.at < lanes.end)
        if len(mine) == 0:
            return
        some = lanes.some(mine)
        tag = some.varints()
        number, wire = (tag >> np.uint64(3)).astype(np.int64), (tag & np.uint64(7)).astype(np.int64)
        some.refuse((number < 1) | (number > LAST_NUMBER) | np.isin(number, known))
        some.refuse(~np.isin(wire, _WIRES))
        for each in _WIRES:
            chosen = np.flatnonzero((wire == each) & ~some.bad)
            part = some.some(chosen)
            over(part, each)
            some.put(chosen, part)
        lanes.put(mine, some)
