"""A schema compiled for decoding JSON: typed structs for the parser, Arrow types for the columns.

Compiling costs about a millisecond and is remembered by schema, so a task compiles each schema
once. Nothing here is pickled; executors compile what they are sent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import GenericAlias
from typing import Annotated

import msgspec
import pyarrow as pa

from penstock.datapath.codec.json.value_count import json_value_counter
from penstock.datapath.codec.shared.shapes import arrow_schema, bounds_of
from penstock.datapath.codec.shared.value_count import ValueCounter
from penstock.datapath.codec.shared.value_types import ColumnValue, ParserType
from penstock.model.arrow_types import arrow_type
from penstock.model.event_paths import path_below
from penstock.model.schema import DatasetSchema, Field, FieldType

# Up to here every integer is a double; beyond, the reference way looks at the digits.
EXACT = float(2**53 - 1)

_REFUSED_IN_NAMES = frozenset({'"', "\\"} | {chr(code) for code in range(32)})
_PARSED: dict[str, ParserType] = {
    "boolean": bool,
    "double": Annotated[float, msgspec.Meta(ge=-EXACT, le=EXACT)],
    "string": str,
}


@dataclass(frozen=True, slots=True, eq=False)
class JsonType:
    """A compiled type. `path` says where it is found in an event: `user.tags[]`.

    `parsed` is the type given to the parser, None where the parser is not exact enough. A list or
    map has an `item`, a struct a `record`.
    """

    type: FieldType
    path: str
    arrow: pa.DataType
    parsed: ParserType
    item: "JsonType | None" = None
    record: "JsonObject | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class JsonObject:
    """An object with known keys. `make` builds one from the members' values by attribute."""

    path: str
    members: tuple["JsonField", ...]
    make: type[msgspec.Struct]
    parsable: bool

    def path_of(self, name: str) -> str:
        """Where a field of this object is found in an event."""
        return path_below(self.path, name)


@dataclass(frozen=True, slots=True, eq=False)
class JsonField:
    """One field of an object: its name in events, its column, its attribute in what is parsed.

    `decode` parses the text of a value, and is None where no parser is exact enough.
    """

    name: str
    column: str
    attribute: str
    nullable: bool
    shape: JsonType
    decode: Callable[[bytes | msgspec.Raw], ColumnValue] | None


@dataclass(frozen=True, slots=True, eq=False)
class DecodePlan:
    """All that decoding needs of a schema."""

    root: JsonObject
    declared: bool
    fields: tuple[Field, ...]
    schema: pa.Schema
    counter: ValueCounter


def may_be_renamed(name: str) -> bool:
    """True when the parser can be told that a field of an event has this name."""
    return _REFUSED_IN_NAMES.isdisjoint(name)


@lru_cache(maxsize=512)
def plan_of(schema: DatasetSchema) -> DecodePlan:
    """Compile a schema."""
    root = _record(schema.fields, "")
    return DecodePlan(
        root,
        schema.declared,
        schema.fields,
        arrow_schema(schema),
        json_value_counter(schema.fields),
    )


def json_type(kind: FieldType, path: str) -> JsonType:
    """Compile one type, found at a path of an event."""
    arrow = arrow_type(kind)
    if kind.kind == "struct":
        record = _record(kind.fields, path)
        return JsonType(kind, path, arrow, record.make if record.parsable else None, record=record)
    if kind.item is not None:
        return _collection(kind, kind.item, path, arrow)
    if kind.accepts and kind.kind != "string":
        raise ValueError("times of any form are read as JSON texts, and become times afterwards")
    if kind.kind in {"decimal", "binary"} or kind.accepts:
        return JsonType(kind, path, arrow, None)
    if kind.kind in _PARSED:
        return JsonType(kind, path, arrow, _PARSED[kind.kind])
    low, high = bounds_of(kind)
    return JsonType(kind, path, arrow, Annotated[int, msgspec.Meta(ge=low, le=high)])


def _collection(kind: FieldType, item_type: FieldType, path: str, arrow: pa.DataType) -> JsonType:
    """Compile a list or a map."""
    item = json_type(item_type, f"{path}[]")
    parsed: ParserType = None
    if item.parsed is not None:
        inside = item.parsed | None if kind.item_nullable else item.parsed
        listed = kind.kind == "list"
        parsed = GenericAlias(list, (inside,)) if listed else GenericAlias(dict, (str, inside))
    return JsonType(kind, path, arrow, parsed, item)


def _record(fields: tuple[Field, ...], path: str) -> JsonObject:
    """Compile an object; the parser may read it if it can read every member."""
    members = tuple(_member(number, field, path) for number, field in enumerate(fields))
    parsable = all(
        member.shape.parsed is not None and may_be_renamed(member.name) for member in members
    )
    return JsonObject(path, members, _struct(members, parsable), parsable)


def _member(number: int, field: Field, path: str) -> JsonField:
    """Compile the field with this number of the object at `path`."""
    shape = json_type(field.type, path_below(path, field.name))
    decode = None
    if shape.parsed is not None:
        parsed = shape.parsed | None if field.nullable else shape.parsed
        decode = msgspec.json.Decoder(parsed).decode
    return JsonField(field.name, field.column, f"f{number}", field.nullable, shape, decode)


def _struct(members: tuple[JsonField, ...], parsable: bool) -> type[msgspec.Struct]:
    """The class of parsed objects. Attributes are numbered, since names may be anything.

    Unknown fields make the parser refuse an object, so that nothing is dropped unseen.
    """
    fields: list[tuple[str, ParserType] | tuple[str, ParserType, None]] = []
    for member in members:
        parsed = member.shape.parsed if parsable else ColumnValue
        if member.nullable:
            fields.append((member.attribute, parsed | None if parsable else ColumnValue, None))
        else:
            fields.append((member.attribute, parsed))
    names = {member.attribute: member.name for member in members}
    made = msgspec.defstruct(
        "Parsed",
        fields,
        rename=names if parsable else None,
        forbid_unknown_fields=True,
        kw_only=True,
        gc=False,
    )
    attributes = tuple(member.attribute for member in members)
    if made.__struct_fields__ != attributes:
        raise ValueError("the parser has another order of fields than the schema")
    return made
