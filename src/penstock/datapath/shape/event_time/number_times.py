"""Columns of numbers to microseconds, row for row what `single_time.micros_of_number` says.

Only rows that are proven to give the same answer are read; all others are left to it.
"""

import numpy as np
from numpy.typing import NDArray

from penstock.datapath.shape.event_time.single_time import AUTO_ABOVE, AUTO_LIMITS, UNITS
from penstock.datapath.shape.event_time.zones import EARLIEST, LATEST, Micros

Read = tuple[Micros, NDArray[np.bool_]]
"""Microseconds, and which rows of them are proven; the others mean nothing."""

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
# Below it, neighbouring floats are closer together than the whole numbers are.
_FINE = 2.0**52


def read_ints(numbers: list[int], unit: str) -> Read:
    """Python integers in a unit; those beyond 64 bits are not read."""
    try:
        return read_int64(np.array(numbers, dtype=np.int64), unit)
    except OverflowError:
        fits = np.array([_INT64_MIN <= number <= _INT64_MAX for number in numbers])
        short = [number if fit else 0 for number, fit in zip(numbers, fits.tolist(), strict=True)]
        micros, is_read = read_int64(np.array(short, dtype=np.int64), unit)
        return micros, is_read & fits


def read_int64(numbers: NDArray[np.int64], unit: str) -> Read:
    """Integers in a unit; times outside the calendar are not read, so nothing overflows."""
    if unit != "auto":
        return _scaled(numbers, unit)
    sizes = np.abs(numbers)  # the smallest integer stays negative, and falls outside as seconds
    micros, is_read = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.bool_)
    for named, chosen in _auto_units(sizes):
        if chosen.all():
            return _scaled(numbers, named)
        micros[chosen], is_read[chosen] = _scaled(numbers[chosen], named)
    return micros, is_read


def read_floats(numbers: list[float], unit: str) -> Read:
    """Floats in a unit, taken as the decimals they were written as.

    A float is read when some whole number of microseconds has it as the nearest float. Where
    floats lie closer together than microseconds there is only one such number, and the shortest
    decimal that means this float is that one.
    """
    values = np.array(numbers, dtype=np.float64)
    micros, is_read = np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    for named, chosen in _auto_units(np.abs(values)) if unit == "auto" else [(unit, ...)]:
        multiply, divide = UNITS[named]
        if divide == 1:
            micros[chosen], is_read[chosen] = _whole_micros(values[chosen], float(multiply))
    return micros, is_read


def _scaled(numbers: NDArray[np.int64], unit: str) -> Read:
    """Whole numbers of one unit."""
    multiply, divide = UNITS[unit]
    last = min(LATEST * divide // multiply, _INT64_MAX)
    first = max(-(-EARLIEST * divide // multiply), _INT64_MIN)
    is_read = (numbers >= first) & (numbers <= last)
    inside = numbers if is_read.all() else np.where(is_read, numbers, 0)
    return (inside * multiply if divide == 1 else inside // divide), is_read


def _whole_micros(values: NDArray[np.float64], multiply: float) -> Read:
    """Floats that are the nearest ones to a whole number of microseconds."""
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(values * multiply)
        is_read = (np.abs(whole) < _FINE) & (whole / multiply == values)
    return np.where(is_read, whole, 0.0).astype(np.int64), is_read


def _auto_units(
    sizes: NDArray[np.int64] | NDArray[np.float64],
) -> list[tuple[str, NDArray[np.bool_]]]:
    """The units that occur in a column, each with the rows that are written in it."""
    found, above = [], np.ones(len(sizes), np.bool_)
    for limit, unit in AUTO_LIMITS:
        chosen = above & (sizes < limit)
        above &= ~chosen
        found.append((unit, chosen))
    return [(unit, chosen) for unit, chosen in [*found, (AUTO_ABOVE, above)] if chosen.any()]
