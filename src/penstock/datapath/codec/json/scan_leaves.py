"""Values without members: what each becomes in its column, and what is noted besides. Compiled.

A text becomes the place where it lies among the bytes, and is copied when all records are read.
"""

from penstock.datapath.codec.json.scan_layout import (
    AGAIN,
    ALL_KINDS,
    BOOLEAN,
    BY_NODE,
    BY_NODE_FIELDS,
    CAPTURE,
    DOUBLE,
    FLAT,
    FORCED,
    FORCED_USED,
    FRACTION,
    FRAME_FIELDS,
    FRAME_NODE,
    FRAME_START,
    GOOD,
    HIGH,
    INTEGER,
    JSON,
    KIND,
    LATER,
    LATER_USED,
    LIST,
    LOG_USED,
    LOW,
    MAP,
    MISFITS,
    MOST_FORCED,
    MOST_LATER,
    MOST_MISFITS,
    MY_MISFITS,
    MY_PIECES,
    NODES,
    OTHER_TAG,
    OUT_OF_RANGE,
    PARENT,
    PIECES,
    READ,
    REFUSED,
    SCALARS,
    STACK,
    STRIDE,
    STRING,
    STRUCT,
    TAG_AT,
    TAG_END,
    TAG_SEEN,
    TAG_SIZE,
    TAG_START,
    TEXT,
    Scan,
)
from penstock.datapath.codec.json.scan_members import of
from penstock.datapath.codec.json.scan_numbers import (
    EXACT,
    LEFT,
    NOT_A_NUMBER,
    fits_int64,
    nearest_double,
    read_number,
    signed,
    whole_double,
)
from penstock.datapath.codec.json.scan_text import INVALID, QUOTE, is_same, text_end
from penstock.datapath.codec.json.scan_values import (
    LETTER_F,
    LETTER_T,
    OPEN_LIST,
    OPEN_OBJECT,
    kind_at,
    scalar_end,
    truth_end,
    value_end,
)
from penstock.datapath.codec.shared.compiled import compiled, inlined
from penstock.datapath.codec.shared.machine_words import int64

FITS = -1  # instead of the kind of a value that does not
_MINUS = 45


@inlined
def emit(scan: Scan, node: int, slot: int, value: int) -> None:
    """Put a value into its place, or into the log."""
    row = of(scan, node, FLAT)
    if row >= 0:
        scan.values[row * scan.cells[STRIDE] + slot] = value
        scan.valid[row * scan.cells[STRIDE] + slot] = 1
    else:
        at = scan.cells[LOG_USED]
        scan.log[2 * at] = node << 32 | slot
        scan.log[2 * at + 1] = value
        scan.cells[LOG_USED] = at + 1


@compiled
def text_at(start: int, end: int, has_escapes: int) -> int:
    """A text, by the place where it lies; half of the bits for where, half for how long."""
    return start << 32 | (end - start) << 1 | has_escapes


@inlined
def read_leaf(scan: Scan, at: int, end: int, node: int, slot: int, room: int) -> tuple[int, int]:
    """The place behind a value that is not null, and FITS, or its kind if it does not fit.

    INVALID if it is not sound, or leads too far. A value that does not fit may be unsound yet.
    `room` is how many levels it may have.
    """
    data, kind, value = scan.data, of(scan, node, KIND), int64(0)
    byte, then, found = data[at], at, FITS
    only = of(scan, node, LOW)
    if byte == QUOTE and (kind == TEXT or (kind == SCALARS and only >> STRING & 1)):
        then, has_escapes = text_end(data, at + 1, end)
        value = text_at(at + 1, then, has_escapes)
        then += then != INVALID
    elif kind in (INTEGER, DOUBLE) and (byte == _MINUS or 48 <= byte <= 57):
        then, found, value = _read_number(scan, at, node, slot)
    elif kind == BOOLEAN and byte in (LETTER_T, LETTER_F):
        then, value = truth_end(data, at), int64(byte == LETTER_T)
    elif kind == JSON:
        then = value_end(data, at, end, room)[0]
        value = text_at(at, then, 0)
    elif kind == SCALARS and (
        byte not in (OPEN_OBJECT, OPEN_LIST) if only == ALL_KINDS else only >> kind_at(data, at) & 1
    ):
        then = scalar_end(data, at, end)
        value = text_at(at, then, 0)
    else:
        found = kind_at(data, at)
    if then != INVALID and found == FITS:
        emit(scan, node, slot, value)
    return then, found


