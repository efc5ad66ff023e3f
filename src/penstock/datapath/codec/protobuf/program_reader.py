"""Reads records by the program of a Protobuf message: one pass over the bytes of each. Compiled.

Fields may be in any order, more than once, packed or not, and unknown ones are stepped over. What
is broken is refused, and also what is seldom met: groups, two fields of one oneof, one key twice in
a map, a number of an enum that has no name; the reference decides. What a refused record has left
in the pools is in its own places only, and these are dropped with it.

Nothing checks an index here. In the tables they are right by construction. A place in the pools is
below the capacity of its level: places are taken one by one in `begin_item`, which stops at the
capacity, and level 0 has one for every record. A place in the data is at most at the end of its
message whenever a step begins, and steps look no further than the padding behind. There are as many
frames as messages nest.
"""

from penstock.datapath.codec.protobuf.program import (
    ACT,
    COLUMN,
    EMPTY,
    ENTRIES,
    FIELD_COUNT,
    FIRST,
    FLAG,
    GROUP,
    HAS_NEEDS,
    IS_NEEDED,
    LEVEL,
    MESSAGE,
    MOMENT,
    MORE,
    NUMBER,
    OWN_LEVEL,
    SIZES,
    WIRE,
    Program,
)
from penstock.datapath.codec.protobuf.types import (
    EIGHT_BYTES,
    FOUR_BYTES,
    LAST_NUMBER,
    LENGTH,
    VARINT,
)
from penstock.datapath.codec.protobuf.value_reader import has_key_twice, read_value
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers, Octets
from penstock.datapath.codec.shared.column_pools import BEFORE, CAPACITY, COUNT, WANTED, Pools
from penstock.datapath.codec.shared.compiled import compiled, inlined
from penstock.datapath.codec.shared.compiled_bytes import BEYOND, Payloads, varint
from penstock.datapath.codec.shared.value_types import Integer

_FULL = -1  # in place of where a record ends: a level has no place left
_NONE = -1
_FIRST_TAG, _LAST_TAG = 8, LAST_NUMBER * 8 + 7


@compiled
def read_records(
    program: Program,
    payloads: Payloads,
    pools: Pools,
    walk: Numbers,
    frames: Numbers,
    bad: Mask,
    first: int,
) -> int:
    """Read records from the first one on, until a level is full; the record to go on with."""
    levels = walk.shape[1]
    for row in range(first, len(payloads.begins)):
        walk[COUNT, 0] = row + 1
        for level in range(1, levels):
            walk[BEFORE, level] = walk[COUNT, level]
        at = read_record(program, payloads, pools, walk, frames, row)
        if at == _FULL:
            for level in range(1, levels):
                walk[COUNT, level] = walk[BEFORE, level]
            return row
        bad[row] = at != payloads.ends[row]
    return len(payloads.begins)


@inlined
def read_record(
    program: Program, payloads: Payloads, pools: Pools, walk: Numbers, frames: Numbers, row: int
) -> Integer:
    """Read one record; where it ends, BEYOND if it is refused, or _FULL."""
    fields, bodies, data = program.fields, program.bodies, payloads.data
    at, end, body, depth = payloads.begins[row], payloads.ends[row], 0, 0
    field = bodies[0, FIRST]
    while at <= end:
        if at == end:
            if not is_complete(program, payloads, pools, walk, body):
                return BEYOND
            if depth == 0:
                return at
            depth -= 1
            end, body, field = frames[0, depth], frames[1, depth], frames[2, depth]
            continue
        tag, at = varint(data, at)
        if at > end or tag < _FIRST_TAG or tag > _LAST_TAG:
            return BEYOND
        found = find_field(fields, bodies, body, field, tag >> 3)
        if found == _NONE:
            at = skip_value(data, tag & 7, at, end)
            continue
        field = found
        if tag & 7 != fields[field, WIRE]:
            at = (
                read_packed(program, field, payloads, pools, walk, at, end)
                if tag & 7 == LENGTH
                else BEYOND
            )
            if at == _FULL:
                return _FULL
            continue
        if fields[field, SIZES] >= 0:
            if not begin_item(fields, field, pools, walk):
                return _FULL
        elif not mark(fields, field, pools, walk):
            return BEYOND
        place = pools.bases[fields[field, COLUMN]] + walk[COUNT, fields[field, LEVEL]] - 1
        if fields[field, ACT] < MESSAGE:
            at = read_value(program, field, payloads, pools, place, at, end)
            continue
        size, at = varint(data, at)
        if size < 0 or size > end - at:
            return BEYOND
        if fields[field, ACT] == EMPTY:
            pools.flags[place] = 1
        frames[0, depth], frames[1, depth], frames[2, depth] = end, body, field
        depth += 1
        end, body = at + size, fields[field, MORE]
        field = bodies[body, FIRST]
    return BEYOND


