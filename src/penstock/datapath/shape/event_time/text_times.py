"""Columns of text to microseconds: texts of one layout are read at once, digit by digit.

A layout is taken from a text that occurs: which places hold digits of what, and which hold marks.
Every other text that has digits and marks in the same places is read with it; what does not fit
any layout, or names a day that does not exist, is left to `single_time.micros_of`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.datapath.shape.event_time.number_times import Read, read_int64
from penstock.datapath.shape.event_time.single_time import ISO
from penstock.datapath.shape.event_time.time_names import (
    MONTHS,
    TABLES,
    WEEKDAYS,
    are_usual,
    numbers_of_names,
)
from penstock.datapath.shape.event_time.zones import DAY, HOUR, SECOND, wall_to_utc

_MOST_LAYOUTS = 8
_MOST_TRIES = 64
_NO_BYTE = -1
_ROWS_AT_ONCE = 8_192  # so that the bytes of one step stay in the processor's cache

_DIGITS = re.compile(r"(?P<number>[0-9]{1,18})")
_EITHER = re.compile(f"{_DIGITS.pattern}|{ISO.pattern}")
_WIDE = {
    "Y": "(?P<year>[0-9]{4})",
    "m": "(?P<month>[0-9]{2})",
    "d": "(?P<day>[0-9]{2})",
    "H": "(?P<hour>[0-9]{2})",
    "M": "(?P<minute>[0-9]{2})",
    "S": "(?P<second>[0-9]{2})",
    "f": "(?P<fraction>[0-9]{1,6})(?![0-9])",
    "z": "(?:(?P<utc>Z)|(?P<sign>[+-])(?P<ahead_h>[0-9]{2}):?(?P<ahead_m>[0-9]{2}))(?![0-9:.])",
    "a": f"(?P<weekday_name>{'|'.join(WEEKDAYS)})",
    "b": f"(?P<month_name>{'|'.join(MONTHS)})",
    "%": "%",
}
# Days from 1970 to the first day of each month, counted from January of the year 0 (which has
# no days of its own here, because there is no such year).
_MONTHS = np.arange("0000-01", "10000-02", dtype="datetime64[M]")
_MONTH_STARTS: NDArray[np.int64] = _MONTHS.astype("datetime64[D]").astype(np.int64)
_MONTH_DAYS: NDArray[np.int64] = np.diff(_MONTH_STARTS)

Span = tuple[int, int]
Rows = slice | NDArray[np.int64]


def read_texts(texts: list[str], unit: str, zone: ZoneInfo) -> Read:
    """Texts in a unit: the rows that fit one of the layouts that are met first."""
    micros, is_read = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.bool_)
    expression = _expression(unit)
    if expression is None:
        return micros, is_read
    column, is_open, layouts = _Column(texts), np.ones(len(texts), np.bool_), 0
    for _ in range(_MOST_TRIES):
        row = int(is_open.argmax())
        if layouts == _MOST_LAYOUTS or not is_open[row]:
            break
        found = expression.fullmatch(texts[row]) if texts[row].isascii() else None
        if found is not None:
            layouts += 1
            for rows, places in column.pieces(len(texts[row]), is_open):
                micros[rows], is_read[rows] = _read_places(places, found, unit, zone)
            is_open &= ~is_read
        is_open[row] = False
    return micros, is_read


def begins_like_no_time(texts: list[str], unit: str) -> NDArray[np.bool_]:
    """Which texts are empty, or begin with what no time in a unit begins with.

    A number begins with a digit or a sign, ISO 8601 with a digit; a pattern with anything.
    """
    first = _Column(texts).first_bytes()
    is_start = first != _NO_BYTE
    if "%" not in unit:
        is_digit = (first >= ord("0")) & (first <= ord("9"))
        is_start &= is_digit | (first == ord("+")) | (first == ord("-"))
    found: NDArray[np.bool_] = ~is_start
    return found


class _Column:
    """The bytes of a column of texts, and where each text lies among them."""

    def __init__(self, texts: list[str]) -> None:
        try:
            array = pa.array(texts, pa.large_string())
        except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell
            encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
            array = pa.array(encoded, pa.large_binary())
        _, offsets, content = array.buffers()
        self._starts = np.frombuffer(offsets, np.int64)[: len(texts)]
        self._widths = np.diff(np.frombuffer(offsets, np.int64)[: len(texts) + 1])
        self._content = np.frombuffer(content or b"", np.uint8)

    def first_bytes(self) -> NDArray[np.int64]:
        """The first byte of each text, and `_NO_BYTE` for empty ones."""
        first = np.full(len(self._starts), _NO_BYTE, np.int64)
        rows = np.flatnonzero(self._widths)
        first[rows] = self._content[self._starts[rows]]
        return first

    def pieces(
        self, width: int, is_open: NDArray[np.bool_]
    ) -> Iterator[tuple[Rows, NDArray[np.uint8]]]:
        """The open texts of this many bytes, some at a time; the n-th bytes of all lie in row n."""
        chosen = is_open & (self._widths == width)
        if chosen.all():
            matrix = self._content[: len(chosen) * width].reshape(len(chosen), width)
            for start in range(0, len(chosen), _ROWS_AT_ONCE):
                step = slice(start, min(start + _ROWS_AT_ONCE, len(chosen)))
                yield step, np.ascontiguousarray(matrix[step].T)
            return
        every = np.flatnonzero(chosen)
        for start in range(0, len(every), _ROWS_AT_ONCE):
            rows = every[start : start + _ROWS_AT_ONCE]
            yield rows, self._content[self._starts[rows] + np.arange(width)[:, None]]


def _read_places(
    places: NDArray[np.uint8], layout: re.Match[str], unit: str, zone: ZoneInfo
) -> Read:
    """Read texts by the layout of one of them; row n of `places` has the n-th byte of each."""
    spans = {name: layout.span(name) for name in layout.re.groupindex if layout[name] is not None}
    sign, is_utc = spans.pop("sign", None), spans.pop("utc", None) is not None
    named = {name: spans.pop(name) for name in TABLES if name in spans}
    later = [*named.values()] if sign is None else [*named.values(), sign]
    values = places - np.uint8(ord("0"))  # anything but a digit becomes more than nine
    fits = _fits(places, values, layout[0], spans, later)
    parts = {name: _number(values[start:end]) for name, (start, end) in spans.items()}
    for name, (start, end) in named.items():
        parts[name] = numbers_of_names(places[start:end], name)
        fits &= parts[name] > 0
    if "number" in parts:
        micros, is_read = read_int64(parts["number"], unit)
        return micros, is_read & fits
    wall, exists = _wall(parts, spans)
    fits &= exists
    wall = np.where(fits, wall, 0)
    if sign is not None:
        ahead, is_offset = _ahead(parts, places[sign[0]])
        return wall - ahead, fits & is_offset
    return (wall if is_utc else wall_to_utc(wall, zone)), fits


def _fits(
    places: NDArray[np.uint8],
    values: NDArray[np.uint8],
    exemplar: str,
    spans: dict[str, Span],
    later: list[Span],
) -> NDArray[np.bool_]:
    """Which texts have digits in the spans, and the marks of the exemplar everywhere else.

    Signs and names are looked at later.
    """
    is_digit = np.zeros(len(places), np.bool_)
    for start, end in spans.values():
        is_digit[start:end] = True
    is_mark = ~is_digit
    for start, end in later:
        is_mark[start:end] = False
    marks = np.frombuffer(exemplar.encode("ascii"), np.uint8)[is_mark]
    has_marks = (places[is_mark] == marks[:, None]).all(axis=0)
    fits: NDArray[np.bool_] = (values[is_digit] <= 9).all(axis=0) & has_marks
    return fits


def _number(digits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The numbers that are spelled in the columns of a matrix of digits."""
    total: NDArray[np.int64] = digits[0].astype(np.int64)
    for place in digits[1:]:
        total *= 10
        total += place
    return total


