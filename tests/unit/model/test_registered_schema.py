"""Registered schemas as they lie in the lake."""

import json

import pytest

from penstock.model.registered_schema import (
    REGISTERED_FORMAT,
    RegisteredSchema,
    decode_registered,
    encode_registered,
)


@pytest.mark.parametrize("kind", ["avro", "protobuf", "json", "text", "raw", "unusable"])
def test_a_schema_of_a_built_in_codec_is_written_as_older_versions_read_it(kind: str) -> None:
    schema = RegisteredSchema(kind, "words", (("name", "text"),))
    raw = encode_registered(schema)
    assert json.loads(raw) == {"type": kind, "text": "words", "references": [["name", "text"]]}
    assert decode_registered(raw) == schema


def test_a_schema_of_a_plug_in_says_its_format() -> None:
    schema = RegisteredSchema("thrift", "struct A {}")
    raw = encode_registered(schema)
    assert json.loads(raw)["format"] == REGISTERED_FORMAT == 2
    assert decode_registered(raw) == schema


def test_a_schema_of_a_newer_format_is_not_read() -> None:
    raw = json.dumps({"type": "avro", "text": "", "format": REGISTERED_FORMAT + 1}).encode()
    with pytest.raises(ValueError, match="format 3"):
        decode_registered(raw)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": [2]}', '{"b":[2],"a":1}', True),
        ('"string"', ' "string"', True),
        ("syntax = 1;", "syntax  = 1;", False),
        ("1.0", "1", False),
    ],
)
def test_white_space_and_order_say_nothing_in_json_and_something_elsewhere(
    one: str, other: str, same: bool
) -> None:
    assert RegisteredSchema("x", one).is_same(RegisteredSchema("x", other)) is same
