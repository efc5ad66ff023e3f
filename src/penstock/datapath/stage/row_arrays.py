"""Rows of a batch, and names for the arrays that the modules of this room hand to each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Rows = npt.NDArray[np.int64]  # numbers of rows in a batch, or of records in a group; ascending
Chosen = Rows | slice  # some rows, or all of them as `slice(None)`
Mask = npt.NDArray[np.bool_]

# The values of one field, one per record: plain values (None where there is none, a marker for
# objects and lists), or a column of Arrow.
Column = Sequence[object] | pa.Array
Fields = Mapping[str, Column]  # by dotted path


@dataclass(frozen=True, slots=True)
class BatchRows:
    """Some rows of a batch, by their numbers."""

    batch: pa.RecordBatch
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, members: Rows | Mask) -> "BatchRows":
        """Some of the rows."""
        return BatchRows(self.batch, self.rows[members])

    def column(self, name: str) -> pa.Array:
        """A column of these rows; that of all rows is not copied."""
        return take(self.batch[name], self.rows)

    def numbers(self, name: str) -> npt.NDArray[np.int64]:
        """A column of whole numbers without nulls, of these rows."""
        found: npt.NDArray[np.int64] = self.batch[name].to_numpy()[self.rows]
        return found


def take(column: pa.Array, rows: Rows) -> pa.Array:
    """Some rows of a column; all of them are not copied."""
    return column if len(rows) == len(column) else column.take(pa.array(rows))


def chosen(values: Column, members: Rows) -> Column:
    """Some of the values of a field."""
    if isinstance(values, pa.Array):
        return values.take(pa.array(members))
    return [values[member] for member in members]
