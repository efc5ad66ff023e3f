"""Columns of times whose values come in any form: texts in ISO 8601, numbers in any unit.

The configuration settles such a column (`decode.types: {created: timestamp}`). Records are read
with the JSON text of the value in its place, which no value is too odd for, and then the whole
column becomes times. The text of a value that is not a time goes to `_rest`, as it was written.
"""

from collections.abc import Iterator
from functools import lru_cache, reduce
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.datapath.codec.json.payload import PARSER_ERRORS
from penstock.datapath.codec.json.value_text import found_kind, members_of, object_text
from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.datapath.shape.event_time.any_times import any_times
from penstock.model.event_paths import path_below
from penstock.model.read_ways import Misfits
from penstock.model.schema import (
    REST,
    TEXT_OF_JSON,
    TIME_OF_SCALARS,
    DatasetSchema,
    Field,
    FieldType,
    struct_of,
)

Names = tuple[str, ...]
Fields = tuple[Field, ...]
_value = msgspec.json.Decoder().decode


@lru_cache(maxsize=512)
def read_as(schema: DatasetSchema) -> DatasetSchema:
    """The schema that records are read with: JSON texts where times are settled."""
    if not any(_time_paths(schema.fields)):
        return schema
    return msgspec.structs.replace(schema, fields=_read_fields(schema.fields))


def _read_fields(fields: Fields) -> Fields:
    return tuple(msgspec.structs.replace(each, type=_read_type(each.type)) for each in fields)


def _read_type(kind: FieldType) -> FieldType:
    if kind == TIME_OF_SCALARS:
        return TEXT_OF_JSON
    return struct_of(_read_fields(kind.fields)) if kind.kind == "struct" else kind


def _time_paths(fields: Fields) -> Iterator[Names]:
    """The names on the way to each such field; none of them lies in a list."""
    for each in fields:
        if each.type == TIME_OF_SCALARS:
            yield (each.name,)
        elif each.type.kind == "struct":
            yield from ((each.name, *names) for names in _time_paths(each.type.fields))


def with_times(
    schema: DatasetSchema, read: pa.RecordBatch, zone: ZoneInfo
) -> tuple[pa.RecordBatch, Misfits]:
    """The columns of a schema, made of those that records were read with."""
    if not any(_time_paths(schema.fields)):
        return read, {}
    left: dict[int, list[tuple[Names, str]]] = {}
    columns = [
        _column(each.type, column, (each.name,), zone, left)
        for each, column in zip(schema.fields, read.columns[:-1], strict=True)
    ]
    rest = read[REST]
    if left:
        texts = rest.to_pylist()
        for row, values in left.items():
            for names, text in values:
                texts[row] = rest_with(texts[row], names, text)
        rest = pa.array(texts, pa.string())
    batch = pa.RecordBatch.from_arrays([*columns, rest], schema=arrow_schema(schema))
    return batch, _misfits(left)


def _column(
    kind: FieldType,
    column: pa.Array,
    names: Names,
    zone: ZoneInfo,
    left: dict[int, list[tuple[Names, str]]],
) -> pa.Array:
    """A column with times for texts, also inside a struct; `left` gets what is not a time."""
    if kind == TIME_OF_SCALARS:
        return _times(column, names, zone, left)
    if kind.kind != "struct" or not any(_time_paths(kind.fields)):
        return column
    inside = [
        _column(each.type, part, (*names, each.name), zone, left)
        for each, part in zip(kind.fields, column.flatten(), strict=True)
    ]
    mask = column.is_null() if column.null_count else None
    columns = [each.column for each in kind.fields]
    return pa.StructArray.from_arrays(inside, columns, mask=mask)


def _times(
    column: pa.Array, names: Names, zone: ZoneInfo, left: dict[int, list[tuple[Names, str]]]
) -> pa.Array:
    texts = column.to_pylist()
    micros, is_time = any_times([_plain(text) for text in texts], zone)
    for row in np.flatnonzero(~is_time & pc.is_valid(column).to_numpy(False)).tolist():
        left.setdefault(row, []).append((names, texts[row]))
    return pa.array(micros, mask=~is_time).cast(pa.timestamp("us", tz="UTC"))


def _plain(text: str | None) -> object | None:
    """The value of a JSON text; an empty text, which is not a time, for numbers out of range."""
    if text is None:
        return None
    try:
        value: object = _value(text)
    except PARSER_ERRORS:
        return ""
    return value


def rest_with(rest: str | None, names: Names, text: str) -> str:
    """`_rest` of a row with one more value, at its place among the objects."""
    members = {} if rest is None else members_of(rest.encode())
    texts = {name: bytes(part).decode() for name, part in members.items()}
    first, *below = names
    texts[first] = rest_with(texts.get(first), tuple(below), text) if below else text
    return object_text(texts)


def _misfits(left: dict[int, list[tuple[Names, str]]]) -> Misfits:
    found: Misfits = {}
    for row, values in sorted(left.items()):
        for names, text in values:
            key = (reduce(path_below, names, ""), "timestamp", found_kind(text.encode()))
            before, first = found.get(key, (0, row))
            found[key] = (before + 1, first)
    return found
