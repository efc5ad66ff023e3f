"""How many values a Protobuf record becomes, by a bound: every item has a tag of its own.

The first byte of a tag has the lowest seven bits of the tag, however many bytes it is written in.
So a message in a list or a map is nowhere without a byte of these bits, and counting such bytes
counts too many items, but never too few.
"""

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.buffers import buffers_of
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers, Octets
from penstock.datapath.codec.shared.value_count import ValueCounter

_SHORTEST_ITEM = 2  # a tag and a length
_BITS = np.uint8(127)
_BLOCK = 1 << 18


def proto_value_counter(width: int, widest: int, tags: frozenset[int]) -> ValueCounter:
    """Weighs records whose lists of messages have these tags."""
    marks = sorted({tag & 127 for tag in tags})

    def items_in(data: Octets) -> int:
        starts = range(0, len(data), _BLOCK)
        return sum(int(np.count_nonzero(_marked(data[at : at + _BLOCK], marks))) for at in starts)

    def items_of_each(values: pa.Array) -> Numbers:
        data, offsets = buffers_of(values)
        found = np.flatnonzero(_marked(data, marks))
        return np.diff(np.searchsorted(found, offsets))

    return ValueCounter(width, widest, _SHORTEST_ITEM, items_in, items_of_each)


def _marked(data: Octets, marks: list[int]) -> Mask:
    bits, (first, *others) = data & _BITS, marks
    found: Mask = bits == first
    for mark in others:
        found |= bits == mark
    return found
