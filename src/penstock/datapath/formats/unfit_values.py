"""Rows with values that a file format cannot hold, wherever in a column they are."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class UnfitValues:
    """Which values a format cannot hold: of these types, those in an array of which some are unfit.

    `has_unfit` is given arrays of plain values of these types.
    """

    is_concerned: Callable[[pa.DataType], bool]
    has_unfit: Callable[[pa.Array], bool]

    def rows_of(self, columns: pa.RecordBatch) -> list[int]:
        """The numbers of the rows of a batch that have such a value anywhere, in order."""
        found: set[int] = set()
        for column in columns.columns:
            if self._may_have(column.type) and self._has(column):
                found.update(self._rows(column, 0, len(column)))
        return sorted(found)

    def _may_have(self, kind: pa.DataType) -> bool:
        """True when values of a type are concerned, or some inside."""
        if pa.types.is_struct(kind):
            return any(self._may_have(each.type) for each in kind)
        if pa.types.is_map(kind):
            return self._may_have(kind.item_type)
        if pa.types.is_list(kind):
            return self._may_have(kind.value_type)
        return self.is_concerned(kind)

    def _has(self, column: pa.Array) -> bool:
        """True when such a value is in a column that may have some."""
        kind = column.type
        if pa.types.is_map(kind):
            entries = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
            return self._has(column.cast(pa.list_(entries)))
        if pa.types.is_list(kind):
            return self._has(pc.list_flatten(column))
        if pa.types.is_struct(kind):
            return any(self._has(each) for each in column.flatten() if self._may_have(each.type))
        return self.has_unfit(column)

    def _rows(self, column: pa.Array, start: int, end: int) -> Iterator[int]:
        """Which rows, found by halves: hardly ever is there any."""
        if end - start == 1:
            yield start
            return
        middle = (start + end) // 2
        for part in ((start, middle), (middle, end)):
            if self._has(column.slice(part[0], part[1] - part[0])):
                yield from self._rows(column, *part)
