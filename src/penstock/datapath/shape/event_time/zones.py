"""Wall clocks: from UTC to local time and back, for single values and for whole columns.

Time is an integer number of microseconds since 1970, in UTC or as a wall clock shows it. A column
asks the zone once per distinct hour, not once per row; an hour in which the offset changes is
looked at row by row, so that the column is exact in every zone and century.
"""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Micros = NDArray[np.int64]
_OffsetAt = Callable[[int, ZoneInfo], int]

SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR
EPOCH = datetime(1970, 1, 1)  # a wall clock, so without a zone
MICROSECOND = timedelta(microseconds=1)

# Every zone can name the day of a time in here: a day of room at both ends of the calendar.
EARLIEST = (datetime(1, 1, 2) - EPOCH) // MICROSECOND
LATEST = (datetime(9999, 12, 31) - EPOCH) // MICROSECOND - 1
_CHANGES = 2 * DAY  # more than any offset

FIRST_WALL = (datetime.min - EPOCH) // MICROSECOND
LAST_WALL = (datetime.max - EPOCH) // MICROSECOND


def wall_micros(wall: datetime) -> int:
    """What a clock on the wall shows, counted as if it hung in UTC; any zone is ignored."""
    return (wall.replace(tzinfo=None) - EPOCH) // MICROSECOND


def utc_offset_of_wall(wall: datetime, zone: ZoneInfo) -> int:
    """Microseconds that a zone is ahead of UTC when its clocks show this.

    A time that the clocks show twice is the first of the two; a time that they skip is read with
    the offset before the jump, so it becomes a time just after it.
    """
    offset = wall.replace(tzinfo=zone, fold=0).utcoffset()
    if offset is None:
        raise ValueError(f"the zone {zone.key} has no offset")
    return offset // MICROSECOND


def midnight(day: date, zone: ZoneInfo) -> int:
    """The UTC microseconds at which a day begins in a zone."""
    start = datetime(day.year, day.month, day.day)
    return wall_micros(start) - utc_offset_of_wall(start, zone)


def utc_to_wall(utc: Micros, zone: ZoneInfo) -> Micros:
    """What the clocks of a zone show at each of these times. Times must lie in the calendar."""
    return utc if zone.key == "UTC" else utc + _offsets(utc, zone, _offset_at_utc)


def wall_to_utc(wall: Micros, zone: ZoneInfo) -> Micros:
    """When the clocks of a zone show each of these times; see `utc_offset_of_wall`."""
    return wall if zone.key == "UTC" else wall - _offsets(wall, zone, _offset_at_wall)


def _offset_at_utc(utc: int, zone: ZoneInfo) -> int:
    """The offset at a moment; the ends of the calendar stand in for what lies beyond them."""
    moment = EPOCH + timedelta(microseconds=min(max(utc, EARLIEST), LATEST))
    return wall_micros(zone.fromutc(moment.replace(tzinfo=zone))) - wall_micros(moment)


def _offset_at_wall(wall: int, zone: ZoneInfo) -> int:
    """The offset when clocks show this, with the same care at the ends of the calendar."""
    inside = min(max(wall, FIRST_WALL), LAST_WALL)
    return utc_offset_of_wall(EPOCH + timedelta(microseconds=inside), zone)


@lru_cache(maxsize=100_000)
def _offset_in_hour(hour: int, zone: ZoneInfo, offset_at: _OffsetAt) -> int:
    """The offset all through an hour, or `_CHANGES` if it is not the same at both ends."""
    offset = offset_at(hour * HOUR, zone)
    return offset if offset == offset_at((hour + 1) * HOUR - 1, zone) else _CHANGES


def _offsets(times: Micros, zone: ZoneInfo, offset_at: _OffsetAt) -> Micros:
    """The offset for each row: looked up by hour, and by row in hours where it changes."""
    hours = pa.array(times // HOUR).dictionary_encode()
    known = [_offset_in_hour(hour, zone, offset_at) for hour in hours.dictionary.to_pylist()]
    codes: NDArray[np.int32] = hours.indices.to_numpy()
    offsets = np.array(known, dtype=np.int64)[codes]
    if _CHANGES in known:
        for row in np.flatnonzero(offsets == _CHANGES).tolist():
            offsets[row] = offset_at(int(times[row]), zone)
    return offsets
