"""Records of all types, whole and broken in many ways, for loops that run without bounds."""

import io
import json
import random
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal

import fastavro
import pyarrow as pa

from penstock.api.codec import DecodedBatch
from penstock.datapath.codec.avro.avro_reader import read_avro
from penstock.datapath.codec.avro.columns import avro_plan
from penstock.datapath.codec.avro.types import parse_avro
from penstock.datapath.codec.protobuf.message_layout import MessageLayout
from penstock.datapath.codec.protobuf.protobuf_reader import proto_layout, read_proto
from penstock.datapath.codec.protobuf.schema_compiler.compiler import prepared
from penstock.datapath.codec.thrift.idl.fixed_struct import fixed_struct
from penstock.datapath.codec.thrift.struct_layout import StructLayout, struct_layout
from penstock.datapath.codec.thrift.thrift_reader import read_thrift
from penstock.datapath.codec.thrift.types import parse_thrift
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import DecodeSpec
from tests.helpers.broken_payloads import same_values

_ROW = {
    "type": "record", "name": "Row", "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "price", "type": {
            "type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 2}},
        {"name": "state", "type": {"type": "enum", "name": "E", "symbols": ["A", "BC", "DEF"]}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "points", "type": {"type": "array", "items": {"type": "map", "values": "double"}}},
        {"name": "mixed", "type": ["null", "int", "boolean", "float", {
            "type": "fixed", "name": "F", "size": 3}]},
    ],
}  # fmt: skip
_ENVELOPE = {
    "type": "record", "name": "Envelope", "fields": [
        {"name": "before", "type": ["null", _ROW]}, {"name": "after", "type": ["null", "Row"]}],
}  # fmt: skip


class AvroBounds:
    """A batch of envelopes with before and after."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        parsed = fastavro.parse_schema(_ENVELOPE)
        self._payloads = []
        for _ in range(chance.randrange(1, 12)):
            out = io.BytesIO()
            fastavro.schemaless_writer(out, parsed, {"before": self._row(), "after": self._row()})
            self._payloads.append(broken(out.getvalue(), chance))

    def read_in_both_ways(self) -> DecodedBatch:
        """Read, and insist that the reference agrees."""
        plan = avro_plan(parse_avro(json.dumps(_ENVELOPE)))
        values = pa.array(self._payloads, pa.binary())
        fast, slow = read_avro(plan, values, 0), read_avro(plan, values, 0, exact_only=True)
        assert fast.bad == slow.bad
        assert fast.batch.equals(slow.batch) or same_values(fast, slow)
        return fast

    def _row(self) -> dict[str, Any] | None:
        chance = self._chance
        if chance.random() < 0.3:
            return None
        texts = ["", "x", "naïve", "a longer text than eight bytes"]
        return {
            "id": chance.choice([0, -1, 2**63 - 1, -(2**63), chance.getrandbits(40)]),
            "name": chance.choice([None, *texts]),
            "price": Decimal(chance.randrange(-(10**12), 10**12)).scaleb(-2),
            "state": chance.choice(["A", "BC", "DEF"]),
            "at": datetime.fromtimestamp(chance.randrange(2**31), UTC),
            "tags": [chance.choice(texts) for _ in range(chance.randrange(5))],
            "points": [
                {text: chance.random() for text in texts[: chance.randrange(4)]}
                for _ in range(chance.choice([0, 1, 2, 90]))
            ],
            "mixed": chance.choice([None, 7, True, 1.5, b"abc"]),
        }


def broken(payload: bytes, chance: random.Random) -> bytes:
    """The payload, as it is or with a few bytes that are others, too many or missing."""
    made = bytearray(payload)
    for _ in range(chance.choice([0, 1, 1, 3])):
        at = chance.randrange(len(made) + 1)
        way = chance.randrange(4)
        if way == 0:
            del made[at:]
        elif way == 1:
            made[at:at] = chance.randbytes(chance.randrange(12))
        elif way == 2:
            made[at : at + 1] = bytes([chance.choice([0, 1, 2, 127, 128, 255])])
        else:
            made[at : at + 10] = b"\xff" * chance.randrange(12)
    return bytes(made)


_PROTO = """syntax = "proto3";
import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
message Event {
  int64 id = 1; sint32 delta = 2; string name = 3; uint64 large = 4; double rate = 5;
  float part = 6; bool is_open = 7; Colour colour = 8; repeated int32 counts = 9;
  repeated string tags = 10; map<string, Row> rows = 11; map<int32, string> labels = 12;
  Row before = 13; repeated Row history = 14; google.protobuf.Timestamp at = 15;
  google.protobuf.StringValue note = 16; oneof what { string text = 17; Row row = 18; }
  optional fixed32 code = 19; repeated double points = 20;
  enum Colour { RED = 0; GREEN = 5; BLUE = -1; }
  message Row { int64 a = 1; string b = 2; repeated sint64 c = 3; Empty d = 4; message Empty {} }
}
"""
_WHOLE, _EIGHT, _PIECE, _FOUR = 0, 1, 2, 5
_KINDS = {
    1: _WHOLE, 2: _WHOLE, 3: _PIECE, 4: _WHOLE, 5: _EIGHT, 6: _FOUR, 7: _WHOLE, 8: _WHOLE,
    9: _WHOLE, 10: _PIECE, 11: "row entry", 12: "label", 13: "row", 14: "row", 15: "time",
    16: "text", 17: _PIECE, 18: "row", 19: _FOUR, 20: _EIGHT, 99: _PIECE, 98: _WHOLE,
}  # fmt: skip
_ROW_KINDS = {1: _WHOLE, 2: _PIECE, 3: _WHOLE, 4: _PIECE}


class ProtoBounds:
    """A batch of messages with lists, maps and messages inside, in any order."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._layout = _proto_layout()
        count = chance.randrange(1, 12)
        made = [self._message(_KINDS, chance.choice([0, 5, 20, 60])) for _ in range(count)]
        self._payloads = [broken(each, chance) for each in made]

    def read_in_both_ways(self) -> DecodedBatch:
        """Read, and insist that the reference agrees."""
        values = pa.array(self._payloads, pa.binary())
        fast = read_proto(self._layout, values, 0)
        slow = read_proto(self._layout, values, 0, exact_only=True)
        assert fast.bad == slow.bad
        assert fast.batch.equals(slow.batch) or same_values(fast, slow)
        return fast

    def _message(self, kinds: dict[int, Any], fields: int) -> bytes:
        numbers = [self._chance.choice(list(kinds)) for _ in range(fields)]
        return b"".join(self._field(number, kinds[number]) for number in numbers)

    def _field(self, number: int, kind: Any) -> bytes:
        chance = self._chance
        wire = kind if isinstance(kind, int) else _PIECE
        if number in {9, 20} and chance.random() < 0.5:
            item = b"\x05\x80\x01" if number == 9 else bytes(8)
            return _number(number << 3 | _PIECE) + _piece(item * chance.randrange(40))
        return _number(number << 3 | wire) + self._value(kind)

    def _value(self, kind: Any) -> bytes:
        chance = self._chance
        if kind == _WHOLE:
            return _number(chance.choice([0, 1, 5, 127, 128, 2**32 - 1, 2**63, 2**64 - 1]))
        if kind in {_EIGHT, _FOUR}:
            return chance.randbytes(8 if kind == _EIGHT else 4)
        if kind == _PIECE:
            return _piece(chance.choice([b"", b"x", "naïve".encode(), b"longer than eight bytes"]))
        key, row = _number(chance.randrange(6)), _piece(self._message(_ROW_KINDS, 4))
        inside = {
            "row": row,
            "row entry": _piece(b"\x0a" + _piece(b"key" + key) + b"\x12" + row),
            "label": _piece(b"\x08" + key + b"\x12" + _piece(b"label")),
            "time": _piece(b"\x08\x85\x01\x10" + key),
            "text": _piece(b"\x0a" + _piece(b"text")),
        }
        return inside[kind]


