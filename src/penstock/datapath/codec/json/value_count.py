"""How many values a JSON record becomes: a quick bound, and the exact number where that matters.

An item of a list that becomes an object is written `{...}` or `null`. The bound takes every brace
and every `null` for one, also those in texts. The exact number follows the schema through the text,
and takes nothing apart that it need not: long lists are counted by their brackets.
"""

from collections.abc import Iterable
from functools import lru_cache

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.datapath.codec.json.payload import without_strings
from penstock.datapath.codec.json.value_text import items_of, kind_of, members_of
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.value_count import (
    ValueCounter,
    item_width,
    widest_item,
    width_of,
)
from penstock.model.schema import Field, FieldType

Text = bytes | msgspec.Raw

_SHORTEST_ITEM = len(b"{},")
_COUNTED = b"{}[]n"  # outside of texts, only null has an n
_NOT_COUNTED = bytes(set(range(256)) - set(_COUNTED))
_STEPS = bytes.maketrans(b"{[}]n", b"\x01\x01\xff\xff\0")


@lru_cache(maxsize=512)
def json_value_counter(fields: tuple[Field, ...]) -> ValueCounter:
    """Weighs the records of a schema."""
    widest = max((widest_item(field.type) for field in fields), default=0)
    return value_counter(width_of(fields), widest)


def value_counter(width: int, widest: int) -> ValueCounter:
    """Weighs records of any schema that is no wider than this."""
    return ValueCounter(width, widest, _SHORTEST_ITEM, _most_items, _most_items_each)


def _most_items(data: Octets) -> int:
    return int(np.count_nonzero(data == ord("{"))) + data.tobytes().count(b"null")


def _most_items_each(values: pa.Array) -> Numbers:
    braces, nulls = (pc.count_substring(values, part).to_numpy() for part in ("{", "null"))
    found: Numbers = np.add(braces, nulls, dtype=np.int64)
    return found


def has_too_many(payload: bytes, fields: tuple[Field, ...], most: int) -> bool:
    """Whether a record, which is one JSON object, becomes more values than are read.

    The values of its own columns do not count, since the schema bounds them.
    """
    widest = json_value_counter(fields).widest
    if widest * (len(payload) // _SHORTEST_ITEM + 1) <= most:
        return False
    if widest * (payload.count(b"{") + payload.count(b"null")) <= most:
        return False
    return _Count(most).is_above(fields, payload.strip(b" \t\r\n"))


class _Enough(Exception):
    """The limit is passed, and nothing else matters."""


class _Count:
    """Follows a schema through a text."""

    def __init__(self, most: int) -> None:
        self._left = most

    def is_above(self, fields: tuple[Field, ...], text: Text) -> bool:
        try:
            self._object(fields, text)
        except _Enough:
            return True
        return False

    def _object(self, fields: tuple[Field, ...], text: Text) -> None:
        heavy = [field for field in fields if widest_item(field.type)]
        found = members_of(text) if heavy else {}
        for field in heavy:
            if field.name in found:
                self._value(field.type, bytes(found[field.name]))

    def _value(self, kind: FieldType, text: bytes) -> None:
        """A value, if it is of the kind that its column asks for."""
        wanted = "array" if kind.kind == "list" else "object"
        if not widest_item(kind) or kind_of(text) != wanted:
            return
        if kind.item is None:
            self._object(kind.fields, text)
        elif kind.kind == "list":
            self._take(item_width(kind), count_items(text) if item_width(kind) else 0)
            if widest_item(kind.item):
                self._items(kind.item, items_of(text))
        else:
            parts = members_of(text)
            self._take(item_width(kind), len(parts))
            self._items(kind.item, parts.values())

    def _items(self, kind: FieldType, parts: Iterable[Text]) -> None:
        for part in parts:
            self._value(kind, bytes(part))

    def _take(self, width: int, items: int) -> None:
        self._left -= width * items
        if self._left < 0:
            raise _Enough


def count_items(text: bytes) -> int:
    """How many objects and nulls a list has, those inside of its items not counted."""
    bare = without_strings(text).translate(None, _NOT_COUNTED)
    depth = np.cumsum(np.frombuffer(bare.translate(_STEPS), np.int8), dtype=np.int32)
    kinds = np.frombuffer(bare, np.uint8)
    is_object = (kinds == ord("{")) & (depth == 2)
    is_null = (kinds == ord("n")) & (depth == 1)
    return int(np.count_nonzero(is_object | is_null))
