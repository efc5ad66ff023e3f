"""Single values against their types: what fits, what does not, and why."""

from decimal import Decimal, InvalidOperation

import msgspec

from penstock.datapath.codec.json.decode_plan import JsonType
from penstock.datapath.codec.json.value_text import found_kind, is_integer, is_number, kind_of
from penstock.datapath.codec.shared.reasons import OUT_OF_RANGE, WRONG_TYPE, BadValue
from penstock.datapath.codec.shared.shapes import bounds_of
from penstock.model.schema import ScalarKind

_STRING = msgspec.json.Decoder(str)
_LONGEST_INT64 = 20
_LONGEST_DOUBLE = 310  # the greatest double has 309 digits
_LONGEST_DECIMAL = 200


def expect(shape: JsonType, text: bytes, wanted: str) -> None:
    """Raise BadValue unless the value is of a kind."""
    found = kind_of(text)
    if found != wanted:
        raise _wrong_type(shape, found, text)


def _wrong_type(shape: JsonType, found: str, text: bytes) -> BadValue:
    wanted, kinds = shape.type.kind, " or ".join(shape.type.only)
    detail = f"wanted {kinds or wanted}, found {found}"
    return BadValue(WRONG_TYPE, shape.path, detail, wanted, found_kind(text))


def _out_of_range(shape: JsonType, detail: str) -> BadValue:
    return BadValue(OUT_OF_RANGE, shape.path, detail, shape.type.kind, "number out of range")


def scalar(shape: JsonType, text: bytes) -> object:
    """The value behind a text that is not null; raises BadValue."""
    kind = shape.type.kind
    if shape.type.accepts:
        return _as_written(shape, text)
    if kind == "string":
        expect(shape, text, "string")
        return _STRING.decode(text)
    if kind == "boolean":
        expect(shape, text, "boolean")
        return text == b"true"
    if kind == "decimal":
        return _decimal(shape, text)
    expect(shape, text, "number")
    return _double(shape, text) if kind == "double" else _integer(shape, text)


def _as_written(shape: JsonType, text: bytes) -> str:
    """The text of a value as it is written; of a text its content, unless it stays JSON."""
    if shape.type.accepts == "json":
        return text.decode()
    found = kind_of(text)
    if found in {"object", "array"} or not _is_allowed(shape.type.only, found, text):
        raise _wrong_type(shape, found, text)
    return _STRING.decode(text) if found == "string" else text.decode()


def _is_allowed(only: tuple[ScalarKind, ...], found: str, text: bytes) -> bool:
    """True when a scalar is of a kind that a declared text takes; 1.0 is not an integer."""
    if not only or found in only:
        return True
    return found == "number" and "integer" in only and is_integer(text)


def _integer(shape: JsonType, text: bytes) -> int:
    """An integer, written as one, within what the type can hold."""
    if not is_integer(text):
        raise _wrong_type(shape, "a fraction", text)
    low, high = bounds_of(shape.type)
    if len(text) > _LONGEST_INT64 or not low <= int(text) <= high:
        raise _out_of_range(shape, f"out of range for {shape.type.kind}")
    return int(text)


def _double(shape: JsonType, text: bytes) -> float:
    """A floating point number, rounded as usual; an integer only if nothing of it is lost."""
    if not is_integer(text):
        number = float(text)
    elif len(text) > _LONGEST_DOUBLE:
        number = float("inf")
    else:
        number = _double_of(int(text))
        if abs(number) != float("inf") and int(number) != int(text):
            raise _out_of_range(shape, "an integer that no double equals")
    if abs(number) == float("inf"):
        raise _out_of_range(shape, "out of range for double")
    return number


def _double_of(whole: int) -> float:
    """The double next to an integer."""
    try:
        return float(whole)
    except OverflowError:
        return float("inf")


def _decimal(shape: JsonType, text: bytes) -> Decimal:
    """An exact number, written as a number or as a string of one; never rounded."""
    number = text[1:-1] if kind_of(text) == "string" else text
    if not is_number(number):
        raise _wrong_type(shape, kind_of(text), text)
    precision, scale = shape.type.precision, shape.type.scale
    try:
        if len(number) > _LONGEST_DECIMAL:
            raise InvalidOperation
        return _scaled(number.decode(), precision, scale)
    except InvalidOperation:
        detail = f"does not fit decimal({precision}, {scale})"
        raise _out_of_range(shape, detail) from None


def _scaled(number: str, precision: int, scale: int) -> Decimal:
    """The number with exactly `scale` decimal places; InvalidOperation if it has more."""
    sign, digits, exponent = Decimal(number).as_tuple()
    if not any(digits):
        return Decimal((0, (0,), -scale))
    if not isinstance(exponent, int) or len(digits) + exponent > precision - scale:
        raise InvalidOperation
    shift = exponent + scale
    if shift < 0 and any(digits[shift:]):
        raise InvalidOperation
    moved = digits[:shift] if shift < 0 else digits + (0,) * shift
    return Decimal((sign, moved, -scale))