@cache
def _proto_layout() -> MessageLayout:
    return proto_layout(prepared(RegisteredSchema("protobuf", _PROTO)), (0,))


def _piece(raw: bytes) -> bytes:
    return _number(len(raw)) + raw


def _number(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _number(value >> 7)


_IDL = """
enum Colour { RED, GREEN = 5, BLUE = -1 }
struct Empty {}
struct Row { 1: required i64 a, 2: string b, 3: list<i16> c, 4: Empty d, 5: bool e }
union What { 1: string text, 2: Row row }
struct Event {
  1: i64 id, 2: i8 tiny, 3: string name, 4: double rate, 5: bool is_open, 6: Colour colour,
  7: list<i32> counts, 8: set<string> tags, 9: map<string, Row> rows, 10: map<i32, string> labels,
  11: Row before, 12: list<Row> history, 13: uuid who, 14: What what, 15: list<list<bool>> flags,
  16: map<Colour, list<Row>> colours, 17: i16 short, 18: binary raw
}
"""
_STOP = b"\0"
_BY_KIND = {"i8": 3, "double": 4, "i16": 6, "i32": 8, "i64": 10, "piece": 11, "uuid": 16}


class ThriftBounds:
    """A batch of structs with lists, maps and structs inside, in any order, in both protocols."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._is_compact = chance.random() < 0.5
        self._layout = _thrift_layout("compact" if self._is_compact else "binary")
        count = chance.randrange(1, 12)
        made = [self._struct(chance.choice([0, 5, 20, 40])) for _ in range(count)]
        self._payloads = [broken(each, chance) for each in made]

    def read_in_both_ways(self) -> DecodedBatch:
        """Read, and insist that the reference agrees."""
        values = pa.array(self._payloads, pa.binary())
        fast = read_thrift(self._layout, values, 0)
        slow = read_thrift(self._layout, values, 0, exact_only=True)
        assert fast.bad == slow.bad
        assert fast.batch.equals(slow.batch) or same_values(fast, slow)
        return fast

    def _struct(self, fields: int) -> bytes:
        """Fields in any order; most of them once, since the second one is left to the reference."""
        numbers = self._chance.sample([*range(1, 19), 99, 300], min(fields, 20))
        return b"".join(map(self._field, numbers)) + _STOP

    def _field(self, number: int) -> bytes:
        kinds = ["i64", "i8", "piece", "double", "bool", "i32", "counts", "tags", "rows", "labels"]
        kinds += ["row", "history", "uuid", "what", "flags", "colours", "i16", "piece"]
        kind = kinds[number - 1] if number < 19 else self._chance.choice(kinds)
        wire, value = self._value(kind)
        if not self._is_compact:
            return bytes([wire]) + number.to_bytes(2, "big") + value
        if kind == "bool":
            return bytes([1 + self._chance.randrange(2)]) + _number(2 * number)
        return bytes([_compact(wire)]) + _number(2 * number) + value

    def _value(self, kind: str) -> tuple[int, bytes]:
        """Its type, and its bytes."""
        chance = self._chance
        if kind in _BY_KIND:
            return _BY_KIND[kind], self._plain(kind)
        if kind == "bool":
            return 2, bytes([chance.randrange(2)])
        count = chance.choice([0, 1, 3, 40])
        rows = [self._row() for _ in range(count)]
        if kind == "row":
            return 12, self._row()
        if kind == "what":
            what = self._one_of_what()
            return 12, what + _STOP
        if kind == "flags":
            flags = self._items(2, [bytes([chance.randrange(3)]) for _ in range(count)])
            return 15, self._items(15, [flags] * chance.randrange(3))
        if kind in {"counts", "tags", "history"}:
            wire, item = {"counts": (8, "i32"), "tags": (11, "piece"), "history": (12, "")}[kind]
            inside = rows if kind == "history" else [self._plain(item) for _ in range(count)]
            return 14 if kind == "tags" else 15, self._items(wire, inside)
        keys = [self._plain("piece" if kind == "rows" else "i32") for _ in range(count)]
        if kind == "rows":
            return 13, self._entries(11, 12, keys, rows)
        if kind == "labels":
            return 13, self._entries(8, 11, keys, [self._plain("piece") for _ in keys])
        return 13, self._entries(8, 15, keys, [self._items(12, rows[:2]) for _ in keys])

    def _row(self) -> bytes:
        short = self._items(6, [self._plain("i16")] * self._chance.randrange(4))
        if self._is_compact:
            return b"\x16\x05\x18\x01b\x19" + short + b"\x1c\0\x11\0"
        return b"\x0a\0\1" + bytes(8) + b"\x0f\0\3" + short + b"\x0c\0\4\0" + _STOP

    def _one_of_what(self) -> bytes:
        if self._is_compact:
            return self._chance.choice([b"", b"\x18\x01x", b"\x2c" + self._row()])
        return self._chance.choice([b"", b"\x0b\0\1\0\0\0\1x", b"\x0c\0\2" + self._row()])

    def _items(self, wire: int, each: list[bytes]) -> bytes:
        if not self._is_compact:
            return bytes([wire]) + len(each).to_bytes(4, "big") + b"".join(each)
        size = len(each)
        head = bytes([min(size, 15) << 4 | _compact(wire)])
        return head + (_number(size) if size >= 15 else b"") + b"".join(each)

    def _entries(self, keys: int, values: int, names: list[bytes], inside: list[bytes]) -> bytes:
        joined = b"".join(key + value for key, value in zip(names, inside, strict=True))
        if not self._is_compact:
            return bytes([keys, values]) + len(names).to_bytes(4, "big") + joined
        kinds = bytes([_compact(keys) << 4 | _compact(values)]) if names else b""
        return _number(len(names)) + kinds + joined

    def _plain(self, kind: str) -> bytes:
        chance = self._chance
        if kind == "piece":
            raw = chance.choice([b"", b"x", "naïve".encode(), b"longer than eight bytes"])
            return _piece(raw) if self._is_compact else len(raw).to_bytes(4, "big") + raw
        if kind in {"double", "uuid", "i8"} or not self._is_compact:
            widths = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "double": 8, "uuid": 16}
            return chance.choice([bytes(widths[kind]), chance.randbytes(widths[kind])])
        return _number(chance.choice([0, 1, 10, 127, 128, 2**16 - 1, 2**16, 2**32 - 1, 2**64 - 1]))


def _compact(wire: int) -> int:
    """What the compact protocol writes for a type."""
    wires = {2: 1, 3: 3, 6: 4, 8: 5, 10: 6, 4: 7, 11: 8, 15: 9, 14: 10, 13: 11, 12: 12, 16: 13}
    return wires[wire]


@cache
def _thrift_layout(protocol: Literal["binary", "compact"]) -> StructLayout:
    decode = DecodeSpec("thrift", schema_text=_IDL, message="Event", protocol=protocol)
    return struct_layout(parse_thrift(fixed_struct(decode).text))