@inlined
def find_field(fields: Numbers, bodies: Numbers, body: int, last: int, number: int) -> int:
    """The field of a body that has this number: most often the last one again, or the next."""
    first, count = bodies[body, FIRST], bodies[body, FIELD_COUNT]
    field = last
    for _ in range(count):
        if fields[field, NUMBER] == number:
            return field
        field += 1
        if field == first + count:
            field = first
    return _NONE


@inlined
def skip_value(data: Octets, wire: int, at: int, end: int) -> int:
    """Step over a field that the schema does not have; groups are left to the reference."""
    if wire == VARINT:
        _, at = varint(data, at)
        return at
    if wire == EIGHT_BYTES:
        return at + 8
    if wire == FOUR_BYTES:
        return at + 4
    if wire != LENGTH:
        return BEYOND
    size, at = varint(data, at)
    return at + size if 0 <= size <= end - at else BEYOND


@inlined
def begin_item(fields: Numbers, field: int, pools: Pools, walk: Numbers) -> bool:
    """Take the next place for an item of a list; False if there is none."""
    level = fields[field, LEVEL]
    if walk[COUNT, level] == walk[CAPACITY, level]:
        walk[WANTED, level] = 1
        return False
    walk[COUNT, level] += 1
    pools.sizes[pools.bases[fields[field, SIZES]] + walk[COUNT, fields[field, OWN_LEVEL]] - 1] += 1
    return True


@inlined
def mark(fields: Numbers, field: int, pools: Pools, walk: Numbers) -> bool:
    """Note that a field is there; False if another one of its oneof is, or it is a time again."""
    flag, group = fields[field, FLAG], fields[field, GROUP]
    last = walk[COUNT, fields[field, OWN_LEVEL]] - 1
    is_again = False
    if flag >= 0:
        is_again = pools.flags[pools.bases[flag] + last] > 0
        pools.flags[pools.bases[flag] + last] = 1
    if group >= 0:
        place = pools.bases[group] + last
        if pools.numbers[place] != 0 and pools.numbers[place] != field + 1:
            return False
        pools.numbers[place] = field + 1
    return not (is_again and MOMENT <= fields[field, ACT] < MESSAGE)


@inlined
def is_complete(
    program: Program, payloads: Payloads, pools: Pools, walk: Numbers, body: int
) -> bool:
    """Whether a message has all that it needs, and an entry of a map a key of its own."""
    fields, bodies = program.fields, program.bodies
    if bodies[body, HAS_NEEDS]:
        first = bodies[body, FIRST]
        for field in range(first, first + bodies[body, FIELD_COUNT]):
            if fields[field, IS_NEEDED]:
                place = pools.bases[fields[field, FLAG]] + walk[COUNT, fields[field, OWN_LEVEL]] - 1
                if pools.flags[place] == 0:
                    return False
    if bodies[body, ENTRIES] >= 0:
        return not has_key_twice(program, payloads, pools, walk, body)
    return True


@inlined
def read_packed(
    program: Program, field: int, payloads: Payloads, pools: Pools, walk: Numbers, at: int, end: int
) -> int:
    """Read numbers that follow each other behind one tag and a length; where they end."""
    fields = program.fields
    if fields[field, SIZES] < 0:
        return BEYOND
    size, at = varint(payloads.data, at)
    if size < 0 or size > end - at:
        return BEYOND
    inner = at + size
    while at < inner:
        if not begin_item(fields, field, pools, walk):
            return _FULL
        place = pools.bases[fields[field, COLUMN]] + walk[COUNT, fields[field, LEVEL]] - 1
        at = read_value(program, field, payloads, pools, place, at, inner)
    return at if at == inner else BEYOND
