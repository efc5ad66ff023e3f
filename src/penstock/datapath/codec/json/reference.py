"""The slow way, which is the reference: one record, value by value, from its own text.

A record is taken apart into the texts of its values, and `scalars` holds each against its type.
Whatever has no column keeps its own text, digit for digit.
"""

from collections.abc import Iterable
from itertools import islice
from typing import cast

import msgspec

from penstock.datapath.codec.json.decode_plan import DecodePlan, JsonField, JsonObject, JsonType
from penstock.datapath.codec.json.inference import is_learnable, may_be_column
from penstock.datapath.codec.json.payload import PARSER_ERRORS
from penstock.datapath.codec.json.scalars import expect, scalar
from penstock.datapath.codec.json.value_text import (
    found_kind,
    items_of,
    members_of,
    object_text,
    says_nothing,
)
from penstock.datapath.codec.shared.reasons import MISSING_FIELD, WRONG_TYPE, BadValue
from penstock.datapath.codec.shared.value_types import ColumnValue
from penstock.model.pinned_types import TypeTree
from penstock.model.read_ways import LONG_NAME, Misfit, ReadCounts

Text = bytes | msgspec.Raw
Fitted = tuple[ColumnValue, str | None]
_NULL = b"null"


class ReferenceDecoder:
    """Holds records against a plan.

    `unknown` gathers the paths of fields without a column that a later version of the schema
    could have a column for, each with the number of the first record that shows it. `counts` has
    what went to `_rest`, and how many values said nothing. `misfits` are those of the last record,
    in the order in which they were met. `types` are settled by the configuration. Unless
    `exact_only`, the parser is asked again for each field by itself, which is exact for the same
    reason as it is for a record, and leaves few values to be read here.
    """

    def __init__(self, exact_only: bool, types: TypeTree | None = None) -> None:
        self.exact_only = exact_only
        self._types = types or TypeTree()
        self._empty = 0
        self._outside: list[tuple[str, bytes]] = []
        self.unknown: dict[str, int] = {}
        self.counts = ReadCounts()
        self.misfits: dict[Misfit, None] = {}

    def fit(self, plan: DecodePlan, index: int, payload: bytes) -> Fitted:
        """The record as an object of the plan, and the text of what has no place in it.

        The payload is known to be one JSON object. Raises BadValue if the schema is declared and
        a value does not fit.
        """
        self.misfits, self._empty, self._outside = {}, 0, []
        fitted = self._object(plan.root, payload, not plan.declared)
        for misfit in self.misfits:
            self.counts.add_misfit(misfit, index)
        self.counts.empty += self._empty
        for path, text in self._outside:
            self._remember(path, index, text)
        return fitted

    def _object(self, record: JsonObject, text: Text, tolerant: bool) -> Fitted:
        """An object with known keys. When tolerant, what does not fit is left, field by field."""
        found = members_of(text)
        left: dict[str, str] = {}
        values: dict[str, ColumnValue] = {}
        for member in record.members:
            value, rest = self._member(member, found.pop(member.name, _NULL), tolerant)
            values[member.attribute] = value
            if rest is not None:
                left[member.name] = rest
        for name in sorted(found):
            part = bytes(found[name])
            is_short = may_be_column(name)
            if says_nothing(part):
                self._empty += 1
                continue
            left[name] = part.decode()
            found_here = found_kind(part) if is_short else LONG_NAME
            self.misfits[(record.path_of(name), "", found_here)] = None
            if is_short:
                self._outside.append((record.path_of(name), part))
        return record.make(**values), object_text(left) if left else None

    def _remember(self, path: str, index: int, text: bytes) -> None:
        """Note a field without a column, met in the record with this number and not null there."""
        if index >= self.unknown.get(path, index + 1):
            return
        if is_learnable(text, self._types.at(path)):
            self.unknown[path] = index

    def _member(self, member: JsonField, raw: Text, tolerant: bool) -> Fitted:
        """One field of an object: its value, and the text that has no place in it."""
        if member.decode is not None and not self.exact_only:
            try:
                return member.decode(raw), None
            except PARSER_ERRORS:
                pass  # the rules below decide
        text = bytes(raw)
        if text == _NULL:
            if not member.nullable:
                raise BadValue(MISSING_FIELD, member.shape.path, "missing or null")
            return None, None
        before = len(self.misfits), self._empty, len(self._outside)
        try:
            return self._value(member.shape, text, tolerant)
        except BadValue as bad_value:
            if not tolerant:
                raise
            self._forget(*before)
            self.misfits[(bad_value.path, bad_value.wanted, bad_value.found)] = None
            return None, text.decode()

    def _forget(self, misfits: int, empty: int, outside: int) -> None:
        """Forget what was noted inside of a value that is left out as a whole."""
        self.misfits = dict(islice(self.misfits.items(), misfits))
        self._empty = empty
        del self._outside[outside:]

    def _value(self, shape: JsonType, text: bytes, tolerant: bool) -> Fitted:
        """A value that is not null."""
        if shape.record is not None:
            expect(shape, text, "object")
            return self._object(shape.record, text, tolerant)
        if shape.item is None:
            return scalar(shape, text), None
        if shape.type.kind == "list":
            expect(shape, text, "array")
            return self._whole(shape, items_of(text), text, tolerant)
        expect(shape, text, "object")
        parts = members_of(text)
        values, left = self._whole(shape, parts.values(), text, tolerant)
        return dict(zip(parts, values, strict=True)), left

    def _whole(self, shape: JsonType, parts: Iterable[Text], text: bytes, tolerant: bool) -> Fitted:
        """The items of a list or map, which fit all or not at all.

        What is left of an item that is an object leaves the text of the whole list or map, since
        a single item has no name that could be given.
        """
        values = []
        left = None
        for part in parts:
            value, rest = self._item(shape, bytes(part), tolerant)
            values.append(value)
            if rest is not None:
                left = text.decode()
        return values, left

    def _item(self, shape: JsonType, text: bytes, tolerant: bool) -> Fitted:
        """One item of a list or a map."""
        item = cast(JsonType, shape.item)
        if text != _NULL:
            return self._value(item, text, tolerant)
        if not shape.type.item_nullable:
            wanted = item.type.kind
            raise BadValue(WRONG_TYPE, item.path, f"wanted {wanted}, found null", wanted, "null")
        return None, None
