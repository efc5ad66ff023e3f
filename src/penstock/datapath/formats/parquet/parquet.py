"""Parquet: the format of files unless a feed asks for another one, and of every quarantine."""

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

    from penstock.datapath.formats.parquet.column_encodings import ColumnEncodings
    from penstock.datapath.formats.parquet.parquet_reader import ParquetReader
    from penstock.datapath.formats.parquet.parquet_writer import ParquetWriter

_COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4")
_SUFFIXES = {**{each: f"{each}.parquet" for each in _COMPRESSIONS}, "none": "parquet"}
_CLAUSES = {
    "spark": TableClause("USING PARQUET"),
    "hive": TableClause("STORED AS PARQUET"),
    "trino": TableClause("format = 'PARQUET'"),
}


# Imported when the first file is written or read: commands that only describe a feed do neither.
_encodings = Later("penstock.datapath.formats.parquet.column_encodings:usual_encodings")
_writer = Later("penstock.datapath.formats.parquet.parquet_writer:ParquetWriter")
_reader = Later("penstock.datapath.formats.parquet.parquet_reader:ParquetReader")


def load_parts() -> None:
    """Import all of it now, in a process from which workers are forked."""
    for part in (_encodings, _writer, _reader):
        part.get()


class ParquetFormat:
    """Parquet, as `penstock.api.file_format` asks for it."""

    __slots__ = ()

    name = "parquet"
    traits = FormatTraits()
    suffixes: Mapping[str, str] = _SUFFIXES
    endings = (".parquet",)
    table_clauses: Mapping[str, TableClause] = _CLAUSES

    def refused(
        self,
        rows: pa.RecordBatch,  # noqa: ARG002
        kafka_ms: npt.NDArray[np.int64],  # noqa: ARG002
    ) -> Sequence[BadRecord]:
        """Parquet holds whatever a schema of ours can describe."""
        return ()

    def advice(
        self, dataset: tuple[str, str], rows: pa.RecordBatch, compression: str
    ) -> ColumnEncodings | None:
        """Which columns repeat their values, and how the others are encoded."""
        found: ColumnEncodings | None = _encodings(*dataset, rows, compression)
        return found

    def begin(self, stream: ByteStream, schema: pa.Schema, options: WriteOptions) -> ParquetWriter:
        """Begin a file."""
        writer: ParquetWriter = _writer(stream, schema, options)
        return writer

    def open(self, file: BinaryIO, as_dictionaries: Sequence[str] = ()) -> ParquetReader:
        """A file with its footer read."""
        reader: ParquetReader = _reader(file, as_dictionaries)
        return reader

    def __reduce__(self) -> str:
        return "FORMAT"


FORMAT = ParquetFormat()
