"""Which member of an object a name means, for the scanner. Compiled.

Most events have their fields in the same order as the one before. So the member that came last
after the one before is tried first, which costs one comparison.
"""

import numpy as np

from penstock.datapath.codec.json.scan_layout import (
    KEY_AT,
    KEY_SIZE,
    MOST_UNKNOWN,
    MY_UNKNOWN,
    NODE_FIELDS,
    PARENT,
    SCRATCH,
    TABLE_SIZE,
    UNKNOWN,
    UNKNOWN_FIELDS,
    UNKNOWN_HASH,
    UNKNOWN_KEY,
    UNKNOWN_KEY_END,
    UNKNOWN_NODE,
    UNKNOWN_SERIAL,
    Scan,
)
from penstock.datapath.codec.json.scan_text import INVALID, hash_of, is_same, text_end, unescape
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.compiled import compiled
from penstock.datapath.codec.shared.machine_words import Word, pointer_to

NOBODY = -1
_NODE_FACTOR = np.int64(0x5851F42D4C957F2D)


@compiled
def place_of(found: int, node: int, size: int) -> Word:
    """Where a hash table of this size, a power of two, begins to look."""
    mixed = found ^ (node * _NODE_FACTOR)
    return (mixed ^ (mixed >> 32)) & (size - 1)


@compiled
def fill_links(nodes: Numbers, names: Octets, links: Numbers, size: int) -> None:
    """Put all members into the hash table of this size, which has room for more."""
    for row in range(NODE_FIELDS, len(nodes), NODE_FIELDS):
        if nodes[row + KEY_SIZE] > 0:
            at = nodes[row + KEY_AT]
            found = hash_of(pointer_to(names), at, at + nodes[row + KEY_SIZE] - 1)
            place = place_of(found, nodes[row + PARENT], size)
            while links[place] >= 0:
                place = (place + 1) & (size - 1)
            links[place] = row // NODE_FIELDS


@compiled
def of(scan: Scan, node: int, field: int) -> Word:
    """What the table says of a node."""
    return scan.nodes[node * NODE_FIELDS + field]


@compiled
def _member_of(text: Octets, at: int, end: int, parent: int, scan: Scan) -> Word:
    """The member of an object with this name, or NOBODY. `end` is where the name ends."""
    mask = scan.cells[TABLE_SIZE] - 1
    place = place_of(hash_of(text, at, end), parent, mask + 1)
    while scan.links[place] >= 0:
        child = scan.links[place]
        is_mine = of(scan, child, PARENT) == parent and of(scan, child, KEY_SIZE) == end - at + 1
        if is_mine and is_same(text, at, scan.names, of(scan, child, KEY_AT), end - at):
            return child
        place = (place + 1) & mask
    return NOBODY


@compiled
def look_up(scan: Scan, at: int, end: int, parent: int) -> tuple[int, int]:
    """Where a name ends and which member it means: a name that was not guessed.

    INVALID if it is not sound. A name with escapes that means no member is not sound here either:
    the reference knows how to write it.
    """
    key_end, has_escapes = text_end(scan.data, at, end)
    if key_end == INVALID:
        return INVALID, NOBODY
    if not has_escapes:
        return key_end, _member_of(scan.data, at, key_end, parent, scan)
    if key_end - at > SCRATCH:
        return INVALID, NOBODY
    size = unescape(scan.data, at, key_end, scan.scratch, 0)
    member = _member_of(scan.scratch, 0, size, parent, scan)
    return (INVALID if member == NOBODY else key_end), member


@compiled
def note_unknown(scan: Scan, serial: int, parent: int, key: int, key_end: int) -> Word:
    """Note a field without a column; where, or INVALID if the object has had it before.

    Too many of them are INVALID, too.
    """
    cells = scan.cells
    place = UNKNOWN + cells[MY_UNKNOWN] * UNKNOWN_FIELDS
    if cells[MY_UNKNOWN] >= MOST_UNKNOWN:
        return INVALID
    found = hash_of(scan.data, key, key_end)
    for before in range(UNKNOWN, place, UNKNOWN_FIELDS):
        if cells[before + UNKNOWN_HASH] == found and cells[before + UNKNOWN_SERIAL] == serial:
            return INVALID
    cells[place + UNKNOWN_HASH] = found
    cells[place + UNKNOWN_SERIAL] = serial
    cells[place + UNKNOWN_NODE] = parent
    cells[place + UNKNOWN_KEY] = key
    cells[place + UNKNOWN_KEY_END] = key_end
    cells[MY_UNKNOWN] += 1
    return place
