"""The day that the directories of a file tell. Pure, by names alone.

A day is written as `2026-11-15`, so days sort as text. What the calendar does not have is none.
"""

from datetime import date
from functools import lru_cache

_DAY = "day="


def day_in(key: str) -> str:
    """The day of the first `day=` directory of a file or directory; empty if there is none."""
    return _day(key.rpartition("/")[0])


def down_to_day(key: str) -> str:
    """The part of a key up to its first `day=` directory, with it."""
    parts = key.split("/")
    ends = [place for place, part in enumerate(parts) if part.startswith(_DAY)]
    return "/".join(parts[: ends[0] + 1]) if ends else key.rpartition("/")[0]


@lru_cache(maxsize=4096)
def _day(directory: str) -> str:
    for part in directory.split("/"):
        if part.startswith(_DAY):
            day = part.removeprefix(_DAY)
            return day if is_day(day) else ""
    return ""


def is_day(text: str) -> bool:
    """True for a day such as `2026-11-15`, which the calendar has."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def is_older(day: str, before: str) -> bool:
    """True for a day, if it is one, that lies before another."""
    return bool(day) and day < before
