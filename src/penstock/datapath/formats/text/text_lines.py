"""Files of lines being written and read: the value of each record, and a line end."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

import pyarrow as pa

from penstock.api.file_format import (
    PIECE_BYTES,
    PIECE_ROWS,
    VALUE,
    ByteStream,
    FileUnreadable,
)
from penstock.datapath.formats.line_packing import PACKERS, LinesBroken, lines_of
from penstock.datapath.formats.row_pieces import columns_among
from penstock.datapath.formats.written_values import in_chunks

_LINE_END = b"\n"
_ESCAPES = ((b"\\", b"\\\\"), (b"\n", b"\\n"), (b"\r", b"\\r"))
_MEANT = {written[1:]: value for value, written in _ESCAPES}
_ESCAPED = re.compile(rb"\\(.?)", re.DOTALL)


class TextFileWriter:
    """A file of lines being written."""

    def __init__(self, stream: ByteStream, compression: str, *, escapes: bool) -> None:
        self._stream = stream
        self._packer = PACKERS[compression]()
        self._escapes = escapes

    def write(self, rows: pa.Table) -> None:
        """Write values as lines."""
        for chunk in in_chunks(rows):
            values: list[bytes] = chunk[VALUE].to_pylist()
            lines = [escaped(each) for each in values] if self._escapes else values
            self._write(self._packer.pack(_LINE_END.join([*lines, b""])))

    def finish(self) -> None:
        """Write what is left in the compression."""
        self._write(self._packer.finish())

    def _write(self, data: bytes) -> None:
        if data:
            self._stream.write(data)


class TextFileReader:
    """A file of lines; they are read as they are asked for."""

    words: Mapping[str, str] = {}
    schema: pa.Schema = pa.schema([(VALUE, pa.binary())])

    def __init__(self, file: BinaryIO, *, escapes: bool) -> None:
        self._file = file
        self._escapes = escapes

    def pieces(
        self, columns: Sequence[str], most_rows: int = PIECE_ROWS, most_bytes: int = PIECE_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """The values in their order."""
        schema = columns_among(self.schema, columns)
        held: list[bytes] = []
        size = 0
        try:
            for line in lines_of(self._file):
                if held and (size + len(line) > most_bytes or len(held) >= most_rows):
                    yield self._batch(held, schema)
                    held, size = [], 0
                held.append(line)
                size += len(line)
        except LinesBroken as error:
            raise FileUnreadable(str(error)) from error
        if held:
            yield self._batch(held, schema)

    def _batch(self, lines: list[bytes], schema: pa.Schema) -> pa.RecordBatch:
        values = [unescaped(each) for each in lines] if self._escapes else lines
        return pa.RecordBatch.from_arrays(
            [pa.array(values, pa.binary()) for _ in schema], schema=schema
        )


def escaped(value: bytes) -> bytes:
    """A value on one line."""
    for plain, written in _ESCAPES:
        value = value.replace(plain, written)
    return value


def unescaped(line: bytes) -> bytes:
    """The value on a line; raises `FileUnreadable` where nobody wrote it so."""
    if b"\\" not in line:
        return line
    try:
        return _ESCAPED.sub(lambda found: _MEANT[found[1]], line)
    except KeyError as error:
        raise FileUnreadable("a line has an escape that is never written") from error
