"""Single Protobuf values at many cursors: numbers as arrays of numpy, and those as columns."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.protobuf.message_layout import Slot
from penstock.datapath.codec.shared.byte_gather import Mask, Words
from penstock.datapath.codec.shared.cursors import Cursors

_ONE = np.uint32(1)


@dataclass(frozen=True, slots=True)
class NumberKind:
    """How a kind of number is read at cursors that stand at one."""

    type: type[np.generic]
    read: Callable[[Cursors], Words]


def _int32(cursors: Cursors) -> Words:
    return cursors.varints().astype(np.uint32).view(np.int32).astype(np.int64)


def _uint32(cursors: Cursors) -> Words:
    return cursors.varints().astype(np.uint32).astype(np.int64)


def _sint32(cursors: Cursors) -> Words:
    found = cursors.varints().astype(np.uint32)
    return ((found >> _ONE) ^ (np.uint32(0) - (found & _ONE))).view(np.int32).astype(np.int64)


def _fixed(kind: str, width: int, target: type[np.generic]) -> NumberKind:
    return NumberKind(target, lambda cursors: cursors.words(kind, width).astype(target))


NUMBERS = {
    "int32": NumberKind(np.int64, _int32),
    "int64": NumberKind(np.int64, lambda cursors: cursors.varints().view(np.int64)),
    "uint32": NumberKind(np.int64, _uint32),
    "uint64": NumberKind(np.uint64, lambda cursors: cursors.varints()),
    "sint32": NumberKind(np.int64, _sint32),
    "sint64": NumberKind(np.int64, lambda cursors: cursors.longs()),
    "bool": NumberKind(np.bool_, lambda cursors: cursors.varints() != 0),
    "enum": NumberKind(np.int64, _int32),
    "fixed32": _fixed("<u4", 4, np.int64),
    "sfixed32": _fixed("<i4", 4, np.int64),
    "fixed64": _fixed("<u8", 8, np.uint64),
    "sfixed64": _fixed("<i8", 8, np.int64),
    "float": NumberKind(np.float64, lambda cursors: cursors.floats()),
    "double": _fixed("<f8", 8, np.float64),
}
# An array of numbers, the cursors they were read at, and where there is one; refuses what has no
# place in the column.
Finish = Callable[[Words, Cursors, Mask | None], pa.Array]


def finishing(slot: Slot) -> Finish:
    """How numbers become the column of a field; `None` says that they are everywhere."""
    if slot.names:
        return _enum(slot.names)
    if slot.item.type.kind == "decimal":
        return _unsigned
    return lambda found, _, present: with_nulls(pa.array(found), present)


def _enum(names: dict[int, str]) -> Finish:
    """Names by number; a number without one is left to the slow way."""
    numbers = np.array(sorted(names), np.int64)
    texts = pa.array([names[number] for number in numbers.tolist()], pa.string())

    def finish(found: Words, cursors: Cursors, present: Mask | None) -> pa.Array:
        place = np.minimum(np.searchsorted(numbers, found), len(numbers) - 1)
        cursors.refuse(numbers[place] != found)
        return texts.take(pa.array(place, mask=None if present is None else ~present))

    return finish


def _unsigned(found: Words, _: Cursors, present: Mask | None) -> pa.Array:
    """Numbers of 64 bits without a sign, which only a decimal can hold."""
    halves = np.zeros((len(found), 2), np.uint64)
    halves[:, 0] = found
    validity = None if present is None else bits_of(present)
    return pa.Array.from_buffers(pa.decimal128(20, 0), len(found), [validity, pa.py_buffer(halves)])


def with_nulls(array: pa.Array, present: Mask | None) -> pa.Array:
    """The same values, and null where there is none. The array must be whole, without nulls."""
    if present is None:
        return array
    buffers = [bits_of(present), *array.buffers()[1:]]
    return pa.Array.from_buffers(array.type, len(array), buffers)


def bits_of(present: Mask) -> pa.Buffer:
    """A mask as Arrow keeps it."""
    found: pa.Buffer = pa.array(present).buffers()[1]
    return found
