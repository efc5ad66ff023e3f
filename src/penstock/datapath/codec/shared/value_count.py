"""How many values records become, so that memory is bounded by more than their bytes.

An object in a list has a value in every column of its struct, though it may be written in three
bytes, `{},`. So each item counts as many values as its struct has, and both a single record and
what is made of records at once are bounded by values. Records are weighed by a bound that is quick
to find, such as the number of braces; nobody counts exactly unless that is above the limit.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.codec import RowRange
from penstock.datapath.codec.shared.buffers import buffers_of
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.model.schema import Field, FieldType

MOST_AT_ONCE = 8 * 1024 * 1024  # values in columns that are made at a time, of about 8 bytes each


def too_many(most: int) -> str:
    """The error message for such a record."""
    return f"objects in lists have over {most} values in one record"


@lru_cache(maxsize=4096)
def width_of(fields: tuple[Field, ...]) -> int:
    """How many values an object becomes, without the items of its lists."""
    return sum(
        width_of(field.type.fields) if field.type.kind == "struct" else 1 for field in fields
    )


def item_width(kind: FieldType) -> int:
    """How many values each item of a list or map becomes; 0 where items are not objects."""
    is_heavy = kind.item is not None and kind.item.kind == "struct"
    return max(width_of(kind.item.fields), 1) if is_heavy and kind.item is not None else 0


@lru_cache(maxsize=4096)
def widest_item(kind: FieldType) -> int:
    """The most values that any item becomes, at whatever depth."""
    below = [widest_item(field.type) for field in kind.fields]
    inside = widest_item(kind.item) if kind.item is not None else 0
    return max([item_width(kind), inside, *below])


@dataclass(frozen=True, slots=True, eq=False)
class ValueCounter:
    """Weighs the records of one schema: `width` values each, and at most `widest` per item.

    No item takes fewer bytes than `item_bytes`. `items_in` bounds the items in the bytes of many
    records, `items_of_each` those of every record.
    """

    width: int
    widest: int
    item_bytes: int
    items_in: Callable[[Octets], int]
    items_of_each: Callable[[pa.Array], Numbers]

    def row_ranges(self, values: pa.Array, most: int) -> Iterator[RowRange]:
        """The records in spans of at most so many values; most often all of them are one."""
        if self._is_light(values, most):
            yield RowRange(0, len(values))
            return
        items: Numbers = (
            self.items_of_each(values) if self.widest else np.zeros(len(values), np.int64)
        )
        ends, start = np.cumsum(self.width + self.widest * items), 0
        while start < len(values):
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + most, side="right"))
            yield RowRange(start, max(stop, start + 1), is_heavy=stop == start)
            start = max(stop, start + 1)

    def bound_of(self, size_bytes: int) -> int:
        """A bound for one record, by the number of its bytes."""
        return self.width + self.widest * (size_bytes // self.item_bytes + 1)

    def chunks(self, values: pa.Array, rows: int, most: int) -> Iterator[RowRange]:
        """The same in spans of at most so many records, whose own columns do not count."""
        items = replace(self, width=0)
        for start in range(0, len(values), rows):
            if not self.widest:
                yield RowRange(start, min(start + rows, len(values)))
                continue
            for chunk in items.row_ranges(values.slice(start, rows), most):
                yield RowRange(start + chunk.start, start + chunk.stop, chunk.is_heavy)

    def light(self, values: pa.Array, most: int) -> Numbers:
        """The records whose lists cannot become more than `most` values, by their bound."""
        items = replace(self, width=0)
        longest = pc.max(pc.binary_length(values)).as_py() or 0
        if items.bound_of(longest) <= most:
            return np.arange(len(values))
        heavy = [chunk.start for chunk in items.row_ranges(values, most) if chunk.is_heavy]
        return np.delete(np.arange(len(values)), heavy)

    def _is_light(self, values: pa.Array, most: int) -> bool:
        room = most - self.width * len(values)
        if room < 0 or not self.widest:
            return room >= 0 or len(values) == 0
        data, _ = buffers_of(values)
        items = len(data) // self.item_bytes + 1
        return self.widest * items <= room or self.widest * self.items_in(data) <= room
