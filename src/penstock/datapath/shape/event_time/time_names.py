"""Names of months and weekdays in texts of times, read for many texts at once.

Only the usual ones of three letters, as `strptime` reads them unless a locale was chosen: `Aug`.
"""

import calendar

import numpy as np
from numpy.typing import NDArray

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

Codes = NDArray[np.int64]


def are_usual() -> bool:
    """True unless the process has chosen a locale with other names."""
    months, weekdays = tuple(calendar.month_abbr)[1:], tuple(calendar.day_abbr)
    return (months, weekdays) == (MONTHS, WEEKDAYS)


def _codes(places: NDArray[np.uint8]) -> Codes:
    """A number for three letters; row n of `places` has the n-th letter of each text."""
    found: Codes = places[0].astype(np.int64)
    for letters in places[1:]:
        found = found << 8 | letters
    return found


def _table(names: tuple[str, ...]) -> tuple[Codes, Codes]:
    """The numbers for all names in ascending order, and which name each is, from 1."""
    letters = np.array([list(name.encode()) for name in names], np.uint8).T
    codes = _codes(np.ascontiguousarray(letters))
    order = np.argsort(codes)
    return codes[order], order + 1


TABLES = {"month_name": _table(MONTHS), "weekday_name": _table(WEEKDAYS)}


def numbers_of_names(places: NDArray[np.uint8], name: str) -> Codes:
    """Which month or weekday each text names, from 1; 0 where it names none."""
    codes, numbers = TABLES[name]
    found = _codes(places)
    at = np.minimum(np.searchsorted(codes, found), len(codes) - 1)
    return np.where(codes[at] == found, numbers[at], 0)
