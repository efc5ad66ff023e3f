"""Thrift structs and records of them, made by Hypothesis; bytes by Apache's own library."""

import uuid
from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from penstock.datapath.codec.thrift.struct_layout import (
    Slot,
    StructBody,
    StructLayout,
    struct_layout,
)
from penstock.datapath.codec.thrift.types import (
    Protocol,
    ThriftEnum,
    ThriftField,
    ThriftFile,
    ThriftKind,
    ThriftStruct,
    ThriftType,
    parse_thrift,
)

NAMES = ["a", "b", "c", "id", "_x", "day", "Value", "value", "type", "key"]
NUMBERS = [1, 2, 3, 4, 5, 15, 16, 17, 18, 300, 301, 2**15 - 1]
ENUM = ((0, "ZERO"), (5, "FIVE"), (-1, "LESS"), (2**31 - 1, "MOST"), (5, "AGAIN"))
WIRES = {
    "bool": TType.BOOL,
    "i8": TType.BYTE,
    "i16": TType.I16,
    "i32": TType.I32,
    "i64": TType.I64,
    "double": TType.DOUBLE,
    "string": TType.STRING,
    "binary": TType.STRING,
    "uuid": TType.UUID,
    "enum": TType.I32,
    "struct": TType.STRUCT,
    "list": TType.LIST,
    "set": TType.SET,
    "map": TType.MAP,
}


def whole(bits: int) -> st.SearchStrategy[int]:
    """Numbers of so many bits, most of them small or at an end."""
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    few = st.integers(-100, 100)
    return st.one_of(few, st.sampled_from([0, -1, least, most]), st.integers(least, most))


SCALARS: dict[ThriftKind, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "i8": whole(8),
    "i16": whole(16),
    "i32": whole(32),
    "i64": whole(64),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=20),
    "binary": st.binary(max_size=20),
    "uuid": st.uuids(),
}
PLAIN: list[ThriftKind] = list(SCALARS)


