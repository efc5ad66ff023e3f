"""Hypothesis strategies for JSON: schemas, events of them, and events that are odd or broken."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import strategies as st

from penstock.model.schema import (
    BOOLEAN,
    DOUBLE,
    INT64,
    STRING,
    TEXT_OF_JSON,
    TEXT_OF_SCALARS,
    TIMESTAMP_MS,
    DatasetSchema,
    Field,
    FieldType,
    list_of,
    map_of,
    struct_of,
    text_of,
    with_columns,
)

NAMES = st.sampled_from(
    ["a", "A", "b", "user", "userId", "userid", "day", "_id", "", "é", 'q"', "t\t", "x.y", "f0"]
)
TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
NUMBER_TEXTS = st.sampled_from(
    ["-0", "1.0", "1e2", "1e400", "9223372036854775808", "9007199254740993", "-1E-5", "0e1", "3.10"]
)


def _structs(types: st.SearchStrategy[FieldType]) -> st.SearchStrategy[FieldType]:
    return _fields(types, top=False, least=1).map(struct_of)


def _fields(
    types: st.SearchStrategy[FieldType], *, top: bool, least: int = 0
) -> st.SearchStrategy[tuple[Field, ...]]:
    entries = st.lists(
        st.tuples(NAMES, types, st.booleans()), min_size=least, max_size=4, unique_by=lambda e: e[0]
    )
    return entries.map(lambda found: with_columns(found, top=top))


SCALARS = st.sampled_from([BOOLEAN, INT64, DOUBLE, STRING, TIMESTAMP_MS])
TYPES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(list_of, inner, st.booleans()),
        st.builds(map_of, inner, st.booleans()),
        _structs(inner),
    ),
    max_leaves=4,
)


@st.composite
def schemas(draw: st.DrawFn) -> DatasetSchema:
    """Declared schemas with required fields, or inferred ones without."""
    declared = draw(st.booleans())
    fields = draw(_fields(TYPES, top=True))
    if not declared:
        fields = tuple(_all_nullable(field) for field in fields)
    return DatasetSchema("d", 1, declared, fields)


@st.composite
def accepting(draw: st.DrawFn, schema: DatasetSchema) -> DatasetSchema:
    """The schema, with some of its texts accepting scalars or any JSON."""
    choice = st.sampled_from(
        [STRING, TEXT_OF_SCALARS, TEXT_OF_JSON, text_of({"integer", "string"})]
    )

    def field(each: Field) -> Field:
        return Field(each.name, each.column, inside(each.type), each.nullable)

    def inside(kind: FieldType) -> FieldType:
        if kind == STRING:
            return draw(choice)
        item = None if kind.item is None else inside(kind.item)
        return msgspec.structs.replace(kind, item=item, fields=tuple(map(field, kind.fields)))

    return msgspec.structs.replace(schema, fields=tuple(map(field, schema.fields)))


def _all_nullable(field: Field) -> Field:
    return Field(field.name, field.column, _nullable_inside(field.type))


def _nullable_inside(kind: FieldType) -> FieldType:
    if kind.fields:
        return struct_of(_all_nullable(field) for field in kind.fields)
    if kind.item is not None:
        make = list_of if kind.kind == "list" else map_of
        return make(_nullable_inside(kind.item))
    return kind


INTEGERS = st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**53), 2**53).map(float)
)


def values_of(kind: FieldType, nullable: bool = False) -> st.SearchStrategy[Any]:
    """Values that fit a type."""
    plain: dict[str, st.SearchStrategy[Any]] = {
        "boolean": st.booleans(),
        "int64": INTEGERS,
        "double": DOUBLES,
        "string": TEXT,
        "timestamp_us": st.integers(-(10**12), 10**12),
    }
    found: st.SearchStrategy[Any]
    if kind.kind == "struct":
        found = events_of(kind.fields)
    elif kind.item is not None:
        items = values_of(kind.item, kind.item_nullable)
        many = st.lists(items, max_size=3)
        found = many if kind.kind == "list" else st.dictionaries(TEXT, items, max_size=3)
    else:
        found = plain[kind.kind]
    return st.none() | found if nullable else found


def events_of(fields: tuple[Field, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Events that fit; fields that may be null may be missing too."""
    required = {f.name: values_of(f.type) for f in fields if not f.nullable}
    optional = {f.name: values_of(f.type, True) for f in fields if f.nullable}
    return st.fixed_dictionaries(required, optional=optional)


@st.composite
def spellings(draw: st.DrawFn, event: Any) -> bytes:
    """One of the many ways to write an event."""
    ascii_only, indent = draw(st.booleans()), draw(st.sampled_from([None, 0, 1]))
    around = draw(st.sampled_from(["", " ", "\n"]))
    text = json.dumps(event, ensure_ascii=ascii_only, indent=indent, allow_nan=False)
    return f"{around}{text}{around}".encode()


OTHER_VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.integers() | DOUBLES | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=4,
)


@st.composite
def broken(draw: st.DrawFn, payload: bytes) -> bytes:
    """The payload after an accident."""
    at = draw(st.integers(0, max(len(payload) - 1, 0)))
    accident: Callable[[], bytes] = draw(
        st.sampled_from(
            [
                lambda: payload[:at],
                lambda: payload + draw(st.binary(min_size=1, max_size=4)),
                lambda: payload + payload,
                lambda: payload[:at] + bytes([payload[at] ^ (1 << draw(st.integers(0, 7)))])
                + payload[at + 1 :],
                lambda: payload[:at] + draw(st.binary(max_size=3)) + payload[at:],
                lambda: draw(st.binary(max_size=12)),
                lambda: draw(st.sampled_from([b"", b"[]", b"null", b"\xef\xbb\xbf{}", b"{}"])),
                lambda: b'{"deep":' + b"[" * 200 + b"]" * 200 + b"}",
            ]
        )
    )  # fmt: skip
    return accident()


@st.composite
def odd_events(draw: st.DrawFn, fields: tuple[Field, ...]) -> bytes:
    """An event with unknown fields, values of other types, and numbers spelled oddly."""
    event = draw(events_of(fields))
    names = st.sampled_from([field.name for field in fields] or ["a"]) | NAMES
    event |= draw(st.dictionaries(names, OTHER_VALUES, min_size=1, max_size=2))
    text = json.dumps(event)
    if draw(st.booleans()):
        text = f"{text[:-1]}{',' if event else ''}{json.dumps(draw(names))}:{draw(NUMBER_TEXTS)}}}"
    return text.encode()
