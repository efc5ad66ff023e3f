"""JSON lines being written."""

from collections.abc import Iterator

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.file_format import ByteStream, WriteOptions
from penstock.datapath.codec.json.row_text import TextSteps, text_lines, with_texts_of_numbers
from penstock.datapath.codec.shared.row_pools import plain_schema
from penstock.datapath.formats.jsonl.own_types import OWN_TYPES
from penstock.datapath.formats.line_packing import PACKERS

CHUNK_BYTES = 4 << 20  # of rows that become lines at a time
CHUNK_ROWS = 65_536


class JsonLinesWriter:
    """A file of JSON lines being written; every line has all columns, so each tells their names."""

    def __init__(self, stream: ByteStream, schema: pa.Schema, options: WriteOptions) -> None:
        self._stream = stream
        self._packer = PACKERS[options.compression]()
        self._plain = plain_schema(schema)
        self._steps = TextSteps.of(self._plain)
        self._texts = pa.schema(
            [pa.field(each.name, with_texts_of_numbers(each.type)) for each in self._plain]
        )

    def write(self, rows: pa.Table) -> None:
        """Write rows as lines."""
        size = min(max(1, CHUNK_BYTES * rows.num_rows // max(1, rows.nbytes)), CHUNK_ROWS)
        for start in range(0, rows.num_rows, size):
            for lines in self._lines(rows.slice(start, size)):
                self._write(self._packer.pack(lines))

    def _lines(self, rows: pa.Table) -> Iterator[bytes]:
        part = rows.cast(self._plain).cast(self._texts)
        for batch in part.combine_chunks().to_batches():
            for lines in text_lines(batch, self._steps):
                yield lines.tobytes()

    def finish(self) -> None:
        """Write what is left in the compression."""
        self._write(self._packer.finish())

    def _write(self, data: bytes) -> None:
        if data:
            self._stream.write(data)


class JsonTextsWriter(JsonLinesWriter):
    """The same of rows as they were read: columns that are not ours have texts of JSON values.

    These stand first in a line, byte by byte as they were.
    """

    def __init__(self, stream: ByteStream, schema: pa.Schema, options: WriteOptions) -> None:
        self._ours = [each.name for each in schema if each.name in OWN_TYPES]
        self._others = [each.name for each in schema if each.name not in OWN_TYPES]
        super().__init__(stream, pa.schema([schema.field(name) for name in self._ours]), options)

    def _lines(self, rows: pa.Table) -> Iterator[bytes]:
        """Our columns as objects, with the others put in front."""
        ours = b"".join(super()._lines(rows.select(self._ours))).splitlines()
        if not self._others:
            yield b"\n".join([*ours, b""])
            return
        parts: list[pa.Array | bytes] = []
        for number, name in enumerate(self._others):
            parts.append((b"," if number else b"{") + msgspec.json.encode(name) + b":")
            texts = rows[name].combine_chunks().cast(pa.binary())
            parts.append(texts.fill_null(b"null"))
        rest = pa.array([b"}" if each == b"{}" else b"," + each[1:] for each in ours], pa.binary())
        joined = pc.binary_join_element_wise(*parts, rest, b"")
        yield b"\n".join([*joined.to_pylist(), b""])
