"""Avro schemas as they are met: what becomes of their parts, and of records written with them."""

import json
import math
import struct
import warnings
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.api.codec import DecodedBatch, RecordReader
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.codecs import record_reader
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.schemas.schema_files import schema_from_file
from penstock.model.registered_schema import RegisteredSchema


def record(kind: object, name: str = "R") -> dict[str, Any]:
    """A record with one field, `x`."""
    return {"type": "record", "name": name, "fields": [{"name": "x", "type": kind}]}


def reader(schema: object, *references: tuple[str, object]) -> RecordReader:
    """A schema made ready for reading."""
    named = tuple((name, json.dumps(each)) for name, each in references)
    found = record_reader(RegisteredSchema("avro", json.dumps(schema), named), ())
    assert isinstance(found, RecordReader), found
    return found


def refusal(schema: object, *references: tuple[str, object]) -> SchemaUnsupported:
    """Why a schema is refused."""
    named = tuple((name, json.dumps(each)) for name, each in references)
    found = record_reader(RegisteredSchema("avro", json.dumps(schema), named), ())
    assert isinstance(found, SchemaUnsupported), found
    return found


def read(schema: object, *payloads: bytes) -> DecodedBatch:
    """Records as columns."""
    return reader(schema).read(pa.array(payloads, pa.binary()), 0)


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
    codec = JsonDecoder()
    schema = schema_from_file("avsc", json.dumps(record(kind)), "d")
    assert [field.type.kind for field in schema.fields] == ["string"]
    decoded = codec.decode(pa.array([b'{"x":"1.50"}', b'{"x":1.5}']), schema)
    assert decoded.batch["x"].to_pylist() == ["1.50"]
    assert [(bad.index, bad.reason) for bad in decoded.bad] == [(1, "WRONG_TYPE")]


def decimal(precision: object, scale: object = 0, **more: object) -> dict[str, object]:
    """Bytes that claim to be a decimal."""
    said = {"logicalType": "decimal", "precision": precision, "scale": scale}
    return {"type": "bytes", **said, **more}


def digits(number: int) -> bytes:
    """A whole number as bytes with their length."""
    raw = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    return bytes([2 * len(raw)]) + raw


def test_a_decimal_of_more_digits_than_a_column_has_is_read_with_those_that_it_has() -> None:
    """Kafka Connect writes a precision of 64 when it does not know better."""
    most = 10**38 - 1
    found = read(record(decimal(64, 2)), digits(most), digits(-most), digits(most + 1), digits(123))
    assert found.batch.schema.field("x").type == pa.decimal128(38, 2)
    tall = Decimal(f"{'9' * 36}.99")
    assert found.batch["x"].to_pylist() == [tall, tall.copy_negate(), Decimal("1.23")]
    assert [(bad.index, bad.reason) for bad in found.bad] == [(2, "OUT_OF_RANGE")]
    fixed = {"type": "fixed", "name": "F", "size": 27}
    kind = record(decimal(64, 38) | fixed)
    found = read(kind, most.to_bytes(27, "big"), (most + 1).to_bytes(27, "big"))
    assert found.batch["x"].to_pylist() == [Decimal(f"0.{'9' * 38}")]
    assert [(bad.index, bad.reason) for bad in found.bad] == [(1, "OUT_OF_RANGE")]


def test_digits_behind_the_point_that_no_column_has_are_refused() -> None:
    assert "38 digits" in refusal(record(decimal(64, 39))).why


@pytest.mark.parametrize(
    ("precision", "scale"),
    [(None, 0), (0, 0), (-1, 0), (2, 5), (2, -1), ("9", 0), (9.0, 0), (9, None), (9, "2")],
)
def test_a_decimal_that_is_none_is_bytes(precision: object, scale: object) -> None:
    """So says Avro; such a schema was refused once, with all of its records."""
    kind = decimal(precision, scale)
    assert read(record(kind), b"\x04\x01\xff").batch.to_pylist() == [{"x": b"\x01\xff"}]
    fixed = kind | {"type": "fixed", "name": "F", "size": 2}
    assert read(record(fixed), b"\x01\xff").batch.to_pylist() == [{"x": b"\x01\xff"}]
    del kind["precision"]
    assert read(record(kind), b"\x02\x01").batch.to_pylist() == [{"x": b"\x01"}]