class Maker:
    """Draws structs, with an enum for all of them."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        self.structs: list[ThriftStruct] = []

    def struct(self, depth: int, least: int = 0) -> str:
        """A struct of a few fields, or a union; its name."""
        made = len(self.structs)
        self.structs.append(ThriftStruct(f"S{made}", ()))
        names = self._draw(
            st.lists(st.sampled_from(NAMES), min_size=least, max_size=5, unique=True)
        )
        count = len(names)
        numbers = self._draw(
            st.lists(st.sampled_from(NUMBERS), min_size=count, max_size=count, unique=True)
        )
        is_union = made > 0 and self._draw(st.integers(0, 4)) == 0
        fields = tuple(
            ThriftField(
                number, name, self.type(depth), not is_union and self._draw(st.integers(0, 3)) == 0
            )
            for name, number in zip(names, numbers, strict=True)
        )
        self.structs[made] = ThriftStruct(f"S{made}", fields, is_union)
        return f"S{made}"

    def type(self, depth: int) -> ThriftType:
        """Any type, nesting so deep at most."""
        nested = ["struct", "list", "set", "map"] if depth > 0 else []
        kind = self._draw(st.sampled_from([*PLAIN, "enum", *nested]))
        if kind == "enum":
            return ThriftType("enum", "E")
        if kind == "struct":
            return ThriftType("struct", self.struct(depth - 1))
        if kind in {"list", "set"}:
            return ThriftType(kind, items=(self.type(depth - 1),))
        if kind == "map":
            key = self.type(0) if self._draw(st.integers(0, 3)) else self.type(depth - 1)
            return ThriftType(kind, items=(key, self.type(depth - 1)))
        return ThriftType(kind)


@dataclass(frozen=True)
class World:
    """A struct as a tree, records of it as plain values, and as bytes."""

    tree: ThriftFile
    events: list[dict[str, Any]]
    payloads: list[bytes]

    def layout(self) -> StructLayout:
        """The struct made ready."""
        return layout(self.tree)


def layout(tree: ThriftFile) -> StructLayout:
    """The struct of a tree made ready, as executors do."""
    return struct_layout(parse_thrift(msgspec.json.encode(tree).decode()))


@st.composite
def worlds(draw: Any, records: int = 8, with_strange: bool = True) -> World:
    """A struct and records of it; strange ones have numbers of an enum without a name."""
    maker = Maker(draw)
    root = maker.struct(3, least=1)
    protocol: Protocol = draw(st.sampled_from(["binary", "compact"]))
    tree = ThriftFile(root, protocol, tuple(maker.structs), (ThriftEnum("E", ENUM),))
    filler = Filler(draw, tree, with_strange)
    kind = ThriftType("struct", root)
    events = [filler.value(kind) for _ in range(draw(st.integers(1, records)))]
    return World(tree, events, [written(tree, each) for each in events])


class Filler:
    """Draws what structs hold."""

    def __init__(self, draw: Any, tree: ThriftFile, with_strange: bool) -> None:
        self._draw = draw
        self._structs = {each.name: each for each in tree.structs}
        self._numbers = [0, 5, -1, 2**31 - 1, *([77, -(2**31)] if with_strange else [])]

    def value(self, kind: ThriftType) -> Any:
        """Structs are dicts by name, maps lists of pairs; keys are never there twice."""
        if kind.kind == "struct":
            return self._struct(self._structs[kind.name])
        if kind.kind == "enum":
            return self._draw(st.sampled_from(self._numbers))
        if not kind.items:
            return self._draw(SCALARS[kind.kind])
        count = self._draw(st.sampled_from([0, 1, 2, 3, 17]))
        if kind.kind != "map":
            return [self.value(kind.items[0]) for _ in range(count)]
        pairs = {}
        for _ in range(min(count, 4)):
            key, value = (self.value(each) for each in kind.items)
            pairs[repr(key)] = (key, value)
        return list(pairs.values())

    def _struct(self, struct: ThriftStruct) -> dict[str, Any]:
        fields = list(struct.fields)
        if struct.is_union and fields:
            fields = [self._draw(st.sampled_from(fields))]
        wanted = [each for each in fields if each.required or self._draw(st.integers(0, 3))]
        return {each.name: self.value(each.type) for each in wanted}


def written(tree: ThriftFile, event: dict[str, Any]) -> bytes:
    """A record as Apache's library writes it."""
    buffer = TMemoryBuffer()
    _Writer(tree, protocol_of(tree, buffer)).write(ThriftType("struct", tree.root), event)
    found: bytes = buffer.getvalue()
    return found


def protocol_of(tree: ThriftFile, buffer: TMemoryBuffer) -> Any:
    """Apache's protocol of a tree, over a buffer."""
    return (TCompactProtocol if tree.protocol == "compact" else TBinaryProtocol)(buffer)


class _Writer:
    """Writes values by the calls of Apache's protocols."""

    def __init__(self, tree: ThriftFile, protocol: Any) -> None:
        self._structs = {each.name: each for each in tree.structs}
        self._to = protocol
        self._plain = {
            "bool": protocol.writeBool,
            "i8": protocol.writeByte,
            "i16": protocol.writeI16,
            "i32": protocol.writeI32,
            "enum": protocol.writeI32,
            "i64": protocol.writeI64,
            "double": protocol.writeDouble,
            "string": protocol.writeString,
            "binary": protocol.writeBinary,
            "uuid": protocol.writeUuid,
        }

    def write(self, kind: ThriftType, value: Any) -> None:
        """One value of any type."""
        to = self._to
        if kind.kind == "struct":
            self._struct(self._structs[kind.name], value)
        elif kind.kind in {"list", "set"}:
            begin = to.writeListBegin if kind.kind == "list" else to.writeSetBegin
            begin(WIRES[kind.items[0].kind], len(value))
            for each in value:
                self.write(kind.items[0], each)
            (to.writeListEnd if kind.kind == "list" else to.writeSetEnd)()
        elif kind.kind == "map":
            keys, values = kind.items
            to.writeMapBegin(WIRES[keys.kind], WIRES[values.kind], len(value))
            for key, inside in value:
                self.write(keys, key)
                self.write(values, inside)
            to.writeMapEnd()
        else:
            self._plain[kind.kind](value)

    def _struct(self, struct: ThriftStruct, value: dict[str, Any]) -> None:
        self._to.writeStructBegin(struct.name)
        for each in struct.fields:
            if each.name in value:
                self._to.writeFieldBegin(each.name, WIRES[each.type.kind], each.number)
                self.write(each.type, value[each.name])
                self._to.writeFieldEnd()
        self._to.writeFieldStop()
        self._to.writeStructEnd()


