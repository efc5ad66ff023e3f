"""Runs the program of an Avro schema over records: one pass over the bytes of each. Compiled.

A record that does not obey Avro's rules is refused, and also one that obeys them in a way that is
seldom met; the reference decides. What a refused record has left in the pools is in its own places
only, and these are dropped with it.

Nothing checks an index here. In the program and in its table they are right by construction. A
place in the pools is below the capacity of its level: places are taken one by one in `NEXT`, which
stops at the capacity, and level 0 has one for every record. A place in the data is at most at the
end of the record whenever a step begins, and steps look no further than the padding behind.
"""

import numpy as np

from penstock.datapath.codec.avro.program import (
    BOOLEAN,
    BOUNDED,
    EIGHT_BYTES,
    ENUM,
    FIXED,
    FOUR_BYTES,
    JUMP,
    LIST,
    LONG,
    NEXT,
    NULLABLE,
    SET,
    TEXT,
    UNION,
    Program,
)
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers, Octets
from penstock.datapath.codec.shared.column_pools import (
    BEFORE,
    CAPACITY,
    COUNT,
    OWN,
    WANTED,
    Pools,
)
from penstock.datapath.codec.shared.compiled import compiled, inlined
from penstock.datapath.codec.shared.compiled_bytes import BEYOND, Payloads, zigzag
from penstock.datapath.codec.shared.value_types import Integer

# The loop's own rows of a walk: items left of a block, where it must end, and items of its list.
LEFT, BLOCK_END, TOTAL = OWN, OWN + 1, OWN + 2
_LOWEST = -(2**63)
_WIDEST_DECIMAL = 16


@compiled
def read_records(
    program: Program, payloads: Payloads, pools: Pools, walk: Numbers, bad: Mask, first: int
) -> int:
    """Read records from the first one on, until a level is full; the record to go on with."""
    levels = walk.shape[1]
    for row in range(first, len(payloads.begins)):
        walk[COUNT, 0] = row + 1
        for level in range(1, levels):
            walk[BEFORE, level] = walk[COUNT, level]
        end = payloads.ends[row]
        at = read_record(program, payloads, pools, walk, row)
        if at == -1:
            for level in range(1, levels):
                walk[COUNT, level] = walk[BEFORE, level]
            return row
        bad[row] = at != end
    return len(payloads.begins)


@inlined
def read_record(
    program: Program, payloads: Payloads, pools: Pools, walk: Numbers, row: int
) -> Integer:
    """Read one record; where it ends, BEYOND if it is refused, or -1 when a level is full."""
    steps, data = program.steps, payloads.data
    at, end, step = payloads.begins[row], payloads.ends[row], 0
    items_left = end - at  # no record has more items than bytes, but for those that have no bytes
    while at <= end:
        act, a = steps[step, 0], steps[step, 3]
        here = pools.bases[steps[step, 2]] + walk[COUNT, steps[step, 1]] - 1
        if act < NULLABLE:
            at = read_value(program, step, payloads, pools, here, at, end)
            step += 1
        elif act == NULLABLE:
            branch, at = zigzag(data, at)
            if branch == a:
                pools.flags[here] = 1
                step += 1
            elif branch == 1 - a:
                step = steps[step, 4]
            else:
                return BEYOND
        elif act == NEXT:
            if walk[LEFT, a] == 0:
                at, items_left = next_block(data, walk, a, at, end, items_left)
                if at > end or walk[TOTAL, a] + walk[LEFT, a] > steps[step, 5]:
                    return BEYOND
            if walk[LEFT, a] == 0:
                step += 1
            elif walk[COUNT, a] == walk[CAPACITY, a]:
                walk[WANTED, a] = 1
                return -1
            else:
                walk[COUNT, a] += 1
                walk[LEFT, a] -= 1
                walk[TOTAL, a] += 1
                pools.sizes[here] = walk[TOTAL, a]
                step = steps[step, 4]
        elif act == LIST:
            walk[LEFT, a], walk[TOTAL, a], walk[BLOCK_END, a] = 0, 0, -1
            step = steps[step, 4]
        elif act == SET:
            pools.flags[here] = 1
            step += 1
        elif act == UNION:
            branch, at = zigzag(data, at)
            if branch < 0 or branch >= a:
                return BEYOND
            step = program.table[steps[step, 4] + branch]
        elif act == JUMP:
            step = a
        else:
            return at
    return BEYOND


