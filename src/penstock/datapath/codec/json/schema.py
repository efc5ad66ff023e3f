"""Declared schemas written as JSON Schema.

What decides about columns is read: type, properties, required, items, additionalProperties. What
only narrows values (formats, patterns, bounds, enumerations) is not checked. A value that may be of
several scalar types is a text, which has the digits of numbers as they are written; other types do
not fit. Constructs that may mean several shapes are refused, and so is every reference to another
place.
"""

import msgspec

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.shared.value_types import JsonValue
from penstock.model.schema import (
    BOOLEAN,
    DOUBLE,
    INT64,
    MAX_FIELDS,
    MAX_NESTING,
    STRING,
    Field,
    FieldType,
    count_fields,
    list_of,
    map_of,
    struct_of,
    text_of,
    with_columns,
)

_PLAIN = {"boolean": BOOLEAN, "integer": INT64, "number": DOUBLE, "string": STRING}
_KINDS = {*_PLAIN, "object", "array"}
_NUMBERS = {"integer", "number"}
_TEXT = "scalar"  # not a word of JSON Schema's
_REFUSED = (
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "dependentSchemas",
    "patternProperties",
    "prefixItems",
    "unevaluatedProperties",
)


def from_json_schema(text: str) -> tuple[Field, ...]:
    """The fields of a JSON Schema whose root is an object with properties."""
    try:
        root = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise SchemaUnsupported("$", f"it is not JSON ({error})") from error
    kind, _ = _kind(root, "$")
    if kind != "object":
        raise SchemaUnsupported("$", "a dataset needs an object")
    fields = _fields(root, "$", 0)
    if count_fields(fields) > MAX_FIELDS:
        raise SchemaUnsupported("$", f"there are more than {MAX_FIELDS} fields")
    return fields


def _fields(schema: dict[str, JsonValue], path: str, depth: int) -> tuple[Field, ...]:
    """The fields of an object. Required ones may be null only if their type says so."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise SchemaUnsupported(path, "properties or required are malformed")
    if not all(isinstance(name, str) for name in required):
        raise SchemaUnsupported(path, "required has something that is not a name")
    missing = [name for name in required if name not in properties]
    if missing:
        raise SchemaUnsupported(path, f"{missing[0]} is required and not described")
    entries = []
    for name, below in properties.items():
        kind, nullable = _type(below, f"{path}.{name}", depth + 1)
        entries.append((name, kind, nullable or name not in required))
    return with_columns(entries, top=depth == 0)


def _type(schema: JsonValue, path: str, depth: int) -> tuple[FieldType, bool]:
    """A type and whether it may be null."""
    if depth > MAX_NESTING:
        raise SchemaUnsupported(path, f"it nests deeper than {MAX_NESTING} levels")
    kind, nullable = _kind(schema, path)
    if kind == "object":
        return _object(schema, path, depth), nullable
    if kind == _TEXT:
        return text_of(set(schema["type"]) - {"null"}), nullable
    if kind == "array":
        if not isinstance(schema.get("items"), dict):
            raise SchemaUnsupported(path, "an array needs one description of its items")
        return list_of(*_type(schema["items"], f"{path}[]", depth + 1)), nullable
    return _PLAIN[kind], nullable


def _kind(schema: JsonValue, path: str) -> tuple[str, bool]:
    """The one kind of a schema besides null, and whether null is among its kinds.

    Several scalar kinds are one: a number, if all are numbers, or else a text of any of them.
    """
    if not isinstance(schema, dict):
        raise SchemaUnsupported(path, "this does not describe a value")
    for word in _REFUSED:
        if word in schema:
            raise SchemaUnsupported(path, f"{word} is not supported")
    kinds = schema.get("type")
    listed = kinds if isinstance(kinds, list) else [kinds]
    found = [kind for kind in listed if kind != "null"]
    nullable = "null" in listed or schema.get("nullable") is True
    if len(found) == 1 and isinstance(found[0], str) and found[0] in _KINDS:
        return found[0], nullable
    if len(found) > 1 and all(isinstance(kind, str) and kind in _PLAIN for kind in found):
        return "number" if set(found) <= _NUMBERS else _TEXT, nullable
    why = "a value needs one known type besides null, or several of " + ", ".join(_PLAIN)
    raise SchemaUnsupported(path, why)


def _object(schema: dict[str, JsonValue], path: str, depth: int) -> FieldType:
    """A struct if there are properties, else a map of what `additionalProperties` describes."""
    fields = _fields(schema, path, depth)
    if fields:
        return struct_of(fields)
    values = schema.get("additionalProperties")
    if not isinstance(values, dict):
        raise SchemaUnsupported(path, "an object needs properties, or a description of its values")
    return map_of(*_type(values, f"{path}[]", depth + 1))
