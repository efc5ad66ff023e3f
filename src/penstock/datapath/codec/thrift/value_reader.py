"""Single Thrift values, and what stands before them, in the bytes of a record. Compiled."""

import numpy as np

from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.column_pools import COUNT, Pools
from penstock.datapath.codec.shared.compiled import inlined
from penstock.datapath.codec.shared.compiled_bytes import BEYOND, Payloads, varint, zigzag
from penstock.datapath.codec.shared.enum_names import find_name
from penstock.datapath.codec.shared.pool_pieces import is_same_piece
from penstock.datapath.codec.shared.value_types import Integer
from penstock.datapath.codec.thrift.program import (
    ACT,
    EIGHT_BYTES,
    LONG,
    MORE,
    NAME,
    ONE_BYTE,
    OWN_LEVEL,
    PIECE,
    SHORT,
    SIXTEEN_BYTES,
    SIZES,
    TRUTH,
    Program,
)
from penstock.datapath.codec.thrift.types import LAST_NUMBER, NO_WIRE, STOP

LARGEST_INT = 2**31 - 1
_SIGN_8, _SIGN_16, _SIGN_32 = 2**7, 2**15, 2**31
_FIRST_NUMBER = -LAST_NUMBER - 1
_MOST_KEYS = 1024  # of one map: each is compared with all before it


@inlined
def short_at(data: Octets, at: int) -> Integer:
    """A number of two bytes, the highest first, with its sign."""
    found = (np.int64(data[at]) << 8) | np.int64(data[at + 1])
    return (found ^ _SIGN_16) - _SIGN_16


@inlined
def int_at(data: Octets, at: int) -> Integer:
    """A number of four bytes, the highest first, with its sign."""
    found = (
        (np.int64(data[at]) << 24)
        | (np.int64(data[at + 1]) << 16)
        | (np.int64(data[at + 2]) << 8)
        | np.int64(data[at + 3])
    )
    return (found ^ _SIGN_32) - _SIGN_32


@inlined
def long_at(data: Octets, at: int) -> Integer:
    """A number of eight bytes, the highest first; of a double its bits."""
    return (
        (np.int64(data[at]) << 56)
        | (np.int64(data[at + 1]) << 48)
        | (np.int64(data[at + 2]) << 40)
        | (np.int64(data[at + 3]) << 32)
        | (np.int64(data[at + 4]) << 24)
        | (np.int64(data[at + 5]) << 16)
        | (np.int64(data[at + 6]) << 8)
        | np.int64(data[at + 7])
    )


@inlined
def read_header(
    program: Program, data: Octets, at: int, last: int
) -> tuple[Integer, Integer, Integer]:
    """The type and the number of the next field, and where its value begins.

    `last` is the number of the field before. Of a struct's end the type is STOP. BEYOND for what
    cannot be a number; a type that cannot be is NO_WIRE, or one that no field has.
    """
    head = np.int64(data[at])
    if not program.is_compact:
        if head == STOP:
            return head, np.int64(0), at + 1
        return head, short_at(data, at + 1), at + 3
    wire = program.field_wires[head & 15]
    if head >> 4:
        number, at = last + (head >> 4), at + 1
    elif head == STOP:
        return np.int64(STOP), np.int64(0), at + 1
    else:
        number, at = zigzag(data, at + 1)
    if wire == STOP or number < _FIRST_NUMBER or number > LAST_NUMBER:
        return np.int64(NO_WIRE), number, BEYOND
    return wire, number, at


@inlined
def read_size(program: Program, data: Octets, at: int) -> tuple[Integer, Integer]:
    """How many bytes or items follow, and where; BEYOND if that is below zero or too many."""
    if program.is_compact:
        size, at = varint(data, at)
    else:
        size, at = int_at(data, at), at + 4
    if size < 0 or size > LARGEST_INT:
        return np.int64(0), BEYOND
    return size, at


