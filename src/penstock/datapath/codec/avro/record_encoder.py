"""Rows as Avro records, end to end: one pass over the values of each. Compiled.

A schema becomes a table of steps, in the order of the bytes. Every value but a key of a map is a
union of null and its type. The loop is compiled once, for all schemas.

    step       column        a
    --------   -----------   ------------------------------------------------------------
    OPTIONAL   flags         the step behind the value
    LONG       numbers
    BITS       numbers       eight bytes as they are: a double
    TRUTH      flags
    PIECE      numbers       a text or bytes
    DIGITS     numbers       a decimal
    ITEMS      numbers       the step behind the list or map; `b` is the level of its items
    NEXT                     the first step of an item; it is of the level of items

Nothing checks an index here: the steps and the pools are made of the same columns, and the room for
what is written is a bound for any values (`encoded`).
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.byte_gather import Numbers, Octets, Words, overlapping
from penstock.datapath.codec.shared.compiled import compiled, inlined
from penstock.datapath.codec.shared.row_pools import RowPools, row_pools
from penstock.datapath.codec.shared.value_types import Integer

OPTIONAL, LONG, BITS, TRUTH, PIECE, DIGITS, ITEMS, NEXT, END = range(9)
_WORD = 8
_UPPER_BITS = 2**57 - 1  # what is left of 64 bits when seven have gone
# More than any value takes besides the bytes of texts: a branch, a size and a decimal; a list's
# count and end.
_MOST_BYTES = 24


class Output(NamedTuple):
    """Where records go. `words` has eight bytes at every place of `data`."""

    data: Octets
    words: Words


@dataclass(slots=True)
class EncoderSteps:
    """The steps of a schema of plain types, and how many levels of items it has."""

    steps: list[list[int]] = field(default_factory=list)
    level_count: int = 1
    _columns: int = 0

    @classmethod
    def of(cls, schema: pa.Schema) -> "EncoderSteps":
        """The steps of a row."""
        found = cls()
        for each in schema:
            found._value(each.type, 0)
        found._add(END, 0)
        return found

    def table(self) -> Numbers:
        """Rows of: what to do, level, column, a, b."""
        return np.array(self.steps, np.int64)

    def _add(self, step: int, level: int, column: int = 0, a: int = 0, b: int = 0) -> int:
        self.steps.append([step, level, column, a, b])
        return len(self.steps) - 1

    def _column(self) -> int:
        self._columns += 1
        return self._columns - 1

    def _value(self, kind: pa.DataType, level: int) -> None:
        step = self._add(OPTIONAL, level, self._column())
        self._present(kind, level)
        self.steps[step][3] = len(self.steps)

    def _present(self, kind: pa.DataType, level: int) -> None:
        if pa.types.is_struct(kind):
            for each in kind:
                self._value(each.type, level)
        elif pa.types.is_list(kind) or pa.types.is_map(kind):
            self._items(kind, level)
        else:
            self._add(_step_of(kind), level, self._column())

    def _items(self, kind: pa.DataType, level: int) -> None:
        below = self.level_count
        self.level_count += 1
        begin = self._add(ITEMS, level, self._column(), b=below)
        if pa.types.is_map(kind):
            self._column()  # whether there is a key: there always is
            self._add(PIECE, below, self._column())
            self._value(kind.item_type, below)
        else:
            self._value(kind.value_type, below)
        self._add(NEXT, below, a=begin + 1)
        self.steps[begin][3] = len(self.steps)


def _step_of(kind: pa.DataType) -> int:
    if pa.types.is_boolean(kind):
        return TRUTH
    if pa.types.is_floating(kind):
        return BITS
    if pa.types.is_decimal(kind):
        return DIGITS
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return PIECE
    return LONG


def encoded(rows: pa.RecordBatch, steps: EncoderSteps) -> tuple[Octets, Numbers]:
    """Rows of plain types as Avro: the bytes of all, and where each ends."""
    pools = row_pools(rows.columns)
    data = np.empty(_MOST_BYTES * pools.values + len(pools.data) + _WORD, np.uint8)
    ends = np.empty(rows.num_rows, np.int64)
    walk = np.zeros((2, steps.level_count), np.int64)
    size = encode_rows(steps.table(), pools, walk, Output(data, overlapping(data, "<i8")), ends)
    return data[:size], ends


@compiled
def encode_rows(
    steps: Numbers, pools: RowPools, walk: Numbers, output: Output, ends: Numbers
) -> int:
    """Write all rows, and where each ends; how many bytes that is.

    `walk` is the loop's account of the levels: the item that is written, and the end of its list.
    """
    at = 0
    for row in range(len(ends)):
        walk[0, 0] = row
        step = 0
        while steps[step, 0] != END:
            act, level, a = steps[step, 0], steps[step, 1], steps[step, 3]
            base, here = pools.bases[steps[step, 2]], walk[0, level]
            if act == OPTIONAL:
                is_here = base < 0 or pools.flags[base + here] != 0
                output.data[at] = 2 if is_here else 0
                at += 1
                step = step + 1 if is_here else a
            elif act == NEXT:
                walk[0, level] += 1
                if walk[0, level] < walk[1, level]:
                    step = a
                else:
                    output.data[at] = 0
                    at += 1
                    step += 1
            elif act == ITEMS:
                first, end = pools.numbers[base + here], pools.numbers[base + here + 1]
                walk[0, steps[step, 4]], walk[1, steps[step, 4]] = first, end
                at = put_long(output.data, at, end - first)
                step = step + 1 if first < end else a
            else:
                at = put_value(act, pools, base, here, output, at)
                step += 1
        ends[row] = at
    return at


@inlined
def put_value(act: int, pools: RowPools, base: int, here: int, output: Output, at: int) -> Integer:
    """Write one value; where the next one begins."""
    if act == PIECE:
        start = pools.numbers[base + here]
        size = pools.numbers[base + here + 1] - start
        at = put_long(output.data, at, size)
        for step in range(0, size, _WORD):
            output.words[at + step] = pools.words[start + step]
        return at + size
    if act == LONG:
        return put_long(output.data, at, pools.numbers[base + here])
    if act == BITS:
        output.words[at] = pools.numbers[base + here]
        return at + _WORD
    if act == TRUTH:
        output.data[at] = pools.flags[base + here]
        return at + 1
    return put_decimal(output.data, at, pools.numbers, base + 2 * here)


@inlined
def put_long(data: Octets, at: int, value: Integer) -> Integer:
    """Write a number with its sign in the lowest bit, seven bits per byte, lowest first."""
    rest = (value << 1) ^ (value >> 63)
    while rest < 0 or rest > 127:
        data[at] = (rest & 127) | 128
        rest = (rest >> 7) & _UPPER_BITS
        at += 1
    data[at] = rest
    return at + 1


@inlined
def put_decimal(data: Octets, at: int, numbers: Numbers, place: int) -> Integer:
    """Write the digits of a decimal as few bytes, highest first, behind their number."""
    low, high = numbers[place], numbers[place + 1]
    size = 16
    while size > 1:
        top, below = byte_of(low, high, size - 1), byte_of(low, high, size - 2)
        if not ((top == 0 and below < 128) or (top == 255 and below >= 128)):
            break
        size -= 1
    data[at] = 2 * size
    for number in range(size):
        data[at + 1 + number] = byte_of(low, high, size - 1 - number)
    return at + 1 + size


@inlined
def byte_of(low: Integer, high: Integer, number: int) -> Integer:
    """A byte of a number of two halves; the lowest is number 0."""
    if number < _WORD:
        return (low >> (8 * number)) & 255
    return (high >> (8 * (number - _WORD))) & 255
