"""A Protobuf message made ready for reading: what each number means, and which column it fills."""

from collections.abc import Iterator
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

    `names` are those of an enum's numbers, the default first; of two names the first counts.
    `weight` is how many values each item of a list or map becomes, 0 where items are single values.
    """

    field: ProtoField
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
    """All that both ways of reading need of a message."""

    name: str
    fields: tuple[Field, ...]
    body: MessageBody
    schema: pa.Schema
    counter: ValueCounter


@lru_cache(maxsize=512)
def message_layout(types: ProtoTypes, root: ProtoMessage) -> MessageLayout:
    """Compile a message; raises SchemaUnsupported."""
    fields = columns_of_proto(types, root)
    shape = shape_of(struct_of(fields), "")
    body = _Layouts(types).struct(root, shape.record)
    nullable = {field.column: field.nullable for field in fields}
    schema = pa.schema(
        [pa.field(each.name, each.type, nullable[each.name]) for each in shape.arrow]
    )
    widest = widest_item(struct_of(fields))
    counter = proto_value_counter(width_of(fields), widest, frozenset(_heavy_tags(body)))
    return MessageLayout(root.name, fields, body, schema, counter)


def _heavy_tags(body: MessageBody) -> Iterator[int]:
    """The tags of all items that are messages, at whatever depth."""
    for slot in body.slots:
        if slot.weight:
            yield slot.field.number << 3 | slot.field.wire
        if slot.body is not None:
            yield from _heavy_tags(slot.body)


class _Layouts:
    """Walks messages and the shapes of their columns side by side."""

    def __init__(self, types: ProtoTypes) -> None:
        self._types = types

    def struct(self, message: ProtoMessage, record: Record | None) -> MessageBody:
        """A message with a column per field."""
        members = record.members if record is not None else ()
        slots = [
            self._slot(field, member.column, member.shape)
            for field, member in zip(message.fields, members, strict=True)
        ]
        return _body("struct", slots)

    def _slot(self, field: ProtoField, column: str, shape: Shape) -> Slot:
        if field.label == "map":
            entry = self._entry(field, shape)
            item, weight = shape.item or shape, item_width(shape.type)
            return Slot(field, column, shape, item, body=entry, weight=weight)
        item = shape.item if field.label == "repeated" and shape.item is not None else shape
        if field.kind == "enum":
            return Slot(field, column, shape, item, _names(self._types.enum(field.type, "$")))
        if field.kind != "message":
            return Slot(field, column, shape, item)
        message = self._types.message(field.type, shape.path)
        body, weight = self._message(message, item), item_width(shape.type)
        return Slot(field, column, shape, item, body=body, weight=weight)

    def _message(self, message: ProtoMessage, shape: Shape) -> MessageBody:
        meaning = meaning_of(message)
        if meaning == "struct":
            return self.struct(message, shape.record)
        slots = [
            self._slot(field, field.name, shape_of(plain_type(field), shape.path))
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
        return _body("entry", [self._slot(*each) for each in pairs])


def _names(enum: ProtoEnum) -> dict[int, str]:
    found: dict[int, str] = {}
    for number, name in enum.values:
        found.setdefault(number, name)
    return found


def _body(meaning: str, slots: list[Slot]) -> MessageBody:
    return MessageBody(meaning, tuple(slots), {slot.field.number: slot for slot in slots})
