"""Parsers of durations, sizes, numbers, days and times.

Each function returns None for text that it cannot parse; its caller says what is allowed.
"""

import re
import zoneinfo
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from penstock.model.spec import TIME_DIRECTIVES

_MOST_OFFSET = 2**63 - 1
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_SIZE = re.compile(r"(\d{1,12})(?:\.(\d{1,3}))?([KMGT]?I?B)", re.ASCII | re.IGNORECASE)
_BYTES = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip
_WHOLE = re.compile(r"\d{1,3}(?:_\d{3})+|\d{1,19}", re.ASCII)
_RATIO = re.compile(r"0|1|0?\.\d{1,9}|[01]\.\d{1,9}", re.ASCII)
_PRICE = re.compile(r"\d{1,12}(?:\.\d{1,9})?", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = frozenset({"auto", "s", "ms", "us", "ns", "iso8601"})

DURATION = "a duration such as 500ms, 30s, 5m, 1h or 2d"
SIZE = "a size such as 512KiB, 64MB or 1GB"
PRICE = "a price such as 0 or 0.023"
DAY = "a day such as 2015-01-01"
TIME = "a time with its zone such as 2026-11-01T00:00:00Z"
ZONE = "a time zone such as UTC or Europe/Berlin"


def duration_s(text: str) -> float | None:
    """Seconds in `30s`, `5m`, `1h`, `2d`, `500ms`."""
    match = _DURATION.fullmatch(text)
    return float(match[1]) * _SECONDS[match[2]] if match else None


def longer_than_nothing_s(text: str) -> float | None:
    """A duration longer than zero."""
    return duration_s(text) or None


def size_bytes(text: str) -> int | None:
    """Bytes in `64MB` (powers of 1000) or `512KiB` (powers of 1024); at least one."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    unit = _BYTES[match[3].upper()]
    fraction = match[2] or ""
    return (int(match[1] + fraction) * unit // 10 ** len(fraction)) or None


def at_least_a_day_s(text: str) -> float | None:
    """A duration of a day or more."""
    seconds = duration_s(text)
    return None if seconds is None or seconds < _SECONDS["d"] else seconds


def whole(least: int = 0, most: int = _MOST_OFFSET) -> Callable[[str], int | None]:
    """Make a function that reads an integer between two bounds, both included."""

    def read(text: str) -> int | None:
        if not _WHOLE.fullmatch(text):
            return None
        number = int(text)
        return number if least <= number <= most else None

    return read


def truth(text: str) -> bool | None:
    """A boolean, `true` or `false`."""
    return {"true": True, "false": False}.get(text)


def ratio(text: str) -> float | None:
    """A share between 0 and 1."""
    if not _RATIO.fullmatch(text):
        return None
    number = float(text)
    return number if number <= 1 else None


def price(text: str) -> float | None:
    """A price: a number that is not negative, with up to nine decimal places."""
    return float(text) if _PRICE.fullmatch(text) else None


def day(text: str) -> str | None:
    """A day of the calendar, kept as text."""
    if not _DAY.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return None


def time_ms(text: str) -> int | None:
    """Milliseconds since 1970 of a time with a zone."""
    try:
        moment = datetime.fromisoformat(text)
        if "T" not in text or moment.tzinfo is None or moment < _EPOCH:
            return None
    except (ValueError, OverflowError):
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def time_unit(text: str) -> str | None:
    """One of the units of a time field, or a strptime pattern that can format and parse.

    A pattern must mean the same on every machine: no locale, no names of zones.
    """
    if text in _UNITS:
        return text
    directives = set(re.findall(r"%(.?)", text, flags=re.DOTALL))
    if not directives or not directives <= TIME_DIRECTIVES:
        return None
    try:
        datetime.strptime(_EPOCH.strftime(text), text)
    except (ValueError, re.error):
        return None
    return text


def zone(text: str) -> str | None:
    """A time zone that this machine knows."""
    try:
        return zoneinfo.ZoneInfo(text).key
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def pattern(text: str) -> str | None:
    """A regular expression that compiles."""
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return None
    return text