def read_by_apache(tree: ThriftFile, payload: bytes) -> dict[str, Any]:
    """A record as Apache's library reads it; what it does not know it passes over."""
    buffer = TMemoryBuffer(payload)
    event: dict[str, Any] = _Reader(tree, protocol_of(tree, buffer)).read(
        ThriftType("struct", tree.root)
    )
    return event


class _Reader:
    """Reads values by the calls of Apache's protocols."""

    def __init__(self, tree: ThriftFile, protocol: Any) -> None:
        self._structs = {each.name: each for each in tree.structs}
        self._of = protocol
        self._plain = {
            "bool": protocol.readBool,
            "i8": protocol.readByte,
            "i16": protocol.readI16,
            "i32": protocol.readI32,
            "enum": protocol.readI32,
            "i64": protocol.readI64,
            "double": protocol.readDouble,
            "string": protocol.readString,
            "binary": protocol.readBinary,
            "uuid": protocol.readUuid,
        }

    def read(self, kind: ThriftType) -> Any:
        """One value of any type."""
        of = self._of
        if kind.kind == "struct":
            return self._struct(self._structs[kind.name])
        if kind.kind in {"list", "set"}:
            _, size = of.readListBegin() if kind.kind == "list" else of.readSetBegin()
            found = [self.read(kind.items[0]) for _ in range(size)]
            (of.readListEnd if kind.kind == "list" else of.readSetEnd)()
            return found
        if kind.kind == "map":
            _, _, size = of.readMapBegin()
            pairs = [(self.read(kind.items[0]), self.read(kind.items[1])) for _ in range(size)]
            of.readMapEnd()
            return pairs
        return self._plain[kind.kind]()

    def _struct(self, struct: ThriftStruct) -> dict[str, Any]:
        fields = {each.number: each for each in struct.fields}
        found = {}
        self._of.readStructBegin()
        while (header := self._of.readFieldBegin())[1] != TType.STOP:
            _, wire, number = header
            if number in fields and WIRES[fields[number].type.kind] == wire:
                found[fields[number].name] = self.read(fields[number].type)
            else:
                self._of.skip(wire)
            self._of.readFieldEnd()
        self._of.readStructEnd()
        return found


def wanted(plan: StructLayout, tree: ThriftFile, event: dict[str, Any]) -> dict[str, Any]:
    """The row of a record, as Python values; NaN is not among them."""
    return _Rows(tree).struct(plan.body, ThriftType("struct", tree.root), event)


class _Rows:
    """From plain values to those of columns."""

    def __init__(self, tree: ThriftFile) -> None:
        self._structs = {each.name: each for each in tree.structs}
        self._names = dict(reversed(ENUM))

    def struct(self, body: StructBody, kind: ThriftType, value: dict[str, Any]) -> dict[str, Any]:
        """A value for every column."""
        names = {each.number: each.name for each in self._structs[kind.name].fields}
        return {
            slot.column: self._value(slot, value[names[slot.number]])
            if names[slot.number] in value
            else None
            for slot in body.slots
        }

    def _value(self, slot: Slot, value: Any) -> Any:
        kind = slot.type.kind
        if slot.body is not None:
            return self.struct(slot.body, slot.type, value) if slot.body.slots else True
        if kind == "enum":
            return self._names.get(value, str(value))
        if kind == "uuid":
            return str(uuid.UUID(int=value.int))
        if kind in {"list", "set"}:
            return [self._value(slot.items[0], each) for each in value]
        if kind != "map":
            return value
        key, inside = slot.items
        pairs = [(self._value(key, k), self._value(inside, v)) for k, v in value]
        if slot.shape.type.kind == "map":
            return list(dict(pairs).items())
        return [{"key": k, "value": v} for k, v in pairs]
