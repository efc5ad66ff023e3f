"""Protobuf schemas and records of them, made by Hypothesis; bytes by google.protobuf.

Our own code makes the tree from the descriptors, but reads no byte by that library.
"""

from dataclasses import dataclass
from typing import Any

from google.protobuf import (
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    message_factory,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as F
from hypothesis import strategies as st

from penstock.datapath.codec.protobuf.message_layout import MessageLayout, message_layout
from penstock.datapath.codec.protobuf.schema_compiler.descriptor_tree import tree_of
from penstock.datapath.codec.protobuf.types import ProtoFile, ProtoTypes

NAMES = ["a", "b", "c", "id", "_x", "day", "Value", "value", "type", "key"]
NUMBERS = [1, 2, 3, 4, 5, 15, 16, 17, 2047, 2048, 300_000, 2**29 - 1]
INT32 = st.one_of(
    st.sampled_from([0, -1, 1, 127, 128, -(2**31), 2**31 - 1]), st.integers(-300, 300)
)
INT64 = st.one_of(
    st.sampled_from([0, -1, 2**31, -(2**63), 2**63 - 1, 2**55, 2**56, -(2**56), 2**62]),
    st.integers(-(2**63), 2**63 - 1),
)
UINT32 = st.one_of(st.sampled_from([0, 1, 127, 128, 2**32 - 1]), st.integers(0, 300))
UINT64 = st.one_of(st.sampled_from([0, 1, 2**63, 2**64 - 1]), st.integers(0, 2**64 - 1))
FLOATS = st.floats(allow_nan=False, width=32)
DOUBLES = st.floats(allow_nan=False)
TEXTS = st.text(max_size=20)
SCALARS: dict[int, st.SearchStrategy[Any]] = {
    F.TYPE_INT32: INT32,
    F.TYPE_SINT32: INT32,
    F.TYPE_SFIXED32: INT32,
    F.TYPE_INT64: INT64,
    F.TYPE_SINT64: INT64,
    F.TYPE_SFIXED64: INT64,
    F.TYPE_UINT32: UINT32,
    F.TYPE_FIXED32: UINT32,
    F.TYPE_UINT64: UINT64,
    F.TYPE_FIXED64: UINT64,
    F.TYPE_FLOAT: FLOATS,
    F.TYPE_DOUBLE: DOUBLES,
    F.TYPE_BOOL: st.booleans(),
    F.TYPE_STRING: TEXTS,
    F.TYPE_BYTES: st.binary(max_size=20),
}
KEYS = [each for each in SCALARS if each not in {F.TYPE_FLOAT, F.TYPE_DOUBLE, F.TYPE_BYTES}]
NOT_PACKED = {F.TYPE_STRING, F.TYPE_BYTES, F.TYPE_MESSAGE}
KNOWN = [timestamp_pb2, duration_pb2, empty_pb2, wrappers_pb2]
WELL_KNOWN = [
    f".google.protobuf.{name}"
    for name in ("Timestamp", "Duration", "Empty", "Int64Value", "UInt64Value", "StringValue",
                 "BoolValue", "DoubleValue", "BytesValue")
]  # fmt: skip


class Maker:
    """Draws messages; each one is declared inside the one that uses it."""

    def __init__(self, draw: Any, syntax: str, with_maps: bool) -> None:
        self._draw = draw
        self._with_maps = with_maps
        self._proto2 = syntax == "proto2"
        self._made = 0

    def message(self, around: str, depth: int) -> DescriptorProto:
        """A message of a few fields, in any order of their numbers."""
        self._made += 1
        made = DescriptorProto(name=f"M{self._made}")
        name = f"{around}.{made.name}"
        names = self._draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
        count = len(names)
        numbers = self._draw(
            st.lists(st.sampled_from(NUMBERS), min_size=count, max_size=count, unique=True)
        )
        for field_name, number in zip(names, numbers, strict=True):
            field = made.field.add(name=field_name, number=number, label=F.LABEL_OPTIONAL)
            self._type(made, name, field, depth)
            self._label(made, name, field)
        # Oneofs of one field that proto3 makes for `optional` come behind all others.
        for field in made.field:
            if field.proto3_optional:
                field.oneof_index = len(made.oneof_decl)
                made.oneof_decl.add(name=f"_{field.name}_")
        return made

    def _type(self, made: DescriptorProto, name: str, field: F, depth: int) -> None:
        choices = ["scalar", "scalar", "scalar", "enum", "known"] + ["message"] * (depth > 0)
        choice = self._draw(st.sampled_from(choices))
        if choice == "scalar":
            field.type = self._draw(st.sampled_from(sorted(SCALARS)))
        elif choice == "known":
            field.type, field.type_name = F.TYPE_MESSAGE, self._draw(st.sampled_from(WELL_KNOWN))
        elif choice == "enum":
            self._made += 1
            enum = made.enum_type.add(name=f"E{self._made}")
            for number, text in ((0, "ZERO"), (5, "FIVE"), (-1, "LESS"), (2**31 - 1, "MOST")):
                enum.value.add(name=f"{text}_{self._made}", number=number)
            field.type, field.type_name = F.TYPE_ENUM, f"{name}.{enum.name}"
        else:
            nested = self.message(name, depth - 1)
            made.nested_type.append(nested)
            field.type, field.type_name = F.TYPE_MESSAGE, f"{name}.{nested.name}"

    def _label(self, made: DescriptorProto, name: str, field: F) -> None:
        choices = ["plain", "plain", "optional", "repeated", "oneof"] + ["map"] * self._with_maps
        choice = self._draw(st.sampled_from(choices + ["required"] * self._proto2))
        if choice == "required":
            field.label = F.LABEL_REQUIRED
        elif choice == "optional" and not self._proto2:
            field.proto3_optional = True
        elif choice == "oneof":
            if not made.oneof_decl:
                made.oneof_decl.add(name="one")
            field.oneof_index = 0
        elif choice == "repeated":
            field.label = F.LABEL_REPEATED
            if field.type not in NOT_PACKED and self._draw(st.booleans()):
                field.options.packed = self._draw(st.booleans())
        elif choice == "map":
            self._map(made, name, field)

    def _map(self, made: DescriptorProto, name: str, field: F) -> None:
        """Turn a field into a map with values of what it was."""
        camel = "".join(part.capitalize() for part in field.name.split("_"))
        entry = made.nested_type.add(name=f"{camel}Entry")
        if [each.name for each in made.nested_type].count(entry.name) > 1:
            made.nested_type.pop()  # `value` and `Value` would share one
            return
        entry.options.map_entry = True
        key = self._draw(st.sampled_from([F.TYPE_STRING, F.TYPE_STRING, *KEYS]))
        entry.field.add(name="key", number=1, label=F.LABEL_OPTIONAL, type=key)
        value = entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL, type=field.type)
        if field.type_name:
            value.type_name = field.type_name
        field.label, field.type = F.LABEL_REPEATED, F.TYPE_MESSAGE
        field.type_name = f"{name}.{entry.name}"


