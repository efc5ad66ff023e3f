"""Which values fulfil a condition: of a column, or as they were found in JSON.

Both ways mean the same. A test is for one kind of value, and a value of another kind fails it: no
text is `least: 3`, no fraction is a multiple. So whether a record passes never depends on how the
others in its batch look. `fits` is about texts alone.
"""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.datapath.shape.convert.number_texts import double_texts
from penstock.model.convert_spec import Condition, Constant

Mask = NDArray[np.bool_]

_LEAST_INT, _MOST_INT = -(2**63), 2**63 - 1
_ALL_DIGITS = Context(prec=1_000)  # more than any bound has, at any scale


def fulfils(column: pa.Array, condition: Condition) -> Mask:
    """Which rows of a column fulfil a condition; a missing column is one of nulls."""
    good = np.ones(len(column), dtype=bool)
    if condition.null is not None:
        nulls: Mask = column.is_null().to_numpy(zero_copy_only=False)
        good &= nulls if condition.null else ~nulls
    if condition.one_of:
        good &= _is_one_of(column, condition.one_of)
    if condition.fits:
        is_text = pa.types.is_string(column.type)
        found = pc.match_substring_regex(column, whole(condition.fits)) if is_text else None
        good &= _truth(found, len(column))
    if condition.least is not None:
        good &= _bounded(column, condition.least, is_least=True)
    if condition.most is not None:
        good &= _bounded(column, condition.most, is_least=False)
    if condition.multiple_of is not None:
        good &= _is_multiple(column, condition.multiple_of)
    return good


def fulfils_values(values: Sequence[object], condition: Condition) -> Mask:
    """Which plain values fulfil a condition, as they were peeked from JSON; None where none is."""
    good = np.zeros(len(values), dtype=bool)
    places: dict[pa.DataType | None, list[int]] = {}
    for place, value in enumerate(values):
        places.setdefault(_arrow_of(value), []).append(place)
    for kind, mine in places.items():
        if kind is None:  # objects and lists: they are there, and nothing else is known of them
            good[mine] = fulfils(pa.array([[]] * len(mine), pa.list_(pa.null())), condition)
        else:
            some = [values[place] for place in mine]
            if kind == pa.float64():
                some = [_fraction(each) for each in some if isinstance(each, int | float)]
            good[mine] = fulfils(pa.array(some, kind), condition)
    return good


def refusal_of(pattern: str) -> str:
    """Why RE2 does not take an expression; empty if it does. Without any text it does not say."""
    try:
        pc.match_substring_regex(pa.array([""]), whole(pattern))
    except pa.ArrowInvalid as error:
        return str(error)
    return ""


def whole(pattern: str) -> str:
    """An expression that fits whole texts only."""
    return f"^(?:{pattern})$"


def as_texts(column: pa.Array) -> pa.Array | None:
    """The texts of a column's values; None for kinds that have none."""
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        return None
    return double_texts(column) if pa.types.is_float64(kind) else column.cast(pa.string())


def _arrow_of(value: object) -> pa.DataType | None:
    """The column that a value would be in; whole numbers beyond 64 bits are fractions there."""
    if value is None:
        return pa.null()
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64() if _LEAST_INT <= value <= _MOST_INT else pa.float64()
    if isinstance(value, float):
        return pa.float64()
    return pa.string() if isinstance(value, str) else None


def _fraction(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _is_one_of(column: pa.Array, wanted: Sequence[Constant]) -> Mask:
    """Numbers are compared as numbers and truth values as such, everything else by its text.

    A decimal is compared as one with numbers, and with texts that are numbers: only these can say
    one with more digits than a fraction has.
    """
    good = np.zeros(len(column), dtype=bool)
    if None in wanted:
        good |= column.is_null().to_numpy(zero_copy_only=False)
    kind = column.type
    if pa.types.is_boolean(kind):
        alike: Sequence[object] = [value for value in wanted if isinstance(value, bool)]
    elif pa.types.is_int64(kind):
        alike = [int(v) for v in _numbers(wanted) if v == math.floor(v) and _fits_int(v)]
    elif pa.types.is_float64(kind):
        alike = list(map(_fraction, _numbers(wanted)))
    elif pa.types.is_decimal(kind):
        alike = _decimals(wanted, kind)
    else:
        texts = as_texts(column)
        if texts is None:
            return good
        column, kind = texts, pa.string()
        alike = [_text_of(value) for value in wanted if value is not None]
    found = pc.is_in(column, value_set=pa.array(alike, kind), skip_nulls=True)
    return good | _truth(found, len(column))


def _numbers(wanted: Sequence[Constant]) -> list[int | float]:
    return [v for v in wanted if isinstance(v, int | float) and not isinstance(v, bool)]


def _decimals(wanted: Sequence[Constant], kind: pa.DataType) -> list[Decimal]:
    """The values that a column of decimals can hold, whatever number of digits they have."""
    found = []
    for value in wanted:
        if value is None or isinstance(value, bool):
            continue
        try:
            found.append(pa.scalar(Decimal(str(value)), kind).as_py())
        except (InvalidOperation, pa.ArrowInvalid):
            continue  # no number, or one that no value of the column is
    return found


def _fits_int(value: int | float) -> bool:
    return bool(_LEAST_INT <= value <= _MOST_INT)


def _text_of(value: Constant) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _bounded(column: pa.Array, bound: int | float, *, is_least: bool) -> Mask:
    kind = column.type
    compare = pc.greater_equal if is_least else pc.less_equal
    if pa.types.is_int64(kind):
        # Not as fractions: those lose digits of large numbers.
        nearest = math.ceil(bound) if is_least else math.floor(bound)
        if not _fits_int(nearest):
            is_beyond = nearest < _LEAST_INT if is_least else nearest > _MOST_INT
            return _truth(column.is_valid(), len(column)) & is_beyond
        return _truth(compare(column, pa.scalar(nearest, pa.int64())), len(column))
    if pa.types.is_decimal(kind):
        return _bounded_decimals(column, bound, is_least=is_least)
    if not pa.types.is_float64(kind):
        return np.zeros(len(column), dtype=bool)
    return _truth(compare(column, pa.scalar(_fraction(bound), pa.float64())), len(column))


def _bounded_decimals(column: pa.Array, bound: int | float, *, is_least: bool) -> Mask:
    """As decimals: Arrow's way to a fraction does not always end at the nearest one.

    The bound is the number as it was written, and is moved inwards to the next one that the column
    could hold. Where that is too large for the column, all values are on one side of it.
    """
    kind = column.type
    rounding = ROUND_CEILING if is_least else ROUND_FLOOR
    unit = Decimal((0, (1,), -kind.scale))
    nearest = Decimal(str(bound)).quantize(unit, rounding, _ALL_DIGITS)
    try:
        held = pa.scalar(nearest, kind)
    except pa.ArrowInvalid:
        return _truth(column.is_valid(), len(column)) & ((nearest < 0) == is_least)
    compare = pc.greater_equal if is_least else pc.less_equal
    return _truth(compare(column, held), len(column))


def _is_multiple(column: pa.Array, of: int) -> Mask:
    if not pa.types.is_int64(column.type):
        return np.zeros(len(column), dtype=bool)
    numbers = column.fill_null(1).to_numpy(zero_copy_only=False)
    rest = numbers % of if of <= _MOST_INT else numbers
    multiple: Mask = rest == 0
    return multiple & _truth(column.is_valid(), len(column))


def _truth(found: pa.Array | None, count: int) -> Mask:
    if found is None:
        return np.zeros(count, dtype=bool)
    mask: Mask = found.fill_null(False).to_numpy(zero_copy_only=False)
    return mask
