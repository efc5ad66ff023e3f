"""The bytes of SequenceFiles, version 6: numbers, the header, keys and values.

    header   SEQ 6, the classes of keys and of values, two flags, the codec, words, the marker
    record   its length, that of its key, the key, the value; now and then -1 and the marker
    block    -1, the marker, how many records, then four compressed parts with their lengths:
             the lengths of keys, the keys, the lengths of values, the values

All fixed numbers are big-endian. A marker is found again by readers that begin in the middle.
"""

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from penstock.datapath.formats.byte_source import ByteSource

MAGIC = b"SEQ\x06"
MARKER_BYTES = 16
ESCAPE = b"\xff\xff\xff\xff"  # -1 in place of a length: the marker follows
BYTES_CLASS = "org.apache.hadoop.io.BytesWritable"
LONG_CLASS = "org.apache.hadoop.io.LongWritable"
CODEC_CLASS = "org.apache.hadoop.io.compress.DefaultCodec"  # zlib, which needs nothing native
INT = struct.Struct(">i")
TWO_INTS = struct.Struct(">ii")
LONG = struct.Struct(">q")
MOST_BYTES = 1 << 30  # of a record or of a part of a block; a few bytes can unpack to any size
_MOST_HEADER_BYTES = 32 << 20
_MOST_WORDS = 100_000
_OFFSET, _KEY = 1, 2  # the names in a key of MessagePack, as Secor has them


class SequenceBroken(ValueError):
    """Bytes that are not a SequenceFile that Penstock writes."""


@dataclass(frozen=True, slots=True)
class SequenceHeader:
    """What a file says first. `compression` is block, record or none."""

    compression: str
    has_kafka_keys: bool
    words: Mapping[str, str]

    def encoded(self) -> bytes:
        """Its bytes, without the marker that ends them."""
        key_class = BYTES_CLASS if self.has_kafka_keys else LONG_CLASS
        is_packed, is_block = self.compression != "none", self.compression == "block"
        codec = _text(CODEC_CLASS) if is_packed else b""
        words = [part for word in sorted(self.words.items()) for part in map(_text, word)]
        classes = _text(key_class) + _text(BYTES_CLASS)
        flags = bytes((is_packed, is_block))
        return b"".join((MAGIC, classes, flags, codec, INT.pack(len(self.words)), *words))


def header_from(source: ByteSource) -> SequenceHeader:
    """The header at the beginning of a file; raises `SequenceBroken` if it is a foreign one."""
    if source.take(len(MAGIC)) != MAGIC:
        raise SequenceBroken("it is not a SequenceFile of version 6")
    key_class, value_class = _text_from(source), _text_from(source)
    if key_class not in (BYTES_CLASS, LONG_CLASS) or value_class != BYTES_CLASS:
        raise SequenceBroken(f"its keys are {key_class[:80]!r} and its values {value_class[:80]!r}")
    is_packed, is_block = source.take(2)
    if is_packed and _text_from(source) != CODEC_CLASS:
        raise SequenceBroken("a compression that Penstock does not write")
    (count,) = INT.unpack(source.take(INT.size))
    if not 0 <= count <= _MOST_WORDS:
        raise SequenceBroken("a header that is too long")
    words = {_text_from(source): _text_from(source) for _ in range(count)}
    compression = "block" if is_block else "record" if is_packed else "none"
    return SequenceHeader(compression, key_class == BYTES_CLASS, words)


def vint(number: int) -> bytes:
    """A number of at least -112 as Hadoop writes one of variable length."""
    if -112 <= number <= 127:
        return number.to_bytes(1, "big", signed=True)
    size = (number.bit_length() + 7) // 8
    return (256 - 112 - size).to_bytes(1, "big") + number.to_bytes(size, "big")


def vint_from(source: ByteSource) -> int:
    """The next number of variable length; none that is written is below 0."""
    first = source.take(1)[0]
    if first <= 127:
        return first
    if not 136 <= first <= 143:  # -120 to -113: eight bytes to one
        raise SequenceBroken("a length below zero")
    return int.from_bytes(source.take(144 - first), "big")


def long_key(offset: int) -> bytes:
    """The key of a record: its offset."""
    return LONG.pack(offset)


def map_key(offset: int, key: bytes | None) -> bytes:
    """The key of a record with Kafka's key, which is left out when there is none."""
    found: dict[int, int | bytes] = {_OFFSET: offset}
    if key is not None:
        found[_KEY] = key
    return bytes_value(_encode(found))


def long_key_from(raw: bytes) -> int:
    """The offset in a key."""
    if len(raw) != LONG.size:
        raise SequenceBroken("a key that is not a long")
    offset: int = LONG.unpack(raw)[0]
    return offset


def map_key_from(raw: bytes) -> tuple[int, bytes | None]:
    """The offset and Kafka's key in a key."""
    try:
        found = _decode(value_from(raw))
    except msgspec.MsgspecError as error:
        raise SequenceBroken(f"a key that is not MessagePack: {error}") from error
    offset, key = found.pop(_OFFSET, None), found.pop(_KEY, None)
    if found or not isinstance(offset, int) or isinstance(key, int) or not 0 <= offset < 1 << 63:
        raise SequenceBroken("a key that is not a map of an offset")
    return offset, key


_encode = msgspec.msgpack.encode
_decode = msgspec.msgpack.Decoder(dict[int, int | bytes]).decode


def bytes_value(value: bytes) -> bytes:
    """Bytes as Hadoop's `BytesWritable` has them."""
    return INT.pack(len(value)) + value


def value_from(raw: bytes) -> bytes:
    """The bytes in a `BytesWritable`."""
    if len(raw) < INT.size or INT.unpack_from(raw)[0] != len(raw) - INT.size:
        raise SequenceBroken("a value of another length than it says")
    return raw[INT.size :]


def inflated(packed: bytes) -> bytes:
    """What was compressed, within bounds."""
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(packed, MOST_BYTES)
    except zlib.error as error:
        raise SequenceBroken(f"something that is not zlib: {error}") from error
    if not unpacker.eof or unpacker.unused_data:
        raise SequenceBroken("something that zlib does not end in")
    return raw


def _text(text: str) -> bytes:
    """A text as Hadoop's `Text` has it."""
    raw = text.encode()
    return vint(len(raw)) + raw


def _text_from(source: ByteSource) -> str:
    size = vint_from(source)
    if size > _MOST_HEADER_BYTES - source.place:
        raise SequenceBroken("a header that is too long")
    return source.take(size).decode("utf-8", "replace")
