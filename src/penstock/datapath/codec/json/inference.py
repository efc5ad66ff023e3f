"""What a sample of records shows of their fields. Runs on the driver.

What was seen of a field is a lattice: nothing yet, a type, or a conflict. Nulls, empty arrays and
empty objects teach nothing. Integers and floating point numbers meet in double; any other two
kinds are a conflict, and a field in conflict gets no column unless `usual_kinds` finds that nearly
all records agree: its values go to `_rest`. So do those of fields with names beyond all measure,
which every file would repeat.

A field whose type the configuration settles gets that type with the first value that says
something, and is never in conflict; nor are the objects and lists that it lies in.

Samples are parsed once, into plain values, and their kinds are those of the values: an integer of
any length is an integer. Numbers that the parser refuses, such as 1e400, are read again by a slower
one, as numbers that fit no column.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from penstock.datapath.codec.json.payload import PARSER_ERRORS, grammar_fault, unfit
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.shapes import INT64_MAX, INT64_MIN
from penstock.datapath.codec.shared.value_types import JsonValue
from penstock.model.pinned_types import TypeTree
from penstock.model.schema import (
    BOOLEAN,
    DOUBLE,
    INT64,
    MAX_NESTING,
    STRING,
    FieldType,
    list_of,
    struct_of,
    with_columns,
)

NOTHING: Final = "nothing"
CONFLICT: Final = "conflict"
SETTLED: Final = "settled"
_LONG = 65_536
_LONGEST_NAME = 1_024  # bytes
_MOST_DIGITS = 20  # an integer that is written with more fits no column
_BEYOND = INT64_MAX + 1  # stands for any integer that fits no column
_NUMBERS = frozenset({"int64", "double"})
SCALARS = {"boolean": BOOLEAN, "string": STRING, "int64": INT64, "double": DOUBLE}
_KINDS: dict[type, str] = {str: "string", bool: "boolean"}
# Which values teach nothing more, by what was seen so far. A struct or a list looks into its own.
_Types = frozenset[type]
_NONE = type(None)
_ALL: _Types = frozenset({dict, list, str, bool, int, float, _NONE})
_TAUGHT: dict[str, _Types] = {
    NOTHING: frozenset({_NONE}),
    "string": frozenset({str, _NONE}),
    "boolean": frozenset({bool, _NONE}),
    "int64": frozenset({int, _NONE}),
    "double": frozenset({int, float, _NONE}),
    "struct": frozenset({_NONE}),
    "list": frozenset({_NONE}),
    CONFLICT: _ALL,
    SETTLED: _ALL,
}
_ANYTHING = TypeTree()
_parse = msgspec.json.Decoder().decode


class SeenField:
    """What was seen of one field so far. `types` is what the configuration settles for it.

    Values of the types in `taught` teach nothing more, and need not be added.
    """

    __slots__ = ("_types", "fields", "item", "kind", "taught")

    def __init__(self, types: TypeTree | None = None, kind: str = NOTHING) -> None:
        self._types = types or _ANYTHING
        self.kind = kind
        self.taught = _TAUGHT[kind]
        self.fields: dict[str, SeenField] = {}
        self.item: SeenField | None = None

    def add(self, value: JsonValue, depth: int) -> None:
        """Take in one more value, found `depth` levels deep."""
        if self._types.type is not None:
            if self.kind == NOTHING and not says_nothing(value):
                self._become(SETTLED)
            return
        of = type(value)
        if of is dict:
            self._add_object(value, depth)
        elif of is list:
            self._add_array(value, depth)
        elif value is not None:
            self._meet(_KINDS.get(of) or number_kind(value))

    def _meet(self, kind: str) -> None:
        if kind == NOTHING or self.kind == kind:
            return
        if self._types.container not in {"", kind}:
            return  # it does not fit what the paths ask for, and goes to `_rest`
        if self.kind == NOTHING:
            self._become(kind)
        elif {self.kind, kind} == _NUMBERS:
            self._become("double")
        else:
            self._become(CONFLICT)

    def _become(self, kind: str) -> None:
        self.kind = kind
        self.taught = _TAUGHT[kind]

    def _add_object(self, members: dict[str, JsonValue], depth: int) -> None:
        if self.kind != "struct":
            is_deep = depth >= MAX_NESTING
            self._meet(NOTHING if says_nothing(members) else CONFLICT if is_deep else "struct")
        if self.kind != "struct":
            return
        fields, below = self.fields, depth + 1
        for name, value in members.items():
            seen = fields.get(name)
            if seen is None:
                if not may_be_column(name):
                    continue
                seen = fields[name] = SeenField(self._types.fields.get(name))
            of = type(value)
            if of in seen.taught:
                continue
            if of is dict and seen.kind == "struct":
                seen._add_object(value, below)
            else:
                seen.add(value, below)

    def _add_array(self, items: list[JsonValue], depth: int) -> None:
        if self.kind != "list":
            is_deep = depth >= MAX_NESTING
            self._meet(NOTHING if says_nothing(items) else CONFLICT if is_deep else "list")
        if self.kind == "list":
            self.item = item = self.item or SeenField(self._types.item)
            if not item.taught.issuperset(map(type, items)):
                for value in items:
                    item.add(value, depth + 1)

    def type(self) -> FieldType | None:
        """The type that holds all values seen, or None for nothing, or for a conflict."""
        if self.kind == SETTLED:
            return self._types.type
        if self.kind in SCALARS:
            return SCALARS[self.kind]
        if self.kind == "list" and self.item is not None:
            item = self.item.type()
            return None if item is None else list_of(item)
        if self.kind == "struct":
            fields = with_columns(self.entries(), top=False)
            return struct_of(fields) if fields else None
        return None

    def entries(self) -> list[tuple[str, FieldType, bool]]:
        """The fields of an object that have a type, in the order in which they were first met."""
        typed = ((name, seen.type()) for name, seen in self.fields.items())
        return [(name, kind, True) for name, kind in typed if kind is not None]


def says_nothing(value: JsonValue) -> bool:
    """As `value_text.says_nothing`, for a parsed value."""
    if isinstance(value, dict):
        return all(map(says_nothing, value.values()))
    return value is None or (isinstance(value, list) and all(map(says_nothing, value)))


def number_kind(number: int | float) -> str:
    """The kind of column a number asks for; one that fits no column teaches nothing."""
    if isinstance(number, float):
        return NOTHING if abs(number) == float("inf") else "double"
    return "int64" if INT64_MIN <= number <= INT64_MAX else NOTHING


def _integer(digits: str) -> int:
    return int(digits) if len(digits) <= _MOST_DIGITS else _BEYOND


def _parsed(text: bytes) -> JsonValue:
    """A text as plain values; None when it is not JSON."""
    try:
        return _parse(text)
    except PARSER_ERRORS:
        return None if grammar_fault(text) else json.loads(text, parse_int=_integer)


def may_be_column(name: str) -> bool:
    """False for a name that is so long that its fields are given no column."""
    return len(name) <= _LONGEST_NAME and len(name.encode()) <= _LONGEST_NAME


def is_learnable(text: bytes, types: TypeTree | None = None) -> bool:
    """True when a field with this value could be given a column; a long one always could."""
    if len(text) > _LONG:
        return True
    seen = SeenField(types)
    seen.add(_parsed(text), 1)
    return seen.type() is not None


def objects_of(samples: Iterable[bytes], limits: Limits) -> Iterator[dict[str, JsonValue]]:
    """The samples that are JSON objects, as plain values; the others are passed over."""
    for payload in samples:
        value = None if unfit(payload, limits) else _parsed(payload)
        if type(value) is dict:
            yield value


def see(samples: Iterable[bytes], limits: Limits, types: TypeTree | None = None) -> SeenField:
    """Everything seen in the samples that are JSON objects."""
    root = SeenField(types, "struct")
    for members in objects_of(samples, limits):
        root.add(members, 0)
    return root
