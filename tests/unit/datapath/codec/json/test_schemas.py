"""Schemas that users declare, and those that are learned from samples."""

import json
from typing import Any

import pyarrow as pa
import pytest

from penstock.datapath.codec.avro.schema import from_avro
from penstock.datapath.codec.json.decoder import JsonDecoder, SchemaUnsupported
from penstock.datapath.codec.json.schema import from_json_schema
from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.datapath.schemas.schema_files import schema_from_file
from penstock.model.schema import (
    DOUBLE,
    INT64,
    MAX_FIELDS,
    STRING,
    TEXT_OF_SCALARS,
    DatasetSchema,
    FieldType,
    count_fields,
    text_of,
)

CODEC = JsonDecoder()


def _infer(*events: object) -> DatasetSchema:
    return CODEC.infer([json.dumps(event).encode() for event in events], "d")


def _types(schema: DatasetSchema) -> dict[str, str]:
    return {field.name: str(field.type) for field in arrow_schema(schema) if field.name != "_rest"}


def test_types_are_pinned_from_samples_in_the_order_of_their_fields() -> None:
    schema = _infer({"s": "x", "i": 1, "f": 1.5, "b": True, "o": {"x": 1}, "l": [1]}, {"z": 1})
    assert (schema.version, schema.declared) == (1, False)
    assert list(_types(schema).items()) == [
        ("s", "string"),
        ("i", "int64"),
        ("f", "double"),
        ("b", "bool"),
        ("o", "struct<x: int64>"),
        ("l", "list<item: int64>"),
        ("z", "int64"),
    ]


def test_nulls_and_empty_ones_teach_nothing() -> None:
    assert _types(_infer({"n": None, "l": [], "o": {}, "m": [[]], "p": {"q": None}})) == {}
    assert _types(_infer({"n": None, "l": [None]}, {"n": 1, "l": [None, 2]})) == {
        "n": "int64",
        "l": "list<item: int64>",
    }


def test_integers_and_fractions_meet_in_double() -> None:
    assert _types(_infer({"a": 1, "l": [1, 2.5]}, {"a": 1.5})) == {
        "a": "double",
        "l": "list<item: double>",
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, "x"), (True, 1), ([1], 1), ({"x": 1}, "x"), ([1], ["x"]), ([1], {"x": 1})],
)
def test_a_field_in_conflict_gets_no_column(one: object, other: object) -> None:
    assert _types(_infer({"a": one, "b": 1}, {"a": other})) == {"b": "int64"}


def test_a_conflict_inside_an_object_costs_only_that_field() -> None:
    assert _types(_infer({"o": {"x": 1, "y": 1}}, {"o": {"x": "1"}})) == {"o": "struct<y: int64>"}


def test_a_conflict_inside_the_objects_of_a_list_costs_only_that_field() -> None:
    schema = _infer({"l": [{"x": 1, "y": 1}, {"x": "1"}]})
    assert _types(schema) == {"l": "list<item: struct<y: int64>>"}


def test_numbers_that_fit_nowhere_teach_nothing() -> None:
    samples = [b'{"a":1e999,"b":99999999999999999999}', b'{"b":1}', b"not JSON", b"[1]"]
    assert _types(CODEC.infer(samples, "d")) == {"b": "int64"}


def test_there_is_a_limit_to_fields_and_depth() -> None:
    wide = _infer({f"f{number}": {"x": number} for number in range(MAX_FIELDS)} | {"last": 1})
    assert count_fields(wide.fields) == MAX_FIELDS
    users = _infer({"by_user": {f"u{number}": 1 for number in range(5_000)}, "a": 1})
    assert _types(users) == {"a": "int64"}
    nested: Any = 1
    for _ in range(40):
        nested = {"x": nested}
    assert _types(_infer({"n": nested, "a": 1})) == {"a": "int64"}


