"""What is done with a record that was read: its `_rest`, and what is counted of it. Compiled.

`_rest` has the shape of the event. Of every object it has first the members whose values have no
place in their columns, in the order of the schema, and then the fields without a column, by name.
"""

from penstock.datapath.codec.json.scan_layout import (
    BY_NODE,
    BY_NODE_FIELDS,
    CONFLICTS,
    EMPTY_VALUES,
    FIRST,
    FLAT,
    GOOD,
    ITEM_VALUES,
    KINDS,
    LABEL_AT,
    LABEL_SIZE,
    MET,
    MET_COUNTS,
    MET_FIELDS,
    MET_FIRSTS,
    MET_HASH,
    MET_KEY,
    MET_KEY_END,
    MET_LASTS,
    MET_NODE,
    MET_PLACES,
    MET_TRIES,
    MET_VALUES,
    MISFITS,
    MOST_MET,
    MY_EMPTY,
    MY_ITEM_VALUES,
    MY_MISFITS,
    MY_PIECES,
    MY_UNKNOWN,
    NEXT,
    NODE_BELOW,
    NODE_NUMBER,
    NODE_PIECE,
    ORDER,
    PARENT,
    PIECES,
    REST_USED,
    SERIAL,
    SLOTS_USED,
    TRIES,
    UNKNOWN,
    UNKNOWN_END,
    UNKNOWN_FIELDS,
    UNKNOWN_HASH,
    UNKNOWN_KEY,
    UNKNOWN_KEY_END,
    UNKNOWN_NODE,
    UNKNOWN_SAYS,
    UNKNOWN_START,
    Scan,
)
from penstock.datapath.codec.json.scan_members import NOBODY, of, place_of
from penstock.datapath.codec.json.scan_text import copy_bytes
from penstock.datapath.codec.json.scan_values import (
    CLOSE_OBJECT,
    COLON,
    COMMA,
    OPEN_OBJECT,
    kind_at,
)
from penstock.datapath.codec.shared.compiled import compiled
from penstock.datapath.codec.shared.machine_words import Word

_ROOT = 0


@compiled
def finish_record(scan: Scan) -> None:
    """Keep a record."""
    cells = scan.cells
    good = cells[GOOD]
    cells[EMPTY_VALUES] += cells[MY_EMPTY]
    cells[ITEM_VALUES] += cells[MY_ITEM_VALUES]
    scan.rest_at[good] = -1
    if cells[MY_UNKNOWN] != cells[MY_EMPTY] or cells[MY_MISFITS] + cells[MY_PIECES] > 0:
        _count(scan, good)
        if _mark_objects(scan):
            start = cells[REST_USED]
            end = _write_rest(scan, start)
            scan.rest_at[good] = start << 32 | (end - start) << 1
            cells[REST_USED] = end
    cells[GOOD] = good + 1


@compiled
def _count(scan: Scan, number: int) -> None:
    """Count the values that had no place, once per record and kind."""
    cells = scan.cells
    for each in range(MISFITS, MISFITS + 2 * cells[MY_MISFITS], 2):
        place = BY_NODE + cells[each] * BY_NODE_FIELDS + CONFLICTS + cells[each + 1]
        if cells[place] == 0:
            cells[place + KINDS] = number
        cells[place] += 1
    end = UNKNOWN + cells[MY_UNKNOWN] * UNKNOWN_FIELDS
    for each in range(UNKNOWN, end, UNKNOWN_FIELDS):
        if cells[each + UNKNOWN_SAYS]:
            _count_unknown(scan, number, each)


@compiled
def _count_unknown(scan: Scan, number: int, each: int) -> None:
    """Count a field without a column, and keep where its first values lie."""
    cells = scan.cells
    place = _place_of_unknown(scan, each)
    if place == NOBODY:
        return
    found = kind_at(scan.data, cells[each + UNKNOWN_START])
    if cells[place + MET_COUNTS + found] == 0:
        cells[place + MET_FIRSTS + found] = number
    if cells[place + MET_LASTS + found] != number + 1:
        cells[place + MET_COUNTS + found] += 1
        cells[place + MET_LASTS + found] = number + 1
    tries = cells[place + MET_TRIES]
    if tries < TRIES:
        to = place + MET_VALUES + 3 * tries
        cells[to] = number
        cells[to + 1] = cells[each + UNKNOWN_START]
        cells[to + 2] = cells[each + UNKNOWN_END]
        cells[place + MET_TRIES] = tries + 1


@compiled
def _place_of_unknown(scan: Scan, each: int) -> Word:
    """The place of a field without a column among those that were met; NOBODY if there is none."""
    cells = scan.cells
    found, node = cells[each + UNKNOWN_HASH], cells[each + UNKNOWN_NODE]
    number = place_of(found, node, MET_PLACES)
    place = MET + number * MET_FIELDS
    while cells[place + MET_TRIES] > 0:
        if cells[place + MET_HASH] == found and cells[place + MET_NODE] == node:
            return place
        number = (number + 1) & (MET_PLACES - 1)
        place = MET + number * MET_FIELDS
    if cells[SLOTS_USED] >= MOST_MET:
        return NOBODY
    cells[SLOTS_USED] += 1
    cells[place + MET_HASH] = found
    cells[place + MET_NODE] = node
    cells[place + MET_KEY] = cells[each + UNKNOWN_KEY]
    cells[place + MET_KEY_END] = cells[each + UNKNOWN_KEY_END]
    return place


