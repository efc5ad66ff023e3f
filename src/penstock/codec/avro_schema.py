"""Declared schemas written as an Avro record, applied to events written in JSON.

Values are written in events as plain JSON: a union of null and a type as the value or null,
without naming the branch; an enum as its symbol; a decimal as a number or as a string of one.
Defaults do not count: a field that may not be null must be there.
"""

from typing import Any

import msgspec

from penstock.codec.unsupported import SchemaUnsupported
from penstock.model.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT64,
    MAX_FIELDS,
    MAX_NESTING,
    MAX_PRECISION,
    STRING,
    TIMESTAMP_MS,
    TIMESTAMP_US,
    Field,
    FieldType,
    count_fields,
    decimal_of,
    list_of,
    map_of,
    struct_of,
    with_columns,
)

_PLAIN = {
    "boolean": BOOLEAN,
    "int": INT64,
    "long": INT64,
    "float": DOUBLE,
    "double": DOUBLE,
    "string": STRING,
}
_LOGICAL = {
    ("int", "date"): DATE,
    ("long", "timestamp-millis"): TIMESTAMP_MS,
    ("long", "timestamp-micros"): TIMESTAMP_US,
}


def from_avro(text: str) -> tuple[Field, ...]:
    """The fields of an Avro schema whose root is a record."""
    try:
        root = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise SchemaUnsupported("$", f"it is not JSON ({error})") from error
    if not isinstance(root, dict) or root.get("type") != "record":
        raise SchemaUnsupported("$", "a dataset needs a record")
    fields = _Reader().fields(root, "$", top=True)
    if count_fields(fields) > MAX_FIELDS:
        raise SchemaUnsupported("$", f"there are more than {MAX_FIELDS} fields")
    return fields


class _Reader:
    """Reads one document; `_named` holds the types that later parts may refer to by full name.

    `_open` are the full names of the records around the place that is read.
    """

    def __init__(self) -> None:
        self._named: dict[str, FieldType] = {}
        self._open: list[str] = []

    def fields(self, record: dict[str, Any], path: str, *, top: bool) -> tuple[Field, ...]:
        """The fields of a record."""
        if len(self._open) >= MAX_NESTING:
            raise SchemaUnsupported(path, f"it nests deeper than {MAX_NESTING} levels")
        self._open.append(self._full_name(record.get("name"), record.get("namespace")))
        entries = []
        for field in _listed(record, "fields", path):
            name = field.get("name") if isinstance(field, dict) else None
            if not isinstance(name, str):
                raise SchemaUnsupported(path, "a field has no name")
            where = f"{path}.{name}"
            kind, nullable = self._union(field.get("type"), where)
            entries.append((name, kind, nullable))
        self._open.pop()
        if len({name for name, _, _ in entries}) != len(entries):
            raise SchemaUnsupported(path, "two fields have one name")
        return with_columns(entries, top=top)

    def _union(self, schema: Any, path: str) -> tuple[FieldType, bool]:
        """A type and whether it may be null."""
        branches = schema if isinstance(schema, list) else [schema]
        types = [branch for branch in branches if branch != "null"]
        if len(types) != 1:
            raise SchemaUnsupported(path, "a union must have one type besides null")
        return self._type(types[0], path), len(branches) > 1

    def _type(self, schema: Any, path: str) -> FieldType:
        """A type that is not null."""
        if isinstance(schema, str):
            return self._by_name(schema, path)
        if not isinstance(schema, dict):
            raise SchemaUnsupported(path, "this is no type")
        kind = schema.get("type")
        if kind in {"record", "error"}:
            return self._record(schema, path)
        if kind == "enum":
            return self._name(schema, STRING)
        if kind == "array":
            return list_of(*self._union(schema.get("items"), f"{path}[]"))
        if kind == "map":
            return map_of(*self._union(schema.get("values"), f"{path}[]"))
        if schema.get("logicalType") == "decimal":
            return self._decimal(schema, path)
        logical = _LOGICAL.get((str(kind), str(schema.get("logicalType"))))
        return logical or self._type(kind, path)

    def _full_name(self, name: Any, namespace: Any = None) -> str:
        """A name with its namespace: its own, the one it is given, or that of the record around."""
        if "." in str(name):
            return str(name)
        around = self._open[-1].rpartition(".")[0] if self._open else ""
        space = around if namespace is None else str(namespace)
        return f"{space}.{name}" if space else str(name)

    def _name(self, schema: dict[str, Any], kind: FieldType) -> FieldType:
        """Remember a type by its name."""
        self._named[self._full_name(schema.get("name"), schema.get("namespace"))] = kind
        return kind

    def _by_name(self, name: str, path: str) -> FieldType:
        """A plain type, or one that was defined before."""
        full = self._full_name(name)
        if full in self._open:
            raise SchemaUnsupported(path, f"{name} contains itself")
        found = _PLAIN.get(name) or self._named.get(full)
        if found is None:
            raise SchemaUnsupported(path, f"JSON cannot carry the type {name}, or it is not known")
        return found

    def _record(self, schema: dict[str, Any], path: str) -> FieldType:
        fields = self.fields(schema, path, top=False)
        if not fields:
            raise SchemaUnsupported(path, "a record without fields is no column")
        return self._name(schema, struct_of(fields))

    def _decimal(self, schema: dict[str, Any], path: str) -> FieldType:
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        if not isinstance(precision, int) or not isinstance(scale, int):
            raise SchemaUnsupported(path, "a decimal needs a precision")
        if not 0 <= scale <= precision <= MAX_PRECISION or precision < 1:
            raise SchemaUnsupported(path, f"decimals have 1 to {MAX_PRECISION} digits")
        return decimal_of(precision, scale)


def _listed(record: dict[str, Any], key: str, path: str) -> list[Any]:
    found = record.get(key)
    if not isinstance(found, list):
        raise SchemaUnsupported(path, f"{key} is not a list")
    return found
