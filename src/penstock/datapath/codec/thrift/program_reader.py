"""Reads records by the program of a Thrift struct: one pass over the bytes of each. Compiled.

Fields may be in any order, and unknown ones are stepped over. What is broken is refused, and also
what is seldom met: a field twice, one key twice in a map, a number of an enum that has no name; the
reference decides. What a refused record has left in the pools is in its own places only, and these
are dropped with it.

Nothing checks an index here. In the tables they are right by construction. A place in the pools is
below the capacity of its level: places are taken one by one in `begin_item`, and for items that
hold no others in `begin_items`, which stop at the capacity, and level 0 has one for every record. A
place in the data is at most at the end of the record whenever a step begins, and steps look no
further than the padding behind. The stack is as deep as values nest, and as what `unknown_reader`
steps into.
"""

import numpy as np

from penstock.datapath.codec.shared.byte_gather import Mask, Numbers
from penstock.datapath.codec.shared.column_pools import BEFORE, CAPACITY, COUNT, WANTED, Pools
from penstock.datapath.codec.shared.compiled import compiled, inlined
from penstock.datapath.codec.shared.compiled_bytes import BEYOND, Payloads
from penstock.datapath.codec.shared.value_types import Integer
from penstock.datapath.codec.thrift.program import (
    ACT,
    ADDS,
    BELOW,
    COLUMN,
    EMPTY,
    ENTRIES,
    FIELD_COUNT,
    FIRST,
    FLAG,
    IS_UNIQUE,
    LEAST,
    LEVEL,
    MORE,
    MOST,
    NOWHERE,
    NUMBER,
    OWN_LEVEL,
    SIZES,
    STRUCTURE,
    TRUTH_BEFORE,
    WIRE,
    Program,
)
from penstock.datapath.codec.thrift.types import MOST_ITEMS, STOP
from penstock.datapath.codec.thrift.unknown_reader import STEPPED_OVER, skip_field
from penstock.datapath.codec.thrift.value_reader import (
    is_new_key,
    read_header,
    read_list_header,
    read_map_header,
    read_value,
)

# What the stack keeps of what is around: its body, or NOWHERE in a list or map; the last field that
# was found, or the row of the items; the last number; how many fields have added to the count, or
# how many values are left; and 1 if every second one of these is a key.
BODY, FIELD, LAST, LEFT, IS_MAP, STACK_FACTS = range(STEPPED_OVER, STEPPED_OVER + 6)
_FULL = -1  # in place of where a record ends: a level has no place left
_NONE = -1


@compiled
def read_records(
    program: Program,
    payloads: Payloads,
    pools: Pools,
    walk: Numbers,
    stack: Numbers,
    bad: Mask,
    first: int,
) -> int:
    """Read records from the first one on, until a level is full; the record to go on with."""
    count = walk.shape[1]
    for row in range(first, len(payloads.begins)):
        walk[COUNT, 0] = row + 1
        for level in range(1, count):
            walk[BEFORE, level] = walk[COUNT, level]
        at = read_record(program, payloads, pools, walk, stack, row)
        if at == _FULL:
            for level in range(1, count):
                walk[COUNT, level] = walk[BEFORE, level]
            return row
        bad[row] = at != payloads.ends[row]
    return len(payloads.begins)


@inlined
def read_record(
    program: Program, payloads: Payloads, pools: Pools, walk: Numbers, stack: Numbers, row: int
) -> Integer:
    """Read one record; where it ends, BEYOND if it is refused, or _FULL."""
    fields, bodies, data = program.fields, program.bodies, payloads.data
    at, end, depth, items_left = payloads.begins[row], payloads.ends[row], 0, MOST_ITEMS
    body, field, last, left, is_map, start = 0, bodies[0, FIRST] - 1, 0, 0, 0, at
    while at <= end:
        if body >= 0:
            start = at
            wire, last, at = read_header(program, data, at, last)
            if at > end or (wire == STOP and is_incomplete(bodies, body, left)):
                return BEYOND
            if wire == STOP:
                if depth == 0:
                    return at
                depth -= 1
                body, field, last, left, is_map = frame_at(stack, depth)
                continue
            value = find_field(fields, bodies, body, field, last)
            if value == _NONE:
                at = skip_field(program, data, stack, wire, at, end)
                continue
            if wire != fields[value, WIRE] or not mark(fields, value, pools, walk):
                return BEYOND
            field, left = value, left + fields[value, ADDS]
        elif left == 0:
            depth -= 1
            body, field, last, left, is_map = frame_at(stack, depth)
            continue
        else:
            left -= 1
            value = field + (is_map & ~left)
            if value == field and not begin_item(fields, value, pools, walk):
                return _FULL
        act, place = fields[value, ACT], place_of(fields, value, pools, walk)
        if act == TRUTH_BEFORE:
            pools.flags[place] = data[start] & 15 == 1
        elif act < EMPTY:
            at = read_value(program, value, payloads, pools, place, at, end)
            if fields[value, IS_UNIQUE] and at <= end:
                at = at if is_new_key(program, value, payloads, pools, walk, place) else BEYOND
        else:
            keep_frame(stack, depth, body, field, last, left, is_map)
            depth, body, last, left, is_map = depth + 1, NOWHERE, 0, 0, 0
            if act > STRUCTURE:
                left, at = begin_items(program, value, payloads, pools, place, walk, at, end)
                items_left -= left + pools.sizes[place]
                if at == _FULL or items_left < 0:
                    return _FULL if at == _FULL else BEYOND
                field, is_map = fields[value, MORE], int(act == ENTRIES)
            else:
                if act == EMPTY:
                    pools.flags[place] = 1
                body = fields[value, MORE]
                field = bodies[body, FIRST] - 1
    return BEYOND


