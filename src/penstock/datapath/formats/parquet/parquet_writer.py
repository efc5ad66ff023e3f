"""Parquet files being written."""

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.api.file_format import ByteStream, WriteOptions
from penstock.datapath.formats.parquet.column_encodings import encodings_of_file

ROW_GROUP_ROWS = 200_000


class ParquetWriter:
    """A Parquet file being written: every call gives row groups, the words go into the footer.

    The file begins with its first rows, since few rows are better written in another way.
    """

    def __init__(self, stream: ByteStream, schema: pa.Schema, options: WriteOptions) -> None:
        self._stream = stream
        self._schema = schema
        self._options = options
        self._file: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        """Write rows as row groups."""
        if self._file is None:
            self._file = self._begun(rows)
        self._file.write_table(rows, row_group_size=ROW_GROUP_ROWS)

    def finish(self) -> None:
        """Write the footer."""
        file = self._file or self._begun(self._schema.empty_table())
        file.add_key_value_metadata(dict(self._options.words))
        file.close()

    def _begun(self, rows: pa.Table) -> pq.ParquetWriter:
        columns = encodings_of_file(rows, self._options.compression, self._options.advice)
        return pq.ParquetWriter(
            self._stream,
            self._schema,
            compression=columns.compression,
            use_dictionary=columns.use_dictionary,
            write_statistics=columns.write_statistics,
            column_encoding=columns.encodings or None,
            store_schema=False,
        )
