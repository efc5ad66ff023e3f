"""Times that are columns, whatever form they are written in: numbers of any unit, and ISO 8601."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from penstock.datapath.shape.event_time.single_time import Unreadable, micros_of
from penstock.datapath.shape.event_time.time_columns import read_columns
from penstock.datapath.shape.event_time.zones import Micros
from penstock.model.arrow_types import FIRST_US, LAST_US

_UNIT = "auto"


def any_times(raw: Sequence[object | None], zone: ZoneInfo) -> tuple[Micros, NDArray[np.bool_]]:
    """The UTC microseconds of raw values, as `time.unit: auto` reads them, and which are times.

    They lie in the years 1 to 9999, which every reader can show. None is not a time.
    """
    columns = read_columns(raw, _UNIT, zone)
    micros, is_time = columns.micros, columns.is_read
    for row in np.flatnonzero(~is_time).tolist():
        value = raw[row]
        found = Unreadable("nothing") if value is None else micros_of(value, _UNIT, zone)
        if not isinstance(found, Unreadable) and FIRST_US <= found <= LAST_US:
            micros[row], is_time[row] = found, True
    is_time &= (micros >= FIRST_US) & (micros <= LAST_US)
    return micros, is_time