EMPTY: dict[str, Any] = {"type": "record", "name": "E", "fields": []}
ONLY_NULL: dict[str, Any] = record("null", "E")


@pytest.mark.parametrize("empty", [EMPTY, ONLY_NULL], ids=["no fields", "only null"])
def test_a_record_without_fields_is_true_where_it_is(empty: dict[str, Any]) -> None:
    """As in Protobuf. It takes no bytes, and a marker among other types of event has none."""
    assert read(record(empty), b"", b"\0").batch.to_pylist() == [{"x": True}]
    found = read(record(["null", empty]), b"\0", b"\2")
    assert found.batch.to_pylist() == [{"x": None}, {"x": True}]
    found = read(record(["null", empty, "string"]), b"\2", b"\4\2a", b"\0")
    assert found.batch.to_pylist() == [
        {"x": {"E": True, "string": None}},
        {"x": {"E": None, "string": "a"}},
        {"x": None},
    ]
    items = {"type": "array", "items": empty}
    assert read(record(items), b"\4\0", b"\0").batch.to_pylist() == [{"x": [True] * 2}, {"x": []}]
    assert read([record("int", "A"), empty], b"\2").batch.to_pylist() == [
        {"value": {"A": None, "E": True}}
    ]


@pytest.mark.parametrize("empty", [EMPTY, ONLY_NULL], ids=["no fields", "only null"])
def test_an_event_without_any_field_has_no_columns(empty: dict[str, Any]) -> None:
    assert "without fields" in refusal(empty).why
    assert "nothing but null" in refusal("null").why


def geometry(*counts: int) -> bytes:
    """Arrays inside arrays, as many as each count says, around points of two numbers."""
    made = varint(2 * 2) + struct.pack("<dd", 1.5, -2.5) + b"\0"
    for count in reversed(counts):
        made = varint(2 * count) + made * count + b"\0"
    return made


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def nested(depth: int) -> object:
    kind: object = "double"
    for _ in range(depth):
        kind = {"type": "array", "items": kind}
    return record(kind)


