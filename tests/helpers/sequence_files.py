"""SequenceFiles as another program reads them; none of it is our code, and Hadoop agrees with it.

`tests/integration/test_text_and_sequence_files.py` reads the same files with Hadoop's own reader.
"""

import io
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

_ESCAPE = -1


def records_of(raw: bytes) -> Iterator[tuple[int, bytes | None, bytes]]:
    """Offset, Kafka's key and value of each record."""
    stream = io.BytesIO(raw)
    assert stream.read(4) == b"SEQ\x06"
    is_map = _text(stream).endswith("BytesWritable")
    assert _text(stream) == "org.apache.hadoop.io.BytesWritable"
    is_packed, is_block = stream.read(2)
    if is_packed:
        assert _text(stream) == "org.apache.hadoop.io.compress.DefaultCodec"
    for _ in range(2 * _int(stream)):
        _text(stream)
    marker = stream.read(16)
    for key, value in _pairs(stream, marker, is_packed=is_packed, is_block=is_block):
        assert struct.unpack(">i", value[:4])[0] == len(value) - 4
        if is_map:
            found = msgspec.msgpack.decode(key[4:])
            yield found[1], found.get(2), value[4:]
        else:
            yield struct.unpack(">q", key)[0], None, value[4:]


def _pairs(
    stream: BinaryIO, marker: bytes, *, is_packed: int, is_block: int
) -> Iterator[tuple[bytes, bytes]]:
    while head := stream.read(4):
        (length,) = struct.unpack(">i", head)
        if length == _ESCAPE:
            assert stream.read(16) == marker
            if is_block:
                yield from _block(stream)
            continue
        assert not is_block
        key_length = _int(stream)
        key, value = stream.read(key_length), stream.read(length - key_length)
        yield key, zlib.decompress(value) if is_packed else value


def _block(stream: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    count = _vint(stream)
    parts = [io.BytesIO(zlib.decompress(stream.read(_vint(stream)))) for _ in range(4)]
    for _ in range(count):
        yield parts[1].read(_vint(parts[0])), parts[3].read(_vint(parts[2]))
    assert not any(part.read() for part in parts)


def _int(stream: BinaryIO) -> int:
    found: int = struct.unpack(">i", stream.read(4))[0]
    return found


def _vint(stream: BinaryIO) -> int:
    (first,) = struct.unpack("b", stream.read(1))
    return first if first >= -112 else int.from_bytes(stream.read(-112 - first), "big")


def _text(stream: BinaryIO) -> str:
    return stream.read(_vint(stream)).decode()
