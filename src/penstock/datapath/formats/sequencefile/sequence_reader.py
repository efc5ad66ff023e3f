"""A SequenceFile in pieces that are bounded by their bytes, whatever its bytes are."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from penstock.api.file_format import KEY, PIECE_BYTES, PIECE_ROWS, VALUE, FileUnreadable
from penstock.datapath.formats.byte_source import ByteSource, FileTooShort
from penstock.datapath.formats.row_pieces import columns_among
from penstock.datapath.formats.sequencefile.sequence_layout import (
    ESCAPE,
    INT,
    MARKER_BYTES,
    MOST_BYTES,
    SequenceBroken,
    header_from,
    inflated,
    long_key_from,
    map_key_from,
    value_from,
    vint_from,
)

_HEADER_BYTES = 64 << 10
OFFSET = "_offset"


class _Record(NamedTuple):
    """A record as it lies in a file; without `value` where nobody wants it."""

    key: bytes
    value: bytes | None


class SequenceFileReader:
    """A SequenceFile with its header read; records are read as they are asked for."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        with _as_unreadable():
            self._size = file.seek(0, io.SEEK_END)
            file.seek(0)
            source = ByteSource(file, _HEADER_BYTES)
            self._header = header_from(source)
            self._marker = source.take(MARKER_BYTES)
            self._start = source.place
        keys = [(KEY, pa.binary())] if self._header.has_kafka_keys else []
        self.schema: pa.Schema = pa.schema([(OFFSET, pa.int64()), *keys, (VALUE, pa.binary())])
        self.words: Mapping[str, str] = self._header.words

    def pieces(
        self, columns: Sequence[str], most_rows: int = PIECE_ROWS, most_bytes: int = PIECE_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """The records in their order. What is in memory at a time is a block besides."""
        schema = columns_among(self.schema, columns)
        held: list[_Record] = []
        size = 0
        with _as_unreadable():
            for each in self._records(with_values=VALUE in columns):
                length = len(each.key) + len(each.value or b"")
                if held and (size + length > most_bytes or len(held) >= most_rows):
                    yield self._batch(held, schema)
                    held, size = [], 0
                held.append(each)
                size += length
            if held:
                yield self._batch(held, schema)

    def _batch(self, records: list[_Record], schema: pa.Schema) -> pa.RecordBatch:
        found: dict[str, Sequence[int | bytes | None]] = {}
        if self._header.has_kafka_keys:
            keys = [map_key_from(each.key) for each in records]
            found = {OFFSET: [offset for offset, _ in keys], KEY: [key for _, key in keys]}
        else:
            found = {OFFSET: [long_key_from(each.key) for each in records]}
        if VALUE in schema.names:
            found[VALUE] = [value_from(each.value or b"") for each in records]
        arrays = [pa.array(found[each.name], each.type) for each in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _records(self, *, with_values: bool) -> Iterator[_Record]:
        """Every record, with the bytes of its value if they are wanted."""
        self._file.seek(self._start)
        source = ByteSource(self._file)
        whole = self._size - self._start
        if self._header.compression == "block":
            while source.place < whole:
                yield from self._block(source, with_values=with_values)
            return
        unpack = inflated if self._header.compression == "record" else _as_it_is
        while source.place < whole:
            length = source.take(INT.size)
            if length == ESCAPE:
                self._check_marker(source)
                continue
            size, key_size = self._length(length), self._length(source.take(INT.size))
            if key_size > size:
                raise SequenceBroken("a key that is longer than its record")
            key, value = source.take(key_size), source.take(size - key_size)
            yield _Record(key, unpack(value) if with_values else None)

    def _block(self, source: ByteSource, *, with_values: bool) -> Iterator[_Record]:
        """The records of the next block."""
        if source.take(len(ESCAPE)) != ESCAPE:
            raise SequenceBroken("a block without the marker at its beginning")
        self._check_marker(source)
        count = vint_from(source)
        packed = [self._part(source) for _ in range(4)]
        keys = _split(inflated(packed[0]), inflated(packed[1]), count)
        if not with_values:
            yield from (_Record(key, None) for key in keys)
            return
        values = _split(inflated(packed[2]), inflated(packed[3]), count)
        yield from map(_Record, keys, values)

    def _part(self, source: ByteSource) -> bytes:
        """The next part of a block, as it is compressed."""
        size = vint_from(source)
        if size > self._size:
            raise SequenceBroken("a block of an impossible size")
        return source.take(size)

    def _length(self, raw: bytes) -> int:
        length: int = INT.unpack(raw)[0]
        if not 0 <= length <= min(self._size, MOST_BYTES):
            raise SequenceBroken("a record of an impossible size")
        return length

    def _check_marker(self, source: ByteSource) -> None:
        if source.take(MARKER_BYTES) != self._marker:
            raise SequenceBroken("something else in place of the marker")


def _split(lengths: bytes, data: bytes, count: int) -> list[bytes]:
    """The parts of some bytes, of which there must be so many."""
    if count > len(data):  # every key and every value has some bytes
        raise SequenceBroken("a block of an impossible number of records")
    source = ByteSource(io.BytesIO(lengths))
    found: list[bytes] = []
    start = 0
    while source.place < len(lengths) and len(found) < count:
        end = start + vint_from(source)
        found.append(data[start:end])
        start = end
    if len(found) != count or source.place != len(lengths) or start != len(data):
        raise SequenceBroken("a block with other records than it says")
    return found


def _as_it_is(raw: bytes) -> bytes:
    return raw


@contextmanager
def _as_unreadable() -> Iterator[None]:
    try:
        yield
    except (SequenceBroken, FileTooShort, OverflowError) as error:
        raise FileUnreadable(str(error)) from error
