"""From parsed objects to Arrow arrays, one column at a time."""

from collections.abc import Iterable, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import astuple

from penstock.datapath.codec.json.decode_plan import JsonObject, JsonType
from penstock.datapath.codec.shared.value_types import ColumnValue, ParsedRecord

_DIRECT = frozenset({"boolean", "int64", "double", "string", "date", "decimal"})


def columns_of(record: JsonObject, objects: Sequence[ParsedRecord]) -> list[pa.Array]:
    """One array per member of the record, with a value per ColumnValue."""
    return _columns(record, map(astuple, objects))


def _columns(record: JsonObject, rows: Iterable[tuple[ColumnValue, ...]]) -> list[pa.Array]:
    """Rows have the members in their order, and perhaps more after them."""
    columns: list[Sequence[ColumnValue]] = list(zip(*rows, strict=True))
    if not columns:
        columns = [()] * len(record.members)
    return [
        column(member.shape, values)
        for member, values in zip(record.members, columns, strict=False)
    ]


def column(shape: JsonType, values: Sequence[ColumnValue]) -> pa.Array:
    """An array of exactly the shape's Arrow type; None becomes null."""
    kind = shape.type.kind
    if shape.record is not None:
        return _structs(shape.record, values)
    if shape.item is not None:
        if kind == "list" and shape.item.type.kind in _DIRECT:
            return pa.array(values, shape.arrow)
        return _collections(shape, shape.item, values)
    if kind in {"timestamp_us", "local_us"} and shape.type.unit_us != 1:
        counts = pa.array(values, pa.int64())
        return pc.multiply_checked(counts, pa.scalar(shape.type.unit_us)).cast(shape.arrow)
    return pa.array(values, shape.arrow)


def _structs(record: JsonObject, values: Sequence[ColumnValue]) -> pa.Array:
    """A struct array; below a null struct the members are null too."""
    names = [member.column for member in record.members]
    try:
        rows = list(map(astuple, values))
    except TypeError:  # None is among them; looking for it first would cost more
        nothing = (None,) * len(names)
        rows = [nothing if v is None else astuple(v)[: len(names)] for v in values]
        mask = pa.array([value is None for value in values])
        return pa.StructArray.from_arrays(_columns(record, rows), names, mask=mask)
    return pa.StructArray.from_arrays(_columns(record, rows), names)


def _collections(shape: JsonType, item: JsonType, values: Sequence[ColumnValue]) -> pa.Array:
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
