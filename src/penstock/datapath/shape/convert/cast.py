"""Casting a field to another type, column by column; values that do not go are found by halves.

Arrow says which values do not go, but for some that it changes in silence: those are looked for in
what has become of the column.
"""

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.datapath.shape.convert.flow import ConvertImpossible, Flow, Given, Mask
from penstock.datapath.shape.convert.number_texts import MOST_EXACT, double_texts
from penstock.model.arrow_types import FIRST_DAY, FIRST_US, LAST_DAY, LAST_US, arrow_type
from penstock.model.convert_spec import ConvertSpec
from penstock.model.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT64,
    MAX_PRECISION,
    STRING,
    TIMESTAMP_US,
    FieldType,
    decimal_of,
)

CAST_FAILED = "CAST_FAILED"
_NESTED = frozenset({"struct", "list", "map"})
_PLAIN = {
    "string": STRING,
    "int64": INT64,
    "double": DOUBLE,
    "boolean": BOOLEAN,
    "date": DATE,
    "timestamp": TIMESTAMP_US,
}
_MOST_DIGITS = 76  # of the widest decimal of Arrow
_ALWAYS_SHOWN = 15  # so many digits a double shows as they were
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)", re.ASCII)


def cast(flow: Flow, spec: ConvertSpec, _: Given) -> Flow:
    """Cast fields; a value that does not go makes its record bad."""
    for path, word in zip(spec.paths, spec.words, strict=True):
        flow = _cast_one(flow, path, cast_type(word))
    return flow


def cast_type(word: str) -> FieldType:
    """A type by the word for it; raises `ConvertImpossible`."""
    if word in _PLAIN:
        return _PLAIN[word]
    digits = _DECIMAL.fullmatch(word)
    if digits and 1 <= int(digits[1]) <= MAX_PRECISION and int(digits[2]) <= int(digits[1]):
        return decimal_of(int(digits[1]), int(digits[2]))
    known = ", ".join(_PLAIN)
    raise ConvertImpossible("cast", word, f"no such type; there are: {known}, decimal(p, s)")


def _cast_one(flow: Flow, path: str, kind: FieldType) -> Flow:
    found = flow.at(path)
    if found is None:
        return flow
    each, column = found
    arrow = arrow_type(kind)
    if each.type.kind in _NESTED:
        raise ConvertImpossible("cast", path, f"it is a {each.type.kind}")
    try:
        made, good = cast_values(column, arrow)
    except pa.ArrowNotImplementedError as error:
        why = f"a {each.type.kind} cannot become a {kind.kind}"
        raise ConvertImpossible("cast", path, why) from error
    flow = flow.refusing(~good, CAST_FAILED, f"$.{path}: not a {kind.kind}")
    return flow.changed("cast", path, lambda f, _c: [(f.name, kind, f.nullable, made)])


def cast_values(column: pa.Array, arrow: pa.DataType) -> tuple[pa.Array, Mask]:
    """The values that can be cast without loss, in the new type, and which they are."""
    made, good = _cast_column(_castable(column, arrow), arrow)
    same = _is_same(column if bool(good.all()) else column.filter(pa.array(good)), made)
    if not bool(same.all()):
        made = made.filter(pa.array(same))
        good[good] = same
    return made, good


def _castable(column: pa.Array, arrow: pa.DataType) -> pa.Array:
    """A column as Arrow casts it well: as texts, where it does not do so by itself."""
    if pa.types.is_integer(column.type) and pa.types.is_decimal(arrow):
        return column.cast(pa.string())  # else Arrow asks for room for any whole number
    if pa.types.is_decimal(column.type) and pa.types.is_float64(arrow):
        return column.cast(pa.string())  # else 70218.43 becomes 70218.43000000001
    if pa.types.is_float64(column.type) and pa.types.is_string(arrow):
        return double_texts(column)
    return column


