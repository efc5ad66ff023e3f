"""Which days and hours of a dataset are final: all that lie before its frontier. Pure.

Days and hours are written as in `day_directories`, so they compare as text.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from penstock.model.day_directories import is_day
from penstock.model.value import Value

_HOUR = re.compile(r"([01]\d|2[0-3])", re.ASCII)
_AFTER_ITS_HOURS = "T~"  # sorts a day behind its hours


class Frontier(Value, frozen=True):
    """The first day and the first hour that are not final; empty: none is final."""

    days_before: str = ""
    hours_before: str = ""

    @property
    def is_in_form(self) -> bool:
        """True when it names a day, or an hour, or both, that the calendar has."""
        days, hours = self.days_before, self.hours_before
        return bool(days or hours) and (not days or is_day(days)) and (not hours or is_hour(hours))

    def furthest(self, other: "Frontier") -> "Frontier":
        """All that is final by one of the two."""
        return Frontier(
            max(self.days_before, other.days_before), max(self.hours_before, other.hours_before)
        )

    def holds(self, level: "Level") -> bool:
        """True for a day or an hour that is final."""
        return level.label < (self.hours_before if level.is_hour else self.days_before)

    def final_directories(self, final: str) -> list[str]:
        """The directories of a file whose day, or whose hour, is final; the hour first."""
        levels = [level for level in levels_of(final) if self.holds(level)]
        return [level.directory for level in sorted(levels, key=Level.order)]


class Level(Value, frozen=True):
    """A directory of a day or of an hour: `2026-11-15` or `2026-11-15T07`."""

    label: str
    directory: str
    is_hour: bool = False

    def order(self) -> tuple[str, str]:
        """Sorts directories from the oldest on, hours before their day."""
        return self.label + ("" if self.is_hour else _AFTER_ITS_HOURS), self.directory

    @property
    def day(self) -> str:
        """The day that it is, or that it is an hour of."""
        return self.label.partition("T")[0]


def is_hour(label: str) -> bool:
    """True for an hour such as `2026-11-15T07`."""
    day, _, hour = label.partition("T")
    return is_day(day) and _HOUR.fullmatch(hour) is not None


def dataset_of_directory(directory: str) -> str:
    """The dataset that a directory below the feed's belongs to."""
    return directory.split("/")[1]


def levels_of(final: str) -> tuple[Level, ...]:
    """The directory of the day of a file, and that of its hour; without a day there is none."""
    return _levels(final.rpartition("/")[0])


@lru_cache(maxsize=4096)
def _levels(directory: str) -> tuple[Level, ...]:
    return tuple(_found(directory))


def _found(directory: str) -> Iterator[Level]:
    parts = directory.split("/")
    day = ""
    for place, part in enumerate(parts):
        above, value = "/".join(parts[: place + 1]), part.partition("=")[2]
        if part.startswith("day=") and not day:
            if not is_day(value):
                return
            day = value
            yield Level(day, above)
        elif part.startswith("hour=") and day:
            if _HOUR.fullmatch(value):
                yield Level(f"{day}T{value}", above, is_hour=True)
            return


def newly_final(old: Frontier, new: Frontier, final: str) -> Iterator[Level]:
    """The directories of a file that become final when the frontier moves.

    The hours of a day that was final before are not asked for any more.
    """
    hours_from = max(old.hours_before, f"{old.days_before}T00" if old.days_before else "")
    for level in levels_of(final):
        begin = hours_from if level.is_hour else old.days_before
        if level.label >= begin and new.holds(level):
            yield level
