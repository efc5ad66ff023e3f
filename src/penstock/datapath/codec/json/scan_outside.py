"""Values that have no place in a column, on their way to `_rest`. Compiled."""

from penstock.datapath.codec.json.scan_layout import (
    FLAT,
    FRAME_FIELDS,
    FRAME_NODE,
    FRAME_SERIAL,
    IS_DECLARED,
    KIND,
    LIST_HAS_REST,
    MAX_DEPTH,
    MY_EMPTY,
    PARENT,
    READ,
    REFUSED,
    STACK,
    STRUCT,
    UNKNOWN_END,
    UNKNOWN_SAYS,
    UNKNOWN_START,
    WATCH,
    WATCH_TAG,
    Scan,
)
from penstock.datapath.codec.json.scan_leaves import (
    add_misfit,
    add_piece,
    capture,
    force,
    tag_status,
)
from penstock.datapath.codec.json.scan_members import (
    NOBODY,
    note_unknown,
    of,
)
from penstock.datapath.codec.json.scan_text import (
    INVALID,
)
from penstock.datapath.codec.json.scan_values import (
    LETTER_N,
    value_end,
)
from penstock.datapath.codec.shared.compiled import (
    compiled,
)


@compiled
def read_unknown(
    scan: Scan, at: int, end: int, key: int, key_end: int, child: int, top: int
) -> tuple[int, int]:
    """Read the value of a field without a column, which may have been asked for."""
    cells, frame = scan.cells, STACK + top * FRAME_FIELDS
    node = cells[frame + FRAME_NODE]
    place = note_unknown(scan, cells[frame + FRAME_SERIAL], node, key, key_end)
    then, says = value_end(scan.data, at, end, cells[MAX_DEPTH] - top - 1)
    if place == INVALID or then == INVALID:
        return at, REFUSED
    cells[place + UNKNOWN_START] = at
    cells[place + UNKNOWN_END] = then
    cells[place + UNKNOWN_SAYS] = says
    if not says:
        cells[MY_EMPTY] += 1
    elif of(scan, node, FLAT) < 0:
        cells[LIST_HAS_REST] = 1
    if child == NOBODY or scan.data[at] == LETTER_N:
        return then, READ
    capture(scan, child, at, then)
    return then, tag_status(scan, at, then) if of(scan, child, WATCH) & WATCH_TAG else READ


@compiled
def leave_out(
    scan: Scan, at: int, end: int, node: int, path: int, found: int, top: int
) -> tuple[int, int]:
    """Step over a value that its member cannot hold. An item takes the member that holds it along.

    `path` is what did not fit: the member itself, or something in it.
    """
    cells = scan.cells
    if cells[IS_DECLARED] != 0:
        return at, REFUSED
    if of(scan, of(scan, node, PARENT), KIND) != STRUCT:
        return at, force(scan, node, found, top)
    then = value_end(scan.data, at, end, cells[MAX_DEPTH] - top - 1)[0]
    if then == INVALID or add_misfit(scan, path, found) != READ:
        return at, REFUSED
    if of(scan, node, FLAT) < 0:
        cells[LIST_HAS_REST] = 1
    elif add_piece(scan, node, at, then) != READ:
        return at, REFUSED
    capture(scan, node, at, then)
    return then, tag_status(scan, at, then) if of(scan, node, WATCH) & WATCH_TAG else READ
