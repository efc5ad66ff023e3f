"""A batch of raw values, sorted by kind and read as columns as far as that can be proven."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import cast
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.datapath.shape.event_time.number_times import Read, read_floats, read_int64, read_ints
from penstock.datapath.shape.event_time.single_time import UNITS
from penstock.datapath.shape.event_time.text_times import begins_like_no_time, read_texts
from penstock.datapath.shape.event_time.zones import Micros

_NONE = type(None)
_NUMBER_UNITS = frozenset(UNITS) | {"auto"}


@dataclass(frozen=True, slots=True)
class TimeColumns:
    """What was read at once: microseconds, which rows they hold for, and rows without a value."""

    micros: Micros
    is_read: NDArray[np.bool_]
    missing: NDArray[np.int64]


def read_columns(raw: Sequence[object | None] | pa.Array, unit: str, zone: ZoneInfo) -> TimeColumns:
    """Read what can be read at once. Rows that are neither read nor missing are undecided."""
    if isinstance(raw, pa.Array):
        return _read_int_column(raw, unit)
    kinds = set(map(type, raw))
    if len(kinds) == 1:
        kind = kinds.pop()
        missing = np.arange(len(raw) if kind is _NONE else 0)
        return TimeColumns(*_read_kind(kind, list(raw), unit, zone), missing)
    micros, is_read = _nothing_read(len(raw))
    for kind in kinds - {_NONE}:
        is_kind = [type(value) is kind for value in raw]
        rows = np.flatnonzero(np.array(is_kind, np.bool_))
        micros[rows], is_read[rows] = _read_kind(kind, list(compress(raw, is_kind)), unit, zone)
    missing = np.flatnonzero(np.array([value is None for value in raw], np.bool_))
    return TimeColumns(micros, is_read, missing)


def surely_unreadable(
    raw: Sequence[object | None] | pa.Array, rows: NDArray[np.int64], unit: str
) -> NDArray[np.int64]:
    """Those of some rows that are proven to hold no time: the wrong kind, or the wrong beginning.

    The rows have a value that was not read. A row that is not returned is undecided.
    """
    if isinstance(raw, pa.Array):
        return rows if unit == "iso8601" else rows[:0]
    values = [raw[row] for row in rows.tolist()]
    proven = np.zeros(len(rows), np.bool_)
    for kind in set(map(type, values)):
        is_kind = [type(value) is kind for value in values]
        if kind is str:
            texts = cast("list[str]", list(compress(values, is_kind)))
            proven[np.array(is_kind, np.bool_)] = begins_like_no_time(texts, unit)
        elif _is_wrong_kind(kind, unit):
            proven[np.array(is_kind, np.bool_)] = True
    return rows[proven]


def _is_wrong_kind(kind: type, unit: str) -> bool:
    """True when no value of this kind is a time in a unit."""
    if kind is bool or not issubclass(kind, int | float | str):
        return True
    return (kind in {int, float} and unit == "iso8601") or (kind is float and "%" in unit)


def _read_int_column(column: pa.Array, unit: str) -> TimeColumns:
    """A column of whole numbers, with nulls where there is no value."""
    missing = np.empty(0, np.int64)
    if column.null_count:
        missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
    if unit not in _NUMBER_UNITS:
        return TimeColumns(*_nothing_read(len(column)), missing)
    numbers = column.fill_null(0) if len(missing) else column
    micros, is_read = read_int64(numbers.to_numpy(), unit)
    is_read[missing] = False
    return TimeColumns(micros, is_read, missing)


def _read_kind(kind: type, values: list[object], unit: str, zone: ZoneInfo) -> Read:
    """Read values that are all of one kind; only integers, floats and texts can be."""
    if kind is str:
        return read_texts(cast("list[str]", values), unit, zone)
    if kind is int and unit in _NUMBER_UNITS:
        return read_ints(cast("list[int]", values), unit)
    if kind is float and unit in _NUMBER_UNITS:
        return read_floats(cast("list[float]", values), unit)
    return _nothing_read(len(values))


def _nothing_read(count: int) -> Read:
    """The answer that leaves every row undecided."""
    return np.zeros(count, np.int64), np.zeros(count, np.bool_)
