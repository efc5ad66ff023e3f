"""Rows as lines of JSON: one pass over the values of each. Compiled.

A schema becomes a table of steps, in the order of the text. The loop is compiled once, for all
schemas.

    step       column        a                         b
    --------   -----------   -----------------------   -----------------------------------
    LITERAL                  where in the literals     size
    OPTIONAL   flags         the step behind the value
    INTEGER    numbers
    DOUBLE     numbers       a text of the number
    DIGITS     numbers       a text of the decimal
    TEXT       numbers
    BASE64     numbers
    TRUTH      flags
    DAY        numbers
    MOMENT     numbers       ticks in a second         1 if it is in UTC
    ITEMS      numbers       the step behind           the level of items; `c`: 1 for a map
    NEXT                     first step of an item     `c`: 1 for a map

Nothing checks an index in the pools here: they are made of the same columns as the steps. Whether
there is room for what is written is asked before every step.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from penstock.datapath.codec.json.text_values import (
    BASE64,
    DAY,
    DIGITS,
    DOUBLE,
    INTEGER,
    MOMENT,
    TEXT,
    Letters,
    letters_with,
    put_bytes,
    put_comma,
    put_null,
    put_number,
    put_opening,
    put_piece,
    put_truth,
)
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.compiled import compiled
from penstock.datapath.codec.shared.row_pools import RowPools, row_pools

LITERAL, OPTIONAL, TRUTH, ITEMS, NEXT, END = range(7, 13)
# A step that writes a text, bytes, or a number whose text is known, is at most this.
_LAST_PIECE = DIGITS

ROOM_BYTES = 1 << 20  # for lines, at first
_MOST_BYTES = 64  # more than any value takes besides texts and bytes
_PER_BYTE = 6  # what a byte of a text takes at most: \u001f


class Lines(NamedTuple):
    """Where lines go, and where each of them ends."""

    data: Octets
    ends: Numbers


@dataclass(slots=True)
class TextSteps:
    """The steps of a schema of plain types, its literals, and how many levels of items it has."""

    steps: list[list[int]] = field(default_factory=list)
    literals: bytearray = field(default_factory=bytearray)
    level_count: int = 1
    _columns: int = 0

    @classmethod
    def of(cls, schema: pa.Schema) -> "TextSteps":
        """The steps of a row, and of the line end behind."""
        found = cls()
        found._members(list(schema), 0)
        found._literal(b"\n", 0)
        found._add(END, 0)
        return found

    def table(self) -> Numbers:
        """Rows of: what to do, level, column, a, b, c."""
        return np.array(self.steps, np.int64)

    def letters(self) -> Letters:
        """What is written besides values."""
        return letters_with(bytes(self.literals))

    def _add(
        self, step: int, level: int, column: int = 0, a: int = 0, b: int = 0, c: int = 0
    ) -> int:
        self.steps.append([step, level, column, a, b, c])
        return len(self.steps) - 1

    def _literal(self, text: bytes, level: int) -> None:
        self._add(LITERAL, level, a=len(self.literals), b=len(text))
        self.literals += text

    def _column(self) -> int:
        self._columns += 1
        return self._columns - 1

    def _members(self, columns: list[pa.Field], level: int) -> None:
        for number, each in enumerate(columns):
            before = b"," if number else b"{"
            self._literal(before + msgspec.json.encode(each.name) + b":", level)
            self._value(each.type, level)
        self._literal(b"}" if columns else b"{}", level)

    def _value(self, kind: pa.DataType, level: int) -> None:
        step = self._add(OPTIONAL, level, self._column())
        self._present(kind, level)
        self.steps[step][3] = len(self.steps)

    def _present(self, kind: pa.DataType, level: int) -> None:
        if pa.types.is_struct(kind):
            self._members(list(kind), level)
        elif pa.types.is_list(kind) or pa.types.is_map(kind):
            self._items(kind, level)
        elif pa.types.is_timestamp(kind):
            ticks = 1_000 if kind.unit == "ms" else 1_000_000
            self._add(MOMENT, level, self._column(), a=ticks, b=int(kind.tz is not None))
        else:
            self._add(_step_of(kind), level, self._column())

    def _items(self, kind: pa.DataType, level: int) -> None:
        below, is_map = self.level_count, pa.types.is_map(kind)
        self.level_count += 1
        begin = self._add(ITEMS, level, self._column(), b=below, c=int(is_map))
        if is_map:
            self._column()  # whether there is a key: there always is
            self._add(TEXT, below, self._column())
            self._literal(b":", below)
            self._value(kind.item_type, below)
        else:
            self._value(kind.value_type, below)
        self._add(NEXT, below, a=begin + 1, c=int(is_map))
        self.steps[begin][3] = len(self.steps)


def _step_of(kind: pa.DataType) -> int:
    if pa.types.is_boolean(kind):
        return TRUTH
    if pa.types.is_floating(kind):
        return DOUBLE
    if pa.types.is_decimal(kind):
        return DIGITS
    if pa.types.is_string(kind):
        return TEXT
    if pa.types.is_binary(kind):
        return BASE64
    return DAY if pa.types.is_date32(kind) else INTEGER


def with_texts_of_numbers(kind: pa.DataType) -> pa.DataType:
    """A plain type with texts for doubles and decimals: Arrow writes the shortest exact ones."""
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(with_texts_of_numbers(each.type)) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(pa.string(), with_texts_of_numbers(kind.item_type))
    return pa.list_(with_texts_of_numbers(kind.value_type)) if pa.types.is_list(kind) else kind


def text_lines(rows: pa.RecordBatch, steps: TextSteps) -> Iterator[Octets]:
    """Rows, with texts of their numbers, as lines of JSON, some at a time."""
    pools, table, letters = row_pools(rows.columns), steps.table(), steps.letters()
    ends = np.zeros(rows.num_rows, np.int64)
    walk = np.zeros((2, steps.level_count), np.int64)
    data, row = np.empty(ROOM_BYTES, np.uint8), 0
    while row < rows.num_rows:
        then = write_lines(table, pools, walk, letters, Lines(data, ends), row)
        if then > row:
            yield data[: ends[then - 1]].copy()
        else:
            data = np.empty(2 * len(data), np.uint8)
        row = then


@compiled
def write_lines(
    steps: Numbers, pools: RowPools, walk: Numbers, letters: Letters, lines: Lines, first: int
) -> int:
    """Write rows from the first one on, until there is no room; the row to go on with.

    `walk` is the loop's account of the levels: the item that is written, the end of its list.
    """
    data, ends, at = lines.data, lines.ends, 0
    for row in range(first, len(ends)):
        walk[0, 0] = row
        step = 0
        while steps[step, 0] != END:
            act, level, a = steps[step, 0], steps[step, 1], steps[step, 3]
            base, here = pools.bases[steps[step, 2]], walk[0, level]
            if len(data) - at < _MOST_BYTES:
                return row
            if act == LITERAL:
                size = steps[step, 4]
                if len(data) - at < size:
                    return row
                at = put_bytes(letters.literals, a, size, data, at)
                step += 1
            elif act == OPTIONAL:
                if base < 0 or pools.flags[base + here] != 0:
                    step += 1
                else:
                    at = put_null(data, at)
                    step = a
            elif act == NEXT:
                walk[0, level] += 1
                is_last = walk[0, level] == walk[1, level]
                at = put_comma(data, at, steps[step, 5], is_last)
                step = step + 1 if is_last else a
            elif act == ITEMS:
                start, end = pools.numbers[base + here], pools.numbers[base + here + 1]
                walk[0, steps[step, 4]], walk[1, steps[step, 4]] = start, end
                at = put_opening(data, at, steps[step, 5], start == end)
                step = step + 1 if start < end else a
            else:
                start = size = 0
                if act <= _LAST_PIECE:
                    start = pools.numbers[base + here]
                    size = pools.numbers[base + here + 1] - start
                if len(data) - at < _PER_BYTE * size + _MOST_BYTES:
                    return row
                if act <= _LAST_PIECE:
                    at = put_piece(act, pools.data, start, size, letters, data, at)
                elif act == TRUTH:
                    at = put_truth(data, at, pools.flags[base + here] != 0)
                else:
                    value = pools.numbers[base + here]
                    at = put_number(act, value, a, steps[step, 4], data, at)
                step += 1
        ends[row] = at
    return len(ends)
