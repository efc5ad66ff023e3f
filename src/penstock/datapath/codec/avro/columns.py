"""Avro records to columns, all records of one schema at a time.

A schema is compiled once into a tree of steps, each of which reads one type at the cursors of all
records (`shared.cursors`). A step refuses a record that does not obey Avro's rules, and also one
that obeys them in a way that is seldom met: an array in hundreds of items, one in blocks with a
size, or one that is longer than nearly all others of its batch. The slow way reads all of these,
and says what is wrong with the former.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.avro.schema import as_record, columns_of_avro
from penstock.datapath.codec.avro.types import AvroType
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers, Octets, slices, texts
from penstock.datapath.codec.shared.cursors import Cursors, cursors_of
from penstock.datapath.codec.shared.shapes import Shape, bounds_of, shape_of
from penstock.model.schema import Field, struct_of

ColumnReader = Callable[[Cursors], pa.Array]

_INT32 = 2**31
_MOST_ITEMS = 64  # of one array or map; each takes a round
# A round costs about what the slow way takes for thirty items, whether there are thousands or one.
# So a few records get a few rounds only, and half as many inside each array around.
_FEW_CURSORS = 16
_FREE_ROUNDS = 8
_WIDEST_DECIMAL = 16


@dataclass(frozen=True, slots=True, eq=False)
class AvroPlan:
    """All that reading records of one schema needs."""

    root: AvroType
    fields: tuple[Field, ...]
    shape: Shape
    schema: pa.Schema
    read_column: ColumnReader


@lru_cache(maxsize=512)
def avro_plan(root: AvroType) -> AvroPlan:
    """Compile a schema; raises SchemaUnsupported."""
    fields = columns_of_avro(root)
    if not fields:
        is_record = root.kind == "record"
        why = "an event without fields has no columns" if is_record else "there is nothing but null"
        raise SchemaUnsupported("$", why)
    root = as_record(root)
    shape = shape_of(struct_of(fields), "")
    columns = zip(fields, shape.arrow, strict=True)
    schema = pa.schema([pa.field(c.name, c.type, field.nullable) for field, c in columns])
    return AvroPlan(root, fields, shape, schema, _record(root, shape))


def read_columns(values: pa.Array, plan: AvroPlan, skipped: int) -> tuple[pa.RecordBatch, Mask]:
    """The records that could be read, in their order, and a mask of those that are refused.

    The first bytes of every payload, as many as `skipped`, are not Avro's.
    """
    cursors = cursors_of(values, skipped)
    whole = plan.read_column(cursors)
    cursors.refuse(cursors.at != cursors.end)
    batch = pa.RecordBatch.from_arrays(whole.flatten(), schema=plan.schema)
    if cursors.bad.any():
        batch = batch.filter(pa.array(~cursors.bad))
    return batch, cursors.bad


def _reader_for(kind: AvroType, shape: Shape) -> ColumnReader:
    """How to read a type into the shape of its column."""
    if kind.kind == "union":
        return _union(kind, shape)
    if kind.kind == "record":
        return _record(kind, shape)
    if kind.kind in {"array", "map"}:
        return _collection(kind, shape)
    if kind.logical == "decimal":
        return _decimal(kind, shape)
    if kind.kind in {"int", "long"}:
        return _integer(kind, shape)
    if kind.kind == "enum":
        return _enum(kind)
    if kind.kind == "fixed":
        return lambda cursors: _bytes(cursors, np.full(len(cursors), kind.size))
    return _PLAIN[kind.kind]


def _record(kind: AvroType, shape: Shape) -> ColumnReader:
    """A struct. Fields that are always null take no bytes and have no column."""
    if shape.record is None:  # it has no fields
        return lambda cursors: pa.array(np.ones(len(cursors), bool))
    members = shape.record.members
    kinds = [field.type for field in kind.fields if field.type.kind != "null"]
    readers = [_reader_for(each, member.shape) for each, member in zip(kinds, members, strict=True)]
    names = [member.column for member in members]

    def read_column(cursors: Cursors) -> pa.Array:
        return pa.StructArray.from_arrays([each(cursors) for each in readers], names)

    return read_column


def _union(kind: AvroType, shape: Shape) -> ColumnReader:
    """A nullable type, or a struct with a member per branch."""
    present = [at for at, branch in enumerate(kind.branches) if branch.kind != "null"]
    count = len(kind.branches)
    if len(present) == 1:
        wanted = present[0]
        inside = _reader_for(kind.branches[wanted], shape)

        def nullable(cursors: Cursors) -> pa.Array:
            branch = _index(cursors, count)
            return _some(inside, cursors, branch == wanted, shape.arrow)

        return nullable
    members = shape.record.members if shape.record is not None else ()
    readers = [
        (at, _reader_for(kind.branches[at], member.shape), member)
        for at, member in zip(present, members, strict=True)
    ]

    def several(cursors: Cursors) -> pa.Array:
        branch = _index(cursors, count)
        arrays = [_some(each, cursors, branch == at, m.shape.arrow) for at, each, m in readers]
        is_null = ~np.isin(branch, present)
        names = [member.column for _, _, member in readers]
        return pa.StructArray.from_arrays(arrays, names, mask=pa.array(is_null))

    return several


def _some(
    read_column: ColumnReader, cursors: Cursors, chosen: Mask, arrow: pa.DataType
) -> pa.Array:
    """What a step reads in some records, and null in the others."""
    if chosen.all():
        return read_column(cursors)
    mine = np.flatnonzero(chosen)
    if len(mine) == 0:
        return pa.nulls(len(cursors), arrow)
    some = cursors.some(mine)
    found = read_column(some)
    cursors.put(mine, some)
    places = np.zeros(len(cursors), np.int32)
    places[mine] = np.arange(len(mine))
    return found.take(pa.array(places, mask=~chosen))


def _index(cursors: Cursors, count: int) -> Numbers:
    """The number of a branch or a symbol; the first one in refused records."""
    found = cursors.longs()
    cursors.refuse((found < 0) | (found >= count))
    return np.where(cursors.bad, 0, found)


def _collection(kind: AvroType, shape: Shape) -> ColumnReader:
    """An array or a map: blocks of items, each with its count, until one has none."""
    if kind.item is None or shape.item is None:
        raise ValueError(f"a {kind.kind} without items")
    item, is_map = _reader_for(kind.item, shape.item), kind.kind == "map"
    item_arrow = shape.item.arrow
    free = max(_FREE_ROUNDS >> shape.path.count("[]"), 1)

    def read_column(cursors: Cursors) -> pa.Array:
        owners, keys, items = _items(cursors, item, is_map, free)
        owner = np.concatenate(owners) if owners else np.empty(0, np.int64)
        order = pa.array(np.argsort(owner, kind="stable"))
        starts = np.zeros(len(cursors) + 1, np.int32)
        np.cumsum(np.bincount(owner, minlength=len(cursors)), out=starts[1:])
        flat = _joined(items, item_arrow).take(order)
        if not is_map:
            return pa.ListArray.from_arrays(pa.array(starts), flat, type=shape.arrow)
        names = _joined(keys, pa.string()).take(order)
        return pa.MapArray.from_arrays(pa.array(starts), names, flat, type=shape.arrow)

    return read_column


def _items(
    cursors: Cursors, item: ColumnReader, with_keys: bool, free: int
) -> tuple[list[Numbers], list[pa.Array], list[pa.Array]]:
    """The items of all records, one of each record at a time: whose they are, keys, values.

    When a few records are left after the rounds that are free, these are refused.
    """
    owners: list[Numbers] = []
    keys: list[pa.Array] = []
    items: list[pa.Array] = []
    left = _block(cursors)
    for turn in range(_MOST_ITEMS):
        mine = np.flatnonzero(left)
        if len(mine) == 0:
            return owners, keys, items
        if turn >= free and len(mine) < _FEW_CURSORS:
            break
        some = cursors.some(mine)
        keys += [_text(some)] if with_keys else []
        items.append(item(some))
        owners.append(mine)
        rest = left[mine] - 1
        ended = np.flatnonzero((rest == 0) & ~some.bad)
        next_block = some.some(ended)
        rest[ended] = _block(next_block)
        some.put(ended, next_block)
        cursors.put(mine, some)
        left[mine] = np.where(some.bad, 0, rest)
    cursors.refuse(left > 0)
    return owners, keys, items


def _block(cursors: Cursors) -> Numbers:
    """How many items follow; a block that also tells its size is left to the slow way."""
    count = cursors.longs()
    cursors.refuse(count < 0)
    return np.where(cursors.bad, 0, count)


def _joined(pieces: list[pa.Array], arrow: pa.DataType) -> pa.Array:
    return pa.concat_arrays(pieces) if pieces else pa.array([], arrow)


def _integer(kind: AvroType, shape: Shape) -> ColumnReader:
    """A whole number, or a day or time that is counted in one."""
    low, high = bounds_of(shape.type)
    if kind.kind == "int":
        low, high = max(low, -_INT32), min(high, _INT32 - 1)
    is_plain = shape.type.kind == "int64" and kind.kind == "long"

    def read_column(cursors: Cursors) -> pa.Array:
        found = cursors.longs()
        if is_plain:
            return pa.array(found)
        cursors.refuse((found < low) | (found > high))
        found = np.where(cursors.bad, 0, found)
        if shape.type.kind == "date":
            return pa.array(found.astype(np.int32)).view(shape.arrow)
        return pa.array(found * shape.type.unit_us).view(shape.arrow)

    return read_column


def _enum(kind: AvroType) -> ColumnReader:
    symbols = pa.array(kind.symbols, pa.string())
    return lambda cursors: symbols.take(pa.array(_index(cursors, len(kind.symbols))))


def _boolean(cursors: Cursors) -> pa.Array:
    found = cursors.words("u1", 1)
    cursors.refuse(found > 1)
    return pa.array(found == 1)


def _float(cursors: Cursors) -> pa.Array:
    return pa.array(cursors.floats())


def _double(cursors: Cursors) -> pa.Array:
    return pa.array(cursors.words("<f8", 8).astype(np.float64))


def _bytes(cursors: Cursors, length: Numbers) -> pa.Array:
    return slices(cursors.data, *cursors.byte_ranges(length))


def _text(cursors: Cursors) -> pa.Array:
    """A string; what is not UTF-8 refuses its record."""
    found, wrong = texts(cursors.data, *cursors.byte_ranges(cursors.longs()))
    if wrong is not None:
        cursors.refuse(wrong)
    return found


_PLAIN: dict[str, ColumnReader] = {
    "boolean": _boolean,
    "float": _float,
    "double": _double,
    "bytes": lambda cursors: _bytes(cursors, cursors.longs()),
    "string": _text,
}


def _decimal(kind: AvroType, shape: Shape) -> ColumnReader:
    """Digits as a whole number, highest byte first, in as many bytes as it needs or is given."""
    limit = 10**kind.precision

    def read_column(cursors: Cursors) -> pa.Array:
        length = cursors.longs() if kind.kind == "bytes" else np.full(len(cursors), kind.size)
        start, end = cursors.byte_ranges(length)
        length = end - start
        cursors.refuse((length > _WIDEST_DECIMAL) | (length == 0))
        length = np.where(cursors.bad, 1, length)
        digits = _sixteen_bytes(cursors.data, np.where(cursors.bad, 0, start), length)
        cursors.refuse(_beyond(digits, limit))
        digits[cursors.bad] = 0
        return pa.Array.from_buffers(shape.arrow, len(cursors), [None, pa.py_buffer(digits)])

    return read_column


def _sixteen_bytes(data: Octets, start: Numbers, length: Numbers) -> Octets:
    """Numbers of up to 16 bytes as 16 bytes each, lowest first, with their sign."""
    sign = np.where(data[start] >= 128, np.uint8(255), np.uint8(0))
    found = np.empty((len(start), _WIDEST_DECIMAL), np.uint8)
    for place in range(_WIDEST_DECIMAL):
        at = start + length - 1 - place
        found[:, place] = np.where(place < length, data[np.maximum(at, 0)], sign)
    return found


def _beyond(digits: Octets, limit: int) -> Mask:
    """Numbers that are not between -limit and limit, both excluded."""
    halves = digits.view("<u8")
    low, high = halves[:, 0], halves[:, 1].view(np.int64)
    beyond: Mask = _at_least(low, high, limit) | ~_at_least(low, high, 1 - limit)
    return beyond


def _at_least(low: npt.NDArray[np.uint64], high: Numbers, bound: int) -> Mask:
    """Numbers of two halves against one of 128 bits."""
    bound_low, bound_high = np.uint64(bound & (2**64 - 1)), bound >> 64
    found: Mask = (high > bound_high) | ((high == bound_high) & (low >= bound_low))
    return found
