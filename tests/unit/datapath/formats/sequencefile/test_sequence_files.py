"""SequenceFiles: numbers as Hadoop writes them, and bytes that nobody wrote."""

import io
import zlib

import pytest

from penstock.api.doors import FORMATS
from penstock.api.file_format import VALUE, FileUnreadable, WriteOptions
from penstock.api.find import find
from penstock.datapath.formats.byte_source import ByteSource
from penstock.datapath.formats.sequencefile.sequence_layout import (
    ESCAPE,
    SequenceBroken,
    SequenceHeader,
    bytes_value,
    long_key,
    map_key_from,
    vint,
    vint_from,
)
from penstock.testing.contracts.file_format_rows import written
from penstock.testing.contracts.record_file_format import some_records

MARKER = b"m" * 16
# What `WritableUtils.writeVLong` of Hadoop gives.
BY_HADOOP = {
    0: "00", 1: "01", 127: "7f", 128: "8f80", 255: "8fff", 256: "8e0100", 65_535: "8effff",
    65_536: "8d010000", 2**31 - 1: "8c7fffffff", 2**63 - 1: "887fffffffffffffff",
}  # fmt: skip


@pytest.mark.parametrize(("number", "raw"), BY_HADOOP.items())
def test_numbers_are_those_of_hadoop(number: int, raw: str) -> None:
    assert vint(number).hex() == raw
    assert vint_from(ByteSource(io.BytesIO(bytes.fromhex(raw)))) == number


def test_a_length_below_zero_is_none() -> None:
    for first in range(0x80, 0x100):
        if not 0x88 <= first <= 0x8F:
            with pytest.raises(SequenceBroken):
                vint_from(ByteSource(io.BytesIO(bytes([first]) + bytes(9))))


def file_of(compression: str, body: bytes, *, has_kafka_keys: bool = False) -> bytes:
    """A file with any bytes behind a right header."""
    return SequenceHeader(compression, has_kafka_keys, {}).encoded() + MARKER + body


def record(key: bytes, value: bytes) -> bytes:
    sizes = (len(key) + len(value), len(key))
    return b"".join(each.to_bytes(4, "big", signed=True) for each in sizes) + key + value


def block(count: int, *parts: bytes) -> bytes:
    packed = [zlib.compress(part) for part in parts]
    return ESCAPE + MARKER + vint(count) + b"".join(vint(len(each)) + each for each in packed)


GOOD = bytes_value(b"value")


@pytest.mark.parametrize(
    ("compression", "body", "why"),
    [
        ("none", record(b"short", GOOD), "a key that is not a long"),
        ("none", record(long_key(1), b"\0\0\0\7value"), "another length than it says"),
        ("none", record(long_key(1), b"abc"), "another length than it says"),
        ("none", b"\x7f\xff\xff\xff\0\0\0\x08" + long_key(1), "an impossible size"),
        ("none", b"\xff\xff\xff\xfe" + bytes(20), "an impossible size"),
        ("none", b"\0\0\0\x01\0\0\0\x02abc", "longer than its record"),
        ("none", ESCAPE + b"x" * 16, "in place of the marker"),
        ("record", record(long_key(1), GOOD), "not zlib"),
        ("record", record(long_key(1), zlib.compress(GOOD)[:-1]), "does not end in"),
        ("record", record(long_key(1), zlib.compress(GOOD) + b"x"), "does not end in"),
        ("block", b"\0\0\0\0" + MARKER, "without the marker"),
        ("block", ESCAPE + MARKER + b"\x01\x8c\x7f\xff\xff\xff", "an impossible size"),
        ("block", block(2, vint(8), long_key(1), vint(9), GOOD), "other records than it says"),
        ("block", block(1, vint(8) * 2, long_key(1) * 2, vint(9), GOOD), "other records"),
        ("block", block(1, vint(7), long_key(1), vint(9), GOOD), "other records than it says"),
        ("block", block(99, b"\0" * 99, b"", vint(9), GOOD), "impossible number of records"),
    ],
)
def test_bytes_that_nobody_wrote_are_told(compression: str, body: bytes, why: str) -> None:
    reader = find(FORMATS, "sequencefile").open(io.BytesIO(file_of(compression, body)))
    with pytest.raises(FileUnreadable, match=why):
        list(reader.pieces(reader.schema.names))


@pytest.mark.parametrize(
    "raw",
    [
        b"\xc0",
        b"\x80",
        b"\x81\x01",
        b"\x81\x02\xc4\x01a",
        b"\x81\x01\xc4\x01a",
        b"\x81\x01\xcf" + b"\xff" * 8,
        b"\x82\x01\x05\x03\x06",
    ],
)
def test_keys_that_are_no_map_of_an_offset_are_told(raw: bytes) -> None:
    with pytest.raises(SequenceBroken):
        map_key_from(bytes_value(raw))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ((b"SEQ\x06", b"SEQ\x05"), "version 6"),
        ((b"io.LongWritable", b"io.VIntWritable"), "its keys are"),
        ((b"DefaultCodec", b"SnappyCodecs"), "does not write"),
    ],
)
def test_a_foreign_header_is_told(change: tuple[bytes, bytes], why: str) -> None:
    raw = file_of("block", b"").replace(*change)
    with pytest.raises(FileUnreadable, match=why):
        find(FORMATS, "sequencefile").open(io.BytesIO(raw))


def test_markers_come_often_enough_for_splits() -> None:
    form = find(FORMATS, "sequencefile")
    rows = some_records([b"x" * 100] * 10_000)
    for compression, most in (("none", 6_000), ("record", 6_000), ("block", 1_000_000)):
        raw = written(form, rows, options=WriteOptions(compression, {}))
        head = len(SequenceHeader(compression, has_kafka_keys=False, words={}).encoded())
        marker = raw[head : head + 16]
        assert max(map(len, raw[head:].split(ESCAPE + marker))) <= most
        assert raw.count(ESCAPE + marker) > 1


def test_only_offsets_are_read_without_unpacking_values() -> None:
    """The audit asks for no values: a value that cannot be unpacked does not disturb it."""
    body = record(long_key(5), b"not zlib") + record(long_key(6), zlib.compress(GOOD))
    reader = find(FORMATS, "sequencefile").open(io.BytesIO(file_of("record", body)))
    assert [n for each in reader.pieces(["_offset"]) for n in each["_offset"].to_pylist()] == [5, 6]
    with pytest.raises(FileUnreadable):
        list(reader.pieces([VALUE]))
