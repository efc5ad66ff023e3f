"""The columns of a Thrift struct.

in Thrift                                     column
------------------------------------------    ------------------------------------------------
bool, string, binary                          boolean, string, binary
byte, i8, i16, i32, i64                       int64
double                                        double
uuid                                          string, such as 01234567-89ab-cdef-0123-456789abcdef
enum                                          string, the name; the digits of a number that has
                                                no name
struct, exception                             struct
union                                         struct with a member per field, one of them set
struct without fields                         boolean: true where it is there
list, set                                     list
map with keys of strings or of an enum        map
map with other keys                           list of structs of key and value
a struct that contains itself                 none: the schema is refused

A required field is never null; nor are items, keys and values, which Thrift always writes. All
other fields are null where they are absent, whatever default they declare: what an absent field
means is for the reader's program, and says nothing of what was written.
"""

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.thrift.types import ThriftKind, ThriftStruct, ThriftType, ThriftTypes
from penstock.model.schema import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT64,
    MAX_FIELDS,
    MAX_NESTING,
    STRING,
    Field,
    FieldType,
    list_of,
    map_of,
    struct_of,
    with_columns,
)

_PLAIN: dict[ThriftKind, FieldType] = {
    "bool": BOOLEAN,
    "i8": INT64,
    "i16": INT64,
    "i32": INT64,
    "i64": INT64,
    "double": DOUBLE,
    "string": STRING,
    "binary": BINARY,
    "uuid": STRING,
    "enum": STRING,
}
_NAMES: tuple[ThriftKind, ...] = ("string", "enum")


def columns_of_thrift(types: ThriftTypes) -> tuple[Field, ...]:
    """The fields of the struct that is an event; raises SchemaUnsupported."""
    root = types.struct(types.root, "$")
    fields = _Columns(types).fields(root, "$", top=True)
    if not fields:
        raise SchemaUnsupported("$", f"{root.name} has no fields")
    return fields


def has_names(kind: ThriftType) -> bool:
    """True for a map that becomes a column of maps: its keys are texts."""
    return kind.items[0].kind in _NAMES


class _Columns:
    """From structs to columns; `_open` are the structs around the place that is looked at."""

    def __init__(self, types: ThriftTypes) -> None:
        self._types = types
        self._open: list[str] = []
        self._depth = 0
        self._count = 0

    def fields(self, struct: ThriftStruct, path: str, *, top: bool) -> tuple[Field, ...]:
        """A field per field, in the order of their declaration."""
        if struct.name in self._open:
            raise SchemaUnsupported(path, f"{struct.name} contains itself")
        self._open.append(struct.name)
        entries = []
        for field in struct.fields:
            kind = self._type(field.type, f"{path}.{field.name}")
            entries.append((field.name, kind, not field.required))
        self._open.pop()
        return with_columns(entries, top=top)

    def _type(self, kind: ThriftType, path: str) -> FieldType:
        """The type of one column, or of what is inside one."""
        self._count += 1
        if self._count > MAX_FIELDS:
            raise SchemaUnsupported(path, f"there are more than {MAX_FIELDS} fields")
        if self._depth >= MAX_NESTING:
            raise SchemaUnsupported(path, f"it nests deeper than {MAX_NESTING} levels")
        self._depth += 1
        found = self._nested(kind, path)
        self._depth -= 1
        return found

    def _nested(self, kind: ThriftType, path: str) -> FieldType:
        if kind.kind == "struct":
            inside = self.fields(self._types.struct(kind.name, path), path, top=False)
            return struct_of(inside) if inside else BOOLEAN
        if kind.kind == "enum":
            self._types.enum(kind.name, path)
        if kind.kind == "map":
            return self._map(kind, path)
        if kind.kind in {"list", "set"}:
            return list_of(self._type(kind.items[0], f"{path}[]"), item_nullable=False)
        return _PLAIN[kind.kind]

    def _map(self, kind: ThriftType, path: str) -> FieldType:
        if has_names(kind):
            self._type(kind.items[0], path)
            return map_of(self._type(kind.items[1], f"{path}[]"), item_nullable=False)
        pair = zip(("key", "value"), kind.items, strict=True)
        entries = [(name, self._type(each, f"{path}[].{name}"), False) for name, each in pair]
        return list_of(struct_of(with_columns(entries, top=False)), item_nullable=False)
