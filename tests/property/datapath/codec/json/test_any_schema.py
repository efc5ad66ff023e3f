"""Whatever a registry calls a schema: it can be read with, or it is said why not. Nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.codec import RecordReader
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec import codecs
from penstock.datapath.codec.codecs import record_reader
from penstock.model.registered_schema import RegisteredSchema

WORDS: dict[str, list[str]] = {
    "avro": [
        "type", "name", "namespace", "fields", "items", "values", "symbols", "size", "logicalType",
        "precision", "scale", "record", "error", "enum", "fixed", "array", "map", "null", "string",
        "bytes", "long", "decimal", "date", "timestamp-millis", "r", "a.b",
    ],
    "json": [
        "type", "properties", "required", "items", "additionalProperties", "title", "$ref", "$defs",
        "definitions", "nullable", "default", "object", "array", "string", "integer", "null",
        "#", "#/$defs/a", "#/properties/a", "a",
    ],
    "protobuf": [
        "roots", "messages", "enums", "name", "fields", "nested", "refused", "number", "kind",
        "label", "packed", "type", "oneof", "values", "int64", "message", "enum", "group",
        "implicit", "repeated", "map", "a",
    ],
}  # fmt: skip
TYPES: tuple[str, ...] = ("avro", "json", "protobuf")


def documents(kind: str) -> st.SearchStrategy[Any]:
    """JSON in which the words of a format are where they should be, and where they should not."""
    words = st.sampled_from(WORDS[kind])
    leaves = words | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    return st.recursive(
        leaves | st.text(max_size=3),
        lambda inside: (
            st.lists(inside, max_size=4)
            | st.dictionaries(words | st.text(max_size=2), inside, max_size=6)
        ),
        max_leaves=25,
    )


def placed(kind: str, part: Any) -> list[Any]:
    """A part by itself, and where a schema that is right as for the rest has a type."""
    if kind == "avro":
        field = {"name": "a", "type": part}
        return [part, {"type": "record", "name": "r", "fields": [field, part]},
                {"type": "record", "name": "r", "fields": [field]},
                {"type": "array", "items": part}, {"type": part}]  # fmt: skip
    if kind == "json":
        return [part, {"type": "object", "properties": {"a": part}},
                {"type": "object", "properties": {"a": {"type": part}}},
                {"type": "object", "properties": {"a": {"type": "string"}}, "required": part},
                {"type": "object", "properties": part},
                {"type": "object", "title": part}]  # fmt: skip
    field = {"number": 1, "name": "a", "kind": part, "label": "implicit"}
    message = {"name": "a", "fields": [field, part]}
    whole = {"name": "a", "fields": [field | {"kind": "message", "type": part}]}
    return [part, {"roots": ["a"], "messages": [message], "enums": []},
            {"roots": ["a"], "messages": [part], "enums": [part]},
            {"roots": part, "messages": [whole], "enums": []}]  # fmt: skip


@given(st.sampled_from(TYPES).flatmap(lambda kind: st.tuples(st.just(kind), documents(kind))))
def test_any_document_is_a_schema_or_refused(drawn: tuple[str, Any]) -> None:
    kind, part = drawn
    for document in placed(kind, part):
        found = record_reader(RegisteredSchema(kind, json.dumps(document)), (0,))
        assert isinstance(found, RecordReader | SchemaUnsupported)


@given(st.sampled_from(TYPES), st.text(max_size=30))
def test_any_text_is_a_schema_or_refused(kind: str, text: str) -> None:
    found = record_reader(RegisteredSchema(kind, text), (0,))
    assert isinstance(found, RecordReader | SchemaUnsupported)


@pytest.mark.parametrize("levels", [40, 200, 330, 900, 5_000])
@pytest.mark.parametrize("stack", [0, 500])
@pytest.mark.parametrize(
    ("kind", "opening", "inside", "closing"),
    [
        ("avro", '{"type":', '"string"', "}"),
        ("avro", '{"type":"array","items":', '"string"', "}"),
        ("avro", "[", '"string"', "]"),
        ("avro", '{"type":"string","logicalType":[', "1", "]}"),
        ("json", '{"type":"array","items":', '{"type":"string"}', "}"),
        ("json", '{"type":"object","properties":{"a":', '{"type":"string"}', "}}"),
        ("json", "[", "1", "]"),
        ("protobuf", '{"roots":', "[]", "}"),
    ],
)
def test_a_schema_that_nests_without_end_is_read_or_refused(
    levels: int, stack: int, kind: str, opening: str, inside: str, closing: str
) -> None:
    text = opening * levels + inside + closing * levels
    around = f'{{"type":"object","properties":{{"a":{text}}}}}'
    for each in (text, around):
        found = written_below(stack, RegisteredSchema(kind, each))
        assert isinstance(found, RecordReader | SchemaUnsupported)


def written_below(stack: int, schema: RegisteredSchema) -> RecordReader | SchemaUnsupported:
    """A writer, made with so many calls around it."""
    if stack:
        return written_below(stack - 1, schema)
    codecs._compiled.cache_clear()
    return record_reader(schema, (0,))
