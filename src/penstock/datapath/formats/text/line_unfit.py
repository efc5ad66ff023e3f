"""Values that are not one line, so that readers of lines would read something else."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.file_format import VALUE
from penstock.datapath.formats.line_packing import PACKED_BYTES
from penstock.datapath.formats.written_values import without_value
from penstock.model.bad_records import BadRecord

NOT_ONE_LINE = "NOT_ONE_LINE"
_INSIDE = "a line end inside the value; `text.line_ends: escape` writes it with an escape"
_PACKED = "a value that begins like a compressed file, for which readers would take the file"
_LINE_FEED, _RETURN = 10, 13  # many readers take a return alone for the end of a line


def not_for_lines(rows: pa.RecordBatch, *, escapes: bool) -> list[BadRecord]:
    """The records of a batch that no file of lines can hold."""
    values = rows[VALUE]
    found = {bad.index: bad for bad in without_value(values)}
    if not escapes:
        found |= {row: BadRecord(row, NOT_ONE_LINE, _INSIDE) for row in with_line_ends(values)}
    for first in PACKED_BYTES:
        is_packed = pc.fill_null(pc.starts_with(values, first), False)
        rows_of_it = pc.indices_nonzero(is_packed).to_pylist()
        found |= {row: BadRecord(row, NOT_ONE_LINE, _PACKED) for row in rows_of_it}
    return [found[row] for row in sorted(found)]


def with_line_ends(values: pa.BinaryArray) -> list[int]:
    """The numbers of the values with a line end inside."""
    if len(values) == 0:
        return []
    _, ends, data = values.buffers()
    bounds = np.frombuffer(ends, np.int32)[values.offset : values.offset + len(values) + 1]
    octets = np.frombuffer(data or b"", np.uint8)[bounds[0] : bounds[-1]]
    places = np.flatnonzero((octets == _LINE_FEED) | (octets == _RETURN)) + bounds[0]
    found: list[int] = np.unique(np.searchsorted(bounds, places, side="right") - 1).tolist()
    return found