def test_promotion_adds_fields_behind_and_inside_the_known_ones() -> None:
    schema = _infer({"a": 1, "o": {"x": 1}, "l": [{"x": 1}], "userId": 1})
    sample = (
        b'{"new":"x","o":{"y":1.5,"X":2},"l":[{"z":1}],"a":"other","userid":2,"day":1,"n":null}'
    )
    promoted = CODEC.promote(schema, [sample])
    assert promoted.version == 2
    assert list(_types(promoted).items()) == [
        ("a", "int64"),
        ("o", "struct<x: int64, y: double, X__2: int64>"),
        ("l", "list<item: struct<x: int64, z: int64>>"),
        ("userId", "int64"),
        ("new", "string"),
        ("userid__2", "int64"),
        ("day_", "int64"),
    ]


def test_promotion_without_news_is_the_same_schema() -> None:
    schema = _infer({"a": 1})
    assert CODEC.promote(schema, [b'{"a":"x","b":null,"c":[]}', b"{"]) is schema
    declared = DatasetSchema("d", 1, True, schema.fields)
    assert CODEC.promote(declared, [b'{"b":1}']) is declared


def test_a_full_schema_is_not_promoted() -> None:
    schema = _infer({f"f{number}": 1 for number in range(MAX_FIELDS)})
    assert CODEC.promote(schema, [b'{"more":1}']) is schema


AVRO = {
    "type": "record",
    "name": "page_view",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "day", "type": ["null", "string"], "default": None},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "again", "type": "Kind"},
        {"name": "born", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "ratio", "type": ["float", "null"]},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "uid", "type": {"type": "string", "logicalType": "uuid"}},
        {
            "name": "items",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Item",
                    "fields": [{"name": "n", "type": "int"}],
                },
            },
        },
        {"name": "first", "type": ["null", "Item"]},
        {"name": "tags", "type": {"type": "map", "values": ["null", "boolean"]}},
    ],
}


def test_an_avro_record_becomes_columns() -> None:
    schema = schema_from_file("avsc", json.dumps(AVRO), "d")
    assert schema.declared
    assert _types(schema) == {
        "id": "int64",
        "day_": "string",
        "kind": "string",
        "again": "string",
        "born": "date32[day]",
        "at": "timestamp[us, tz=UTC]",
        "ratio": "double",
        "price": "decimal128(9, 2)",
        "uid": "string",
        "items": "list<item: struct<n: int64>>",
        "first": "struct<n: int64>",
        "tags": "map<string, bool>",
    }
    assert [field.name for field in schema.fields if field.nullable] == ["day", "ratio", "first"]
    event = {
        "id": 1, "kind": "A", "again": "B", "born": 0, "at": 1_000, "price": "1.5", "uid": "u",
        "items": [{"n": 1}], "tags": {"x": None},
    }  # fmt: skip
    decoded = CODEC.decode(pa.array([json.dumps(event).encode()]), schema)
    assert decoded.bad == []
    assert decoded.batch["at"].cast(pa.int64()).to_pylist() == [1_000_000]


@pytest.mark.parametrize("logical", ["timestamp", "local-timestamp"])
@pytest.mark.parametrize(("unit", "factor"), [("millis", 1_000), ("micros", 1)])
def test_a_time_of_a_schema_file_is_a_count_of_its_unit_with_and_without_a_zone(
    logical: str, unit: str, factor: int
) -> None:
    time = {"type": "long", "logicalType": f"{logical}-{unit}"}
    inner = {"type": "record", "name": "I", "fields": [{"name": "t", "type": time}]}
    fields = [
        {"name": "t", "type": time},
        {"name": "l", "type": {"type": "array", "items": time}},
        {"name": "i", "type": ["null", inner]},
    ]
    text = json.dumps({"type": "record", "name": "r", "fields": fields})
    count = 1_763_200_000_000_000 // factor
    event = {"t": count, "l": [count], "i": {"t": count}}
    schema = schema_from_file("avsc", text, "d")
    decoded = CODEC.decode(pa.array([json.dumps(event).encode()] * 3), schema)
    assert decoded.bad == []
    for column in (decoded.batch["t"], decoded.batch["l"].flatten(), decoded.batch["i"].flatten()):
        found = column[0] if isinstance(column, list) else column
        assert found.cast(pa.int64()).to_pylist() == [1_763_200_000_000_000] * 3


