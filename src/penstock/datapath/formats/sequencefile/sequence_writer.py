"""SequenceFiles being written: a header with the words, then records, alone or in blocks."""

import hashlib
import zlib
from collections.abc import Iterable

import pyarrow as pa

from penstock.api.file_format import KEY, VALUE, ByteStream, WriteOptions
from penstock.datapath.formats.sequencefile.sequence_layout import (
    ESCAPE,
    MARKER_BYTES,
    TWO_INTS,
    SequenceHeader,
    bytes_value,
    long_key,
    map_key,
    vint,
)
from penstock.datapath.formats.written_values import in_chunks

MARKED_BYTES = 5 * 1024  # between two markers, as in Hadoop's own files
BLOCK_BYTES = 1_000_000  # of keys and values in a block; the same


class SequenceFileWriter:
    """A SequenceFile being written; it begins with its first record.

    The marker must not be foreseen, or a record could hold it. It is a hash of the header and of
    the first record, so that the same rows give the same file.
    """

    def __init__(self, stream: ByteStream, options: WriteOptions, *, has_kafka_keys: bool) -> None:
        self._stream = stream
        self._header = SequenceHeader(options.compression, has_kafka_keys, options.words).encoded()
        self._has_kafka_keys = has_kafka_keys
        self._is_packed = options.compression == "record"
        self._block = _Block() if options.compression == "block" else None
        self._marker = b""
        self._unmarked = 0

    def write(self, rows: pa.Table) -> None:
        """Write records; those of a block may wait for more."""
        for chunk in in_chunks(rows):
            keys = self._keys(chunk)
            values: list[bytes] = chunk[VALUE].to_pylist()
            if not self._marker:
                self._begin(values[0])
            if self._block is None:
                self._write_records(keys, values)
            else:
                self._write_blocks(self._block, keys, values)

    def finish(self) -> None:
        """Write the records that wait."""
        if not self._marker:
            self._begin(b"")
        if self._block is not None and self._block.size_bytes:
            self._stream.write(self._block.taken(self._marker))

    def _keys(self, rows: pa.Table) -> list[bytes]:
        offsets: list[int] = rows["_offset"].to_pylist()
        if not self._has_kafka_keys:
            return [long_key(each) for each in offsets]
        kafka_keys: list[bytes | None] = rows[KEY].to_pylist()
        return [map_key(*each) for each in zip(offsets, kafka_keys, strict=True)]

    def _begin(self, first: bytes) -> None:
        self._marker = hashlib.sha256(self._header + first).digest()[:MARKER_BYTES]
        self._stream.write(self._header + self._marker)

    def _write_records(self, keys: Iterable[bytes], values: Iterable[bytes]) -> None:
        parts: list[bytes] = []
        for key, value in zip(keys, values, strict=True):
            if self._unmarked >= MARKED_BYTES:
                parts.append(ESCAPE + self._marker)
                self._unmarked = 0
            body = bytes_value(value)
            if self._is_packed:
                body = zlib.compress(body)
            size = len(key) + len(body)
            parts += (TWO_INTS.pack(size, len(key)), key, body)
            self._unmarked += TWO_INTS.size + size
        self._stream.write(b"".join(parts))

    def _write_blocks(
        self, block: "_Block", keys: Iterable[bytes], values: Iterable[bytes]
    ) -> None:
        for key, value in zip(keys, values, strict=True):
            block.add(key, bytes_value(value))
            if block.size_bytes >= BLOCK_BYTES:
                self._stream.write(block.taken(self._marker))


class _Block:
    """Records that become one block."""

    def __init__(self) -> None:
        self._keys: list[bytes] = []
        self._values: list[bytes] = []
        self.size_bytes = 0

    def add(self, key: bytes, value: bytes) -> None:
        """One more record."""
        self._keys.append(key)
        self._values.append(value)
        self.size_bytes += len(key) + len(value)

    def taken(self, marker: bytes) -> bytes:
        """The bytes of the block, which is empty afterwards."""
        found = [ESCAPE, marker, vint(len(self._keys))]
        for part in (self._keys, self._values):
            lengths = b"".join([vint(len(each)) for each in part])
            for packed in (zlib.compress(lengths), zlib.compress(b"".join(part))):
                found += (vint(len(packed)), packed)
        self._keys, self._values, self.size_bytes = [], [], 0
        return b"".join(found)
