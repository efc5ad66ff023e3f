"""The scanner: one pass over the bytes of a record, along the nodes of its schema. Compiled.

It accepts a record only if every byte of it is proven to be what the reference would make of it.
Whatever is odd makes it refuse the record, and leaves no trace of it: a name twice in one object,
a name with escapes and without a column, a number near the ends of the scale, more levels or
values than are allowed, and of course whatever is not JSON.

A list whose items do not all fit has to be left out as a whole, which is known too late. Then the
place where it begins is remembered, and the record is read once more.
"""

from penstock.datapath.codec.json.scan_finish import (
    finish_record,
)
from penstock.datapath.codec.json.scan_layout import (
    AGAIN,
    BY_NODE,
    BY_NODE_FIELDS,
    CAPTURES,
    FIRST,
    FLAT,
    FLAT_ROWS,
    FORCED_USED,
    FRAME_BEFORE,
    FRAME_COUNT,
    FRAME_FIELDS,
    FRAME_NODE,
    FRAME_REQUIRED,
    FRAME_SERIAL,
    FRAME_SLOT,
    FRAME_START,
    GHOST,
    GOOD,
    HAS_TAG,
    ITEM,
    ITEM_VALUES,
    KEY_AT,
    KEY_SIZE,
    KIND,
    LATER_USED,
    LIST,
    LIST_HAS_REST,
    LIST_NUMBER,
    LISTS,
    LOG_ROOM,
    LOG_USED,
    MAP,
    MAP_KEYS,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_VALUES,
    MOST_KEYS,
    MUST_HAVE,
    MY_EMPTY,
    MY_ITEM_VALUES,
    NODE_SEEN,
    NODES,
    OTHER_TAG,
    READ,
    REFUSED,
    REQUIRED,
    REST_ROOM,
    REST_USED,
    SERIAL,
    STACK,
    STRIDE,
    STRUCT,
    TABLE_SIZE,
    TAG_END,
    TAG_SEEN,
    TAG_START,
    WATCH,
    WATCH_ALL,
    WATCH_NOTHING,
    WATCH_TAG,
    WIDTH,
    Scan,
)
from penstock.datapath.codec.json.scan_leaves import (
    FITS,
    add_piece,
    capture,
    emit,
    forced_at,
    read_leaf,
    tag_status,
    text_at,
)
from penstock.datapath.codec.json.scan_members import (
    NOBODY,
    look_up,
    of,
)
from penstock.datapath.codec.json.scan_outside import leave_out, read_unknown
from penstock.datapath.codec.json.scan_text import (
    INVALID,
    QUOTE,
    after_space,
    hash_of,
    is_same,
    text_end,
)
from penstock.datapath.codec.json.scan_values import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    LETTER_N,
    OPEN_LIST,
    OPEN_OBJECT,
    kind_at,
    null_end,
)
from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.compiled import compiled, inlined
from penstock.datapath.codec.shared.machine_words import pointer_to

_ROOT = 0
_SPARE = 64


@compiled
def scan_records(
    memory: Scan, starts: Numbers, ends: Numbers, first: int, statuses: Numbers, tags: Numbers
) -> int:
    """Read records from a number on; the number of the first that was not tried.

    It stops where the log or the rests might not have room for the next record, or where enough
    values have been read. Records with a status are passed over.
    """
    scan = _pointers(memory)
    cells = scan.cells
    for number in range(first, len(starts)):
        start, end = starts[number], ends[number]
        size = end - start
        if cells[LOG_USED] + size + _SPARE > cells[LOG_ROOM]:
            return number
        if cells[REST_USED] + size + _SPARE > cells[REST_ROOM]:
            return number
        if cells[ITEM_VALUES] > 2 * cells[MAX_VALUES]:
            return number
        if size == 0 or size > cells[MAX_BYTES] or statuses[number] != READ:
            statuses[number] = REFUSED
            continue
        log_used, later_used = cells[LOG_USED], cells[LATER_USED]
        status = AGAIN
        cells[FORCED_USED] = 0
        while status == AGAIN:
            _begin_record(scan)
            status = _scan_record(scan, start, end)
            if status == READ:
                finish_record(scan)
            else:
                cells[LOG_USED], cells[LATER_USED] = log_used, later_used
                _undo_record(scan)
        if status == OTHER_TAG:
            tags[number] = text_at(cells[TAG_START], cells[TAG_END], 0)
        statuses[number] = status
    return len(starts)


