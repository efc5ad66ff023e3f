"""A Parquet file in pieces that are bounded by their bytes, whatever the size of its records."""

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow.parquet as pq

PIECE_BYTES = 16 << 20
_BUFFER_BYTES = 1 << 20


def open_in_pieces(file: BinaryIO) -> Any:
    """The Parquet file with its footer read; pages are read as they are asked for.

    Without a size for its buffer, or when it may read ahead, Arrow fetches whole row groups first.
    """
    return pq.ParquetFile(file, buffer_size=_BUFFER_BYTES, pre_buffer=False)


def pieces(
    parquet: Any, columns: Sequence[str], most_rows: int, most_bytes: int = PIECE_BYTES
) -> Iterator[Any]:
    """The rows in their order, as batches of one row group each.

    A batch has as many rows as take `most_bytes` by the mean of their row group, and at least one.
    A page is unpacked whole, though, and a value that many rows share is written once. So the bound
    that always holds is a row group: as much as the writer of the file had in memory at a time.
    """
    for number in range(parquet.num_row_groups):
        group = parquet.metadata.row_group(number)
        rows = rows_within(most_bytes, group.num_rows, group.total_byte_size)
        yield from parquet.iter_batches(
            min(rows, most_rows), row_groups=[number], columns=list(columns)
        )


def rows_within(most_bytes: int, num_rows: int, total_bytes: int) -> int:
    """How many of the rows take at most so many bytes, if all are alike; at least one."""
    return max(1, most_bytes * num_rows // max(1, total_bytes))