@inlined
def read_list_header(program: Program, data: Octets, at: int) -> tuple[Integer, Integer, Integer]:
    """The type of the items of a list or set, how many there are, and where they begin."""
    head = np.int64(data[at])
    if not program.is_compact:
        size, at = read_size(program, data, at + 1)
        return head, size, at
    wire, size, at = program.item_wires[head & 15], head >> 4, at + 1
    if size == 15:
        size, at = read_size(program, data, at)
    return wire, size, at


@inlined
def read_map_header(
    program: Program, data: Octets, at: int
) -> tuple[Integer, Integer, Integer, Integer]:
    """The types of the keys and values of a map, how many there are, and where they begin."""
    if not program.is_compact:
        size, then = read_size(program, data, at + 2)
        return np.int64(data[at]), np.int64(data[at + 1]), size, then
    size, at = read_size(program, data, at)
    if size == 0:
        return np.int64(NO_WIRE), np.int64(NO_WIRE), size, at
    kinds = np.int64(data[at])
    return program.item_wires[kinds >> 4], program.item_wires[kinds & 15], size, at + 1


@inlined
def read_value(
    program: Program, field: int, payloads: Payloads, pools: Pools, place: int, at: int, end: int
) -> Integer:
    """Read a value that holds no others into its place; where it ends, or BEYOND."""
    fields, data = program.fields, payloads.data
    act = fields[field, ACT]
    if act == PIECE:
        size, at = read_size(program, data, at)
        if size > end - at:
            return BEYOND
        pools.starts[place], pools.sizes[place] = at, size
        return at + size
    if act == SIXTEEN_BYTES:
        if end - at < 16:
            return BEYOND
        pools.starts[place], pools.sizes[place] = at, 16
        return at + 16
    if act == EIGHT_BYTES:
        pools.numbers[place] = payloads.words[at] if program.is_compact else long_at(data, at)
        return at + 8
    if act == ONE_BYTE:
        pools.numbers[place] = (np.int64(data[at]) ^ _SIGN_8) - _SIGN_8
        return at + 1
    if act == TRUTH:
        return read_truth(program, data, pools, place, at)
    found, at = read_whole(program, data, act, at)
    if act == NAME:
        found = find_name(program.names, fields[field, MORE], found)
        if found < 0:
            return BEYOND
    pools.numbers[place] = found
    return at


@inlined
def read_whole(program: Program, data: Octets, act: int, at: int) -> tuple[Integer, Integer]:
    """A whole number of two, four or eight bytes, and where it ends; BEYOND if it has too many."""
    if not program.is_compact:
        if act == LONG:
            return long_at(data, at), at + 8
        if act == SHORT:
            return short_at(data, at), at + 2
        return int_at(data, at), at + 4
    found, at = zigzag(data, at)
    if act == SHORT:
        is_whole = _FIRST_NUMBER <= found <= LAST_NUMBER
    else:
        is_whole = act == LONG or -LARGEST_INT - 1 <= found <= LARGEST_INT
    return found, at if is_whole else BEYOND


@inlined
def read_truth(program: Program, data: Octets, pools: Pools, place: int, at: int) -> Integer:
    """True or false, as an item: the compact protocol has two ways to write false."""
    found = data[at]
    if found > 2 or (found == 2 and not program.is_compact):
        return BEYOND
    pools.flags[place] = found == 1
    return at + 1


@inlined
def is_new_key(
    program: Program, key: int, payloads: Payloads, pools: Pools, walk: Numbers, place: int
) -> bool:
    """False if the last key of a map was there before, or if there are too many to tell."""
    fields = program.fields
    around = walk[COUNT, fields[key, OWN_LEVEL]] - 1
    count = pools.sizes[pools.bases[fields[key, SIZES]] + around]
    if count > _MOST_KEYS:
        return False
    for other in range(place - count + 1, place):
        if fields[key, ACT] == PIECE:
            is_same = is_same_piece(payloads.data, pools, other, place)
        else:
            is_same = pools.numbers[other] == pools.numbers[place]
        if is_same:
            return False
    return True
