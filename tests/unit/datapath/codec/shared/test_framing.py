"""Which schema each record names."""

import base64
import json
import struct
import uuid

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import dual_schema_id_deserializer
from confluent_kafka.schema_registry.serde import SchemaId
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.api.codec import Frame
from penstock.datapath.codec.shared.framing import NOT_FRAMED, SCHEMA_HEADER, frames_of
from penstock.datapath.codec.shared.reasons import EMPTY
from tests.helpers.decoded_payloads import by_row

GUID = uuid.UUID("0f4c5ad1-6a3e-4d55-8a86-1c2f3b4d5e6f")


def prefixed(number: int, rest: bytes = b"rest") -> bytes:
    return b"\0" + struct.pack(">I", number) + rest


def frames(values: list[bytes], protobuf: bool = False, headers: list[str | None] | None = None):  # type: ignore[no-untyped-def]
    texts = pa.array(headers if headers is not None else [None] * len(values), pa.string())
    found = frames_of(pa.array(values, pa.binary()), texts, protobuf)
    return by_row(found, len(values))


def header(value: bytes | None, key: str = SCHEMA_HEADER) -> str:
    encoded = None if value is None else base64.b64encode(value).decode()
    return json.dumps([{"key": "other", "value": "eA=="}, {"key": key, "value": encoded}])


def test_records_are_grouped_by_the_id_before_them() -> None:
    values = [prefixed(7), prefixed(1), prefixed(7, b""), prefixed(2**32 - 1)]
    assert frames(values) == [
        Frame("7", (), 5),
        Frame("1", (), 5),
        Frame("7", (), 5),
        Frame("4294967295", (), 5),
    ]


def test_what_has_no_id_is_told_alone() -> None:
    values = [b"", b"\0\0\0\0", b"{}{}{}", prefixed(3), b"\1\0\0\0\3rest"]
    assert frames(values) == [EMPTY, NOT_FRAMED, NOT_FRAMED, Frame("3", (), 5), NOT_FRAMED]
    assert frames([]) == []


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    [
        (b"\0", (0,)),
        (b"\2\0", (0,)),
        (b"\2\2", (1,)),
        (b"\4\2\6", (1, 3)),
        (b"\2\x80\x02", (128,)),
    ],
)
def test_a_protobuf_record_also_says_which_message_it_is(
    numbers: bytes, wanted: tuple[int, ...]
) -> None:
    assert frames([prefixed(9, numbers + b"body")], protobuf=True) == [
        Frame("9", wanted, 5 + len(numbers))
    ]


@pytest.mark.parametrize(
    "numbers",
    [b"", b"\2", b"\1", b"\2\1", b"\4\2", b"\xff\xff\xff\xff\xff\xff", b"\xfe\xff\x03" + b"\0" * 9],
)
def test_a_protobuf_record_that_does_not_say_which_message_it_is(numbers: bytes) -> None:
    assert frames([prefixed(9, numbers), prefixed(9, b"\0")], protobuf=True) == [
        NOT_FRAMED,
        Frame("9", (0,), 6),
    ]


def test_a_header_names_the_schema_instead() -> None:
    named = header(b"\1" + GUID.bytes)
    values = [b"body", prefixed(3), b"\0"]
    assert frames(values, headers=[named, None, named]) == [
        Frame(f"guid:{GUID}", (), 0),
        Frame("3", (), 5),
        Frame(f"guid:{GUID}", (), 0),
    ]
    message = header(b"\1" + GUID.bytes + b"\2\2")
    assert frames([b"body"], protobuf=True, headers=[message]) == [Frame(f"guid:{GUID}", (1,), 0)]


@pytest.mark.parametrize(
    "value",
    [b"", b"\0", b"\1", b"\2\0\0\0\7", b"\0" + GUID.bytes, b"\1" + GUID.bytes + b"more"],
)
def test_a_header_that_names_no_schema_is_no_frame(value: bytes) -> None:
    assert frames([prefixed(3), prefixed(3)], headers=[header(value), None]) == [
        NOT_FRAMED,
        Frame("3", (), 5),
    ]


def test_other_headers_do_not_matter() -> None:
    assert frames([prefixed(3)], headers=[header(b"\1" + GUID.bytes, "another")]) == [
        Frame("3", (), 5)
    ]


def test_a_header_may_have_an_id_and_one_without_a_value_says_nothing() -> None:
    named, empty = header(b"\0" + struct.pack(">I", 7)), header(None)
    assert frames([b"body", prefixed(3), b""], headers=[named, empty, empty]) == [
        Frame("7", (), 0),
        Frame("3", (), 5),
        EMPTY,
    ]
    message = header(b"\0" + struct.pack(">I", 7) + b"\2\2")
    assert frames([b"body"], protobuf=True, headers=[message]) == [Frame("7", (1,), 0)]


def test_a_name_that_all_registries_know_may_stand_before_the_record() -> None:
    values = [b"\1" + GUID.bytes + b"rest", prefixed(3), b"\1" + GUID.bytes, b"\1" + GUID.bytes[1:]]
    named = Frame(f"guid:{GUID}", (), 17)
    assert frames(values) == [named, Frame("3", (), 5), named, NOT_FRAMED]
    values = [b"\1" + GUID.bytes + more for more in (b"\0rest", b"\2\2", b"\2", b"")]
    assert frames(values, protobuf=True) == [
        Frame(f"guid:{GUID}", (0,), 18),
        Frame(f"guid:{GUID}", (1,), 19),
        NOT_FRAMED,
        NOT_FRAMED,
    ]


@pytest.mark.parametrize("places", [None, [0], [1], [2, 0, 300]], ids=str)
@pytest.mark.parametrize("by_guid", [False, True], ids=["id", "guid"])
@pytest.mark.parametrize("by_header", [False, True], ids=["prefix", "header"])
def test_frames_are_what_the_library_of_the_makers_writes_and_reads(
    places: list[int] | None, by_guid: bool, by_header: bool
) -> None:
    """Confluent's own class names the schema, and Confluent's own reader finds it."""
    kind = "AVRO" if places is None else "PROTOBUF"
    written = SchemaId(kind, 7, str(GUID), places)
    name = written.guid_to_bytes() if by_guid else written.id_to_bytes()
    payload = b"body" if by_header else name + b"body"
    context = SerializationContext("t", MessageField.VALUE)
    context.headers = [(SCHEMA_HEADER, name if by_header else None)]
    theirs = SchemaId(kind)
    body = dual_schema_id_deserializer(payload, context, theirs).read()
    [ours] = frames([payload], places is not None, [header(name if by_header else None)])
    assert isinstance(ours, Frame)
    assert ours.key == (f"guid:{theirs.guid}" if by_guid else str(theirs.id))
    assert list(ours.message) == (theirs.message_indexes or [])
    assert payload[ours.skipped :] == body == b"body"