@pytest.fixture
def without_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks the reference fails."""
    monkeypatch.setattr("penstock.datapath.codec.avro.avro_reader.read_one", None)


@pytest.mark.usefixtures("without_reference")
@pytest.mark.parametrize(
    "counts", [(1, 1, 60), (10, 10, 60), (60, 1, 60), (7, 7, 7)], ids=lambda counts: str(counts)
)
@pytest.mark.parametrize("beside", [0, 2_000])
def test_arrays_inside_arrays_are_read_without_the_reference(
    counts: tuple[int, ...], beside: int
) -> None:
    large, small = geometry(*counts), geometry(1, 1, 5)
    found = read(nested(4), *[small] * beside, large)
    assert found.batch["x"][-1].as_py() == [[[[1.5, -2.5]] * counts[2]] * counts[1]] * counts[0]
    assert found.batch["x"][:beside].to_pylist() == [[[[[1.5, -2.5]] * 5]]] * beside


@pytest.mark.usefixtures("without_reference")
def test_a_batch_may_have_more_items_than_the_one_before_it() -> None:
    """There is memory for as many as before; when that is full, there is more."""
    mine = reader(nested(1))
    for items, records in ((0, 3), (1, 3), (8_000, 5), (100, 1_000), (2, 2)):
        payload = (varint(2 * items) + struct.pack("<d", 2.5) * items if items else b"") + b"\0"
        found = mine.read(pa.array([payload] * records, pa.binary()), 0)
        assert found.batch["x"].to_pylist() == [[2.5] * items] * records


@pytest.mark.usefixtures("without_reference")
def test_an_array_in_several_blocks_some_with_their_size_needs_no_reference() -> None:
    kind = record({"type": "array", "items": "long"})
    blocks = b"\x03\x04\x02\x04" + b"\x02\x06" + b"\x01\x02\x08" + b"\x00"
    assert read(kind, blocks, b"\0").batch.to_pylist() == [{"x": [1, 2, 3, 4]}, {"x": []}]


def test_more_items_than_bytes_are_for_the_reference_to_judge() -> None:
    """Items that take no bytes: a few are a record, and endless ones are not."""
    empty = record({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}})
    few, many = varint(2 * 100) + b"\0", b"\xc0\x9a\x0c" + b"\0"
    found = read(empty, few, many, b"\0")
    assert [len(each) for each in found.batch["x"].to_pylist()] == [100, 0]
    assert [(bad.index, bad.reason) for bad in found.bad] == [(1, "OUT_OF_RANGE")]


@pytest.mark.usefixtures("without_reference")
def test_what_is_in_a_record_that_is_null_is_null_as_well() -> None:
    """Columns of a struct are taken out of it by themselves, and must not show zeros then."""
    inner = {"type": "record", "name": "I", "fields": [
        {"name": "a", "type": "long"}, {"name": "b", "type": "string"},
        {"name": "c", "type": {"type": "array", "items": "int"}}]}  # fmt: skip
    found = read(record(["null", inner]), b"\0", b"\2\6\2z\2\2\0").batch["x"]
    assert found.to_pylist() == [None, {"a": 3, "b": "z", "c": [1]}]
    assert [found.field(place)[0].as_py() for place in range(3)] == [None] * 3


@pytest.mark.usefixtures("without_reference")
def test_a_wide_decimal_with_few_digits_needs_no_reference() -> None:
    fixed = {"type": "fixed", "name": "F", "size": 20}
    numbers = [-1, 0, 10**38 - 1, 1 - 10**38, -(2**64), 2**63]
    found = read(
        record(decimal(38) | fixed), *(n.to_bytes(20, "big", signed=True) for n in numbers)
    )
    assert found.batch["x"].to_pylist() == [Decimal(number) for number in numbers]


def wide(name: str, fields: int) -> dict[str, Any]:
    """A record of many fields."""
    entries = [{"name": f"f{number}", "type": "int"} for number in range(fields)]
    return {"type": "record", "name": name, "fields": entries}


def test_fields_of_referenced_schemas_count_once() -> None:
    """A union of events, each in a subject of its own, as one topic of many types has it."""
    parts = [(f"T{number}", wide(f"T{number}", 60)) for number in range(16)]
    found = reader([name for name, _ in parts], *parts)
    assert len(found.fields[0].type.fields) == 16
    assert reader([each for _, each in parts]).fields == found.fields
    more = [*parts, ("T16", wide("T16", 60))]
    assert "more than 1000 fields" in refusal([name for name, _ in more], *more).why


def test_what_is_used_twice_counts_twice_and_a_reference_alone_is_bounded_too() -> None:
    twice = {"type": "record", "name": "R", "fields": [
        {"name": "a", "type": "T"}, {"name": "b", "type": "T"}]}  # fmt: skip
    assert len(reader(twice, ("T", wide("T", 499))).fields) == 2
    assert "more than 1000" in refusal(twice, ("T", wide("T", 500))).why
    assert "more than 1000" in refusal("int", ("T", wide("T", 1001))).why


def test_a_signalling_nan_is_read_without_a_word() -> None:
    """A warning for every task would fill the log of whoever runs it."""
    loud = struct.pack("<I", 0x7F800001)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(record("float"), loud, struct.pack("<f", 1.5))
    assert math.isnan(found.batch["x"][0].as_py())
    assert found.batch["x"][1].as_py() == 1.5


def test_an_event_without_a_name_is_not_called_none() -> None:
    """Else `route: {by: schema}` would make a dataset of that name."""
    nameless = {"type": "record", "fields": [{"name": "x", "type": "int"}]}
    assert reader(nameless).name == ""
    assert reader(nameless | {"namespace": "shop", "name": None}).name == ""
    assert reader(nameless | {"name": "None"}).name == "None"
    assert read(nameless, b"\2").batch.to_pylist() == [{"x": 1}]
    assert read(record(nameless), b"\2").batch.to_pylist() == [{"x": {"x": 1}}]