@inlined
def next_block(
    data: Octets, walk: Numbers, level: int, at: int, end: int, items_left: int
) -> tuple[int, int]:
    """Begin a block of items, if there is one more: LEFT says how many; then where, items left.

    A block may tell its size, and must be as long as it says.
    """
    is_wrong = walk[BLOCK_END, level] >= 0 and walk[BLOCK_END, level] != at
    walk[BLOCK_END, level] = -1
    count, then = zigzag(data, at)
    if count < 0 and then <= end:
        size, then = zigzag(data, then)
        if size < 0 or size > end - then:
            return BEYOND, items_left
        walk[BLOCK_END, level] = then + size
        count = -count
    if is_wrong or count < 0 or count > items_left:
        return BEYOND, items_left
    walk[LEFT, level] = count
    return then, items_left - count


@inlined
def read_value(
    program: Program, step: int, payloads: Payloads, pools: Pools, here: int, at: int, end: int
) -> int:
    """Read a single value into its place; where the next one begins, or beyond the end."""
    steps, data = program.steps, payloads.data
    act, a, b = steps[step, 0], steps[step, 3], steps[step, 4]
    if act == TEXT:
        size, at = zigzag(data, at)
        return keep_piece(pools, here, at, size, end)
    if act == FIXED:
        return keep_piece(pools, here, at, a, end)
    if act == LONG:
        pools.numbers[here], at = zigzag(data, at)
        return at
    if act == BOUNDED:
        found, at = zigzag(data, at)
        if found < a or found > b:
            return BEYOND
        pools.numbers[here] = found * steps[step, 5]
        return at
    if act == EIGHT_BYTES:
        pools.numbers[here] = payloads.words[at]
        return at + 8
    if act == FOUR_BYTES:
        pools.numbers[here] = payloads.words[at] & 0xFFFFFFFF
        return at + 4
    if act == BOOLEAN:
        pools.flags[here] = data[at]
        return BEYOND if data[at] > 1 else at + 1
    if act == ENUM:
        found, at = zigzag(data, at)
        if found < 0 or found >= a:
            return BEYOND
        pools.starts[here] = payloads.symbols + program.table[b + 2 * found]
        pools.sizes[here] = program.table[b + 2 * found + 1]
        return at
    size = a
    if a < 0:
        size, at = zigzag(data, at)
    if size < 1 or size > end - at:
        return BEYOND
    place = 2 * here - pools.bases[steps[step, 2]]
    is_one = read_decimal(data, at, at + size, pools.numbers, place)
    fits = is_one and has_few_digits(pools.numbers, place, program.table, b)
    return at + size if fits else BEYOND


@inlined
def keep_piece(pools: Pools, here: int, at: int, size: int, end: int) -> int:
    """Step over a text or bytes, unless the record ends before."""
    if size < 0 or size > end - at:
        return BEYOND
    pools.starts[here], pools.sizes[here] = at, size
    return at + size


@inlined
def read_decimal(data: Octets, at: int, end: int, numbers: Numbers, place: int) -> bool:
    """Digits as a whole number, highest byte first: as two halves, the lower one first.

    False if it has more than 16 bytes.
    """
    sign = np.int64(-1) if data[at] >= 128 else np.int64(0)
    while end - at > _WIDEST_DECIMAL and data[at] == (sign & 255):
        at += 1
    low = high = sign
    for place_of_byte in range(at, end):
        high = (high << 8) | ((low >> 56) & 255)
        low = (low << 8) | np.int64(data[place_of_byte])
    numbers[place], numbers[place + 1] = low, high
    return bool(end - at <= _WIDEST_DECIMAL and (high < 0) == (sign < 0))


@inlined
def has_few_digits(numbers: Numbers, place: int, table: Numbers, limit: int) -> bool:
    """Whether a number of two halves is between -limit and limit, both excluded."""
    low, high = numbers[place], numbers[place + 1]
    if high < 0:
        low, high = -low, ~high + (1 if low == 0 else 0)
    top, rest = table[limit + 1], table[limit]
    # Halves without a sign are compared by numbers with one, half the range away.
    return bool(high < top or (high == top and (low ^ _LOWEST) < (rest ^ _LOWEST)))
