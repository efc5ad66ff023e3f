"""Single Protobuf values, and keys of maps, in the pools of a compiled loop. Compiled."""

import numpy as np

from penstock.datapath.codec.protobuf.program import (
    ACT,
    COLUMN,
    EIGHT_BYTES,
    ENTRIES,
    ENTRIES_LEVEL,
    FIRST,
    FOUR_BYTES,
    LEVEL,
    MOMENT,
    MORE,
    NAME,
    PIECE,
    SIGNED_FOUR_BYTES,
    TRUTH,
    UNSIGNED_32,
    UNSIGNED_64,
    UNSIGNED_EIGHT_BYTES,
    VARINT_32,
    VARINT_64,
    ZIGZAG_32,
    Program,
)
from penstock.datapath.codec.protobuf.reference import (
    FIRST_SECOND,
    LAST_SECOND,
    MOST_NANOS,
    MOST_SECONDS,
)
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.column_pools import COUNT, Pools
from penstock.datapath.codec.shared.compiled import inlined
from penstock.datapath.codec.shared.compiled_bytes import BEYOND, Payloads, varint
from penstock.datapath.codec.shared.enum_names import find_name
from penstock.datapath.codec.shared.pool_pieces import is_same_piece
from penstock.datapath.codec.shared.value_types import Integer

_LOW_32 = 2**32 - 1
_SIGN_32 = 2**31
_ALL_BUT_SIGN = 2**63 - 1
_SECONDS_TAG, _NANOS_TAG = 0x08, 0x10
_MOST_KEYS = 1024  # of one map: each is compared with all before it


@inlined
def read_value(
    program: Program, field: int, payloads: Payloads, pools: Pools, place: int, at: int, end: int
) -> Integer:
    """Read a value that is not a message of fields into its place; where it ends, or BEYOND."""
    fields, data = program.fields, payloads.data
    act, column = fields[field, ACT], fields[field, COLUMN]
    if act == PIECE:
        size, at = varint(data, at)
        if size < 0 or size > end - at:
            return BEYOND
        pools.starts[place], pools.sizes[place] = at, size
        return at + size
    if act == EIGHT_BYTES:
        pools.numbers[place] = payloads.words[at]
        return at + 8
    if act == UNSIGNED_EIGHT_BYTES:
        pools.numbers[2 * place - pools.bases[column]] = payloads.words[at]
        return at + 8
    if act == FOUR_BYTES:
        pools.numbers[place] = payloads.words[at] & _LOW_32
        return at + 4
    if act == SIGNED_FOUR_BYTES:
        pools.numbers[place] = signed_32(payloads.words[at])
        return at + 4
    found, then = varint(data, at)
    if act >= MOMENT:
        if found < 0 or found > end - then:
            return BEYOND
        return read_time(data, then, then + found, pools.numbers, place, act == MOMENT)
    if act == TRUTH:
        pools.flags[place] = found != 0
    elif act == UNSIGNED_64:
        pools.numbers[2 * place - pools.bases[column]] = found
    elif act == NAME:
        name = find_name(program.names, fields[field, MORE], signed_32(found))
        if name < 0:
            return BEYOND
        pools.numbers[place] = name
    else:
        pools.numbers[place] = whole_number(act, found)
    return then


@inlined
def signed_32(word: int) -> int:
    """The lowest 32 bits, of which the highest is a sign."""
    return ((word & _LOW_32) ^ _SIGN_32) - _SIGN_32


@inlined
def whole_number(act: int, found: int) -> int:
    """What 64 bits mean; the lowest 32 of them, if that is all the field has."""
    if act == VARINT_64:
        return found
    if act == VARINT_32:
        return signed_32(found)
    if act == UNSIGNED_32:
        return found & _LOW_32
    if act == ZIGZAG_32:
        found &= _LOW_32
    return ((found >> 1) & _ALL_BUT_SIGN) ^ -(found & 1)


@inlined
def read_time(
    data: Octets, at: int, end: int, numbers: Numbers, place: int, is_moment: bool
) -> int:
    """Seconds and nanoseconds, as microseconds; where they end, or beyond the end."""
    seconds: Integer = np.int64(0)
    nanos: Integer = np.int64(0)
    while at < end:
        tag = data[at]
        found, at = varint(data, at + 1)
        if tag == _SECONDS_TAG:
            seconds = found
        elif tag == _NANOS_TAG:
            nanos = signed_32(found)
        else:
            return BEYOND
    if at != end or nanos > MOST_NANOS or nanos < -MOST_NANOS:
        return BEYOND
    if is_moment:
        if seconds < FIRST_SECOND or seconds > LAST_SECOND or nanos < 0:
            return BEYOND
        numbers[place] = seconds * 1_000_000 + nanos // 1_000
        return at
    if seconds < -MOST_SECONDS or seconds > MOST_SECONDS:
        return BEYOND
    if (seconds < 0 < nanos) or (nanos < 0 < seconds):
        return BEYOND
    cut = -(-nanos // 1_000) if nanos < 0 else nanos // 1_000
    numbers[place] = seconds * 1_000_000 + cut
    return at


@inlined
def has_key_twice(
    program: Program, payloads: Payloads, pools: Pools, walk: Numbers, body: int
) -> bool:
    """Whether the last key of a map was there before, or there are too many to tell."""
    fields, bodies = program.fields, program.bodies
    key = bodies[body, FIRST]
    act, base = fields[key, ACT], pools.bases[fields[key, COLUMN]]
    last = walk[COUNT, fields[key, LEVEL]] - 1
    around = walk[COUNT, bodies[body, ENTRIES_LEVEL]] - 1
    count = pools.sizes[pools.bases[bodies[body, ENTRIES]] + around]
    if count > _MOST_KEYS:
        return True
    width = 2 if act in (UNSIGNED_64, UNSIGNED_EIGHT_BYTES) else 1
    for other in range(last - count + 1, last):
        if act == PIECE:
            is_same = is_same_piece(payloads.data, pools, base + other, base + last)
        elif act == TRUTH:
            is_same = pools.flags[base + other] == pools.flags[base + last]
        else:
            is_same = pools.numbers[base + width * other] == pools.numbers[base + width * last]
        if is_same:
            return True
    return False
