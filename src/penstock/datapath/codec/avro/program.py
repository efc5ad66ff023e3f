"""An Avro schema as a program: a table of small steps, one per type, which a loop runs per record.

Steps are in the order in which their values lie in the bytes, with jumps for unions and lists. The
loop that runs them (`program_reader`) is compiled once, for all schemas.

    step       column      a                  b                      c
    --------   ---------   ----------------   --------------------   ------------------------
    BOUNDED    number      least              greatest             what to multiply it by
    FIXED      piece       size
    ENUM       piece       number of symbols  in `table`: where each is in `symbols`, its size
    DECIMAL    number      size, -1: told     in `table`: the least number with too many digits
    NULLABLE   flag        the branch that    step behind it
                             is not null
    UNION                  number of branches in `table`: the first step of each
    SET        flag
    JUMP                   step
    LIST       piece       level of items     the step NEXT that belongs to it
    NEXT       piece       level of items     first step of an item  most items of one list
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.avro.types import AvroType
from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.column_pools import FLAGS, NUMBERS, PIECES, PoolLayout
from penstock.datapath.codec.shared.column_tree import ALWAYS, ColumnNode
from penstock.datapath.codec.shared.shapes import Member, Shape, bounds_of

# What to do: first those that read a single value.
(
    LONG, BOUNDED, BOOLEAN, FOUR_BYTES, EIGHT_BYTES, TEXT, FIXED, ENUM, DECIMAL,
    NULLABLE, UNION, SET, JUMP, LIST, NEXT, END,
) = range(16)  # fmt: skip

_INT32 = 2**31
_ANY_COUNT = 2**62
# Items that take no bytes: a few are read here, and the reference says how many there may be.
_FEW_EMPTY_ITEMS = 64


class Program(NamedTuple):
    """Steps, as rows of: what to do, level, column, a, b, c; and a table that they refer to."""

    steps: Numbers
    table: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class RecordProgram:
    """A program, the memory it fills, and the columns made of that.

    `symbols` are those of all enums, end to end.
    """

    program: Program
    layout: PoolLayout
    nodes: tuple[ColumnNode, ...]
    symbols: bytes


def record_program(root: AvroType, shape: Shape) -> RecordProgram:
    """The program of a record that has columns."""
    compiler = _Compiler()
    nodes = compiler.fields(root, _members(shape), 0)
    compiler.add(END)
    steps = np.array(compiler.steps, np.int64)
    program = Program(steps, np.array([*compiler.table, 0], np.int64))
    return RecordProgram(program, compiler.layout, nodes, bytes(compiler.symbols))


@dataclass(slots=True)
class _Compiler:
    """Walks a schema in the order of its bytes."""

    steps: list[list[int]] = field(default_factory=list)
    table: list[int] = field(default_factory=list)
    symbols: bytearray = field(default_factory=bytearray)
    layout: PoolLayout = field(default_factory=PoolLayout)

    def add(self, step: int, level: int = 0, column: int = 0, *details: int) -> int:
        """Add a step; its number, for those that are told later where to go."""
        self.steps.append([step, level, column, *details, *[0] * (3 - len(details))])
        return len(self.steps) - 1

    def fields(
        self, kind: AvroType, members: tuple[Member, ...], level: int
    ) -> tuple[ColumnNode, ...]:
        """The fields of a record. Those that are always null take no bytes and have no column."""
        kinds = [each.type for each in kind.fields if each.type.kind != "null"]
        pairs = zip(kinds, members, strict=True)
        return tuple(self._value(each, member.shape, level, ALWAYS) for each, member in pairs)

    def _value(self, kind: AvroType, shape: Shape, level: int, valid: int) -> ColumnNode:
        """A value of any type; `valid` is the column that says where there is one."""
        if kind.kind == "union":
            return self._union(kind, shape, level, valid)
        if kind.kind in {"array", "map"}:
            return self._list(kind, shape, level, valid)
        if kind.kind == "record" and shape.record is not None:
            parts = self.fields(kind, _members(shape), level)
            return ColumnNode("struct", shape.arrow, level, valid=valid, children=parts)
        if kind.kind == "record":  # without fields: whether it is there
            column = self._with_column(SET, FLAGS, level)
            return ColumnNode("boolean", shape.arrow, level, column, valid)
        return self._scalar(kind, shape, level, valid)

    def _scalar(self, kind: AvroType, shape: Shape, level: int, valid: int) -> ColumnNode:
        arrow = shape.arrow
        if kind.logical == "decimal":
            return ColumnNode("decimal", arrow, level, self._decimal(kind, level), valid)
        if kind.kind in {"int", "long"}:
            column = self._integer(kind, shape, level)
            is_day = shape.type.kind == "date"
            return ColumnNode("day" if is_day else "number", arrow, level, column, valid)
        if kind.kind == "enum":
            return ColumnNode("text", arrow, level, self._enum(kind, level), valid)
        if kind.kind == "fixed":
            column = self._with_column(FIXED, PIECES, level, kind.size)
            return ColumnNode("bytes", arrow, level, column, valid)
        if kind.kind == "boolean":
            column = self._with_column(BOOLEAN, FLAGS, level)
            return ColumnNode("boolean", arrow, level, column, valid)
        if kind.kind in {"float", "double"}:
            is_float = kind.kind == "float"
            column = self._with_column(FOUR_BYTES if is_float else EIGHT_BYTES, NUMBERS, level)
            return ColumnNode("float" if is_float else "number", arrow, level, column, valid)
        column = self._with_column(TEXT, PIECES, level)
        is_text = kind.kind == "string"
        return ColumnNode("text" if is_text else "bytes", arrow, level, column, valid)

    def _with_column(self, step: int, pool: int, level: int, *details: int) -> int:
        """A step and a column of its own for what it reads."""
        column = self.layout.add_column(pool, level)
        self.add(step, level, column, *details)
        return column

    def _integer(self, kind: AvroType, shape: Shape, level: int) -> int:
        """A whole number, or a day or time that is counted in one."""
        if shape.type.kind == "int64" and kind.kind == "long":
            return self._with_column(LONG, NUMBERS, level)
        low, high = bounds_of(shape.type)
        if kind.kind == "int":
            low, high = max(low, -_INT32), min(high, _INT32 - 1)
        is_time = shape.type.kind in {"timestamp_us", "local_us"}
        unit = shape.type.unit_us if is_time else 1
        return self._with_column(BOUNDED, NUMBERS, level, low, high, unit)

    def _enum(self, kind: AvroType, level: int) -> int:
        """Symbols as pieces of bytes that stand behind those of the records."""
        first = len(self.table)
        for symbol in kind.symbols:
            raw = symbol.encode()
            self.table += [len(self.symbols), len(raw)]
            self.symbols += raw
        return self._with_column(ENUM, PIECES, level, len(kind.symbols), first)

    def _decimal(self, kind: AvroType, level: int) -> int:
        limit = 10**kind.precision
        column = self.layout.add_column(NUMBERS, level, width=2)
        size = kind.size if kind.kind == "fixed" else -1
        self.add(DECIMAL, level, column, size, len(self.table))
        low = limit & (2**64 - 1)
        self.table += [low - 2**64 if low >= 2**63 else low, limit >> 64]
        return column

    def _union(self, kind: AvroType, shape: Shape, level: int, valid: int) -> ColumnNode:
        """A nullable type, or a struct with a member per type."""
        present = [at for at, branch in enumerate(kind.branches) if branch.kind != "null"]
        if len(kind.branches) == 1:
            self._jumps(level, [len(self.steps) + 1])
            return self._value(kind.branches[0], shape, level, valid)
        if len(present) == 1:
            valid = self.layout.add_column(FLAGS, level)
            step = self.add(NULLABLE, level, valid, present[0])
            found = self._value(kind.branches[present[0]], shape, level, valid)
            self.steps[step][4] = len(self.steps)
            return found
        return self._several(kind, shape, level, valid)

    def _several(self, kind: AvroType, shape: Shape, level: int, valid: int) -> ColumnNode:
        if len(kind.branches) > len(_members(shape)):  # one of them is null
            valid = self.layout.add_column(FLAGS, level)
        first = self._jumps(level, [0] * len(kind.branches))
        leaps, parts, members = [], [], iter(_members(shape))
        for place, branch in enumerate(kind.branches):
            self.table[first + place] = len(self.steps)
            if branch.kind != "null":
                if valid != ALWAYS:
                    self.add(SET, level, valid)
                mine = self.layout.add_column(FLAGS, level)
                self.add(SET, level, mine)
                parts.append(self._value(branch, next(members).shape, level, mine))
            leaps.append(self.add(JUMP))
        for leap in leaps:
            self.steps[leap][3] = len(self.steps)
        return ColumnNode("struct", shape.arrow, level, valid=valid, children=tuple(parts))

    def _jumps(self, level: int, targets: list[int]) -> int:
        """A step that goes to one of some others; where the table has them."""
        first = len(self.table)
        self.table += targets
        self.add(UNION, level, 0, len(targets), first)
        return first

    def _list(self, kind: AvroType, shape: Shape, level: int, valid: int) -> ColumnNode:
        """An array or a map: blocks of items, each with its count, until one has none."""
        if kind.item is None or shape.item is None:
            raise ValueError(f"a {kind.kind} without items")
        below, is_map = self.layout.add_level(), kind.kind == "map"
        column = self.layout.add_column(PIECES, level)
        begin = self.add(LIST, level, column, below)
        parts = []
        if is_map:
            key = self._with_column(TEXT, PIECES, below)
            parts.append(ColumnNode("text", pa.string(), below, key))
        parts.append(self._value(kind.item, shape.item, below, ALWAYS))
        most = _ANY_COUNT if is_map or _takes_bytes(kind.item) else _FEW_EMPTY_ITEMS
        self.steps[begin][4] = self.add(NEXT, level, column, below, begin + 1, most)
        return ColumnNode(
            "map" if is_map else "list", shape.arrow, level, column, valid, tuple(parts)
        )


def _takes_bytes(kind: AvroType) -> bool:
    """False if no value of a type takes any byte."""
    if kind.kind == "record":
        return any(_takes_bytes(each.type) for each in kind.fields)
    return kind.kind != "null" and (kind.kind != "fixed" or kind.size > 0)


def _members(shape: Shape) -> tuple[Member, ...]:
    return shape.record.members if shape.record is not None else ()
