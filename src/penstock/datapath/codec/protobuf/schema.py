"""The columns of a Protobuf message.

in Protobuf                                   column
------------------------------------------    ------------------------------------------------
bool, string, bytes                           boolean, string, binary
int32, int64, sint32, sint64, uint32,         int64
  fixed32, sfixed32, sfixed64
uint64, fixed64                               decimal(20, 0)
float, double                                 double
enum                                          string, the name; the digits of a number that has
                                                no name
message                                       struct, nullable
message without fields                        boolean: true where it is there, null elsewhere
repeated                                      list, never null, nor are its items
map with keys of strings                      map, never null, nor are its values
map with other keys                           list of structs of key and value
google.protobuf.Timestamp                     timestamp in UTC, in microseconds; what is finer
                                                is cut off towards the past
google.protobuf.Duration                      int64, microseconds; cut off towards zero
google.protobuf.Int64Value and the like       what is wrapped, nullable
other well-known types                        the messages they are
extension that the schema declares            as a field, named [by.its.full.name]
group, message set, a message that contains   none: the schema is refused
  itself (google.protobuf.Struct does), a
  message of nothing but extensions that
  nobody declares

a field that is absent and                    becomes
------------------------------------------    ------------------------------------------------
has no presence, as in proto3                 its default: 0, false, an empty text, the first
                                                name of an enum
is optional, in a oneof, or a message         null; defaults that proto2 declares do not count
is required, as in proto2                     nothing: the record is bad
"""

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.protobuf.types import ProtoField, ProtoMessage, ProtoTypes
from penstock.model.schema import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT64,
    MAX_FIELDS,
    MAX_NESTING,
    STRING,
    TIMESTAMP_US,
    Field,
    FieldType,
    decimal_of,
    list_of,
    map_of,
    struct_of,
    with_columns,
)

TIMESTAMP, DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
WRAPPERS = {
    f"google.protobuf.{name}Value": kind
    for name, kind in (
        ("Double", "double"),
        ("Float", "float"),
        ("Int64", "int64"),
        ("UInt64", "uint64"),
        ("Int32", "int32"),
        ("UInt32", "uint32"),
        ("Bool", "bool"),
        ("String", "string"),
        ("Bytes", "bytes"),
    )
}
UINT64 = decimal_of(20, 0)
_PLAIN = {
    "int32": INT64,
    "int64": INT64,
    "uint32": INT64,
    "uint64": UINT64,
    "sint32": INT64,
    "sint64": INT64,
    "fixed32": INT64,
    "fixed64": UINT64,
    "sfixed32": INT64,
    "sfixed64": INT64,
    "float": DOUBLE,
    "double": DOUBLE,
    "bool": BOOLEAN,
    "string": STRING,
    "bytes": BINARY,
    "enum": STRING,
}


def columns_of_proto(types: ProtoTypes, root: ProtoMessage) -> tuple[Field, ...]:
    """The fields of a message that is an event; raises SchemaUnsupported."""
    fields = _Columns(types).fields(root, "$", top=True)
    if not fields:
        raise SchemaUnsupported("$", f"{root.name} has no fields")
    return fields


def plain_type(field: ProtoField) -> FieldType:
    """The type of a single value that is not a message."""
    return _PLAIN[field.kind]


def meaning_of(message: ProtoMessage) -> str:
    """What a message is inside another one: a time, a duration, something wrapped, or a struct.

    Its fields count as well as its name, since anybody can write a file with any name.
    """
    found = {field.number: (field.kind, field.label) for field in message.fields}
    if message.name in {TIMESTAMP, DURATION}:
        if found == {1: ("int64", "implicit"), 2: ("int32", "implicit")}:
            return "timestamp" if message.name == TIMESTAMP else "duration"
    elif message.name in WRAPPERS and found == {1: (WRAPPERS[message.name], "implicit")}:
        return "wrapper"
    return "struct" if message.fields else "empty"


class _Columns:
    """From messages to columns; `_open` are the messages around the place that is looked at."""

    def __init__(self, types: ProtoTypes) -> None:
        self._types = types
        self._open: list[str] = []
        self._count = 0

    def fields(self, message: ProtoMessage, path: str, *, top: bool) -> tuple[Field, ...]:
        """A field per field, in the order of their declaration."""
        if message.refused:
            raise SchemaUnsupported(path, message.refused)
        if message.name in self._open:
            raise SchemaUnsupported(path, f"{message.name} contains itself")
        if len(self._open) >= MAX_NESTING:
            raise SchemaUnsupported(path, f"it nests deeper than {MAX_NESTING} levels")
        self._open.append(message.name)
        entries = []
        for field in message.fields:
            self._count += 1
            if self._count > MAX_FIELDS:
                raise SchemaUnsupported(path, f"there are more than {MAX_FIELDS} fields")
            kind = self._column(field, f"{path}.{field.name}")
            entries.append((field.name, kind, field.label == "explicit"))
        self._open.pop()
        return with_columns(entries, top=top)

    def _column(self, field: ProtoField, path: str) -> FieldType:
        if field.label == "map":
            return self._map(field, path)
        if field.label == "repeated":
            return list_of(self._type(field, f"{path}[]"), item_nullable=False)
        return self._type(field, path)

    def _map(self, field: ProtoField, path: str) -> FieldType:
        key, value = entry_of(self._types.message(field.type, path), path)
        self._count += 2
        item = self._type(value, f"{path}[]")
        if key.kind == "string":
            return map_of(item, item_nullable=False)
        entries = [("key", plain_type(key), False), ("value", item, False)]
        return list_of(struct_of(with_columns(entries, top=False)), item_nullable=False)

    def _type(self, field: ProtoField, path: str) -> FieldType:
        """The type of a single value."""
        if field.kind == "group":
            raise SchemaUnsupported(path, "groups are not read")
        if field.kind == "enum":
            self._types.enum(field.type, path)
        if field.kind != "message":
            return plain_type(field)
        message = self._types.message(field.type, path)
        meaning = meaning_of(message)
        if meaning == "timestamp":
            return TIMESTAMP_US
        if meaning == "duration":
            return INT64
        if meaning == "wrapper":
            return plain_type(message.fields[0])
        inside = self.fields(message, path, top=False)
        return struct_of(inside) if inside else BOOLEAN


def entry_of(message: ProtoMessage, path: str) -> tuple[ProtoField, ProtoField]:
    """The key and the value of a map's entry."""
    if [field.number for field in message.fields] != [1, 2]:
        raise SchemaUnsupported(path, f"{message.name} is not an entry of a map")
    return message.fields[0], message.fields[1]
