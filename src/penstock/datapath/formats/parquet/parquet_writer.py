"""Parquet files being written."""

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.api.file_format import ByteStream, WriteOptions
from penstock.datapath.formats.parquet.column_encodings import ColumnEncodings

ROW_GROUP_ROWS = 200_000


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