def _wall(parts: dict[str, NDArray[np.int64]], spans: dict[str, Span]) -> Read:
    """What the clock shows, and whether there is such a day and time of day."""
    month = parts["month_name"] if "month_name" in parts else parts["month"]
    exists = (parts["year"] >= 1) & (parts["year"] <= 9999) & (month >= 1) & (month <= 12)
    index = np.where(exists, parts["year"] * 12 + month - 1, 12)
    exists &= (parts["day"] >= 1) & (parts["day"] <= _MONTH_DAYS[index])
    wall = (_MONTH_STARTS[index] + parts["day"] - 1) * DAY
    for name, most, size in (
        ("hour", 23, HOUR),
        ("minute", 59, 60 * SECOND),
        ("second", 59, SECOND),
    ):
        if name in parts:
            exists &= parts[name] <= most
            wall += parts[name] * size
    if "fraction" in parts:
        start, end = spans["fraction"]
        wall += parts["fraction"] * SECOND // 10 ** (end - start)
    return wall, exists


def _ahead(parts: dict[str, NDArray[np.int64]], sign: NDArray[np.uint8]) -> Read:
    """How far ahead of UTC a text says that its clock is, and whether it can be."""
    minutes = parts.get("ahead_m", np.zeros(len(sign), np.int64))
    is_offset = (parts["ahead_h"] <= 23) & (minutes <= 59)
    ahead = parts["ahead_h"] * HOUR + minutes * (60 * SECOND)
    is_offset &= (sign == ord("+")) | (sign == ord("-"))
    return np.where(sign == ord("-"), -ahead, ahead), is_offset


@lru_cache(maxsize=64)
def _expression(unit: str) -> re.Pattern[str] | None:
    """What texts in a unit look like when every number in them has its full width."""
    if "%" not in unit:
        return {"auto": _EITHER, "iso8601": ISO}.get(unit, _DIGITS)
    pieces = re.split("%(.)", unit)
    literals, directives = pieces[::2], pieces[1::2]
    if len(set(directives)) < len(directives) or not set(directives) <= set(_WIDE):
        return None
    if {"b", "m"} <= set(directives) or not (are_usual() or {"a", "b"}.isdisjoint(directives)):
        return None
    wide = [re.escape(literals[0])]
    for directive, literal in zip(directives, literals[1:], strict=True):
        wide += [_WIDE[directive], re.escape(literal)]
    expression = re.compile("".join(wide))
    groups = {name.removesuffix("_name") for name in expression.groupindex}
    return expression if {"year", "month", "day"} <= groups else None
