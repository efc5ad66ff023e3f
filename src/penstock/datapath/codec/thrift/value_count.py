"""How many values a Thrift record becomes, by a bound: every struct ends with a byte that is zero.

So a record has at most as many structs in its lists, sets and maps as it has such bytes. Items that
are not structs are single values, and take a byte at least.
"""

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.buffers import buffers_of
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.value_count import ValueCounter

_SHORTEST_ITEM = 1  # its end


def thrift_value_counter(width: int, widest: int) -> ValueCounter:
    """Weighs records of so many values, with at most so many in each item."""
    return ValueCounter(width, widest, _SHORTEST_ITEM, _zeros_in, _zeros_of_each)


def _zeros_in(data: Octets) -> int:
    return len(data) - int(np.count_nonzero(data))


def _zeros_of_each(values: pa.Array) -> Numbers:
    data, offsets = buffers_of(values)
    return np.diff(np.searchsorted(np.flatnonzero(data == 0), offsets))
