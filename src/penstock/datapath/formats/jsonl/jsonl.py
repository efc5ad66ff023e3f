"""JSON lines, for those whose tools read nothing else: one object per row."""

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

    from penstock.datapath.formats.jsonl.json_lines_reader import JsonLinesReader
    from penstock.datapath.formats.jsonl.json_lines_writer import JsonLinesWriter, JsonTextsWriter

# Tools go by these ends.
_SUFFIXES = {"zstd": "jsonl.zst", "gzip": "jsonl.gz", "none": "jsonl"}
_CLAUSES = {"spark": TableClause("USING JSON")}
# Imported when the first file is written or read.
_not_for_json = Later("penstock.datapath.formats.jsonl.json_unfit:not_for_json")
_writer = Later("penstock.datapath.formats.jsonl.json_lines_writer:JsonLinesWriter")
_texts_writer = Later("penstock.datapath.formats.jsonl.json_lines_writer:JsonTextsWriter")
_reader = Later("penstock.datapath.formats.jsonl.json_lines_reader:JsonLinesReader")


class JsonLinesFormat:
    """JSON lines, as `penstock.api.file_format` asks for them."""

    __slots__ = ()

    name = "jsonl"
    traits = FormatTraits(keeps_words=False, has_end=False, has_types=False)
    suffixes: Mapping[str, str] = _SUFFIXES
    endings = tuple(f".{each}" for each in _SUFFIXES.values())
    table_clauses: Mapping[str, TableClause] = _CLAUSES

    def refused(self, rows: pa.RecordBatch, kafka_ms: npt.NDArray[np.int64]) -> Sequence[BadRecord]:
        """Rows with numbers and times that JSON, or ISO 8601, has no text for."""
        found: Sequence[BadRecord] = _not_for_json(rows, kafka_ms)
        return found

    def advice(self, dataset: tuple[str, str], rows: pa.RecordBatch, compression: str) -> None:
        """There is one way to write JSON."""

    def begin(
        self, stream: ByteStream, schema: pa.Schema, options: WriteOptions
    ) -> JsonLinesWriter:
        """Begin a file."""
        writer: JsonLinesWriter = _writer(stream, schema, options)
        return writer

    def begin_as_read(
        self, stream: ByteStream, schema: pa.Schema, options: WriteOptions
    ) -> JsonTextsWriter:
        """Begin a file of rows as `open` gives them."""
        writer: JsonTextsWriter = _texts_writer(stream, schema, options)
        return writer

    def open(
        self,
        file: BinaryIO,
        as_dictionaries: Sequence[str] = (),  # noqa: ARG002  texts come one by one
    ) -> JsonLinesReader:
        """A file with its first line read."""
        reader: JsonLinesReader = _reader(file)
        return reader

    def open_as(self, file: BinaryIO, schema: pa.Schema) -> JsonLinesReader:
        """A file with its first line read, whose rows come in the types of a schema."""
        reader: JsonLinesReader = _reader(file, schema)
        return reader

    def __reduce__(self) -> str:
        return "FORMAT"


FORMAT = JsonLinesFormat()
