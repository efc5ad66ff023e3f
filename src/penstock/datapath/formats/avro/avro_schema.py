"""Schemas of Avro for columns of Arrow, and back; and what the codec needs to read by them.

    column                     in Avro, as a union of null and
    -----------------------    ----------------------------------------------------
    boolean, string, binary    boolean, string, bytes
    int32, int64, double       int, long, double
    date                       int: date
    timestamp in UTC           long: timestamp-millis, timestamp-micros
    timestamp without zone     long: local-timestamp-millis, local-timestamp-micros
    decimal                    bytes: decimal
    list, map, struct          array, map, record

A column whose name Avro does not take (`avro_names`) has its own in an attribute of the field:
`NAME`.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
import pyarrow as pa

from penstock.datapath.codec.avro.types import AvroField, AvroKind, AvroType
from penstock.datapath.codec.shared.shapes import Member, Record, Shape
from penstock.datapath.codec.shared.value_types import JsonValue
from penstock.datapath.formats.avro.avro_names import avro_names
from penstock.model.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT64,
    STRING,
    Field,
    FieldType,
    decimal_of,
    list_of,
    map_of,
    struct_of,
)

ROOT = "row"
NAME = "penstock.name"
_NULL = AvroType("null")
_UNITS = {"ms": "millis", "us": "micros"}


class ForeignSchema(ValueError):
    """A schema of Avro that is none of ours."""


def avro_schema(schema: pa.Schema) -> bytes:
    """The schema of rows with columns of plain types."""
    return msgspec.json.encode(_record(ROOT, "", schema))


def _record(name: str, space: str, fields: Iterable[pa.Field]) -> JsonValue:
    """A record; records inside have its full name as their namespace."""
    full = f"{space}.{name}" if space else name
    found = [_field(each, mine, full) for each, mine in _named(fields)]
    record = {"type": "record", "name": name, "fields": found}
    return {**record, "namespace": space} if space else record


def _field(column: pa.Field, name: str, space: str) -> JsonValue:
    kind = ["null", _kind(column.type, name, space)]
    found = {"name": name, "type": kind, "default": None}
    return found if name == column.name else {**found, NAME: column.name}


def _kind(kind: pa.DataType, name: str, space: str) -> JsonValue:
    if pa.types.is_struct(kind):
        return _record(name, space, kind)
    if pa.types.is_map(kind):
        return {"type": "map", "values": ["null", _kind(kind.item_type, name, f"{space}.{name}")]}
    if pa.types.is_list(kind):
        return {"type": "array", "items": ["null", _kind(kind.value_type, name, f"{space}.{name}")]}
    if pa.types.is_timestamp(kind):
        local = "" if kind.tz else "local-"
        return {"type": "long", "logicalType": f"{local}timestamp-{_UNITS[kind.unit]}"}
    if pa.types.is_decimal(kind):
        digits = {"precision": kind.precision, "scale": kind.scale}
        return {"type": "bytes", "logicalType": "decimal", **digits}
    if pa.types.is_date32(kind):
        return {"type": "int", "logicalType": "date"}
    return _PLAIN_NAMES[kind]


_PLAIN_NAMES = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
}
_PLAIN = {name: kind for kind, name in _PLAIN_NAMES.items()}


def _named(fields: Iterable[pa.Field]) -> Iterator[tuple[pa.Field, str]]:
    columns = list(fields)
    return zip(columns, avro_names([each.name for each in columns]), strict=True)


def columns_of_file(raw: bytes) -> pa.Schema:
    """The columns of a file by its schema; raises `ForeignSchema`."""
    try:
        return pa.schema(_columns(msgspec.json.decode(raw)))
    except ForeignSchema:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ForeignSchema("its schema is none that Penstock writes") from error


def _columns(record: Mapping[str, JsonValue]) -> list[pa.Field]:
    if record["type"] != "record":
        raise ForeignSchema("its schema is not that of rows")
    found = [pa.field(str(each.get(NAME, each["name"])), _type(each)) for each in record["fields"]]
    if len({each.name for each in found}) != len(found):
        raise ForeignSchema("two columns have one name")
    return found


def _type(field: Mapping[str, JsonValue], key: str = "type") -> pa.DataType:
    null, kind = field[key]
    if null != "null":
        raise ForeignSchema("a value that cannot be null")
    if isinstance(kind, str):
        return _PLAIN[kind]
    word, logical = kind["type"], kind.get("logicalType", "")
    if logical == "decimal" and word == "bytes":
        return pa.decimal128(int(kind["precision"]), int(kind["scale"]))
    if logical:
        return _LOGICAL[word, logical]
    if word == "record":
        return pa.struct(_columns(kind))
    if word == "map":
        return pa.map_(pa.string(), _type(kind, "values"))
    if word == "array":
        return pa.list_(_type(kind, "items"))
    raise ForeignSchema("a type that Penstock does not write")


_LOGICAL = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): pa.timestamp("ms", tz="UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", tz="UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}


def record_to_read(columns: pa.Schema) -> tuple[AvroType, Shape]:
    """A row as the codec reads it. Columns of 32 bits come with 64 bits."""
    kind, shape = _to_read(pa.struct(list(columns)))
    return kind, shape


def _to_read(kind: pa.DataType) -> tuple[AvroType, Shape]:
    """A type for the codec: what its bytes are, and what Arrow makes of them.

    Times are plain numbers in both, whatever the year.
    """
    if pa.types.is_struct(kind):
        pairs = [(each.name, *_nullable(each.type)) for each in kind]
        record = AvroType("record", fields=tuple(AvroField(name, mine) for name, mine, _ in pairs))
        members = tuple(Member(name, name, True, shape) for name, _, shape in pairs)
        struct = pa.struct([(each.column, each.shape.arrow) for each in members])
        fields = tuple(Field(each.name, each.column, each.shape.type) for each in members)
        return record, Shape(struct_of(fields), "", struct, record=Record("", members))
    if pa.types.is_map(kind) or pa.types.is_list(kind):
        is_map = pa.types.is_map(kind)
        item, shape = _nullable(kind.item_type if is_map else kind.value_type)
        arrow = pa.map_(pa.string(), shape.arrow) if is_map else pa.list_(shape.arrow)
        found = AvroType("map" if is_map else "array", item=item)
        of_items = (map_of if is_map else list_of)(shape.type)
        return found, Shape(of_items, "", arrow, item=shape)
    if pa.types.is_decimal(kind):
        decimal = AvroType("bytes", logical="decimal", precision=kind.precision, scale=kind.scale)
        return decimal, Shape(decimal_of(kind.precision, kind.scale), "", kind)
    if pa.types.is_date32(kind):
        return AvroType("int", logical="date"), Shape(DATE, "", kind)
    if pa.types.is_timestamp(kind):
        return AvroType("long"), Shape(INT64, "", kind)
    if pa.types.is_int32(kind):
        return AvroType("int"), Shape(INT64, "", pa.int64())
    word, type_ = _READ[kind]
    return AvroType(word), Shape(type_, "", kind)


def _nullable(kind: pa.DataType) -> tuple[AvroType, Shape]:
    found, shape = _to_read(kind)
    return AvroType("union", branches=(_NULL, found)), shape


_READ: dict[pa.DataType, tuple[AvroKind, FieldType]] = {
    pa.bool_(): ("boolean", BOOLEAN),
    pa.int64(): ("long", INT64),
    pa.float64(): ("double", DOUBLE),
    pa.string(): ("string", STRING),
    pa.binary(): ("bytes", BINARY),
}
