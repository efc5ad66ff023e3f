"""Avro schemas as they are met: what becomes of their parts, and of records written with them."""

import json
import struct
from typing import Any

import pyarrow as pa
import pytest

from penstock.codec.json_codec import JsonCodec
from penstock.codec.lanes import Lanes
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


def geometry(*counts: int) -> bytes:
    """Arrays inside arrays, as many as each count says, around points of two numbers."""
    made = varint(2 * 2) + struct.pack("<dd", 1.5, -2.5) + b"\0"
    for count in reversed(counts):
        made = varint(2 * count) + made * count + b"\0"
    return made


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])


def nested(depth: int) -> object:
    kind: object = "double"
    for _ in range(depth):
        kind = {"type": "array", "items": kind}
    return record(kind)


@pytest.mark.parametrize(
    "counts", [(1, 1, 60), (10, 10, 60), (60, 1, 60), (7, 7, 7)], ids=lambda counts: str(counts)
)
def test_a_few_records_of_arrays_inside_arrays_take_few_rounds(
    counts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal: a round for a single item costs as much as one for thousands, so there must be few.

    Method: the steps of the fast way are counted, with thousands of small records beside and
    without them.
    """
    steps = 0
    longs = Lanes.longs

    def counted(lanes: Lanes) -> Any:
        nonlocal steps
        steps += 1
        return longs(lanes)

    monkeypatch.setattr(Lanes, "longs", counted)
    large, small = geometry(*counts), geometry(1, 1, 5)
    wanted = [[[[1.5, -2.5]] * counts[2]] * counts[1]] * counts[0]
    for beside in (0, 2_000):
        steps = 0
        found = read(nested(4), *[small] * beside, large)
        assert found.bad == []
        assert found.batch["x"][-1].as_py() == wanted
        assert found.batch["x"][:beside].to_pylist() == [[[[[1.5, -2.5]] * 5]]] * beside
        assert steps < 300


def test_records_with_arrays_are_still_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as they are many, the slow way is asked for none of them."""
    monkeypatch.setattr("penstock.codec.avro_codec.read_one", None)
    assert len(read(nested(4), *[geometry(3, 4, 5)] * 100).good) == 100
    assert len(read(nested(1), *[b"\x78" + b"\0" * 480 + b"\0"] * 16).good) == 16
    assert len(read(nested(1), b"\x10" + b"\0" * 64 + b"\0").good) == 1


def wide(name: str, fields: int) -> dict[str, Any]:
    """A record of many fields."""
    entries = [{"name": f"f{number}", "type": "int"} for number in range(fields)]
    return {"type": "record", "name": name, "fields": entries}


def test_fields_of_referenced_schemas_count_once() -> None:
    """A union of events, each in a subject of its own, as one topic of many types has it."""
    parts = [(f"T{number}", wide(f"T{number}", 60)) for number in range(16)]
    found = writer([name for name, _ in parts], *parts)
    assert len(found.fields[0].type.fields) == 16
    assert writer([each for _, each in parts]).fields == found.fields
    more = [*parts, ("T16", wide("T16", 60))]
    assert "more than 1000 fields" in refusal([name for name, _ in more], *more).why


def test_what_is_used_twice_counts_twice_and_a_reference_alone_is_bounded_too() -> None:
    twice = {"type": "record", "name": "R", "fields": [
        {"name": "a", "type": "T"}, {"name": "b", "type": "T"}]}  # fmt: skip
    assert len(writer(twice, ("T", wide("T", 499))).fields) == 2
    assert "more than 1000" in refusal(twice, ("T", wide("T", 500))).why
    assert "more than 1000" in refusal("int", ("T", wide("T", 1001))).why