def test_an_avro_type_is_found_by_its_full_name() -> None:
    kind = {"type": "enum", "name": "Kind", "namespace": "b", "symbols": ["A"]}
    inner = {"type": "record", "name": "a.Inner", "fields": [{"name": "k", "type": "b.Kind"}]}
    fields = [
        {"name": "x", "type": kind},
        {"name": "y", "type": inner},
        {"name": "z", "type": ["null", "Inner"]},
    ]
    record = {"type": "record", "name": "R", "namespace": "a", "fields": fields}
    schema = schema_from_file("avsc", json.dumps(record), "d")
    assert _types(schema)["z"] == "struct<k: string>"
    fields.append({"name": "w", "type": "Kind"})
    with pytest.raises(SchemaUnsupported, match="Kind"):
        schema_from_file("avsc", json.dumps(record), "d")


def test_an_avro_type_inside_another_is_that_type() -> None:
    twice = {"type": {"type": {"type": "string"}}}
    fields = [
        {"name": "a", "type": twice},
        {"name": "l", "type": {"type": "array", "items": {"type": ["null", "string"]}}},
        {"name": "t", "type": {"type": {"type": "long"}, "logicalType": "timestamp-millis"}},
        {"name": "e", "type": {"type": {"type": "enum", "name": "E", "symbols": ["A"]}}},
    ]
    text = json.dumps({"type": "record", "name": "r", "fields": fields})
    schema = schema_from_file("avsc", text, "d")
    assert _types(schema) == {
        "a": "string",
        "l": "list<item: string>",
        "t": "timestamp[us, tz=UTC]",
        "e": "string",
    }
    assert schema.fields[1].type.item_nullable


def _avro(kind: object) -> str:
    fields = [{"name": "x", "type": kind}]
    return json.dumps({"type": "record", "name": "r", "fields": fields})


@pytest.mark.parametrize(
    ("branches", "kind", "nullable"),
    [
        (["int", "string"], text_of({"integer", "string"}), False),
        (["null", "double", "string", "boolean"], TEXT_OF_SCALARS, True),
        (["int", "long"], INT64, False),
        (["null", "int", "double"], DOUBLE, True),
        (["string", {"type": "enum", "name": "e", "symbols": ["A"]}], STRING, False),
    ],
)
def test_a_union_of_plain_avro_types_is_one_column(
    branches: list[Any], kind: FieldType, nullable: bool
) -> None:
    (field,) = from_avro(_avro(branches))
    assert (field.type, field.nullable) == (kind, nullable)


@pytest.mark.parametrize(
    ("types", "kind", "nullable"),
    [
        (["integer", "string"], text_of({"integer", "string"}), False),
        (["string", "null", "boolean"], text_of({"boolean", "string"}), True),
        (["integer", "number"], DOUBLE, False),
    ],
)
def test_several_scalar_types_of_json_schema_are_one_column(
    types: list[str], kind: FieldType, nullable: bool
) -> None:
    text = {"type": "object", "properties": {"x": {"type": types}}, "required": ["x"]}
    (field,) = from_json_schema(json.dumps(text))
    assert (field.type, field.nullable) == (kind, nullable)


