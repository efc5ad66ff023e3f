"""Casting a field to another type, column by column; values that do not go are found by halves."""

import re

import numpy as np
import pyarrow as pa

from penstock.model.arrow_types import arrow_type
from penstock.model.convert import ConvertSpec
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
from penstock.shape.flow import ConvertImpossible, Flow, Given, Mask

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
    if pa.types.is_integer(column.type) and pa.types.is_decimal(arrow):
        column = column.cast(pa.string())  # else Arrow asks for room for any whole number
    try:
        made, good = _cast_column(column, arrow)
    except pa.ArrowNotImplementedError as error:
        why = f"a {each.type.kind} cannot become a {kind.kind}"
        raise ConvertImpossible("cast", path, why) from error
    flow = flow.refusing(~good, CAST_FAILED, f"$.{path}: not a {kind.kind}")
    return flow.changed("cast", path, lambda f, _c: [(f.name, kind, f.nullable, made)])


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