@compiled
def _pointers(memory: Scan) -> Scan:
    """The same without arrays: these are counted whenever they are handed over."""
    return Scan(
        pointer_to(memory.data),
        pointer_to(memory.nodes),
        pointer_to(memory.links),
        pointer_to(memory.names),
        pointer_to(memory.cells),
        pointer_to(memory.values),
        pointer_to(memory.valid),
        pointer_to(memory.log),
        pointer_to(memory.rest),
        pointer_to(memory.rest_at),
        pointer_to(memory.scratch),
    )


@compiled
def _begin_record(scan: Scan) -> None:
    """Forget what was noted of the record before, and remember what is to be undone."""
    cells = scan.cells
    for cell in range(MY_EMPTY, TAG_SEEN + 1):
        cells[cell] = 0
    for row in range(cells[FLAT_ROWS], cells[FLAT_ROWS] + cells[CAPTURES]):
        scan.values[row * cells[STRIDE] + cells[GOOD]] = -1
    items = BY_NODE + cells[NODES] * BY_NODE_FIELDS
    for number in range(items, items + cells[LISTS]):
        cells[number + cells[LISTS]] = cells[number]


@compiled
def _undo_record(scan: Scan) -> None:
    """Of a record that is refused nothing is left."""
    cells = scan.cells
    items = BY_NODE + cells[NODES] * BY_NODE_FIELDS
    for number in range(items, items + cells[LISTS]):
        cells[number] = cells[number + cells[LISTS]]
    for row in range(cells[FLAT_ROWS]):
        scan.valid[row * cells[STRIDE] + cells[GOOD]] = 0


@compiled
def _scan_record(scan: Scan, at: int, end: int) -> int:
    """Read one record: READ, REFUSED, OTHER_TAG, or AGAIN."""
    data, cells = scan.data, scan.cells
    at = after_space(data, at)
    if at >= end or data[at] != OPEN_OBJECT:
        return REFUSED
    _open(scan, 0, _ROOT, cells[GOOD], at)
    top, status = 0, READ
    at = after_space(data, at + 1)
    is_deeper = data[at] != CLOSE_OBJECT
    while True:
        if not is_deeper:
            at, top, status = _go_on(scan, at, end, top)
            if top < 0 or status != READ:
                break
        if at >= end:
            return REFUSED
        key, before = at + 1, top
        if of(scan, cells[STACK + top * FRAME_FIELDS + FRAME_NODE], KIND) == STRUCT:
            at, child, slot, key_end = _read_name(scan, at, end, top)
        else:
            at, child, slot, key_end = _begin_item(scan, at, end, top)
        if at == INVALID:
            return REFUSED
        if child == NOBODY or of(scan, child, KIND) == GHOST:
            at, status = read_unknown(scan, at, end, key, key_end, child, top)
        else:
            at, top, status = _read_value(scan, at, end, child, slot, top)
        if status != READ:
            return status
        is_deeper = top > before and data[at] != CLOSE_OBJECT and data[at] != CLOSE_LIST
    return _last_status(scan, at, end) if status == READ else status


@compiled
def _last_status(scan: Scan, at: int, end: int) -> int:
    """What becomes of a record whose object ends here: nothing but white space may follow."""
    data = scan.data
    while at < end and data[at] in (32, 10, 13, 9):
        at += 1
    has_tag = scan.cells[TAG_SEEN] != 0 or scan.cells[HAS_TAG] == 0
    return READ if at == end and has_tag else REFUSED


