"""Steps over fields that a schema does not have, whatever they hold. Compiled."""

import numpy as np

from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.compiled import inlined
from penstock.datapath.codec.shared.compiled_bytes import BEYOND, varint
from penstock.datapath.codec.shared.value_types import Integer
from penstock.datapath.codec.thrift.program import BROKEN, NESTED, SIZED, WHOLE, Program
from penstock.datapath.codec.thrift.types import MAP, MOST_LEVELS, STOP, STRUCT
from penstock.datapath.codec.thrift.value_reader import (
    read_header,
    read_list_header,
    read_map_header,
    read_size,
)

# What the stack keeps of each level: how many values are left, or that it is a struct; the types of
# the keys and values of a map, or twice that of a list's items; and the last number of a struct.
LEFT, KEYS, VALUES, LAST, STEPPED_OVER = range(5)
_IN_STRUCT = -1


@inlined
def skip_field(
    program: Program, data: Octets, stack: Numbers, wire: int, at: int, end: int
) -> Integer:
    """Where the value of a field ends; beyond the end if it is broken or nests too deep."""
    depth = 0
    while True:
        width = program.widths[wire]
        if width >= 0:
            at += width
        elif width == WHOLE:
            _, at = varint(data, at)
        elif width == SIZED:
            size, at = read_size(program, data, at)
            at = at + size if size <= end - at else BEYOND
        elif width == NESTED and depth < MOST_LEVELS:
            at = begin_level(program, data, stack, wire, at, end, depth)
            depth += 1
        else:
            return BEYOND
        while at <= end and depth > 0:
            wire, at = next_value(program, data, stack, at, depth - 1)
            if wire != STOP:
                break
            depth -= 1
        if depth == 0 or at > end:
            return at


@inlined
def begin_level(
    program: Program, data: Octets, stack: Numbers, wire: int, at: int, end: int, level: int
) -> Integer:
    """Step into a struct, list, set or map; where the first value in it begins."""
    stack[LAST, level] = 0
    if wire == STRUCT:
        stack[LEFT, level] = _IN_STRUCT
        return at
    if wire == MAP:
        keys, values, size, at = read_map_header(program, data, at)
        stack[LEFT, level] = 2 * size
    else:
        keys, size, at = read_list_header(program, data, at)
        values = keys
        stack[LEFT, level] = size
    stack[KEYS, level], stack[VALUES, level] = keys, values
    is_broken = program.widths[keys] == BROKEN or program.widths[values] == BROKEN
    return BEYOND if size > end - at or (size > 0 and is_broken) else at


@inlined
def next_value(
    program: Program, data: Octets, stack: Numbers, at: int, level: int
) -> tuple[Integer, Integer]:
    """The type of the next value of a level, and where it begins; STOP if there is none."""
    left = stack[LEFT, level]
    if left == _IN_STRUCT:
        wire, stack[LAST, level], at = read_header(program, data, at, stack[LAST, level])
        return wire, at
    if left == 0:
        return np.int64(STOP), at
    stack[LEFT, level] = left - 1
    return stack[VALUES if left & 1 else KEYS, level], at
