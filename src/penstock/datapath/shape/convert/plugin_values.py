"""Values that a plug-in returns, held against the types it has declared.

Arrow makes of many values what is asked for: 1 of 1.5, a day of a time, nothing of a field that is
not declared. So every value is looked at first, also inside lists, maps and structs. What passes is
a plain value of Python that Arrow keeps as it is; those of numpy count as what they hold.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import TypeGuard

import numpy as np
import pyarrow as pa

Reader = Callable[[object], object]  # from a value to the same as a plain one

_LEAST_INT, _MOST_INT = -(2**63), 2**63 - 1
_MOST_BITS = 128  # of any decimal


class Unfit(Exception):
    """A value that is not as declared: which one, in words that do not repeat it."""


def record_reader(schema: pa.Schema) -> Callable[[object], dict[str, object]]:
    """What reads a whole record; it raises `Unfit`."""
    read = _struct(list(schema), "")

    def whole(value: object) -> dict[str, object]:
        if not isinstance(value, dict):
            raise Unfit(f"it returned a {type(value).__name__}, and no dict")
        return read(value) or {}

    return whole


def _reader(each: pa.Field, path: str) -> Reader:
    """What reads the values of one field; those of another type raise `Unfit`."""
    kind, nullable, plain = each.type, each.nullable, _plain(each.type, path)

    def read(value: object) -> object:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None:
            if nullable:
                return None
            raise Unfit(f"{path} is null, and was declared not to be")
        found = plain(value)
        if found is None:
            raise Unfit(f"{path} is not a {kind}")
        return found

    return read


def _plain(kind: pa.DataType, path: str) -> Reader:
    """The same for a type and values that are there; None for those of another type."""
    if pa.types.is_struct(kind):
        return _struct([kind.field(place) for place in range(kind.num_fields)], f"{path}.")
    if pa.types.is_list(kind):
        return _list(_reader(kind.value_field, f"{path}[]"))
    if pa.types.is_map(kind):
        key = pa.field("key", pa.string(), nullable=False)
        return _map(_reader(key, f"a key of {path}"), _reader(kind.item_field, f"{path}[]"))
    if pa.types.is_decimal(kind):
        return _decimal(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return _moment if kind.tz else _local
    return _PLAIN[kind]


# --- what has values inside ----------------------------------------------------------------------


def _struct(fields: list[pa.Field], prefix: str) -> Callable[[object], dict[str, object] | None]:
    readers = {each.name: _reader(each, f"{prefix}{each.name}") for each in fields}

    def read(value: object) -> dict[str, object] | None:
        if not isinstance(value, dict):
            return None
        if not readers.keys() >= dict.keys(value):
            raise Unfit("it returned a field that it has not declared")
        return {name: of_one(dict.get(value, name)) for name, of_one in readers.items()}

    return read


def _list(item: Reader) -> Reader:
    def read(value: object) -> list[object] | None:
        items = _items(value)
        return None if items is None else [item(each) for each in items]

    return read


def _map(key: Reader, item: Reader) -> Reader:
    def read(value: object) -> list[tuple[object, object]] | None:
        pairs = list(dict.items(value)) if isinstance(value, dict) else _items(value)
        if pairs is None:
            return None
        whole = [p for p in pairs if isinstance(p, tuple | list) and len(p) == 2]
        if len(whole) < len(pairs):
            return None
        return [(key(name), item(each)) for name, each in whole]

    return read


def _items(value: object) -> list[object] | None:
    """What stands in an order; a set does not."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple) else None


# --- what has none -------------------------------------------------------------------------------


def _bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    plain = int.__int__(value)
    return plain if _LEAST_INT <= plain <= _MOST_INT else None


def _fraction(value: object) -> float | None:
    if isinstance(value, float):
        return float.__float__(value)
    whole = _whole(value)
    return float(whole) if whole is not None and int(float(whole)) == whole else None


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    plain = str.__str__(value)
    try:
        plain.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    return plain


def _bytes(value: object) -> bytes | None:
    return bytes(value) if isinstance(value, bytes | bytearray) else None


def _day(value: object) -> date | None:
    if not isinstance(value, date) or isinstance(value, datetime):
        return None
    return date(value.year, value.month, value.day)


def _moment(value: object) -> datetime | None:
    """A time with a zone; without one nobody knows which time is meant."""
    if not _is_time(value) or value.utcoffset() is None:
        return None
    try:
        there = value.astimezone(UTC)
    except OverflowError:
        return None
    return datetime.combine(there.date(), there.time(), UTC)


def _local(value: object) -> datetime | None:
    if not _is_time(value) or value.utcoffset() is not None:
        return None
    return datetime.combine(value.date(), value.time())


def _is_time(value: object) -> TypeGuard[datetime]:
    """Whether it is a time of microseconds; those of pandas have more digits."""
    return isinstance(value, datetime) and not getattr(value, "nanosecond", 0)


def _decimal(precision: int, scale: int) -> Reader:
    context = Context(prec=precision, traps=[InvalidOperation, Inexact])
    unit = Decimal((0, (1,), -scale))

    def read(value: object) -> Decimal | None:
        if isinstance(value, int) and not isinstance(value, bool):
            value = Decimal(value) if value.bit_length() <= _MOST_BITS else None
        if not isinstance(value, Decimal) or not value.is_finite():
            return None
        try:
            return value.quantize(unit, context=context)
        except (InvalidOperation, Inexact):
            return None

    return read


_PLAIN: dict[pa.DataType, Reader] = {
    pa.bool_(): _bool,
    pa.int64(): _whole,
    pa.float64(): _fraction,
    pa.string(): _text,
    pa.binary(): _bytes,
    pa.date32(): _day,
}
