"""Plain text: one line for each record, for those whose tools read lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

from penstock.api.file_format import ByteStream, FormatTraits, TableClause, WriteOptions
from penstock.api.later import Later
from penstock.model.bad_records import BadRecord

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from penstock.datapath.formats.text.text_lines import TextFileReader, TextFileWriter

# Tools go by these ends.
_SUFFIXES = {"zstd": "txt.zst", "gzip": "txt.gz", "none": "txt"}
_CLAUSES: dict[str, TableClause] = {}
# Imported when the first file is written or read.
_not_for_lines = Later("penstock.datapath.formats.text.line_unfit:not_for_lines")
_writer = Later("penstock.datapath.formats.text.text_lines:TextFileWriter")
_reader = Later("penstock.datapath.formats.text.text_lines:TextFileReader")


class TextFormat:
    """Plain text, as `penstock.api.file_format` asks for it.

    A value with a line end inside is refused. With `escapes`, it is written with an escape, and so
    is every backslash.
    """

    __slots__ = ("_escapes", "_own", "name")

    traits = FormatTraits(positions="by count", has_columns=False, keeps_words=False, has_end=False)
    suffixes: Mapping[str, str] = _SUFFIXES
    endings = tuple(f".{each}" for each in _SUFFIXES.values())
    table_clauses: Mapping[str, TableClause] = _CLAUSES

    def __init__(self, name: str, own: str, *, escapes: bool) -> None:
        self.name = name
        self._own = own
        self._escapes = escapes

    def refused(
        self,
        rows: pa.RecordBatch,
        kafka_ms: npt.NDArray[np.int64],  # noqa: ARG002  lines have no time
    ) -> Sequence[BadRecord]:
        """Values that are not one line."""
        found: Sequence[BadRecord] = _not_for_lines(rows, escapes=self._escapes)
        return found

    def advice(self, dataset: tuple[str, str], rows: pa.RecordBatch, compression: str) -> None:
        """There is one way to write lines."""

    def begin(
        self,
        stream: ByteStream,
        schema: pa.Schema,  # noqa: ARG002  one column counts
        options: WriteOptions,
    ) -> TextFileWriter:
        """Begin a file."""
        writer: TextFileWriter = _writer(stream, options.compression, escapes=self._escapes)
        return writer

    def open(
        self,
        file: BinaryIO,
        as_dictionaries: Sequence[str] = (),  # noqa: ARG002  there are no columns of texts
    ) -> TextFileReader:
        """A file of which nothing is read yet: lines say nothing about themselves."""
        reader: TextFileReader = _reader(file, escapes=self._escapes)
        return reader

    def __reduce__(self) -> str:
        return self._own


FORMAT = TextFormat("text", "FORMAT", escapes=False)
ESCAPED = TextFormat("text-escaped", "ESCAPED", escapes=True)
