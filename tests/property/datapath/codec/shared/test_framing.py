"""Frames: grouping whole batches gives what a look at each record alone gives, whatever the bytes.

Method: the reference below reads one record at a time, as the serializers' own words describe it.
"""

import base64
import json
import struct
import uuid

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.codec import Frame
from penstock.datapath.codec.shared.framing import NOT_FRAMED, SCHEMA_HEADER, frames_of
from penstock.datapath.codec.shared.reasons import EMPTY
from tests.helpers.decoded_payloads import by_row

IDS = st.sampled_from([0, 1, 2, 255, 256, 2**31, 2**32 - 1])
GUIDS = st.sampled_from([b"\0" * 16, b"\1" * 16, bytes(range(16))])
PLACES = st.lists(st.sampled_from([0, 1, 2, 63, 64, 300, 2**31]), max_size=4).map(tuple)


def zigzag(number: int) -> bytes:
    left, out = number << 1, bytearray()
    while left > 127:
        out.append(left & 127 | 128)
        left >>= 7
    return bytes([*out, left])


def numbers(places: tuple[int, ...]) -> bytes:
    return b"".join(map(zigzag, (len(places), *places)))


@st.composite
def values(draw: st.DrawFn) -> bytes:
    """Records with a frame, some of them cut, changed, or without any."""
    named = draw(IDS.map(lambda each: b"\0" + struct.pack(">I", each)) | GUIDS.map(b"\1".__add__))
    whole = named + numbers(draw(PLACES)) + draw(st.binary())
    cut = draw(st.integers(0, len(whole)) | st.just(len(whole)))
    return draw(st.one_of(st.just(whole), st.just(whole[:cut]), st.binary(max_size=12)))


@st.composite
def header_texts(draw: st.DrawFn) -> str | None:
    """Headers as the reader's JSON; most records have none."""
    if draw(st.integers(0, 3)):
        return None
    name = draw(GUIDS.map(b"\1".__add__) | st.binary(min_size=4, max_size=4).map(b"\0".__add__))
    named = name + draw(st.just(b"") | PLACES.map(numbers) | st.binary())
    value = draw(st.one_of(st.none(), st.binary(max_size=20), st.just(named)))
    key = draw(st.sampled_from([SCHEMA_HEADER, "other"]))
    encoded = None if value is None else base64.b64encode(value).decode()
    return json.dumps([{"key": key, "value": encoded}])


def signed(data: bytes) -> tuple[int, int] | None:
    """A number as Protobuf writes signed ones, in at most five bytes; and how many it took."""
    found = 0
    for place, byte in enumerate(data[:5]):
        found |= (byte & 127) << 7 * place
        if byte < 128:
            return (found >> 1) ^ -(found & 1), place + 1
    return None


def message(data: bytes) -> tuple[tuple[int, ...], int] | None:
    """Which message numbers name, and how many bytes they are."""
    head = signed(data)
    if head is None or not 0 <= head[0] <= 64:
        return None
    if head[0] == 0:
        return (0,), head[1]
    found, size = [], head[1]
    for _ in range(head[0]):
        each = signed(data[size:])
        if each is None or each[0] < 0:
            return None
        found.append(each[0])
        size += each[1]
    return tuple(found), size


def key_of(value: bytes) -> tuple[str, int] | None:
    """What the first bytes call a schema, and how many they are."""
    if value[:1] == b"\0" and len(value) >= 5:
        return str(int.from_bytes(value[1:5], "big")), 5
    if value[:1] == b"\1" and len(value) >= 17:
        return f"guid:{uuid.UUID(bytes=value[1:17])}", 17
    return None


def one_frame(value: bytes, protobuf: bool) -> Frame | str:
    if not value:
        return EMPTY
    named = key_of(value)
    if named is None:
        return NOT_FRAMED
    key, size = named
    if not protobuf:
        return Frame(key, (), size)
    said = message(value[size:])
    return NOT_FRAMED if said is None else Frame(key, said[0], size + said[1])


@given(st.lists(values(), max_size=30), st.booleans(), st.integers(0, 5))
def test_frames_are_what_a_look_at_each_record_finds(
    payloads: list[bytes], protobuf: bool, start: int
) -> None:
    found = frames_of(pa.array(payloads, pa.binary()).slice(start), None, protobuf)
    kept = payloads[start:]
    assert by_row(found, len(kept)) == [one_frame(value, protobuf) for value in kept]


@given(st.lists(st.tuples(values(), header_texts()), max_size=20), st.booleans())
def test_a_header_goes_before_the_bytes_and_does_no_harm_to_others(
    records: list[tuple[bytes, str | None]], protobuf: bool
) -> None:
    payloads, headers = [value for value, _ in records], [text for _, text in records]
    texts = pa.array(headers, pa.string())
    rows = by_row(frames_of(pa.array(payloads, pa.binary()), texts, protobuf), len(records))
    for (value, text), row in zip(records, rows, strict=True):
        assert row == (one_frame(value, protobuf) if text is None else by_header(text, protobuf)
                       or one_frame(value, protobuf))  # fmt: skip


def by_header(text: str, protobuf: bool) -> Frame | str | None:
    [header] = json.loads(text)
    if header["key"] != SCHEMA_HEADER or header["value"] is None:
        return None
    value = base64.b64decode(header["value"])
    found = one_frame(value, protobuf)
    if not isinstance(found, Frame) or found.skipped != len(value):
        return NOT_FRAMED
    return Frame(found.key, found.message, 0)
