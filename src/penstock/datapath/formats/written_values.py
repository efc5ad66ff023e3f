"""What formats without columns share: values of records to write, and those that do not fit."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.bad_records import BadRecord

NO_VALUE = "TOMBSTONE"
_NO_VALUE = "no value, which the file format cannot hold"
CHUNK_BYTES = 4 << 20  # of rows that are written at a time
CHUNK_ROWS = 65_536


def in_chunks(rows: pa.Table) -> Iterator[pa.Table]:
    """Rows in their order, not too many at a time."""
    size = min(max(1, CHUNK_BYTES * rows.num_rows // max(1, rows.nbytes)), CHUNK_ROWS)
    for start in range(0, rows.num_rows, size):
        yield rows.slice(start, size)


def without_value(values: pa.Array) -> list[BadRecord]:
    """The records that have no value: tombstones."""
    if not values.null_count:
        return []
    rows = pc.indices_nonzero(values.is_null()).to_pylist()
    return [BadRecord(row, NO_VALUE, _NO_VALUE) for row in rows]
