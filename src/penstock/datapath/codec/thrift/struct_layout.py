"""A Thrift struct made ready for reading: what each number means, and which column it fills."""

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache

import pyarrow as pa

from penstock.datapath.codec.shared.shapes import Record, Shape, shape_of
from penstock.datapath.codec.shared.value_count import ValueCounter, width_of
from penstock.datapath.codec.thrift.schema import columns_of_thrift
from penstock.datapath.codec.thrift.types import (
    WIRES,
    ThriftEnum,
    ThriftStruct,
    ThriftType,
    ThriftTypes,
)
from penstock.datapath.codec.thrift.value_count import thrift_value_counter
from penstock.model.schema import STRING, Field, struct_of


@dataclass(frozen=True, slots=True, eq=False)
class StructBody:
    """A struct at one place of an event. `slots` are in the order of its columns."""

    is_union: bool
    slots: tuple["Slot", ...]
    by_number: dict[int, "Slot"]


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A value at one place of an event: a field, or what a list, set or map holds.

    `column` and `number` are those of a field. `names` are those of an enum's numbers; of two names
    the first counts. `items` are the slots of a list's items, or of a map's keys and values.
    `weight` is how many values each item becomes, 0 where items are no structs.
    """

    type: ThriftType
    shape: Shape
    column: str = ""
    number: int = 0
    required: bool = False
    names: dict[int, str] = dataclass_field(default_factory=dict)
    body: StructBody | None = None
    items: tuple["Slot", ...] = ()
    weight: int = 0

    @property
    def wire(self) -> int:
        """What the bytes say of its type."""
        return WIRES[self.type.kind]


@dataclass(frozen=True, slots=True, eq=False)
class StructLayout:
    """All that both ways of reading need of a struct that is an event."""

    name: str
    is_compact: bool
    fields: tuple[Field, ...]
    body: StructBody
    schema: pa.Schema
    counter: ValueCounter


@lru_cache(maxsize=512)
def struct_layout(types: ThriftTypes) -> StructLayout:
    """Compile a struct; raises SchemaUnsupported."""
    fields = columns_of_thrift(types)
    shape = shape_of(struct_of(fields), "")
    body = _Layouts(types).struct(types.struct(types.root, "$"), shape.record)
    nullable = {field.column: field.nullable for field in fields}
    schema = pa.schema(
        [pa.field(each.name, each.type, nullable[each.name]) for each in shape.arrow]
    )
    widest = max(_weights(body.slots), default=0)
    name = types.root.rpartition(":")[2]
    counter = thrift_value_counter(width_of(fields), widest)
    return StructLayout(name, types.is_compact, fields, body, schema, counter)


def _weights(slots: tuple[Slot, ...]) -> Iterator[int]:
    """The weights of all items, at whatever depth."""
    for slot in slots:
        yield slot.weight
        yield from _weights(slot.items)
        if slot.body is not None:
            yield from _weights(slot.body.slots)


class _Layouts:
    """Walks structs and the shapes of their columns side by side."""

    def __init__(self, types: ThriftTypes) -> None:
        self._types = types

    def struct(self, struct: ThriftStruct, record: Record | None) -> StructBody:
        """A struct with a column per field."""
        members = record.members if record is not None else ()
        slots = tuple(
            self._slot(
                field.type,
                member.shape,
                member.column,
                field.number,
                field.required and not struct.is_union,
            )
            for field, member in zip(struct.fields, members, strict=True)
        )
        return StructBody(struct.is_union, slots, {slot.number: slot for slot in slots})

    def _slot(
        self,
        kind: ThriftType,
        shape: Shape,
        column: str = "",
        number: int = 0,
        required: bool = False,
    ) -> Slot:
        if kind.kind == "enum":
            names = _names(self._types.enum(kind.name, "$"))
            return Slot(kind, shape, column, number, required, names)
        if kind.kind == "struct":
            body = self.struct(self._types.struct(kind.name, shape.path), shape.record)
            return Slot(kind, shape, column, number, required, body=body)
        items = self._items(kind, shape)
        weight = sum(_struct_width(each) for each in items)
        return Slot(kind, shape, column, number, required, items=items, weight=weight)

    def _items(self, kind: ThriftType, shape: Shape) -> tuple[Slot, ...]:
        """What a list, set or map holds; nothing, if it is another type."""
        if shape.item is None:
            return ()
        if kind.kind != "map":
            return (self._slot(kind.items[0], shape.item),)
        if shape.type.kind == "map":
            shapes = [shape_of(STRING, shape.path), shape.item]
        else:
            members = shape.item.record.members if shape.item.record is not None else ()
            shapes = [member.shape for member in members]
        return tuple(self._slot(*pair) for pair in zip(kind.items, shapes, strict=True))


def _struct_width(slot: Slot) -> int:
    """How many values a struct becomes; others are bounded by their bytes."""
    return width_of(slot.shape.type.fields) if slot.type.kind == "struct" else 0


def _names(enum: ThriftEnum) -> dict[int, str]:
    found: dict[int, str] = {}
    for number, name in enum.values:
        found.setdefault(number, name)
    return found
