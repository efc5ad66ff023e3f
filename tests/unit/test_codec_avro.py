"""Avro schemas as they are met: what becomes of their parts, and of records written with them."""

import json
from typing import Any

import pyarrow as pa
import pytest

from penstock.codec.json_codec import JsonCodec
from penstock.codec.unsupported import SchemaUnsupported
from penstock.codec.writers import writer_of
from penstock.codec.written import Read, Writer
from penstock.model.registered import RegisteredSchema


def record(kind: object, name: str = "R") -> dict[str, Any]:
    """A record with one field, `x`."""
    return {"type": "record", "name": name, "fields": [{"name": "x", "type": kind}]}


def writer(schema: object, *references: tuple[str, object]) -> Writer:
    """A schema made ready for reading."""
    named = tuple((name, json.dumps(each)) for name, each in references)
    found = writer_of(RegisteredSchema("avro", json.dumps(schema), named), ())
    assert isinstance(found, Writer), found
    return found


def refusal(schema: object, *references: tuple[str, object]) -> SchemaUnsupported:
    """Why a schema is refused."""
    named = tuple((name, json.dumps(each)) for name, each in references)
    found = writer_of(RegisteredSchema("avro", json.dumps(schema), named), ())
    assert isinstance(found, SchemaUnsupported), found
    return found


def read(schema: object, *payloads: bytes) -> Read:
    """Records as columns."""
    return writer(schema).read(pa.array(payloads, pa.binary()), 0)


@pytest.mark.parametrize(
    ("kind", "payload", "value"),
    [
        ("string", b"\x08\x31\x2e\x35\x30", "1.50"),
        ("int", b"\x06", 3),
        ("long", b"\x06", 3),
        ("double", b"\0" * 8, 0.0),
        ("boolean", b"\1", True),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\0", "A"),
        ({"type": "array", "items": "int"}, b"\2\6\0", [3]),
        (["null", "string"], b"\2\2a", "a"),
        (record("int", "I"), b"\6", {"x": 3}),
    ],
    ids=["string", "int", "long", "double", "boolean", "enum", "array", "union", "record"],
)
@pytest.mark.parametrize("more", [{}, {"precision": 9, "scale": 2}])
def test_a_decimal_on_what_cannot_be_one_is_the_type_without_its_meaning(
    kind: object, payload: bytes, value: object, more: dict[str, int]
) -> None:
    """So says Avro: an invalid logical type is ignored. It stopped the feed once."""
    schema = record({"type": kind, "logicalType": "decimal", **more})
    assert read(schema, payload).batch.to_pylist() == [{"x": value}]


def test_a_text_that_claims_to_be_a_decimal_is_a_text_in_json_too() -> None:
    """A schema file for JSON: the digits are kept as they are, and a number is of another type."""
    kind = {"type": "string", "logicalType": "decimal", "precision": 9, "scale": 2}
    codec = JsonCodec()
    schema = codec.schema_from("avsc", json.dumps(record(kind)), "d")
    assert [field.type.kind for field in schema.fields] == ["string"]
    decoded = codec.decode(pa.array([b'{"x":"1.50"}', b'{"x":1.5}']), schema)
    assert decoded.batch["x"].to_pylist() == ["1.50"]
    assert [(bad.index, bad.reason) for bad in decoded.bad] == [(1, "WRONG_TYPE")]
