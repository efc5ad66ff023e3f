"""Avro container files being written: a header with the words, then blocks of records."""

import hashlib
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.api.file_format import ByteStream, WriteOptions
from penstock.datapath.codec.avro.record_encoder import EncoderSteps, encoded
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.row_pools import plain_schema
from penstock.datapath.formats.avro.avro_blocks import (
    MOST_BLOCK_BYTES,
    PACKINGS,
    SYNC_BYTES,
    long_of,
)
from penstock.datapath.formats.avro.avro_schema import avro_schema

MAGIC = b"Obj\x01"
SCHEMA, CODEC = "avro.schema", "avro.codec"
# Large enough to be packed well, and small enough to be read in pieces by anyone.
BLOCK_BYTES = 256 << 10
CHUNK_BYTES = 4 << 20  # of rows that become records at a time
CHUNK_ROWS = 65_536


class AvroContainerWriter:
    """An Avro file being written; it begins with its first rows.

    The marker between blocks must not be foreseen, or a record could hold it. It is a hash of the
    header and of the first block, so that the same rows give the same file.
    """

    def __init__(self, stream: ByteStream, schema: pa.Schema, options: WriteOptions) -> None:
        self._stream = stream
        self._packing = PACKINGS[options.compression]
        self._schema = plain_schema(schema)
        self._steps = EncoderSteps.of(self._schema)
        words = {each: value.encode() for each, value in options.words.items()}
        described = {SCHEMA: avro_schema(self._schema), CODEC: self._packing.word.encode()}
        self._header = MAGIC + _metadata({**described, **words})
        self._marker = b""
        self._data: Octets = np.empty(0, np.uint8)
        self._ends: Numbers = np.empty(0, np.int64)

    def write(self, rows: pa.Table) -> None:
        """Write rows as blocks; a few may wait for more."""
        plain = rows.cast(self._schema)
        size = max(1, CHUNK_BYTES * rows.num_rows // max(1, rows.nbytes))
        for start in range(0, rows.num_rows, min(size, CHUNK_ROWS)):
            for batch in plain.slice(start, min(size, CHUNK_ROWS)).combine_chunks().to_batches():
                self._add(*encoded(batch, self._steps))

    def finish(self) -> None:
        """Write the rows that wait."""
        if len(self._ends):
            self._write_block(self._data, len(self._ends))
        elif not self._marker:
            self._begin(b"")
        self._data, self._ends = self._data[:0], self._ends[:0]

    def _add(self, data: Octets, ends: Numbers) -> None:
        """Write all full blocks; the rest waits."""
        before = len(self._data)
        data = np.concatenate((self._data, data))
        ends = np.concatenate((self._ends, ends + before))
        start = row = 0
        while len(data) - start >= BLOCK_BYTES:
            last = int(np.searchsorted(ends, start + BLOCK_BYTES))
            end = int(ends[last])
            self._write_block(data[start:end], last + 1 - row)
            start, row = end, last + 1
        self._data, self._ends = data[start:].copy(), ends[row:] - start

    def _write_block(self, data: Octets, rows: int) -> None:
        raw = data.tobytes()
        if len(raw) > MOST_BLOCK_BYTES:
            raise ValueError(f"a row of {len(raw)} bytes does not fit into an Avro file")
        if not self._marker:
            self._begin(raw)
        packed = self._packing.pack(raw)
        head = long_of(rows) + long_of(len(packed))
        self._stream.write(b"".join((head, packed, self._marker)))

    def _begin(self, first: bytes) -> None:
        self._marker = hashlib.sha256(self._header + first).digest()[:SYNC_BYTES]
        self._stream.write(self._header + self._marker)


def _metadata(words: Mapping[str, bytes]) -> bytes:
    """A map of texts to bytes: one block of entries, and an empty one."""
    parts = [long_of(len(words))]
    for name, value in words.items():
        for each in (name.encode(), value):
            parts += [long_of(len(each)), each]
    return b"".join((*parts, long_of(0)))
