"""A Thrift struct as a program: tables of its fields, by which a loop reads records.

A struct inside another one is a body of its own wherever it is used, since its columns are others
there. The loop that reads by these tables (`program_reader`) is compiled once, for all schemas.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.column_pools import FLAGS, NUMBERS, PIECES, PoolLayout
from penstock.datapath.codec.shared.column_tree import ALWAYS, ColumnNode, NodeKind
from penstock.datapath.codec.shared.enum_names import EnumNames
from penstock.datapath.codec.thrift.schema import has_names
from penstock.datapath.codec.thrift.struct_layout import Slot, StructBody, StructLayout
from penstock.datapath.codec.thrift.types import (
    BOOL,
    BYTE,
    DOUBLE,
    FIELD_WIRES,
    I16,
    I32,
    I64,
    ITEM_WIRES,
    LIST,
    MAP,
    NO_WIRE,
    NOTHING,
    SET,
    STRING,
    STRUCT,
    UUID,
)

# How a value is read: first those that hold no others.
(
    TRUTH, TRUTH_BEFORE, ONE_BYTE, SHORT, INT, LONG, EIGHT_BYTES, NAME, PIECE, SIXTEEN_BYTES,
    EMPTY, STRUCTURE, ITEMS, ENTRIES,
) = range(14)  # fmt: skip
# What the tables say of a field, an item, a key or a value: the number of a field; how it is
# written and read; the column of its values and their level; the column in which it is marked as
# present, -1 for those that always are; what it adds to the count of its body; the level of what
# it holds; of items and keys the column of how many there are, and its level; whether it is a key
# that may be there once; and more that the way of reading needs: the table of an enum, the body of
# a struct, the row of the items of a list, or of the keys of a map, behind which is that of the
# values.
(
    NUMBER, WIRE, ACT, COLUMN, LEVEL, FLAG, ADDS, BELOW, SIZES, OWN_LEVEL, IS_UNIQUE, MORE,
    FIELD_FACTS,
) = range(13)  # fmt: skip
# And of a body: its first field and how many it has; how many of those that add to its count there
# have to be, and may be. All required fields of a struct; at most one field of a union.
FIRST, FIELD_COUNT, LEAST, MOST, BODY_FACTS = range(5)
NOWHERE = -1
# How to step over a value of a type: its bytes, or one of these.
WHOLE, SIZED, NESTED, BROKEN = -1, -2, -3, -4

_ACTS = {
    "bool": TRUTH,
    "i8": ONE_BYTE,
    "i16": SHORT,
    "i32": INT,
    "i64": LONG,
    "double": EIGHT_BYTES,
    "string": PIECE,
    "binary": PIECE,
    "uuid": SIXTEEN_BYTES,
    "enum": NAME,
    "list": ITEMS,
    "set": ITEMS,
    "map": ENTRIES,
}
_NODES: dict[str, NodeKind] = {
    "bool": "boolean",
    "string": "text",
    "binary": "bytes",
    "uuid": "uuid",
    "enum": "enum",
}
_POOLS = {"bool": FLAGS, "string": PIECES, "binary": PIECES, "uuid": PIECES}


class Program(NamedTuple):
    """Tables of fields and bodies; the first body is the event. `names` are those of enums.

    The wires say what the types of the compact protocol mean, before fields and before items, and
    `widths` how many bytes a value of each type takes.
    """

    is_compact: bool
    fields: Numbers
    bodies: Numbers
    names: Numbers
    field_wires: Numbers
    item_wires: Numbers
    widths: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class StructProgram:
    """A program, the memory it fills, and the columns made of that.

    `symbols` are the names of all enums, end to end; `depth` is how deep values nest.
    """

    program: Program
    layout: PoolLayout
    nodes: tuple[ColumnNode, ...]
    symbols: bytes
    depth: int


def struct_program(layout: StructLayout) -> StructProgram:
    """The program of a struct that is an event."""
    compiler = _Compiler(layout.is_compact)
    _, nodes = compiler.body(layout.body, 0, 1)
    program = Program(
        layout.is_compact,
        np.array(compiler.fields, np.int64).reshape(-1, FIELD_FACTS),
        np.array(compiler.bodies, np.int64),
        compiler.enums.table(),
        np.array(FIELD_WIRES, np.int64),
        np.array(ITEM_WIRES, np.int64),
        _widths(layout.is_compact),
    )
    symbols = bytes(compiler.enums.symbols)
    return StructProgram(program, compiler.layout, nodes, symbols, compiler.depth)


@dataclass(slots=True)
class _Compiler:
    """Walks a struct and all inside it."""

    is_compact: bool
    fields: list[list[int]] = field(default_factory=list)
    bodies: list[list[int]] = field(default_factory=list)
    enums: EnumNames = field(default_factory=EnumNames)
    layout: PoolLayout = field(default_factory=PoolLayout)
    depth: int = 0

    def body(self, body: StructBody, level: int, depth: int) -> tuple[int, tuple[ColumnNode, ...]]:
        """A struct at one place: its number, and the columns of its fields."""
        number, self.depth = len(self.bodies), max(self.depth, depth)
        self.bodies.append([])
        first = self._rows(len(body.slots))
        nodes = tuple(
            self._field(first + place, slot, body, level, depth)
            for place, slot in enumerate(body.slots)
        )
        needed = sum(slot.required for slot in body.slots)
        bounds = (0, 1) if body.is_union else (needed, needed)
        self.bodies[number] = [first, len(body.slots), *bounds]
        return number, nodes

    def _rows(self, count: int) -> int:
        """Room for so many rows that follow each other; the number of the first."""
        first = len(self.fields)
        self.fields += [[] for _ in range(count)]
        return first

    def _field(self, row: int, slot: Slot, body: StructBody, level: int, depth: int) -> ColumnNode:
        flag = self.layout.add_column(FLAGS, level)
        node = self._value(row, slot, level, depth, ALWAYS if slot.required else flag)
        facts = self.fields[row]
        facts[NUMBER], facts[FLAG] = slot.number, flag
        facts[ADDS] = int(slot.required or body.is_union)
        if self.is_compact and slot.type.kind == "bool":
            facts[WIRE], facts[ACT] = NOTHING, TRUTH_BEFORE
        return node

    def _value(self, row: int, slot: Slot, level: int, depth: int, valid: int) -> ColumnNode:
        """A value of any type, which is told by a row; its column."""
        arrow = slot.shape.arrow
        if slot.items:
            return self._items(row, slot, level, depth, valid)
        if slot.body is not None and slot.body.slots:
            number, parts = self.body(slot.body, level, depth + 1)
            self.fields[row] = _facts(slot, STRUCTURE, 0, level, number)
            return ColumnNode("struct", arrow, level, valid=valid, children=parts)
        if slot.body is not None:
            number, _ = self.body(slot.body, level, depth + 1)
            column = self.layout.add_column(FLAGS, level)
            self.fields[row] = _facts(slot, EMPTY, column, level, number)
            return ColumnNode("boolean", arrow, level, column, valid)
        kind = slot.type.kind
        column = self.layout.add_column(_POOLS.get(kind, NUMBERS), level)
        table, symbols = self.enums.add(slot.names) if kind == "enum" else (0, None)
        self.fields[row] = _facts(slot, _ACTS[kind], column, level, table)
        node_kind = _NODES.get(kind, "number")
        return ColumnNode(node_kind, arrow, level, column, valid, symbols=symbols)

    def _items(self, row: int, slot: Slot, level: int, depth: int, valid: int) -> ColumnNode:
        """A list, a set or a map; what it holds has a level of its own."""
        arrow, below = slot.shape.arrow, self.layout.add_level()
        sizes = self.layout.add_column(PIECES, level)
        first = self._rows(len(slot.items))
        parts = tuple(
            self._value(first + place, each, below, depth + 1, ALWAYS)
            for place, each in enumerate(slot.items)
        )
        self.depth = max(self.depth, depth + 1)
        self.fields[row] = _facts(slot, _ACTS[slot.type.kind], sizes, level, first, below)
        self.fields[first][SIZES], self.fields[first][OWN_LEVEL] = sizes, level
        is_map = slot.type.kind == "map"
        if is_map and has_names(slot.type):
            self.fields[first][IS_UNIQUE] = 1
            return ColumnNode("map", arrow, level, sizes, valid, parts)
        if is_map:
            parts = (ColumnNode("struct", _item_of(arrow), below, children=parts),)
        return ColumnNode("list", arrow, level, sizes, valid, parts)


def _widths(is_compact: bool) -> Numbers:
    found = np.full(NO_WIRE + 1, BROKEN, np.int64)
    found[[BOOL, BYTE, DOUBLE, UUID]] = 1, 1, 8, 16
    found[[I16, I32, I64]] = (WHOLE, WHOLE, WHOLE) if is_compact else (2, 4, 8)
    found[[STRING, STRUCT, MAP, SET, LIST]] = SIZED, NESTED, NESTED, NESTED, NESTED
    if is_compact:
        found[NOTHING] = 0
    return found


def _item_of(arrow: pa.DataType) -> pa.DataType:
    return arrow.value_type


def _facts(
    slot: Slot, act: int, column: int, level: int, more: int = 0, below: int = 0
) -> list[int]:
    return [0, slot.wire, act, column, level, NOWHERE, 0, below, NOWHERE, 0, 0, more]
