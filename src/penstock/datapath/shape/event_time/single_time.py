"""From one raw value to microseconds: numbers in a unit, ISO 8601, strptime patterns.

Everything here is exact. A number is the decimal that was written: an integer of any length, or
the shortest decimal text of a float. Whatever is finer than a microsecond is cut, towards the
past. Text is plain ASCII digits and marks, without spaces around it.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from penstock.datapath.shape.event_time.zones import (
    MICROSECOND,
    SECOND,
    utc_offset_of_wall,
    wall_micros,
)
from penstock.model.spec import TIME_DIRECTIVES

# Microseconds per unit, as a ratio.
UNITS: dict[str, tuple[int, int]] = {
    "s": (SECOND, 1),
    "ms": (1_000, 1),
    "us": (1, 1),
    "ns": (1, 1_000),
}
# `auto` takes the first unit whose limit is above the number, its sign aside. Read as any of
# them, a time between March 1973 and the year 5138 is told apart from all others.
AUTO_LIMITS: tuple[tuple[int, str], ...] = ((10**11, "s"), (10**14, "ms"), (10**17, "us"))
AUTO_ABOVE = "ns"

LONGEST_TEXT = 64
NUMBER = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,20})?")
ISO = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r"(?:(?P<utc>[Zz])|(?P<sign>[+-])(?P<ahead_h>[0-9]{2})(?::?(?P<ahead_m>[0-9]{2}))?)?)?"
)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a value is not a time. Says what was found, and never repeats it."""

    why: str


def check_unit(unit: str) -> None:
    """Raise ValueError for a unit that nobody knows, or a pattern that depends on the machine."""
    if "%" not in unit:
        if unit not in UNITS and unit not in {"auto", "iso8601"}:
            raise ValueError(f"not a unit of time: {unit!r}")
        return
    for directive in re.findall(r"%(.?)", unit, flags=re.DOTALL):
        if directive not in TIME_DIRECTIVES:
            raise ValueError(f"%{directive} cannot be used in a pattern of times: {unit!r}")


def micros_of(value: object, unit: str, zone: ZoneInfo) -> int | Unreadable:
    """The UTC microseconds of a raw value, however far from today; `zone` where it names none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return Unreadable(f"{_kind(value)}, which is not a time")
    if "%" in unit:
        return _micros_of_pattern(value, unit, zone)
    if isinstance(value, str):
        return _micros_of_text(value, unit, zone)
    if unit == "iso8601":
        return Unreadable("a number, and ISO 8601 text is wanted")
    if isinstance(value, int):
        return micros_of_number(value, unit)
    if not math.isfinite(value):
        return Unreadable("a number that is not finite")
    return micros_of_number(Fraction(float.__repr__(value)), unit)


def micros_of_number(number: int | Fraction, unit: str) -> int:
    """A number in a unit, as whole microseconds; the rest is cut towards the past."""
    multiply, divide = UNITS[_auto_unit(number) if unit == "auto" else unit]
    if isinstance(number, int):
        return number * multiply // divide
    return math.floor(number * multiply / divide)


def _auto_unit(number: int | Fraction) -> str:
    """The unit that a number is most likely written in."""
    size = number if number >= 0 else -number
    return next((unit for limit, unit in AUTO_LIMITS if size < limit), AUTO_ABOVE)


def _micros_of_text(text: str, unit: str, zone: ZoneInfo) -> int | Unreadable:
    """Digits are a number, unless only ISO 8601 is wanted; other text is ISO 8601."""
    if len(text) > LONGEST_TEXT:
        return Unreadable(f"text of more than {LONGEST_TEXT} characters")
    if unit != "iso8601" and NUMBER.fullmatch(text):
        return micros_of_number(Fraction(text) if "." in text else int(text), unit)
    if unit in UNITS:
        return Unreadable(f"text that is not a number of {unit}")
    found = ISO.fullmatch(text)
    if found is None:
        wanted = "ISO 8601" if unit == "iso8601" else "digits or ISO 8601"
        return Unreadable(f"text that is not {wanted}")
    return _micros_of_iso(found, zone)


def _micros_of_iso(found: re.Match[str], zone: ZoneInfo) -> int | Unreadable:
    """A date, or a date and a time; seconds, fraction and offset may be missing."""
    names = ("hour", "minute", "second")
    day = (int(found["year"]), int(found["month"]), int(found["day"]))
    hour, minute, second = (int(found[name] or 0) for name in names)
    fraction = int(f"{found['fraction'] or '':0<6.6}")
    try:
        wall = datetime(*day, hour, minute, second, fraction)
    except ValueError:
        return Unreadable("a day or a time of day that does not exist")
    if found["utc"]:
        return wall_micros(wall)
    if found["sign"] is None:
        return wall_micros(wall) - utc_offset_of_wall(wall, zone)
    hours, minutes = int(found["ahead_h"]), int(found["ahead_m"] or 0)
    if hours > 23 or minutes > 59:
        return Unreadable("an offset from UTC that does not exist")
    ahead = (hours * 60 + minutes) * 60 * SECOND
    return wall_micros(wall) + (ahead if found["sign"] == "-" else -ahead)


def _micros_of_pattern(value: int | float | str, pattern: str, zone: ZoneInfo) -> int | Unreadable:
    """Text as the standard library's strptime reads it; a whole number counts as its digits."""
    if isinstance(value, float) or (isinstance(value, int) and abs(value) >= 10**18):
        return Unreadable("a number that fits no pattern")
    text = str(value)
    if len(text) > LONGEST_TEXT:
        return Unreadable(f"text of more than {LONGEST_TEXT} characters")
    try:
        wall = datetime.strptime(text, pattern)
    except ValueError:
        return Unreadable("text that does not fit the pattern")
    ahead = wall.utcoffset()
    if ahead is None:
        return wall_micros(wall) - utc_offset_of_wall(wall, zone)
    return wall_micros(wall) - ahead // MICROSECOND


def _kind(value: object) -> str:
    """What JSON calls such a value."""
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, bytes):
        return "bytes"
    if isinstance(value, Decimal):
        return "a decimal number with decimal places"
    return "a list" if isinstance(value, list | tuple) else "an unknown kind of value"
