"""Tables for the scanner, made of a schema, the fields that are asked for, and the route's text.

Making them takes about as long as reading a hundred records, so they are made once per schema.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from penstock.datapath.codec.json import scan_layout as layout
from penstock.datapath.codec.json.decode_plan import DecodePlan, JsonObject, JsonType
from penstock.datapath.codec.json.scan_members import fill_links
from penstock.datapath.codec.json.value_text import name_text
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.machine_words import PADDING
from penstock.datapath.codec.shared.shapes import bounds_of
from penstock.datapath.codec.shared.value_count import item_width
from penstock.model.schema import ScalarKind

_LEAVES = {"boolean": layout.BOOLEAN, "double": layout.DOUBLE, "string": layout.TEXT}
_COUNTED = frozenset({"int64", "date", "timestamp_us", "local_us"})
_ACCEPTING = {"scalars": layout.SCALARS, "json": layout.JSON}
# Kinds whose column has the very values that a look at the field gives. A look at 5 gives the
# integer, a column of doubles 5.0: so doubles are not among them.
_SAME_AS_LOOKED_AT = frozenset({"boolean", "int64", "string"})
_MAY_HOLD_FIELDS = frozenset({layout.MAP, layout.JSON, layout.GHOST})


# Kinds of scalars as the scanner numbers them.
_SCALARS: dict[ScalarKind, set[int]] = {
    "boolean": {layout.TRUTH},
    "integer": {layout.WHOLE},
    "number": {layout.WHOLE, layout.FRACTION},
    "string": {layout.STRING},
}


def _kinds_of(only: tuple[ScalarKind, ...]) -> set[int]:
    return set().union(*(_SCALARS[kind] for kind in only))


class NotScannable(Exception):
    """The schema has a type that the scanner does not read."""


@dataclass(frozen=True, slots=True)
class AskedField:
    """Where the values of a field come from, of which plain values are asked for.

    A column has them, if `is_column`; a text that was captured has what the column cannot hold,
    or everything. `below` are the names that lead on from there, inside of the captured text.
    """

    node: int
    is_column: bool
    below: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ScanPlan:
    """Tables of a schema, and what is needed to make columns of what was scanned.

    `cells` are the settings, as the scanner wants them. `shapes` has the type of each node (the
    event itself and ghosts have none), `paths` where each is found, `owners` the number of the list
    that a node is in, or -1.
    """

    nodes: npt.NDArray[np.int64]
    links: Numbers
    names: Octets
    cells: Numbers
    shapes: list[JsonType | None]
    paths: list[str]
    owners: list[int]
    asked: dict[str, AskedField]


@lru_cache(maxsize=512)
def scan_plan(
    plan: DecodePlan,
    limits: Limits,
    paths: tuple[str, ...] = (),
    tag: tuple[str, str] | None = None,
) -> ScanPlan | None:
    """The tables of a schema; None if only the reference reads it.

    A `tag` is a field, by its path, and the text that it has in all records.
    """
    if limits.max_depth > layout.DEEPEST:
        return None
    try:
        nodes = _Nodes(plan.root)
        asked = {path: nodes.asked(path) for path in paths}
        text = nodes.tag_text(*tag) if tag is not None else b""
    except NotScannable:
        return None
    cells = np.zeros(layout.STACK, np.int64)
    cells[layout.IS_DECLARED] = plan.declared
    cells[layout.HAS_TAG] = tag is not None
    cells[layout.TAG_SIZE] = len(text)
    cells[layout.MAX_DEPTH] = limits.max_depth
    cells[layout.MAX_VALUES] = limits.max_values
    cells[layout.MAX_BYTES] = limits.max_bytes
    return nodes.plan(asked, text, cells)


def padded(content: bytes) -> Octets:
    """Bytes that may be looked at in words and blocks."""
    return np.frombuffer(content + bytes(PADDING), np.uint8).copy()


class _Nodes:
    """Gives numbers to everything that has values."""

    def __init__(self, root: JsonObject) -> None:
        self._rows: list[list[int]] = []
        self._names = bytearray()
        self._shapes: list[JsonType | None] = []
        self._paths: list[str] = []
        self._owners: list[int] = []
        self._children: dict[tuple[int, str], int] = {}
        self._is_plain: list[bool] = []
        self._flat = self._lists = self._captures = 0
        top = self._add(layout.STRUCT, -1, -1, None, root.path)
        self._add_members(top, -1, root)

    def _add(self, kind: int, parent: int, owner: int, shape: JsonType | None, path: str) -> int:
        row = [-1] * layout.NODE_FIELDS
        row[layout.KIND], row[layout.PARENT] = kind, parent
        for field in (layout.REQUIRED, layout.KEY_AT, layout.KEY_SIZE, layout.LABEL_AT):
            row[field] = 0
        for field in (layout.LABEL_SIZE, layout.WIDTH, layout.WATCH, layout.MUST_HAVE):
            row[field] = 0
        if owner < 0 and kind != layout.GHOST:
            row[layout.FLAT] = self._flat
            self._flat += 1
        self._rows.append(row)
        self._shapes.append(shape)
        self._paths.append(path)
        self._owners.append(owner)
        self._is_plain.append(True)
        return len(self._rows) - 1

    def _add_members(self, parent: int, owner: int, record: JsonObject) -> None:
        last = None
        for member in record.members:
            node = self._add_type(member.shape, parent, owner)
            self._name(node, parent, member.name)
            self._rows[node][layout.REQUIRED] = int(not member.nullable)
            self._rows[parent][layout.MUST_HAVE] += int(not member.nullable)
            self._rows[parent if last is None else last][
                layout.FIRST if last is None else layout.NEXT
            ] = node
            last = node

    def _name(self, node: int, parent: int, name: str) -> None:
        """Give a node its name, as a member of an object."""
        row, encoded = self._rows[node], name.encode()
        row[layout.KEY_AT], row[layout.KEY_SIZE] = len(self._names), len(encoded) + 1
        self._names += encoded + b'"'
        label = name_text(name).encode()
        row[layout.LABEL_AT], row[layout.LABEL_SIZE] = len(self._names), len(label)
        self._names += label
        self._children[parent, name] = node
        self._is_plain[node] = label == b'"' + encoded + b'":'

    def _add_type(self, shape: JsonType, parent: int, owner: int) -> int:
        kind = shape.type.kind
        if shape.record is not None:
            node = self._add(layout.STRUCT, parent, owner, shape, shape.path)
            self._add_members(node, owner, shape.record)
            return node
        if shape.item is not None:
            return self._add_collection(shape, shape.item, parent, owner)
        if shape.type.accepts:
            found = _ACCEPTING[shape.type.accepts]
        elif kind in _LEAVES:
            found = _LEAVES[kind]
        elif kind in _COUNTED:
            found = layout.INTEGER
        else:
            raise NotScannable
        node = self._add(found, parent, owner, shape, shape.path)
        if found == layout.INTEGER:
            self._rows[node][layout.LOW :] = bounds_of(shape.type)
        if shape.type.only:
            self._rows[node][layout.LOW] = sum(1 << kind for kind in _kinds_of(shape.type.only))
        return node

    def _add_collection(self, shape: JsonType, item: JsonType, parent: int, owner: int) -> int:
        kind = layout.LIST if shape.type.kind == "list" else layout.MAP
        node = self._add(kind, parent, owner, shape, shape.path)
        number, self._lists = self._lists, self._lists + 1
        self._rows[node][layout.LIST_NUMBER] = number
        self._rows[node][layout.WIDTH] = item_width(shape.type)
        if kind == layout.MAP:
            self._rows[node][layout.FIRST] = self._add(layout.TEXT, node, number, None, shape.path)
        inner = self._add_type(item, node, number)
        self._rows[node][layout.ITEM] = inner
        self._rows[inner][layout.REQUIRED] = int(not shape.type.item_nullable)
        return node

    # --- fields that are asked for ---------------------------------------------------------------

    def _walk(self, names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """The node where a path leads to, or where it leaves the schema, and the names left."""
        node = 0
        for depth, name in enumerate(names):
            if self._rows[node][layout.KIND] != layout.STRUCT:
                return node, names[depth:]
            child = self._children.get((node, name))
            if child is None:
                child = self._add(layout.GHOST, node, -1, None, "")
                self._name(child, node, name)
            node = child
        return node, ()

    def asked(self, path: str) -> AskedField:
        """Have the values of a field captured, as far as its column does not have them."""
        node, below = self._walk(tuple(path.split(".")))
        row, shape = self._rows[node], self._shapes[node]
        if row[layout.CAPTURE] < 0:
            row[layout.CAPTURE] = self._captures
            self._captures += 1
        is_same = (
            shape is not None and shape.type.kind in _SAME_AS_LOOKED_AT and not shape.type.accepts
        )
        needs_all = row[layout.KIND] in _MAY_HOLD_FIELDS if below else not is_same
        if needs_all:
            row[layout.WATCH] |= layout.WATCH_ALL
        return AskedField(node, is_same and not below, below)

    def tag_text(self, path: str, text: str) -> bytes:
        """Have the scanner compare the value of the route's field with a text; its bytes."""
        node, below = self._walk(tuple(path.split(".")))
        if below or name_text(text) != f'"{text}":':
            raise NotScannable
        self._rows[node][layout.WATCH] |= layout.WATCH_TAG
        return text.encode()

    # --- the tables ------------------------------------------------------------------------------

    def plan(self, asked: dict[str, AskedField], tag: bytes, cells: Numbers) -> ScanPlan:
        """The tables of all nodes that there are now."""
        nodes = np.array(self._rows, np.int64)
        has_text = nodes[:, layout.CAPTURE] >= 0
        nodes[has_text, layout.CAPTURE] += self._flat
        size = 16
        while size < 3 * len(self._children):
            size *= 2
        names = padded(bytes(self._names) + tag)
        links = np.concatenate((np.full(size, -1, np.int64), self._guesses()))
        fill_links(nodes.reshape(-1), names, links, size)
        cells[layout.TAG_AT] = len(self._names)
        cells[layout.TABLE_SIZE] = size
        cells[layout.NODES] = len(nodes)
        cells[layout.LISTS] = self._lists
        cells[layout.FLAT_ROWS] = self._flat
        cells[layout.CAPTURES] = self._captures
        return ScanPlan(nodes, links, names, cells, self._shapes, self._paths, self._owners, asked)

    def _guesses(self) -> Numbers:
        """To begin with, members are expected in the order of the schema.

        First which member comes after each node, then which comes first in each.
        """
        after = [row[layout.NEXT] for row in self._rows]
        within = [
            row[layout.FIRST] if row[layout.KIND] == layout.STRUCT else -1 for row in self._rows
        ]
        found = [node if self._is_plain[node] else -1 for node in (*after, *within)]
        return np.array(found, np.int64)