@compiled
def _read_number(scan: Scan, at: int, node: int, slot: int) -> tuple[int, int, int]:
    """The same for a number in a column of numbers, and the number, or its bits."""
    then, digits, power, is_whole, left = read_number(scan.data, at)
    is_negative = scan.data[at] == _MINUS
    if then == NOT_A_NUMBER:
        return INVALID, FITS, 0
    if of(scan, node, KIND) == INTEGER:
        if not is_whole:
            return at, FRACTION, 0
        value = signed(digits, is_negative)
        is_inside = of(scan, node, LOW) <= value <= of(scan, node, HIGH)
        is_inside = is_inside and fits_int64(digits, is_negative, left)
        return then if is_inside else at, FITS if is_inside else OUT_OF_RANGE, value
    if is_whole:
        how, bits = whole_double(digits, is_negative, left)
        if how != EXACT:
            return INVALID if how == LEFT else at, OUT_OF_RANGE, 0
        return then, FITS, bits
    how, bits = nearest_double(digits, power, is_negative, left)
    if how == LEFT:
        how = _note_later(scan, at, then, node, slot)
    return then if how == EXACT else INVALID, FITS, bits


@compiled
def _note_later(scan: Scan, at: int, then: int, node: int, slot: int) -> int:
    """Note a double for Python: where it will lie, and its text. LEFT if there are too many."""
    cells, row = scan.cells, of(scan, node, FLAT)
    if cells[LATER_USED] >= MOST_LATER:
        return LEFT
    place = LATER + 4 * cells[LATER_USED]
    cells[place] = row
    cells[place + 1] = slot if row >= 0 else cells[LOG_USED]
    cells[place + 2] = at
    cells[place + 3] = then
    cells[LATER_USED] += 1
    return EXACT


@compiled
def add_misfit(scan: Scan, node: int, found: int) -> int:
    """Note that a value did not fit; once for each node and kind in a record."""
    cells = scan.cells
    end = MISFITS + 2 * cells[MY_MISFITS]
    for before in range(MISFITS, end, 2):
        if cells[before] == node and cells[before + 1] == found:
            return READ
    if cells[MY_MISFITS] >= MOST_MISFITS:
        return REFUSED
    cells[end] = node
    cells[end + 1] = found
    cells[MY_MISFITS] += 1
    return READ


@compiled
def add_piece(scan: Scan, node: int, start: int, end: int) -> int:
    """Note a member whose text goes to `_rest`."""
    cells = scan.cells
    if cells[MY_PIECES] >= cells[NODES]:
        return REFUSED
    place = BY_NODE + cells[MY_PIECES] * BY_NODE_FIELDS + PIECES
    cells[place] = node
    cells[place + 1] = start
    cells[place + 2] = end
    cells[MY_PIECES] += 1
    return READ


@compiled
def capture(scan: Scan, node: int, start: int, end: int) -> None:
    """Keep the text of a field that was asked for."""
    row = of(scan, node, CAPTURE)
    if row >= 0:
        scan.values[row * scan.cells[STRIDE] + scan.cells[GOOD]] = text_at(start, end, 0)


@compiled
def tag_status(scan: Scan, start: int, end: int) -> int:
    """What becomes of a record with this value in the route's field."""
    data, cells = scan.data, scan.cells
    if data[start] != QUOTE:
        return REFUSED
    cells[TAG_SEEN] = 1
    start, end = start + 1, end - 1
    size = cells[TAG_SIZE]
    if end - start == size and is_same(data, start, scan.names, cells[TAG_AT], size):
        return READ
    cells[TAG_START], cells[TAG_END] = start, end
    return OTHER_TAG


@compiled
def force(scan: Scan, node: int, found: int, top: int) -> int:
    """Read the record again without the member that holds an item which does not fit.

    Not where the item is in a map: a later one with the same key takes its place.
    """
    cells = scan.cells
    if cells[FORCED_USED] >= MOST_FORCED:
        return REFUSED
    frame = STACK + top * FRAME_FIELDS
    holder = cells[frame + FRAME_NODE]
    while of(scan, of(scan, holder, PARENT), KIND) != STRUCT and of(scan, holder, KIND) == LIST:
        frame -= FRAME_FIELDS
        holder = cells[frame + FRAME_NODE]
    if of(scan, holder, KIND) == MAP:
        return REFUSED
    place = FORCED + 3 * cells[FORCED_USED]
    cells[place] = cells[frame + FRAME_START]
    cells[place + 1] = node
    cells[place + 2] = found
    cells[FORCED_USED] += 1
    return AGAIN


@compiled
def forced_at(scan: Scan, at: int) -> int:
    """The place of what is known of a member that is to be left out here, or INVALID."""
    for place in range(FORCED, FORCED + 3 * scan.cells[FORCED_USED], 3):
        if scan.cells[place] == at:
            return place
    return INVALID
