"""A Parquet file in pieces that are bounded by their bytes, whatever the size of its records."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.api.file_format import PIECE_BYTES, PIECE_ROWS, FileUnreadable
from penstock.datapath.formats.arrow_errors import UNREADABLE, first_line

_BUFFER_BYTES = 1 << 20


class ParquetReader:
    """A Parquet file with its footer read; pages are read as they are asked for."""

    def __init__(self, file: BinaryIO, as_dictionaries: Sequence[str]) -> None:
        with _as_unreadable():
            self._file = _opened(file, as_dictionaries)
            self.schema: pa.Schema = self._file.schema_arrow
            self.words: Mapping[str, str] = _texts(self._file.metadata.metadata or {})
            paths = self._file.schema
            self._paths = [paths.column(number).path for number in range(len(paths))]

    def pieces(
        self, columns: Sequence[str], most_rows: int = PIECE_ROWS, most_bytes: int = PIECE_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """The rows in their order, as batches of one row group each.

        A batch has as many rows as take `most_bytes` by the mean of their row group. A page is
        unpacked whole, though, and a value that many rows share is written once. So the bound that
        always holds is a row group: as much as the writer of the file had in memory at a time.
        """
        with _as_unreadable():
            metadata = self._file.metadata
            names = frozenset(columns)
            chosen = [number for number, path in enumerate(self._paths) if _is_in(path, names)]
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                size = sum(group.column(each).total_uncompressed_size for each in chosen)
                rows = rows_within(most_bytes, group.num_rows, size)
                yield from self._file.iter_batches(
                    min(rows, most_rows),
                    row_groups=[number],
                    columns=list(columns),
                    use_threads=False,
                )


def rows_within(most_bytes: int, num_rows: int, total_bytes: int) -> int:
    """How many of the rows take at most so many bytes, if all are alike; at least one."""
    return max(1, most_bytes * num_rows // max(1, total_bytes))


def _opened(file: BinaryIO, as_dictionaries: Sequence[str]) -> pq.ParquetFile:
    """Arrow's reader.

    Without a size for its buffer, or when it may read ahead, Arrow fetches whole row groups first.
    """
    try:
        return pq.ParquetFile(
            file, read_dictionary=as_dictionaries, buffer_size=_BUFFER_BYTES, pre_buffer=False
        )
    except KeyError:  # a list or a struct of that name has columns of other names
        file.seek(0)
        return pq.ParquetFile(file, buffer_size=_BUFFER_BYTES, pre_buffer=False)


def _is_in(path: str, names: frozenset[str]) -> bool:
    """True for the path of a plain column that is one of the columns, or inside one."""
    dots = (place for place, letter in enumerate(path) if letter == ".")
    return path in names or any(path[:dot] in names for dot in dots)


def _texts(words: Mapping[bytes, bytes]) -> dict[str, str]:
    return {
        name.decode("utf-8", "replace"): value.decode("utf-8", "replace")
        for name, value in words.items()
    }


@contextmanager
def _as_unreadable() -> Iterator[None]:
    try:
        yield
    except UNREADABLE as error:
        raise FileUnreadable(first_line(error)) from error