def _cast_column(column: pa.Array, arrow: pa.DataType) -> tuple[pa.Array, Mask]:
    """The values that go, in the new type, and which they are."""
    try:
        return column.cast(arrow), np.ones(len(column), dtype=bool)
    except pa.ArrowInvalid:
        if len(column) < 2:
            return pa.array([], arrow), np.zeros(len(column), dtype=bool)
    half = len(column) // 2
    left, left_good = _cast_column(column.slice(0, half), arrow)
    right, right_good = _cast_column(column.slice(half), arrow)
    return pa.concat_arrays([left, right]), np.concatenate([left_good, right_good])


def _is_same(column: pa.Array, made: pa.Array) -> Mask:
    """Which values mean in the new type what they meant in the old one; nulls do."""
    have, want = column.type, made.type
    is_text = pa.types.is_string(have) or pa.types.is_binary(have)
    same: pa.Array | None = None
    if pa.types.is_date32(want):
        same = _is_between(made.cast(pa.int32()), FIRST_DAY, LAST_DAY)
    elif pa.types.is_timestamp(want):
        same = _is_between(made.cast(pa.int64()), FIRST_US, LAST_US)
    elif pa.types.is_int64(want) and is_text:
        is_hexadecimal = pc.or_(pc.starts_with(column, "0x"), pc.starts_with(column, "0X"))
        same = pc.invert(is_hexadecimal)
    elif pa.types.is_float64(want) and is_text:
        same = _is_read(column.cast(pa.string()), made)
    elif pa.types.is_float64(want) and pa.types.is_decimal(have):
        return _comes_back(column, made)
    elif pa.types.is_boolean(want) and (pa.types.is_int64(have) or pa.types.is_float64(have)):
        same = pc.is_in(column, pa.array([0, 1, None], have))
    if same is None:
        return np.ones(len(made), dtype=bool)
    return _mask(same)


def _mask(same: pa.Array) -> Mask:
    found: Mask = same.fill_null(True).to_numpy(zero_copy_only=False)
    return found


def _is_between(numbers: pa.Array, least: int, most: int) -> pa.Array:
    return pc.and_(pc.greater_equal(numbers, least), pc.less_equal(numbers, most))


def _is_read(texts: pa.Array, made: pa.Array) -> pa.Array:
    """Which texts are numbers that a double is near to: fractions, and whole ones exactly."""
    same = pc.is_finite(made)
    is_zero = pc.equal(made, 0.0)
    if pc.any(is_zero).as_py():
        has_digit = pc.match_substring_regex(texts, "^[^eE]*[1-9]")
        same = pc.and_(same, pc.invert(pc.and_(is_zero, has_digit)))
    if pc.any(pc.greater_equal(pc.abs(made), float(MOST_EXACT))).as_py():
        same = pc.and_(same, pc.invert(_is_whole_beyond(texts)))
    return same


def _is_whole_beyond(texts: pa.Array) -> pa.Array:
    """Which texts are whole numbers of which a double does not hold every one."""
    digits, longest = pc.utf8_ltrim(texts, "+-0"), str(MOST_EXACT)
    is_longer = pc.greater(pc.binary_length(digits), len(longest))
    is_as_long = pc.equal(pc.binary_length(digits), len(longest))
    is_beyond = pc.or_(is_longer, pc.and_(is_as_long, pc.greater(digits, longest)))
    return pc.and_(is_beyond, pc.match_substring_regex(texts, "^[+-]?[0-9]+$"))


def _comes_back(column: pa.Array, made: pa.Array) -> Mask:
    """Which decimals can be read again in the digits of what they have become."""
    if _has_few_digits(column):
        return np.ones(len(made), dtype=bool)
    wide = pa.decimal256(_MOST_DIGITS, column.type.scale)
    back, same = _cast_column(made.cast(pa.string()), wide)
    same[same] = _mask(pc.equal(back, column.filter(pa.array(same)).cast(wide)))
    return same


def _has_few_digits(column: pa.Array) -> bool:
    """Whether all decimals have so few digits that every double shows them."""
    if column.type.precision <= _ALWAYS_SHOWN:
        return True
    bound = pa.scalar(Decimal((0, (1,), _ALWAYS_SHOWN - column.type.scale)), column.type)
    return pc.all(pc.less(pc.abs(column), bound)).as_py() is not False
