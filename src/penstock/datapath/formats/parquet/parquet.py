"""Parquet: the format of files unless a feed asks for another one, and of every quarantine."""

from collections.abc import Mapping, Sequence
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.api.file_format import ByteStream, FormatTraits, TableClause, WriteOptions
from penstock.datapath.formats.parquet.column_encodings import ColumnEncodings, usual_encodings
from penstock.datapath.formats.parquet.parquet_reader import ParquetReader
from penstock.model.bad_records import BadRecord

ROW_GROUP_ROWS = 200_000
_COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4")
_SUFFIXES = {**{each: f"{each}.parquet" for each in _COMPRESSIONS}, "none": "parquet"}
_CLAUSES = {
    "spark": TableClause("USING PARQUET"),
    "hive": TableClause("STORED AS PARQUET"),
    "trino": TableClause("format = 'PARQUET'"),
}


class ParquetWriter:
    """A Parquet file being written: every call gives row groups, the words go into the footer."""

    def __init__(self, stream: ByteStream, schema: pa.Schema, options: WriteOptions) -> None:
        columns = options.advice
        if not isinstance(columns, ColumnEncodings):
            columns = ColumnEncodings(True, options.compression, True)
        self._words = dict(options.words)
        self._file = pq.ParquetWriter(
            stream,
            schema,
            compression=columns.compression,
            use_dictionary=columns.use_dictionary,
            write_statistics=columns.write_statistics,
            column_encoding=columns.encodings or None,
            store_schema=False,
        )

    def write(self, rows: pa.Table) -> None:
        """Write rows as row groups."""
        self._file.write_table(rows, row_group_size=ROW_GROUP_ROWS)

    def finish(self) -> None:
        """Write the footer."""
        self._file.add_key_value_metadata(self._words)
        self._file.close()


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
        return usual_encodings(*dataset, rows, compression)

    def begin(self, stream: ByteStream, schema: pa.Schema, options: WriteOptions) -> ParquetWriter:
        """Begin a file."""
        return ParquetWriter(stream, schema, options)

    def open(self, file: BinaryIO, as_dictionaries: Sequence[str] = ()) -> ParquetReader:
        """A file with its footer read."""
        return ParquetReader(file, as_dictionaries)

    def __reduce__(self) -> str:
        return "FORMAT"


FORMAT = ParquetFormat()
