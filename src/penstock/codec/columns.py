"""From parsed objects to Arrow arrays, one column at a time."""

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.codec.shapes import Record, Shape

_DIRECT = frozenset({"boolean", "int64", "double", "string", "date", "decimal"})


def columns_of(record: Record, objects: Sequence[Any]) -> list[pa.Array]:
    """One array per member of the record, with a value per object."""
    return [
        column(member.shape, list(map(attrgetter(member.attribute), objects)))
        for member in record.members
    ]


def column(shape: Shape, values: list[Any]) -> pa.Array:
    """An array of exactly the shape's Arrow type; None becomes null."""
    kind = shape.type.kind
    if shape.record is not None:
        return _structs(shape.record, values)
    if shape.item is not None:
        if kind == "list" and shape.item.type.kind in _DIRECT:
            return pa.array(values, shape.arrow)
        return _collections(shape, shape.item, values)
    if kind == "timestamp_us" and shape.type.unit_us != 1:
        counts = pa.array(values, pa.int64())
        return pc.multiply_checked(counts, pa.scalar(shape.type.unit_us)).cast(shape.arrow)
    return pa.array(values, shape.arrow)


def _structs(record: Record, values: list[Any]) -> pa.Array:
    """A struct array; below a null struct the members are null too."""
    names = [member.column for member in record.members]
    try:
        return pa.StructArray.from_arrays(columns_of(record, values), names)
    except AttributeError:  # None is among them; looking for it first would cost more
        mask = [value is None for value in values]
    parts = []
    for member in record.members:
        get = attrgetter(member.attribute)
        parts.append(column(member.shape, [None if v is None else get(v) for v in values]))
    return pa.StructArray.from_arrays(parts, names, mask=pa.array(mask))


def _collections(shape: Shape, item: Shape, values: list[Any]) -> pa.Array:
    """Lists or maps, built from their flattened items; an offset that is null marks a null."""
    offsets: list[int | None] = []
    end = 0
    for value in values:
        offsets.append(None if value is None else end)
        end += 0 if value is None else len(value)
    starts = pa.array([*offsets, end], pa.int32())
    present = [value for value in values if value is not None]
    if shape.type.kind == "list":
        flat = column(item, list(chain.from_iterable(present)))
        return pa.ListArray.from_arrays(starts, flat, type=shape.arrow)
    keys = pa.array(list(chain.from_iterable(present)), pa.string())
    flat = column(item, list(chain.from_iterable(value.values() for value in present)))
    return pa.MapArray.from_arrays(starts, keys, flat, type=shape.arrow)