@dataclass(frozen=True)
class World:
    """A schema as a tree, records of it as bytes, and how google.protobuf reads them."""

    tree: ProtoFile
    payloads: list[bytes]
    make: Any

    def layout(self) -> MessageLayout:
        """The first message made ready."""
        return layout(self.tree)


def layout(tree: ProtoFile) -> MessageLayout:
    """The first message of a tree made ready."""
    types = ProtoTypes(tree)
    return message_layout(types, types.message_at((0,)))


@st.composite
def worlds(
    draw: Any,
    records: int = 10,
    syntaxes: tuple[str, ...] = ("proto2", "proto3"),
    with_maps: bool = True,
    with_strange: bool = True,
) -> World:
    """A schema and records written with it."""
    syntax = draw(st.sampled_from(syntaxes))
    file = FileDescriptorProto(name="world.proto", package="w", syntax=syntax)
    file.message_type.append(Maker(draw, syntax, with_maps).message(".w", 2))
    pool = descriptor_pool.DescriptorPool()
    for known in KNOWN:
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
        file.dependency.append(known.DESCRIPTOR.name)
    pool.Add(file)
    found = pool.FindFileByName(file.name)
    make = message_factory.GetMessageClass(found.message_types_by_name[file.message_type[0].name])
    payloads = []
    for _ in range(draw(st.integers(1, records))):
        message = make()
        Filler(draw, with_strange).fill(message)
        payloads.append(message.SerializeToString())
    return World(tree_of(found, with_entries=False), payloads, make)


class Filler:
    """Draws what messages hold."""

    def __init__(self, draw: Any, with_strange: bool) -> None:
        self._draw = draw
        self._with_strange = with_strange

    def fill(self, message: Any) -> None:
        """Set some fields of a message, and all that it needs."""
        name = message.DESCRIPTOR.full_name
        if name in {"google.protobuf.Timestamp", "google.protobuf.Duration"}:
            self._time(message, is_moment=name.endswith("p"))
            return
        for field in message.DESCRIPTOR.fields:
            if not field.is_required and self._draw(st.integers(0, 3)) == 0:
                continue
            if field.is_repeated:
                self._many(message, field)
            elif field.message_type is not None:
                inside = getattr(message, field.name)
                inside.SetInParent()
                self.fill(inside)
            else:
                setattr(message, field.name, self._value(field))

    def _many(self, message: Any, field: Any) -> None:
        """Add items to a list or a map."""
        items = getattr(message, field.name)
        entry = field.message_type if field.message_type is not None else None
        is_map = entry is not None and entry.GetOptions().map_entry
        for _ in range(self._draw(st.integers(0, 3))):
            if is_map and entry is not None:
                key, value = (entry.fields_by_name[each] for each in ("key", "value"))
                name = self._value(key)
                if value.message_type is not None:
                    self.fill(items[name])
                else:
                    items[name] = self._value(value)
            elif entry is not None:
                self.fill(items.add())
            else:
                items.append(self._value(field))

    def _time(self, message: Any, *, is_moment: bool) -> None:
        """A time of the years 1 to 9999, or a duration."""
        if is_moment:
            message.seconds = self._draw(st.integers(-62_135_596_800, 253_402_300_799))
            message.nanos = self._draw(st.sampled_from([0, 1, 999, 1_000, 999_999_999]))
            return
        sign = self._draw(st.sampled_from([-1, 1]))
        message.seconds = sign * self._draw(st.sampled_from([0, 1, 315_576_000_000]))
        message.nanos = sign * self._draw(st.sampled_from([0, 1, 999, 1_999, 999_999_999]))

    def _value(self, field: Any) -> Any:
        """A value of a field that is no message; of open enums also numbers without a name."""
        if field.enum_type is None:
            return self._draw(SCALARS[field.type])
        known = [each.number for each in field.enum_type.values]
        if self._with_strange and not field.enum_type.is_closed:
            known += [77, -(2**31)]
        return self._draw(st.sampled_from(known))
