"""Numbers and times that JSON lines cannot hold so that every reader reads them.

JSON has neither infinity nor NaN. ISO 8601 has years of four digits; others need an agreement that
readers do not have.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.datapath.formats.unfit_values import UnfitValues
from penstock.model.arrow_types import FIRST_DAY, FIRST_US, LAST_DAY, LAST_US
from penstock.model.bad_records import BadRecord

NOT_FINITE = "NOT_FINITE"  # as for records in MessagePack, which become JSON, too
TIME_NOT_JSON = "TIME_NOT_JSON"
_NO_NUMBER = "a number that is infinite, or none"
_ODD_YEAR = "a time outside of the years 1 to 9999, which JSON readers do not take"
_MS_IN_US = 1_000


def not_for_json(columns: pa.RecordBatch, kafka_ms: npt.NDArray[np.int64]) -> list[BadRecord]:
    """The rows of a batch that no line can hold, by their fields and by Kafka's time."""
    odd = (kafka_ms < -(-FIRST_US // _MS_IN_US)) | (kafka_ms > LAST_US // _MS_IN_US)
    times = {*np.flatnonzero(odd).tolist(), *_ODD_TIMES.rows_of(columns)}
    found = {row: BadRecord(row, TIME_NOT_JSON, _ODD_YEAR) for row in times}
    found |= {row: BadRecord(row, NOT_FINITE, _NO_NUMBER) for row in _NOT_FINITE.rows_of(columns)}
    return [found[row] for row in sorted(found)]


def _has_infinite(column: pa.Array) -> bool:
    return pc.all(pc.is_finite(column)).as_py() is False


def _has_odd_times(column: pa.Array) -> bool:
    kind = column.type
    if pa.types.is_date32(kind):
        least, greatest, numbers = FIRST_DAY, LAST_DAY, pa.int32()
    else:
        unit = _MS_IN_US if kind.unit == "ms" else 1
        least, greatest, numbers = -(-FIRST_US // unit), LAST_US // unit, pa.int64()
    bounds = pc.min_max(column.view(numbers))
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    return low is not None and (low < least or high > greatest)


_NOT_FINITE = UnfitValues(pa.types.is_floating, _has_infinite)
_ODD_TIMES = UnfitValues(pa.types.is_temporal, _has_odd_times)
