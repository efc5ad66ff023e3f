"""Times that an ORC file cannot hold so that every reader reads them.

ORC counts whole seconds, and billionths beside them. Of a time before 1970 Arrow writes both below
zero, and readers in Java refuse the whole file then. Whole seconds are fine, whatever the year.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.bad_records import BadRecord

TIME_NOT_ORC = "TIME_NOT_ORC"  # why such a record is refused
WHY = "a time before 1970 with a fraction of a second, which readers of ORC do not take"
_SECOND = 1_000_000


def not_for_orc(columns: pa.RecordBatch, kafka_ms: npt.NDArray[np.int64]) -> list[BadRecord]:
    """The rows of a batch that no ORC file can hold, by their fields and by Kafka's time."""
    odd = np.flatnonzero((kafka_ms < 0) & (kafka_ms % 1_000 != 0)).tolist()
    rows = sorted({*odd, *rows_not_orc(columns)})
    return [BadRecord(row, TIME_NOT_ORC, WHY) for row in rows]


def rows_not_orc(columns: pa.RecordBatch) -> list[int]:
    """The numbers of the rows of a batch that have such a time anywhere, in order."""
    found: set[int] = set()
    for column in columns.columns:
        if has_times(column.type) and not_orc(column):
            found.update(_rows(column, 0, len(column)))
    return sorted(found)


def has_times(kind: pa.DataType) -> bool:
    """True when values of a type are times, or have some inside."""
    if pa.types.is_struct(kind):
        return any(has_times(each.type) for each in kind)
    if pa.types.is_map(kind):
        return has_times(kind.item_type)
    if pa.types.is_list(kind):
        return has_times(kind.value_type)
    return bool(pa.types.is_timestamp(kind))


def not_orc(column: pa.Array) -> bool:
    """True when a value has such a time."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        ticks = column.drop_null().cast(pa.int64()).to_numpy()
        return bool(((ticks < 0) & (ticks % _SECOND != 0)).any())
    if pa.types.is_map(kind):
        entries = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        return not_orc(column.cast(pa.list_(entries)))
    if pa.types.is_list(kind):
        return has_times(kind.value_type) and not_orc(pc.list_flatten(column))
    if pa.types.is_struct(kind):
        return any(not_orc(each) for each in column.flatten() if has_times(each.type))
    return False


def _rows(column: pa.Array, start: int, end: int) -> Iterator[int]:
    """Which rows, found by halves: hardly ever is there any."""
    if end - start == 1:
        yield start
        return
    middle = (start + end) // 2
    for part in ((start, middle), (middle, end)):
        if not_orc(column.slice(part[0], part[1] - part[0])):
            yield from _rows(column, *part)