@inlined
def _open(scan: Scan, top: int, node: int, slot: int, start: int) -> None:
    """Begin to read an object, a list or a map."""
    cells, frame = scan.cells, STACK + top * FRAME_FIELDS
    cells[SERIAL] += 1
    cells[frame + FRAME_NODE] = node
    cells[frame + FRAME_SLOT] = slot
    cells[frame + FRAME_START] = start
    cells[frame + FRAME_SERIAL] = cells[SERIAL]
    cells[frame + FRAME_COUNT] = 0
    cells[frame + FRAME_BEFORE] = node + cells[NODES]
    cells[frame + FRAME_REQUIRED] = 0


@inlined
def _go_on(scan: Scan, at: int, end: int, top: int) -> tuple[int, int, int]:
    """Go on behind a value: finish whatever ends here, up to the next comma.

    Where to go on, on which level, and what became of the record.
    """
    data, status = scan.data, READ
    while top >= 0 and status == READ:
        at = after_space(data, at)
        node = scan.cells[STACK + top * FRAME_FIELDS + FRAME_NODE]
        if at >= end:
            status = REFUSED
        elif data[at] == COMMA:
            at = after_space(data, at + 1)
            if data[at] == CLOSE_OBJECT or data[at] == CLOSE_LIST:
                status = REFUSED
            break
        elif data[at] != (CLOSE_LIST if of(scan, node, KIND) == LIST else CLOSE_OBJECT):
            status = REFUSED
        else:
            at += 1
            status = _finish(scan, at, top)
            top -= 1
    return at, top, status


@compiled
def _finish(scan: Scan, at: int, top: int) -> int:
    """Finish an object, a list or a map that ends before `at`."""
    cells, frame = scan.cells, STACK + top * FRAME_FIELDS
    node, start = cells[frame + FRAME_NODE], cells[frame + FRAME_START]
    watch = of(scan, node, WATCH)
    if of(scan, node, KIND) == STRUCT:
        if cells[frame + FRAME_REQUIRED] != of(scan, node, MUST_HAVE):
            return REFUSED
    else:
        emit(scan, node, cells[frame + FRAME_SLOT], cells[frame + FRAME_COUNT])
        if cells[LIST_HAS_REST] != 0 and of(scan, node, FLAT) >= 0:
            cells[LIST_HAS_REST] = 0
            if add_piece(scan, node, start, at) != READ:
                return REFUSED
    if watch & WATCH_ALL:
        capture(scan, node, start, at)
    return REFUSED if watch & WATCH_TAG else READ


@inlined
def _read_name(scan: Scan, at: int, end: int, top: int) -> tuple[int, int, int, int]:
    """Where the value of a member begins, which member it is, its slot, where its name ends.

    INVALID if there is no name, or one that the object has had already.
    """
    data, cells, frame = scan.data, scan.cells, STACK + top * FRAME_FIELDS
    if data[at] != QUOTE:
        return INVALID, NOBODY, 0, 0
    key = at + 1
    link = cells[TABLE_SIZE] + cells[frame + FRAME_BEFORE]
    child = scan.links[link]
    if child >= 0 and is_same(
        data,
        key,
        scan.names,
        of(scan, child, KEY_AT),
        of(scan, child, KEY_SIZE),
    ):
        key_end = key + of(scan, child, KEY_SIZE) - 1
    else:
        key_end, child = look_up(scan, key, end, cells[frame + FRAME_NODE])
        if key_end == INVALID:
            return INVALID, NOBODY, 0, 0
        # Not if it is written with escapes: a guess compares the bytes of the name itself.
        if child != NOBODY and of(scan, child, KEY_SIZE) == key_end - key + 1:
            scan.links[link] = child
    at = after_space(data, key_end + 1)
    if data[at] != COLON:
        return INVALID, NOBODY, 0, 0
    at = after_space(data, at + 1)
    if child != NOBODY:
        seen = BY_NODE + child * BY_NODE_FIELDS + NODE_SEEN
        if cells[seen] == cells[frame + FRAME_SERIAL] or at >= end:
            return INVALID, NOBODY, 0, 0
        cells[seen] = cells[frame + FRAME_SERIAL]
        cells[frame + FRAME_BEFORE] = child
        cells[frame + FRAME_REQUIRED] += of(scan, child, REQUIRED)
    return at, child, cells[frame + FRAME_SLOT], key_end


