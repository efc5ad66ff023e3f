"""Which schema each record names."""

import base64
import json
import struct
import uuid

import numpy as np
import pyarrow as pa
import pytest

from penstock.codec.framing import NOT_FRAMED, SCHEMA_HEADER, Frame, Framed, framed
from penstock.codec.payload import EMPTY

GUID = uuid.UUID("0f4c5ad1-6a3e-4d55-8a86-1c2f3b4d5e6f")


def prefixed(number: int, rest: bytes = b"rest") -> bytes:
    return b"\0" + struct.pack(">I", number) + rest


def frames(values: list[bytes], protobuf: bool = False, headers: list[str | None] | None = None):  # type: ignore[no-untyped-def]
    texts = pa.array(headers if headers is not None else [None] * len(values), pa.string())
    found = framed(pa.array(values, pa.binary()), texts, protobuf)
    return by_row(found, len(values))


def by_row(found: Framed, count: int) -> list[Frame | str]:
    rows: list[Frame | str | None] = [None] * count
    for frame, members in found.groups:
        assert bool((np.diff(members) > 0).all()), "in the order of the records"
        for row in members.tolist():
            assert rows[row] is None
            rows[row] = frame
    for bad in found.bad:
        assert rows[bad.index] is None
        rows[bad.index] = bad.reason
    assert None not in rows
    return rows  # type: ignore[return-value]


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
    "value", [None, b"", b"\1", b"\0" + GUID.bytes, b"\1" + GUID.bytes + b"more"]
)
def test_a_header_that_names_no_schema_is_no_frame(value: bytes | None) -> None:
    assert frames([prefixed(3), prefixed(3)], headers=[header(value), None]) == [
        NOT_FRAMED,
        Frame("3", (), 5),
    ]


def test_other_headers_do_not_matter() -> None:
    assert frames([prefixed(3)], headers=[header(b"\1" + GUID.bytes, "another")]) == [
        Frame("3", (), 5)
    ]
