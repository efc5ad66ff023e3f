"""Arrow's own file format, in which every column has the type that it has in memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.api.file_format import (
    PIECE_BYTES,
    PIECE_ROWS,
    ByteStream,
    FileUnreadable,
    FormatTraits,
    TableClause,
    WriteOptions,
)
from penstock.model.bad_records import BadRecord

T = TypeVar("T")

BATCH_BYTES = 4 << 20
_CODECS = {"zstd": "zstd", "lz4": "lz4", "none": None}


class ArrowWriter:
    """A file being written. Files of Arrow hold one dictionary each, so texts are written whole."""

    def __init__(self, stream: ByteStream, schema: pa.Schema, options: WriteOptions) -> None:
        self._schema = pa.schema([_plain(each) for each in schema], metadata=dict(options.words))
        chosen = pa.ipc.IpcWriteOptions(compression=_CODECS[options.compression])
        self._file = pa.ipc.new_file(pa.PythonFile(stream, "w"), self._schema, options=chosen)

    def write(self, rows: pa.Table) -> None:
        """Write rows as batches of bounded size."""
        each_bytes = max(rows.nbytes // max(rows.num_rows, 1), 1)
        plain = rows.replace_schema_metadata().cast(self._schema.remove_metadata())
        most_rows = max(min(BATCH_BYTES // each_bytes, PIECE_ROWS), 1)
        self._file.write_table(plain, max_chunksize=most_rows)

    def finish(self) -> None:
        """Write the footer."""
        self._file.close()


class Remembering:
    """The bytes of a file. Arrow tells their errors in its own words, so they are kept here."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.error: Exception | None = None
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """Read, and keep what went wrong."""
        try:
            return self._file.read(size)
        except Exception as error:
            self.error = error
            raise

    def seek(self, place: int, whence: int = 0) -> int:
        """Go to a place."""
        return self._file.seek(place, whence)

    def tell(self) -> int:
        """Where it is."""
        return self._file.tell()


class ArrowReader:
    """An open file; a batch at a time is in memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._bytes = Remembering(file)
        self._file = pa.PythonFile(self._bytes, "r")
        self.schema: pa.Schema = self._reader(None).schema

    @property
    def words(self) -> Mapping[str, str]:
        """The metadata of the schema."""
        found = self.schema.metadata or {}
        return {key.decode(): value.decode() for key, value in found.items()}

    def pieces(
        self, columns: Sequence[str], most_rows: int = PIECE_ROWS, most_bytes: int = PIECE_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """Slices of the batches, small ones joined."""
        waiting: list[pa.RecordBatch] = []
        for piece in self._slices(columns, most_rows, most_bytes):
            some = [*waiting, piece]
            rows, size = sum(map(len, some)), sum(each.nbytes for each in some)
            if waiting and (rows > most_rows or size > most_bytes):
                yield pa.concat_batches(waiting)
                some = [piece]
            waiting = some
        if waiting:
            yield pa.concat_batches(waiting)

    def _slices(
        self, columns: Sequence[str], most_rows: int, most_bytes: int
    ) -> Iterator[pa.RecordBatch]:
        reader = self._reader([self.schema.get_field_index(name) for name in columns])
        for number in range(reader.num_record_batches):
            batch = self._asked(partial(reader.get_batch, number)).select(columns)
            each_bytes = max(batch.nbytes // max(batch.num_rows, 1), 1)
            rows = max(min(most_bytes // each_bytes, most_rows), 1)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)

    def _reader(self, columns: list[int] | None) -> pa.ipc.RecordBatchFileReader:
        options = pa.ipc.IpcReadOptions(included_fields=columns, use_threads=False)
        return self._asked(partial(pa.ipc.open_file, self._file, options=options))

    def _asked(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            if self._bytes.error is not None:
                raise self._bytes.error from None
            raise FileUnreadable(" ".join(str(error).split())[:200] or "not a file") from error


def _plain(field: pa.Field) -> pa.Field:
    is_dictionary = pa.types.is_dictionary(field.type)
    return field.with_type(field.type.value_type) if is_dictionary else field


class ArrowFormat:
    """Files of Arrow, as `penstock.api.file_format` asks for them."""

    name = "arrow"
    traits = FormatTraits(survives_damage=False)
    suffixes: Mapping[str, str] = {"zstd": "zstd.arrow", "lz4": "lz4.arrow", "none": "arrow"}
    endings = (".arrow",)
    table_clauses: Mapping[str, TableClause] = {}

    def refused(self, rows: pa.RecordBatch, kafka_ms: npt.NDArray[np.int64]) -> Sequence[BadRecord]:
        """It holds whatever is in memory."""
        return ()

    def advice(
        self, dataset: tuple[str, str], rows: pa.RecordBatch, compression: str
    ) -> object | None:
        """Nothing to say."""
        return None

    def begin(self, stream: ByteStream, schema: pa.Schema, options: WriteOptions) -> ArrowWriter:
        """Begin a file."""
        return ArrowWriter(stream, schema, options)

    def open(self, file: BinaryIO, as_dictionaries: Sequence[str] = ()) -> ArrowReader:
        """A file with its footer read."""
        return ArrowReader(file)

    def __reduce__(self) -> str:
        return "FORMAT"


FORMAT = ArrowFormat()
