"""The columns of an Avro schema, for events written in Avro and for events written in JSON.

In JSON values are plain: a union of null and a type is the value or null, without naming the
branch; an enum is its symbol; a decimal a number or a string of one. A union of several plain types
is a column of texts, or of numbers if all are numbers. Bytes cannot be written so, and neither can
a union of other types. Defaults do not count: a field that may not be null must be there.

    in Avro                                       column
    ------------------------------------------    ------------------------------------------------
    boolean, string, bytes                        boolean, string, binary
    int, long                                     int64
    float, double                                 double
    enum                                          string, the symbol
    fixed, duration                               binary
    union of null and one type                    that type, nullable
    union of several types                        a struct with a member per type, one of them set
    record, array, map                            struct, list, map
    record without fields                         boolean: true where it is there
    null                                          none: there is nothing to keep
    decimal                                       decimal, of at most 38 digits
    date                                          date
    timestamp-millis, timestamp-micros            timestamp in UTC, in microseconds
    local-timestamp-millis, -micros               timestamp without a zone, in microseconds
    timestamp-nanos, time-millis, time-micros     int64: no reader of Parquet agrees with the next
    uuid and all other logical types              the type without its meaning
"""

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.avro.types import AvroField, AvroType, label_of, parse_avro
from penstock.model.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT64,
    STRING,
    TIMESTAMP_MS,
    TIMESTAMP_US,
    Field,
    FieldType,
    ScalarKind,
    decimal_of,
    list_of,
    map_of,
    struct_of,
    text_of,
    with_columns,
)

_PLAIN = {
    "boolean": BOOLEAN,
    "int": INT64,
    "long": INT64,
    "float": DOUBLE,
    "double": DOUBLE,
    "string": STRING,
    "enum": STRING,
    "bytes": BINARY,
    "fixed": BINARY,
}
_LOGICAL = {
    ("int", "date"): DATE,
    ("long", "timestamp-millis"): TIMESTAMP_MS,
    ("long", "timestamp-micros"): TIMESTAMP_US,
    ("long", "local-timestamp-millis"): FieldType("local_us", unit_us=1_000),
    ("long", "local-timestamp-micros"): FieldType("local_us"),
}
_IN_JSON = frozenset({"boolean", "int", "long", "float", "double", "string", "enum"})
_SCALARS_IN_JSON: dict[FieldType, ScalarKind] = {
    BOOLEAN: "boolean",
    INT64: "integer",
    DOUBLE: "number",
    STRING: "string",
}
ALONE = "value"  # the field of an event that is not a record


def from_avro(text: str) -> tuple[Field, ...]:
    """The fields of an Avro record, for events that are written in JSON."""
    root = parse_avro(text)
    if root.kind != "record":
        raise SchemaUnsupported("$", "a dataset needs a record")
    return _Columns(in_json=True).fields(root, "$", top=True)


def columns_of_avro(root: AvroType) -> tuple[Field, ...]:
    """The fields of a schema, for events that are written in Avro."""
    return _Columns(in_json=False).fields(as_record(root), "$", top=True)


def as_record(root: AvroType) -> AvroType:
    """A record as it is; anything else as the only field of one, which takes no bytes."""
    if root.kind == "record":
        return root
    return AvroType("record", "event", fields=(AvroField(ALONE, root),))


def _scalars_in_json(types: list[AvroType], path: str) -> FieldType:
    """The column for values of several types, which JSON writes without saying which.

    Numbers are numbers, all others the text of any of them.
    """
    if any(each.kind not in _IN_JSON or each.logical for each in types):
        why = "a union of several types must be of plain ones: " + ", ".join(sorted(_IN_JSON))
        raise SchemaUnsupported(path, why)
    found = {_PLAIN[each.kind] for each in types}
    if found <= {INT64, DOUBLE}:
        return DOUBLE if DOUBLE in found else INT64
    return found.pop() if len(found) == 1 else text_of({_SCALARS_IN_JSON[each] for each in found})


class _Columns:
    """From types to columns."""

    def __init__(self, *, in_json: bool) -> None:
        self._in_json = in_json

    def fields(self, record: AvroType, path: str, *, top: bool) -> tuple[Field, ...]:
        """The fields of a record; those that are always null have no column."""
        entries = []
        for field in record.fields:
            if field.type.kind != "null" or self._in_json:
                entries.append((field.name, *self._nullable(field.type, f"{path}.{field.name}")))
        return with_columns(entries, top=top)

    def _nullable(self, kind: AvroType, path: str) -> tuple[FieldType, bool]:
        """A type and whether it may be null."""
        if kind.kind != "union":
            return self._type(kind, path), False
        types = [branch for branch in kind.branches if branch.kind != "null"]
        may_be_null = len(types) < len(kind.branches)
        if len(types) == 1:
            return self._type(types[0], path), may_be_null
        if self._in_json and types:
            return _scalars_in_json(types, path), may_be_null
        if not types:
            raise SchemaUnsupported(path, "a union must have one type besides null")
        entries = [(label_of(each), self._type(each, path), True) for each in types]
        return struct_of(with_columns(entries, top=False)), may_be_null

    def _type(self, kind: AvroType, path: str) -> FieldType:
        """A type that is not null."""
        if self._in_json and kind.kind in {"bytes", "fixed", "null"} and kind.logical != "decimal":
            why = f"JSON cannot carry the type {kind.kind}, unless it is a decimal with a precision"
            raise SchemaUnsupported(path, why)
        if kind.kind == "record":
            return self._record(kind, path)
        if kind.item is not None:
            item, nullable = self._nullable(kind.item, f"{path}[]")
            return list_of(item, nullable) if kind.kind == "array" else map_of(item, nullable)
        if kind.logical == "decimal":
            return decimal_of(kind.precision, kind.scale)
        if kind.kind == "null":
            raise SchemaUnsupported(path, "there is nothing but null")
        return _LOGICAL.get((kind.kind, kind.logical)) or _PLAIN[kind.kind]

    def _record(self, kind: AvroType, path: str) -> FieldType:
        """A struct; without fields, which takes no bytes, whether it is there."""
        fields = self.fields(kind, path, top=False)
        if fields:
            return struct_of(fields)
        if self._in_json:
            raise SchemaUnsupported(path, "a record without fields cannot be a column")
        return BOOLEAN
