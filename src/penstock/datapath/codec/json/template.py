"""What the JSON of a dataset looks like: the same text around other values.

Programs write the records of a type in one way: the same fields in the same order, with the same
white space. All bytes of such a record that are not part of a value are the same in the next one.
A template is that text, taken from one record, with a slot for each value.

    {"type":"click","at":1763200000000,"user":{"id":"u-1"}}
    {"type":"click","at":|            |,"user":{"id":"| |"}}
     literal              slot          literal        slot literal
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from penstock.datapath.codec.json.decode_plan import JsonField, JsonObject, JsonType

# By the name of a field: the number of a slot, a tree, or None for null.
Tree: TypeAlias = dict[str, "int | Tree | None"]

LONGEST_LITERAL = 1_024
_MOST_SLOTS = 256
_NUMBERS = frozenset({"int64", "double", "date", "timestamp_us"})
_SCALAR = re.compile(rb'"[^"]*"|true|false|null|-?[0-9][-+.0-9eE]*')


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """The literals around the slots, one more than there are slots, and what the slots are.

    `tree` says where in a record the value of each slot belongs.
    """

    literals: tuple[bytes, ...]
    slots: tuple[JsonType, ...]
    tree: Tree


def template_of(payload: bytes, record: JsonObject, tag: str, text: str) -> Template | None:
    """The template of a record that a parser has accepted; None if it is not of that kind.

    The value of the field `tag` is `text`, in every record. Values that are null are part of the
    literals. There is no template for a record with a list, a map, a decimal, an escape, a field
    that has no column, or one name twice.
    """
    try:
        return _Tracing(payload, tag, text).template(record)
    except _NoTemplate:
        return None


class _NoTemplate(Exception):
    """The record is one of those for which there is none."""


class _Tracing:
    """One walk over one payload."""

    def __init__(self, payload: bytes, tag: str, text: str) -> None:
        self._payload = payload
        self._tag = tag
        self._text = text.encode()
        self._at = 0
        self._literal = 0
        self._literals: list[bytes] = []
        self._slots: list[JsonType] = []

    def template(self, record: JsonObject) -> Template:
        """Walk to the end."""
        if b"\\" in self._payload:
            raise _NoTemplate
        self._skip_spaces()
        tree = self._object(record, is_root=True)
        self._skip_spaces()
        self._close_literal(len(self._payload))
        if self._at != len(self._payload) or len(self._slots) > _MOST_SLOTS:
            raise _NoTemplate
        return Template(tuple(self._literals), tuple(self._slots), tree)

    def _object(self, record: JsonObject, *, is_root: bool = False) -> Tree:
        """The fields of an object."""
        members = {member.name: member for member in record.members}
        tree: Tree = {}
        self._expect(b"{")
        while not self._next_is(b"}"):
            if tree:
                self._expect(b",")
            name = self._name()
            self._expect(b":")
            if name in tree:
                raise _NoTemplate
            tree[name] = None
            if is_root and self._tag and name == self._tag:
                self._constant()
            else:
                tree[name] = self._value(members.get(name))
        self._expect(b"}")
        wanted = [member for member in record.members if not member.nullable]
        if any(tree.get(member.name) is None for member in wanted):
            raise _NoTemplate
        return tree

    def _value(self, member: JsonField | None) -> int | Tree | None:
        """The value of a field, as a slot, a tree, or as part of a literal."""
        if member is not None and member.shape.record is not None and self._next_is(b"{"):
            return self._object(member.shape.record)
        start, end = self._scalar()
        if self._payload[start:end] == b"null":
            return None
        if member is None or not _fits(member.shape, self._payload[start:end]):
            raise _NoTemplate
        inside = 1 if member.shape.type.kind == "string" else 0
        self._close_literal(start + inside)
        self._literal = end - inside
        self._slots.append(member.shape)
        return len(self._slots) - 1

    def _constant(self) -> None:
        """The value of the tag."""
        start, end = self._scalar()
        if self._payload[start + 1 : end - 1] != self._text or self._payload[start] != ord('"'):
            raise _NoTemplate

    def _close_literal(self, end: int) -> None:
        literal = self._payload[self._literal : end]
        if len(literal) > LONGEST_LITERAL:
            raise _NoTemplate
        self._literals.append(literal)

    def _scalar(self) -> tuple[int, int]:
        self._skip_spaces()
        found = _SCALAR.match(self._payload, self._at)
        if found is None:
            raise _NoTemplate
        self._at = found.end()
        return found.span()

    def _name(self) -> str:
        start, end = self._scalar()
        return self._payload[start + 1 : end - 1].decode()

    def _next_is(self, byte: bytes) -> bool:
        self._skip_spaces()
        return self._payload.startswith(byte, self._at)

    def _expect(self, byte: bytes) -> None:
        if not self._next_is(byte):
            raise _NoTemplate
        self._at += 1

    def _skip_spaces(self) -> None:
        while self._payload.startswith(b" ", self._at):
            self._at += 1


def _fits(shape: JsonType, text: bytes) -> bool:
    """True when a value is of the kind of its column, as far as its first byte tells."""
    kind = shape.type.kind
    if text[:1] == b'"':
        return kind == "string"
    if text[:1] in {b"t", b"f"}:
        return kind == "boolean"
    return kind in _NUMBERS
