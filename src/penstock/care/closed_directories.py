"""Which directories a run compacts, and when it looks at them. Pure.

The time of a directory is in its keys, `day` and `hour`, and is that of events. It is over when the
clock is past its end, in the zone of the feed, and a few minutes more; records may come late all
the same, and then its new small files are compacted in their turn.
"""

from datetime import date, datetime, time, timedelta
from typing import assert_never
from zoneinfo import ZoneInfo

from penstock.model.spec import CompactSpec

DELAY_S = 300.0  # after the end of an hour or a day
HOUR_S = 3600.0


def is_due(directory: str, spec: CompactSpec, zone: str, now_s: float) -> bool:
    """Whether the files of a directory are compacted now, if that is worth it.

    A directory without a day has no end: it is due only where `when` is a duration.
    """
    match spec.when:
        case "off":
            return False
        case "every":
            return True
        case "hour_closed":
            end_s = end_of(directory, zone, whole_day=False)
        case "day_closed":
            end_s = end_of(directory, zone, whole_day=True)
        case _ as never:
            assert_never(never)
    return end_s is not None and now_s >= end_s + DELAY_S


def end_of(directory: str, zone: str, *, whole_day: bool) -> float | None:
    """When the time of a directory is over, in seconds since 1970; None if it has none.

    That of its hour if it has one, unless the `whole_day` is asked for.
    """
    keys = dict(part.split("=", 1) for part in directory.split("/") if "=" in part)
    try:
        day = date.fromisoformat(keys["day"])
        hour = None if whole_day or "hour" not in keys else int(keys["hour"])
        begin = datetime.combine(day, time(hour or 0), ZoneInfo(zone))
        if hour is None:
            return (begin + timedelta(days=1)).timestamp()
        return begin.replace(fold=1).timestamp() + HOUR_S  # of an hour that comes twice the later
    except (KeyError, ValueError, OverflowError):
        return None


def next_round_s(spec: CompactSpec, now_s: float) -> float:
    """When to look next after a look: shortly after the next full hour, or after the interval."""
    if spec.when == "every":
        return now_s + spec.every_s
    return ((now_s - DELAY_S) // HOUR_S + 1) * HOUR_S + DELAY_S