@inlined
def _begin_item(scan: Scan, at: int, end: int, top: int) -> tuple[int, int, int, int]:
    """The same for an item of a list or a map; INVALID if there are too many."""
    cells, frame = scan.cells, STACK + top * FRAME_FIELDS
    node = cells[frame + FRAME_NODE]
    items = BY_NODE + cells[NODES] * BY_NODE_FIELDS + of(scan, node, LIST_NUMBER)
    slot = cells[items]
    if of(scan, node, KIND) == MAP:
        at = _read_map_key(scan, at, end, slot, top)
    cells[items] = slot + 1
    cells[frame + FRAME_COUNT] += 1
    cells[MY_ITEM_VALUES] += of(scan, node, WIDTH)
    if cells[MY_ITEM_VALUES] > cells[MAX_VALUES]:
        at = INVALID
    return at, of(scan, node, ITEM), slot, at


@compiled
def _read_map_key(scan: Scan, at: int, end: int, slot: int, top: int) -> int:
    """Where the value of a map's key begins; INVALID if the key is not sound, or was there before.

    Keys with escapes may be the same without looking so: there may be one, alone.
    """
    data, cells, frame = scan.data, scan.cells, STACK + top * FRAME_FIELDS
    count, keys = cells[frame + FRAME_COUNT], MAP_KEYS + top * MOST_KEYS
    if data[at] != QUOTE:
        return INVALID
    key_end, has_escapes = text_end(data, at + 1, end)
    if has_escapes:
        cells[frame + FRAME_REQUIRED] = 1
    is_odd = cells[frame + FRAME_REQUIRED] != 0 and count > 0
    if key_end == INVALID or count >= MOST_KEYS or is_odd:
        return INVALID
    found = hash_of(data, at + 1, key_end)
    for before in range(keys, keys + count):
        if cells[before] == found:
            return INVALID
    cells[keys + count] = found
    text = text_at(at + 1, key_end, has_escapes)
    emit(scan, of(scan, cells[frame + FRAME_NODE], FIRST), slot, text)
    at = after_space(data, key_end + 1)
    return after_space(data, at + 1) if data[at] == COLON else INVALID


@inlined
def _read_value(
    scan: Scan, at: int, end: int, node: int, slot: int, top: int
) -> tuple[int, int, int]:
    """Read a value up to its end, or open it: where to go on, on which level, and the status."""
    data, cells = scan.data, scan.cells
    byte, kind, room = data[at], of(scan, node, KIND), cells[MAX_DEPTH] - top - 1
    then, path, found, status = at, node, FITS, READ
    if byte == LETTER_N and kind != GHOST:
        then = null_end(data, at)
        is_refused = then == INVALID or of(scan, node, REQUIRED) != 0
        return then, top, REFUSED if is_refused else READ
    if cells[FORCED_USED] != 0 and kind >= LIST:
        place = forced_at(scan, at)
        if place != INVALID:
            path, found = cells[place + 1], cells[place + 2]
    if found == FITS and kind < STRUCT:
        then, found = read_leaf(scan, at, end, node, slot, room)
    elif found == FITS and byte == (OPEN_LIST if kind == LIST else OPEN_OBJECT):
        _open(scan, top + 1, node, slot, at)
        if kind == STRUCT:
            emit(scan, node, slot, 0)
        return after_space(data, at + 1), top + 1, READ if room >= 1 else REFUSED
    elif found == FITS:
        found = kind_at(data, at)
    if then == INVALID:
        status = REFUSED
    elif found != FITS:
        then, status = leave_out(scan, at, end, node, path, found, top)
    elif of(scan, node, WATCH) != WATCH_NOTHING:
        if of(scan, node, WATCH) & WATCH_ALL:
            capture(scan, node, at, then)
        if of(scan, node, WATCH) & WATCH_TAG:
            status = tag_status(scan, at, then)
    return then, top, status
