"""Pieces of bytes in the pools of a compiled loop, compared. Compiled."""

from penstock.datapath.codec.shared.byte_gather import Octets
from penstock.datapath.codec.shared.column_pools import Pools
from penstock.datapath.codec.shared.compiled import inlined


@inlined
def is_same_piece(data: Octets, pools: Pools, one: int, other: int) -> bool:
    """Whether two pieces have the same bytes."""
    size = pools.sizes[one]
    if size != pools.sizes[other]:
        return False
    first, second = pools.starts[one], pools.starts[other]
    same = 0
    while same < size and data[first + same] == data[second + same]:
        same += 1
    return bool(same == size)