@pytest.mark.parametrize(
    ("text", "path", "why"),
    [
        ("{", "$", "not JSON"),
        ('"string"', "$", "needs a record"),
        ('{"type":"record","name":"r"}', "$", "fields is not a list"),
        ('{"type":"record","name":"r","fields":[1]}', "$", "no name"),
        (_avro(["int", {"type": "array", "items": "int"}]), "$.x", "of plain ones"),
        (_avro(["int", {"type": "long", "logicalType": "timestamp-millis"}]), "$.x", "plain ones"),
        (_avro(["null"]), "$.x", "one type besides null"),
        (_avro("bytes"), "$.x", "bytes"),
        (_avro({"type": "fixed", "name": "f", "size": 4}), "$.x", "fixed"),
        (_avro("Other"), "$.x", "Other"),
        (_avro(["null", "r"]), "$.x", "contains itself"),
        (_avro({"type": "array", "items": "bytes"}), "$.x[]", "bytes"),
        (_avro({"type": "record", "name": "e", "fields": []}), "$.x", "without fields"),
        (_avro({"type": "bytes", "logicalType": "decimal"}), "$.x", "precision"),
        (
            _avro({"type": "bytes", "logicalType": "decimal", "precision": 77, "scale": 39}),
            "$.x",
            "digits",
        ),
        (_avro(7), "$.x", "not a type"),
        (_avro({"type": {"type": ["int", 7]}}), "$.x", "not a type"),
        (_avro({"type": "fixed", "name": "f", "size": 2**31}), "$.x", "size that a record can"),
    ],
)
def test_what_avro_can_say_and_json_cannot_is_refused(text: str, path: str, why: str) -> None:
    with pytest.raises(SchemaUnsupported, match=why) as caught:
        schema_from_file("avsc", text, "d")
    assert caught.value.path == path


JSON_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["id", "who"],
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "who": {"type": ["object", "null"], "properties": {"name": {"type": "string"}}},
        "score": {"type": "number"},
        "ok": {"type": ["null", "boolean"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "counts": {"type": "object", "additionalProperties": {"type": ["integer", "null"]}},
        "Day": {"type": "string", "format": "date"},
    },
}


def test_a_json_schema_becomes_columns() -> None:
    schema = schema_from_file("jsonschema", json.dumps(JSON_SCHEMA), "d")
    assert _types(schema) == {
        "id": "int64",
        "who": "struct<name: string>",
        "score": "double",
        "ok": "bool",
        "tags": "list<item: string>",
        "counts": "map<string, int64>",
        "Day_": "string",
    }
    assert [field.name for field in schema.fields if not field.nullable] == ["id"]
    values = pa.array([b'{"id":1,"who":null,"tags":["x"],"more":1}', b'{"id":1,"tags":[null]}'])
    decoded = CODEC.decode(values, schema)
    assert decoded.batch["_rest"].to_pylist() == ['{"more":1}']
    assert [bad.detail for bad in decoded.bad] == ["$.tags[]: wanted string, found null"]


def _json_schema(value: object) -> str:
    return json.dumps({"type": "object", "properties": {"x": value}})


@pytest.mark.parametrize(
    ("text", "path", "why"),
    [
        ("nope", "$", "not JSON"),
        ("true", "$", "does not describe"),
        ('{"type":"array"}', "$", "needs an object"),
        ('{"type":"object","required":["y"]}', "$", "not described"),
        ('{"type":"object","properties":[]}', "$", "malformed"),
        (_json_schema({"$ref": "other.json#/x"}), "$.x", "ref"),
        (_json_schema({"oneOf": []}), "$.x", "oneOf"),
        (_json_schema({}), "$.x", "one known type"),
        (_json_schema({"type": {"x": 1}}), "$.x", "one known type"),
        (_json_schema({"type": [["string"]]}), "$.x", "one known type"),
        (
            '{"type":"object","properties":{"a":{"type":"string"}},"required":[["a"]]}',
            "$",
            "not a name",
        ),
        (_json_schema({"type": ["string", "array"]}), "$.x", "one known type"),
        (_json_schema({"type": "array"}), "$.x", "items"),
        (_json_schema({"type": "object"}), "$.x", "properties"),
        (_json_schema({"type": "array", "items": {"type": "date"}}), "$.x[]", "known type"),
    ],
)
def test_what_json_schema_leaves_open_is_refused(text: str, path: str, why: str) -> None:
    with pytest.raises(SchemaUnsupported, match=why) as caught:
        schema_from_file("jsonschema", text, "d")
    assert caught.value.path == path
