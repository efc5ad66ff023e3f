"""JSON lines being written."""

import pyarrow as pa

from penstock.api.file_format import ByteStream, WriteOptions
from penstock.datapath.codec.json.row_text import TextSteps, text_lines, with_texts_of_numbers
from penstock.datapath.codec.shared.row_pools import plain_schema
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
            part = rows.slice(start, size).cast(self._plain).cast(self._texts)
            for batch in part.combine_chunks().to_batches():
                for lines in text_lines(batch, self._steps):
                    self._write(self._packer.pack(lines.tobytes()))

    def finish(self) -> None:
        """Write what is left in the compression."""
        self._write(self._packer.finish())

    def _write(self, data: bytes) -> None:
        if data:
            self._stream.write(data)