@inlined
def is_incomplete(bodies: Numbers, body: int, count: int) -> bool:
    """Whether a struct has not all that it needs, or a union more than one field."""
    return bool(count < bodies[body, LEAST] or count > bodies[body, MOST])


@inlined
def keep_frame(
    stack: Numbers, depth: int, body: int, field: int, last: int, left: int, is_map: int
) -> None:
    """Remember what is around a struct, a list or a map."""
    stack[BODY, depth], stack[FIELD, depth] = body, field
    stack[LAST, depth], stack[LEFT, depth], stack[IS_MAP, depth] = last, left, is_map


@inlined
def frame_at(stack: Numbers, depth: int) -> tuple[int, int, int, int, int]:
    """What was remembered."""
    return (
        stack[BODY, depth],
        stack[FIELD, depth],
        stack[LAST, depth],
        stack[LEFT, depth],
        stack[IS_MAP, depth],
    )


@inlined
def find_field(fields: Numbers, bodies: Numbers, body: int, last: int, number: int) -> int:
    """The field of a body that has this number: most often the one behind the last."""
    first, count = bodies[body, FIRST], bodies[body, FIELD_COUNT]
    field = last
    for _ in range(count):
        field += 1
        if field == first + count:
            field = first
        if fields[field, NUMBER] == number:
            return field
    return _NONE


@inlined
def place_of(fields: Numbers, value: int, pools: Pools, walk: Numbers) -> Integer:
    """The place of a value in the pools."""
    return pools.bases[fields[value, COLUMN]] + walk[COUNT, fields[value, LEVEL]] - 1


@inlined
def mark(fields: Numbers, field: int, pools: Pools, walk: Numbers) -> bool:
    """Note that a field is there; False if it was before."""
    place = pools.bases[fields[field, FLAG]] + walk[COUNT, fields[field, LEVEL]] - 1
    is_first = pools.flags[place] == 0
    pools.flags[place] = 1
    return bool(is_first)


@inlined
def begin_item(fields: Numbers, item: int, pools: Pools, walk: Numbers) -> bool:
    """Take the next place for an item, or a key and its value; False if there is none."""
    level = fields[item, LEVEL]
    if walk[COUNT, level] == walk[CAPACITY, level]:
        walk[WANTED, level] = 1
        return False
    walk[COUNT, level] += 1
    pools.sizes[pools.bases[fields[item, SIZES]] + walk[COUNT, fields[item, OWN_LEVEL]] - 1] += 1
    return True


@inlined
def begin_items(
    program: Program,
    value: int,
    payloads: Payloads,
    pools: Pools,
    place: int,
    walk: Numbers,
    at: int,
    end: int,
) -> tuple[Integer, Integer]:
    """Begin a list, a set or a map: how many values are left to read, and where, or _FULL.

    The items of a list that hold no others are read here, so that none is left.
    """
    fields, item = program.fields, program.fields[value, MORE]
    is_map = fields[value, ACT] == ENTRIES
    if is_map:
        wire, other, size, at = read_map_header(program, payloads.data, at)
    else:
        wire, size, at = read_list_header(program, payloads.data, at)
        other = wire
    if size > end - at or size == 0:
        return np.int64(0), at if size == 0 else BEYOND
    if wire != fields[item, WIRE] or (is_map and other != fields[item + 1, WIRE]):
        return np.int64(0), BEYOND
    if is_map or fields[item, ACT] >= EMPTY:
        return size << is_map, at
    level = fields[value, BELOW]
    if walk[COUNT, level] + size > walk[CAPACITY, level]:
        walk[WANTED, level] = 1
        return np.int64(0), _FULL
    before = pools.bases[fields[item, COLUMN]] + walk[COUNT, level]
    walk[COUNT, level] += size
    pools.sizes[place] = size
    for step in range(size):
        at = read_value(program, item, payloads, pools, before + step, at, end)
        if at > end:
            break
    return np.int64(0), at
