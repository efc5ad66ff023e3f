"""Times that an ORC file cannot hold so that every reader reads them.

ORC counts whole seconds, and billionths beside them. Of a time before 1970 Arrow writes both below
zero, and readers in Java refuse the whole file then. Whole seconds are fine, whatever the year.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.datapath.formats.unfit_values import UnfitValues
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
    return _ODD_TIMES.rows_of(columns)


def _has_odd_times(column: pa.Array) -> bool:
    """True when one of some times is such a time."""
    ticks = column.drop_null().cast(pa.int64()).to_numpy()
    return bool(((ticks < 0) & (ticks % _SECOND != 0)).any())


_ODD_TIMES = UnfitValues(pa.types.is_timestamp, _has_odd_times)
