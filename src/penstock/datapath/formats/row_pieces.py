"""Rows in pieces of a bounded size, made of the batches that a file gives."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from penstock.api.file_format import FileUnreadable


def columns_among(schema: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """The wanted columns of a file; raises `FileUnreadable` if it lacks one."""
    for name in columns:
        if name not in schema.names:
            raise FileUnreadable(f"it has no column {name}")
    return pa.schema([schema.field(name) for name in columns])


def row_pieces(
    batches: Iterator[pa.RecordBatch], most_rows: int, most_bytes: int
) -> Iterator[pa.RecordBatch]:
    """The rows of all batches in their order, each piece within the bounds, or of one row.

    Batches are put together as long as they fit, and cut where one is larger. The rows of a batch
    count as much as their mean.
    """
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        for part in _cut(batch, most_rows, most_bytes):
            part_size = part.nbytes
            if held and (rows + part.num_rows > most_rows or size + part_size > most_bytes):
                yield _joined(held)
                held, rows, size = [], 0, 0
            held.append(part)
            rows, size = rows + part.num_rows, size + part_size
    if held:
        yield _joined(held)


def _cut(batch: pa.RecordBatch, most_rows: int, most_bytes: int) -> Iterator[pa.RecordBatch]:
    if batch.num_rows == 0:
        return
    rows = max(1, min(most_rows, most_bytes * batch.num_rows // max(1, batch.nbytes)))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)
