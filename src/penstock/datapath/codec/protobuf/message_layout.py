"""A Protobuf message made ready for reading: what each number means, and which column it fills."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache

import pyarrow as pa

from penstock.datapath.codec.protobuf.schema import (
    columns_of_proto,
    entry_of,
    meaning_of,
    plain_type,
)
from penstock.datapath.codec.protobuf.types import ProtoEnum, ProtoField, ProtoMessage, ProtoTypes
from penstock.datapath.codec.protobuf.value_count import proto_value_counter
from penstock.datapath.codec.shared.shapes import Record, Shape, shape_of
from penstock.datapath.codec.shared.value_count import (
    ValueCounter,
    item_width,
    widest_item,
    width_of,
)
from penstock.model.schema import STRING, Field, struct_of

Rank = tuple[int, int]
Blank = bool | str | bytes | float

_BLANKS: dict[str, Blank] = {
    "bool": False,
    "string": "",
    "bytes": b"",
    "float": 0.0,
    "double": 0.0,
}


@dataclass(frozen=True, slots=True, eq=False)
class MessageBody:
    """A message at one place of an event. `slots` are in the order of its columns.

    `meaning` is `struct`, `entry` of a map, `timestamp`, `duration`, `wrapper` or `empty`.
    """

    meaning: str
    slots: tuple["Slot", ...]
    by_number: dict[int, "Slot"]


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A field at one place of an event: `shape` is that of its column, `item` of a single value.

    Fields are written by `rank`, then by number. `names` are those of an enum's numbers, the
    default first; of two names the first counts. `weight` is how many values each item of a list
    or map becomes, 0 where items are single values.
    """

    field: ProtoField
    rank: Rank
    column: str
    shape: Shape
    item: Shape
    names: dict[int, str] = dataclass_field(default_factory=dict)
    body: MessageBody | None = None
    weight: int = 0

    @property
    def blank(self) -> Blank:
        """The default of a value that is not a message, as a number if it is an enum."""
        if self.names:
            return next(iter(self.names))
        return _BLANKS.get(self.field.kind, 0)


@dataclass(frozen=True, slots=True, eq=False)
class MessageLayout:
    """All that both ways of reading need of a message.

    The fast way expects fields in the order of their numbers in `body`. `others` are the same
    message with the other orders that writers are known for, if these are others: the fields of a
    oneof at the place of its least number (prost, in Rust), or behind all other fields (Go).
    """

    name: str
    fields: tuple[Field, ...]
    body: MessageBody
    others: tuple[MessageBody, ...]
    schema: pa.Schema
    counter: ValueCounter


@lru_cache(maxsize=512)
def message_layout(types: ProtoTypes, root: ProtoMessage) -> MessageLayout:
    """Compile a message; raises SchemaUnsupported."""
    fields = columns_of_proto(types, root)
    shape = shape_of(struct_of(fields), "")
    bodies: dict[tuple[int, ...], MessageBody] = {}
    for habit in (_by_number, _at_least, _behind_all):
        layouts = _Layouts(types, habit)
        body = layouts.struct(root, shape.record)
        bodies.setdefault(tuple(layouts.order), body)
    first, *others = bodies.values()
    nullable = {field.column: field.nullable for field in fields}
    schema = pa.schema(
        [pa.field(each.name, each.type, nullable[each.name]) for each in shape.arrow]
    )
    widest = widest_item(struct_of(fields))
    counter = proto_value_counter(width_of(fields), widest, frozenset(_heavy_tags(first)))
    return MessageLayout(root.name, fields, first, tuple(others), schema, counter)


def _heavy_tags(body: MessageBody) -> Iterator[int]:
    """The tags of all items that are messages, at whatever depth."""
    for slot in body.slots:
        if slot.weight:
            yield slot.field.number << 3 | slot.field.wire
        if slot.body is not None:
            yield from _heavy_tags(slot.body)


def _by_number(field: ProtoField, _: tuple[ProtoField, ...]) -> Rank:
    return 0, field.number


def _at_least(field: ProtoField, fields: tuple[ProtoField, ...]) -> Rank:
    same = [each.number for each in fields if field.oneof and each.oneof == field.oneof]
    return 0, min([field.number, *same])


def _behind_all(field: ProtoField, fields: tuple[ProtoField, ...]) -> Rank:
    """Oneofs come in the order of their declaration, which is that of their first fields."""
    oneofs = list(dict.fromkeys(each.oneof for each in fields if each.oneof))
    return 1 + oneofs.index(field.oneof) if field.oneof else 0, field.number


class _Layouts:
    """Walks messages and the shapes of their columns side by side.

    `order` is what tells two habits apart: the fields' numbers in the order of their ranks.
    """

    def __init__(
        self, types: ProtoTypes, habit: Callable[[ProtoField, tuple[ProtoField, ...]], Rank]
    ) -> None:
        self._types = types
        self._habit = habit
        self.order: list[int] = []

    def struct(self, message: ProtoMessage, record: Record | None) -> MessageBody:
        """A message with a column per field."""
        members = record.members if record is not None else ()
        slots = [
            self._slot(field, member.column, member.shape, message.fields)
            for field, member in zip(message.fields, members, strict=True)
        ]
        ranked = sorted(slots, key=lambda slot: (slot.rank, slot.field.number))
        self.order += [slot.field.number for slot in ranked]
        return _body("struct", slots)

    def _slot(
        self, field: ProtoField, column: str, shape: Shape, fields: tuple[ProtoField, ...]
    ) -> Slot:
        """A field; `fields` are all of its message."""
        rank = self._habit(field, fields)
        if field.label == "map":
            entry = self._entry(field, shape)
            item, weight = shape.item or shape, item_width(shape.type)
            return Slot(field, rank, column, shape, item, body=entry, weight=weight)
        item = shape.item if field.label == "repeated" and shape.item is not None else shape
        if field.kind == "enum":
            return Slot(field, rank, column, shape, item, _names(self._types.enum(field.type, "$")))
        if field.kind != "message":
            return Slot(field, rank, column, shape, item)
        message = self._types.message(field.type, shape.path)
        body, weight = self._message(message, item), item_width(shape.type)
        return Slot(field, rank, column, shape, item, body=body, weight=weight)

    def _message(self, message: ProtoMessage, shape: Shape) -> MessageBody:
        meaning = meaning_of(message)
        if meaning == "struct":
            return self.struct(message, shape.record)
        slots = [
            self._slot(field, field.name, shape_of(plain_type(field), shape.path), message.fields)
            for field in message.fields
        ]
        return _body(meaning, slots)

    def _entry(self, field: ProtoField, shape: Shape) -> MessageBody:
        """The key and the value of a map, which is a map or a list of structs as a column."""
        key, value = entry_of(self._types.message(field.type, shape.path), shape.path)
        if shape.item is None:
            raise ValueError("a map without items")
        if shape.type.kind == "map":
            shapes = [shape_of(STRING, shape.path), shape.item]
        else:
            members = shape.item.record.members if shape.item.record is not None else ()
            shapes = [member.shape for member in members]
        pairs = zip((key, value), ("key", "value"), shapes, strict=True)
        return _body("entry", [self._slot(*each, (key, value)) for each in pairs])


def _names(enum: ProtoEnum) -> dict[int, str]:
    found: dict[int, str] = {}
    for number, name in enum.values:
        found.setdefault(number, name)
    return found


def _body(meaning: str, slots: list[Slot]) -> MessageBody:
    return MessageBody(meaning, tuple(slots), {slot.field.number: slot for slot in slots})
