"""An Avro container file in pieces that are bounded by their bytes, whatever its bytes are."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from penstock.api.file_format import PIECE_BYTES, PIECE_ROWS, FileUnreadable
from penstock.datapath.codec.avro.program import record_program
from penstock.datapath.codec.avro.record_run import RecordsBroken, RunReader
from penstock.datapath.formats.arrow_errors import first_line
from penstock.datapath.formats.avro.avro_blocks import (
    MOST_BLOCK_BYTES,
    SYNC_BYTES,
    UNPACK,
    BlockBroken,
)
from penstock.datapath.formats.avro.avro_container_writer import CODEC, MAGIC, SCHEMA
from penstock.datapath.formats.avro.avro_schema import (
    ForeignSchema,
    columns_of_file,
    record_to_read,
)
from penstock.datapath.formats.byte_source import READ_BYTES, ByteSource
from penstock.datapath.formats.row_pieces import columns_among, row_pieces

_HEADER_BYTES = 64 << 10  # of which a header rarely needs more
_MOST_HEADER_BYTES = 32 << 20
_MOST_WORDS = 100_000


class AvroContainerReader:
    """An Avro file with its header read; blocks are read as they are asked for."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        with _as_unreadable():
            self._size = file.seek(0, io.SEEK_END)
            file.seek(0)
            header = _Bytes(file, _HEADER_BYTES)
            metadata = _header(header)
            self._marker = header.take(SYNC_BYTES)
            self._start = header.place
            self.schema: pa.Schema = columns_of_file(metadata.pop(SCHEMA, b""))
            self._unpack = _unpacking(metadata.pop(CODEC, b"null"))
            self.words: Mapping[str, str] = {
                name: value.decode("utf-8", "replace") for name, value in metadata.items()
            }
            self._program = record_program(*record_to_read(self.schema))
            self._check_end()

    def _check_end(self) -> None:
        """Every block ends in the marker, and so does the file."""
        self._file.seek(self._size - SYNC_BYTES)
        if self._file.read(SYNC_BYTES) != self._marker:
            raise BlockBroken("it does not end where a block ends")

    def pieces(
        self, columns: Sequence[str], most_rows: int = PIECE_ROWS, most_bytes: int = PIECE_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """The rows in their order. What is in memory at a time is a block besides."""
        schema = columns_among(self.schema, columns)
        wanted = [self.schema.get_field_index(name) for name in columns]
        yield from row_pieces(self._batches(wanted, schema, most_rows), most_rows, most_bytes)

    def _batches(
        self, wanted: Sequence[int], schema: pa.Schema, most_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows as they come out of blocks."""
        with _as_unreadable():
            reader = RunReader(self._program)
            for count, raw in self._blocks():
                data = np.frombuffer(raw, np.uint8)
                for arrays in reader.pieces(data, count, wanted, most_rows):
                    found = [
                        array.cast(each.type) if array.type != each.type else array
                        for array, each in zip(arrays, schema, strict=True)
                    ]
                    yield pa.RecordBatch.from_arrays(found, schema=schema)

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        """How many records each block has, and its bytes. A record has one for each column."""
        self._file.seek(self._start)
        source = _Bytes(self._file, READ_BYTES)
        while self._start + source.place < self._size:
            count, size = source.long(), source.long()
            if not 0 <= size <= min(MOST_BLOCK_BYTES, self._size):
                raise BlockBroken("a block of an impossible size")
            raw = self._unpack(source.take(size))
            if source.take(SYNC_BYTES) != self._marker:
                raise BlockBroken("a block without the marker at its end")
            if not 0 <= count * len(self.schema) <= len(raw):
                raise BlockBroken("a block of an impossible number of records")
            yield count, raw


class _Bytes(ByteSource):
    """The bytes of a file from where it stands, and the numbers among them."""

    def long(self) -> int:
        """A number as Avro writes it."""
        found = 0
        for place in range(10):
            byte = self.take(1)[0]
            found |= (byte & 127) << (7 * place)
            if byte < 128:
                return (found >> 1) ^ -(found & 1)
        raise BlockBroken("a number that does not end")


def _header(source: _Bytes) -> dict[str, bytes]:
    """The words of a file, those of Avro included."""
    if source.take(len(MAGIC)) != MAGIC:
        raise BlockBroken("it is not an Avro file")
    found: dict[str, bytes] = {}
    while count := source.long():
        if count < 0:  # then the size of the entries is told, too
            count = -count
            source.long()
        if count > _MOST_WORDS:
            raise BlockBroken("a header that is too long")
        for _ in range(count):
            name = _piece(source).decode("utf-8", "replace")
            found[name] = _piece(source)
    return found


def _piece(source: _Bytes) -> bytes:
    size = source.long()
    if not 0 <= size <= _MOST_HEADER_BYTES - source.place:
        raise BlockBroken("a header that is too long")
    return source.take(size)


def _unpacking(word: bytes) -> Callable[[bytes], bytes]:
    found = UNPACK.get(word.decode("utf-8", "replace"))
    if found is None:
        raise BlockBroken("a compression that Penstock does not write")
    return found


@contextmanager
def _as_unreadable() -> Iterator[None]:
    try:
        yield
    except (BlockBroken, ForeignSchema, RecordsBroken) as error:
        raise FileUnreadable(str(error)) from error
    except (pa.ArrowException, ValueError, OverflowError) as error:  # of an impossible schema
        raise FileUnreadable(first_line(error)) from error
