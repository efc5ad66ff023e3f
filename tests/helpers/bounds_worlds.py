"""Records of all types, whole and broken in many ways, for loops that run without bounds."""

import io
import json
import random
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import fastavro
import pyarrow as pa

from penstock.api.codec import DecodedBatch
from penstock.datapath.codec.avro.avro_reader import read_avro
from penstock.datapath.codec.avro.columns import avro_plan
from penstock.datapath.codec.avro.types import parse_avro
from penstock.datapath.codec.protobuf.message_layout import MessageLayout
from penstock.datapath.codec.protobuf.protobuf_reader import proto_layout, read_proto
from penstock.datapath.codec.protobuf.schema_compiler.compiler import prepared
from penstock.model.registered_schema import RegisteredSchema
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