@compiled
def _mark_objects(scan: Scan) -> Word:
    """Mark the objects that have a rest, and bring their unknown fields into order; False: none."""
    cells, kept = scan.cells, 0
    cells[SERIAL] += 1
    end = UNKNOWN + cells[MY_UNKNOWN] * UNKNOWN_FIELDS
    for each in range(UNKNOWN, end, UNKNOWN_FIELDS):
        node = cells[each + UNKNOWN_NODE]
        if cells[each + UNKNOWN_SAYS] and of(scan, node, FLAT) >= 0:
            _insert(scan, each, kept)
            kept += 1
            _mark(scan, node)
    cells[ORDER + kept] = NOBODY
    for each in range(cells[MY_PIECES]):
        node = cells[BY_NODE + each * BY_NODE_FIELDS + PIECES]
        _mark(scan, of(scan, node, PARENT))
        place = BY_NODE + node * BY_NODE_FIELDS
        cells[place + NODE_PIECE] = cells[SERIAL]
        cells[place + NODE_NUMBER] = each
    return kept + cells[MY_PIECES] > 0


@compiled
def _mark(scan: Scan, node: int) -> None:
    """Mark an object and those around it."""
    cells = scan.cells
    while node >= 0:
        cells[BY_NODE + node * BY_NODE_FIELDS + NODE_BELOW] = cells[SERIAL]
        node = of(scan, node, PARENT)


@compiled
def _insert(scan: Scan, each: int, kept: int) -> None:
    """Put an unknown field into its place by name, where so many are in order."""
    cells, place = scan.cells, ORDER + kept
    while place > ORDER and _is_before(scan, each, cells[place - 1]):
        cells[place] = cells[place - 1]
        place -= 1
    cells[place] = each


@compiled
def _is_before(scan: Scan, one: int, other: int) -> Word:
    """True if the name of one unknown field comes before that of another, byte by byte."""
    data, cells = scan.data, scan.cells
    at, end = cells[one + UNKNOWN_KEY], cells[one + UNKNOWN_KEY_END]
    place, stop = cells[other + UNKNOWN_KEY], cells[other + UNKNOWN_KEY_END]
    while at < end and place < stop:
        if data[at] != data[place]:
            return data[at] < data[place]
        at, place = at + 1, place + 1
    return at == end and place < stop


@compiled
def _write_rest(scan: Scan, to: int) -> int:
    """Write the rest of a record, which is never longer than the record; the place behind it."""
    cells, out = scan.cells, scan.rest
    node, child, stamp = _ROOT, of(scan, _ROOT, FIRST), cells[SERIAL]
    out[to] = OPEN_OBJECT
    to += 1
    while True:
        while child >= 0:
            place = BY_NODE + child * BY_NODE_FIELDS
            if cells[place + NODE_PIECE] == stamp:
                to = _write_label(scan, child, to)
                piece = BY_NODE + cells[place + NODE_NUMBER] * BY_NODE_FIELDS + PIECES
                to = copy_bytes(scan.data, cells[piece + 1], cells[piece + 2], out, to)
            elif cells[place + NODE_BELOW] == stamp:
                to = _write_label(scan, child, to)
                out[to] = OPEN_OBJECT
                node, child, to = child, of(scan, child, FIRST), to + 1
                continue
            child = of(scan, child, NEXT)
        to = _write_unknown(scan, node, to)
        out[to] = CLOSE_OBJECT
        to += 1
        if node == _ROOT:
            return to
        node, child = of(scan, node, PARENT), of(scan, node, NEXT)


@compiled
def _write_label(scan: Scan, node: int, to: int) -> int:
    """Write the name of a member, after a comma if it is not the first."""
    to = _write_comma(scan, to)
    at = of(scan, node, LABEL_AT)
    return copy_bytes(scan.names, at, at + of(scan, node, LABEL_SIZE), scan.rest, to)


@compiled
def _write_comma(scan: Scan, to: int) -> int:
    """Write a comma, unless an object begins before; nothing else ends with its bracket."""
    if scan.rest[to - 1] == OPEN_OBJECT:
        return to
    scan.rest[to] = COMMA
    return to + 1


@compiled
def _write_unknown(scan: Scan, node: int, to: int) -> int:
    """Write the fields of an object that have no column."""
    data, cells, out = scan.data, scan.cells, scan.rest
    place = ORDER
    while cells[place] != NOBODY:
        each = cells[place]
        place += 1
        if cells[each + UNKNOWN_NODE] == node:
            to = _write_comma(scan, to)
            # The name with both of its quotes.
            key, key_end = cells[each + UNKNOWN_KEY] - 1, cells[each + UNKNOWN_KEY_END] + 1
            to = copy_bytes(data, key, key_end, out, to)
            out[to] = COLON
            start, end = cells[each + UNKNOWN_START], cells[each + UNKNOWN_END]
            to = copy_bytes(data, start, end, out, to + 1)
    return to
