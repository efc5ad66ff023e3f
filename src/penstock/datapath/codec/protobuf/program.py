"""A Protobuf message as a program: tables of its fields, by which a loop reads records.

A message inside another one is a body of its own wherever it is used, since its columns are others
there. The loop that reads by these tables (`program_reader`) is compiled once, for all schemas.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from penstock.datapath.codec.protobuf.message_layout import MessageBody, MessageLayout, Slot
from penstock.datapath.codec.protobuf.types import LENGTH
from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.column_pools import FLAGS, NUMBERS, PIECES, PoolLayout
from penstock.datapath.codec.shared.column_tree import ALWAYS, ColumnNode, NodeKind
from penstock.datapath.codec.shared.enum_names import EnumNames

# How a value is read: first those that are not messages of fields.
(
    VARINT_64, VARINT_32, UNSIGNED_32, ZIGZAG_32, ZIGZAG_64, UNSIGNED_64, TRUTH, NAME, FOUR_BYTES,
    SIGNED_FOUR_BYTES, EIGHT_BYTES, UNSIGNED_EIGHT_BYTES, PIECE, MOMENT, DURATION, MESSAGE, EMPTY,
) = range(17)  # fmt: skip
# What the tables say of a field: its number, how it is written and read, the column of its values
# and their level; then in which columns it is marked as present, as the one set of a oneof, and as
# a list, -1 if in none, and the level of these; whether a record without it is refused; and more
# that the way of reading needs.
(
    NUMBER, WIRE, ACT, COLUMN, LEVEL, FLAG, GROUP, SIZES, OWN_LEVEL, IS_NEEDED, MORE, FIELD_FACTS,
) = range(12)  # fmt: skip
# And of a body: its first field and how many it has, in the order of their numbers; whether there
# are any that it needs; and of an entry of a map the column of how many there are, and its level.
FIRST, FIELD_COUNT, HAS_NEEDS, ENTRIES, ENTRIES_LEVEL, BODY_FACTS = range(6)
NOWHERE = -1

_ACTS = {
    "int32": VARINT_32,
    "int64": VARINT_64,
    "uint32": UNSIGNED_32,
    "uint64": UNSIGNED_64,
    "sint32": ZIGZAG_32,
    "sint64": ZIGZAG_64,
    "bool": TRUTH,
    "enum": NAME,
    "fixed32": FOUR_BYTES,
    "sfixed32": SIGNED_FOUR_BYTES,
    "float": FOUR_BYTES,
    "fixed64": UNSIGNED_EIGHT_BYTES,
    "sfixed64": EIGHT_BYTES,
    "double": EIGHT_BYTES,
    "string": PIECE,
    "bytes": PIECE,
}
_NODES: dict[str, NodeKind] = {
    "uint64": "decimal",
    "fixed64": "decimal",
    "float": "float",
    "bool": "boolean",
    "string": "text",
    "bytes": "bytes",
}


class Program(NamedTuple):
    """Tables of fields and bodies; the first body is the event. `names` are those of enums."""

    fields: Numbers
    bodies: Numbers
    names: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class MessageProgram:
    """A program, the memory it fills, and the columns made of that.

    `symbols` are the names of all enums, end to end; `depth` is how deep messages nest.
    """

    program: Program
    layout: PoolLayout
    nodes: tuple[ColumnNode, ...]
    symbols: bytes
    depth: int


def message_program(layout: MessageLayout) -> MessageProgram:
    """The program of a message that is an event."""
    compiler = _Compiler()
    _, nodes = compiler.body(layout.body, 0, 1)
    fields = np.array(compiler.fields, np.int64).reshape(-1, FIELD_FACTS)
    program = Program(fields, np.array(compiler.bodies, np.int64), compiler.enums.table())
    symbols = bytes(compiler.enums.symbols)
    return MessageProgram(program, compiler.layout, nodes, symbols, compiler.depth)


@dataclass(slots=True)
class _Compiler:
    """Walks a message and those inside it."""

    fields: list[list[int]] = field(default_factory=list)
    bodies: list[list[int]] = field(default_factory=list)
    enums: EnumNames = field(default_factory=EnumNames)
    layout: PoolLayout = field(default_factory=PoolLayout)
    depth: int = 0

    def body(
        self, body: MessageBody, level: int, depth: int, entries: tuple[int, int] = (NOWHERE, 0)
    ) -> tuple[int, tuple[ColumnNode, ...]]:
        """A message at one place: its number, and columns. `entries` is told if it is of a map."""
        number, self.depth = len(self.bodies), max(self.depth, depth)
        self.bodies.append([])
        groups = self._groups(body, level)
        rows, nodes = [], []
        for slot in body.slots:
            row, node = self._slot(slot, level, depth, body.meaning == "entry")
            row[GROUP] = groups.get(slot.field.oneof, NOWHERE)
            rows.append(row)
            nodes.append(node)
        rows.sort(key=lambda row: row[NUMBER])
        needs = int(any(row[IS_NEEDED] for row in rows))
        self.bodies[number] = [len(self.fields), len(rows), needs, *entries]
        self.fields += rows
        return number, tuple(nodes)

    def _groups(self, body: MessageBody, level: int) -> dict[str, int]:
        """A column for each oneof of several fields, which says which of them is set."""
        oneofs = [slot.field.oneof for slot in body.slots if slot.field.oneof]
        several = sorted({each for each in oneofs if oneofs.count(each) > 1})
        return {each: self.layout.add_column(NUMBERS, level) for each in several}

    def _slot(
        self, slot: Slot, level: int, depth: int, in_entry: bool
    ) -> tuple[list[int], ColumnNode]:
        """A field: what the table says of it, and its column."""
        if slot.field.label in {"map", "repeated"}:
            return self._list(slot, level, depth)
        # The value of a map's entry has a default, and only messages are not all zeros then.
        is_needed = slot.field.label == "required" or (in_entry and slot.body is not None)
        is_marked = is_needed or slot.field.label == "explicit"
        flag = self.layout.add_column(FLAGS, level) if is_marked else NOWHERE
        valid = flag if slot.field.label == "explicit" else ALWAYS
        row, node = self._item(slot, level, depth, valid)
        row[FLAG], row[IS_NEEDED] = flag, int(is_needed)
        return row, node

    def _list(self, slot: Slot, level: int, depth: int) -> tuple[list[int], ColumnNode]:
        below, sizes = self.layout.add_level(), self.layout.add_column(PIECES, level)
        arrow = slot.shape.arrow
        if slot.field.label == "map" and slot.body is not None:
            number, parts = self.body(slot.body, below, depth + 1, (sizes, level))
            row = _row(slot, MESSAGE, 0, below, number)
            is_map = slot.shape.type.kind == "map"
            pair = ColumnNode("struct", slot.item.arrow, below, children=parts)
            children = parts if is_map else (pair,)
            node = ColumnNode("map" if is_map else "list", arrow, level, sizes, children=children)
        else:
            row, item = self._item(slot, below, depth, ALWAYS)
            node = ColumnNode("list", arrow, level, sizes, children=(item,))
        row[SIZES], row[OWN_LEVEL] = sizes, level
        return row, node

    def _item(self, slot: Slot, level: int, depth: int, valid: int) -> tuple[list[int], ColumnNode]:
        """A single value."""
        if slot.body is None:
            return self._scalar(slot, level, valid)
        meaning, arrow = slot.body.meaning, slot.item.arrow
        if meaning in {"timestamp", "duration"}:
            column = self.layout.add_column(NUMBERS, level)
            act = MOMENT if meaning == "timestamp" else DURATION
            return _row(slot, act, column, level), ColumnNode("number", arrow, level, column, valid)
        number, parts = self.body(slot.body, level, depth + 1)
        if meaning == "empty":
            column = self.layout.add_column(FLAGS, level)
            node = ColumnNode("boolean", arrow, level, column, valid)
            return _row(slot, EMPTY, column, level, number), node
        row = _row(slot, MESSAGE, 0, level, number)
        if meaning == "wrapper":
            inner = parts[0]
            return row, ColumnNode(inner.kind, arrow, level, inner.column, valid)
        return row, ColumnNode("struct", arrow, level, valid=valid, children=parts)

    def _scalar(self, slot: Slot, level: int, valid: int) -> tuple[list[int], ColumnNode]:
        kind, arrow = slot.field.kind, slot.item.arrow
        act = _ACTS[kind]
        pool = FLAGS if act == TRUTH else PIECES if act == PIECE else NUMBERS
        width = 2 if act in {UNSIGNED_64, UNSIGNED_EIGHT_BYTES} else 1
        column = self.layout.add_column(pool, level, width)
        if act != NAME:
            node = ColumnNode(_NODES.get(kind, "number"), arrow, level, column, valid)
            return _row(slot, act, column, level), node
        table, symbols = self.enums.add(slot.names)
        row = _row(slot, act, column, level, table)
        return row, ColumnNode("enum", arrow, level, column, valid, symbols=symbols)


def _row(slot: Slot, act: int, column: int, level: int, more: int = 0) -> list[int]:
    wire = LENGTH if slot.body is not None else slot.field.wire
    return [slot.field.number, wire, act, column, level, NOWHERE, NOWHERE, NOWHERE, level, 0, more]
