"""The same events in Protobuf, as serializers write them: a zero, the id of the schema, a zero for
its first message, the record.

Every type has a schema of its own with one message, whose name is the type. As proto3 has it, what
is zero or false is not written.
"""

import struct

from bench.events import COUNTRIES, OWN_FIELDS, SYSTEMS, chance_of, time_ms, type_name

PROTO_TYPES = {"text": "string", "integer": "int64", "number": "double", "boolean": "bool"}
FIRST_ID = 1
_HEAD = struct.Struct(">bIb")
_DOUBLE = struct.Struct("<d")
_VARINT, _EIGHT_BYTES, _LENGTH = 0, 1, 2


def proto_schema(kind: int) -> str:
    """The schema of a type."""
    (one, one_kind), (other, other_kind) = OWN_FIELDS[kind % len(OWN_FIELDS)]
    return f"""syntax = "proto3";
message {type_name(kind)} {{
  int64 event_time = 1;
  string id = 2;
  int64 user_id = 3;
  string session = 4;
  string country = 5;
  Device device = 6;
  {PROTO_TYPES[one_kind]} {one} = 7;
  {PROTO_TYPES[other_kind]} {other} = 8;
  message Device {{ string os = 1; int64 build = 2; }}
}}
"""


def proto_event(number: int, types: int) -> bytes:
    """The event with this number, as Protobuf."""
    choice, chance, identity, person, place, device, first, second = chance_of(number)
    kind = choice % types
    (_, one), (_, other) = OWN_FIELDS[kind % len(OWN_FIELDS)]
    return b"".join(
        (
            _HEAD.pack(0, FIRST_ID + kind, 0),
            proto_integer(1, time_ms(choice, chance)),
            proto_text(2, f"{identity:016x}"),
            proto_integer(3, person & 0x3FFFFFFF),
            proto_text(4, f"{person >> 32:08x}"),
            proto_text(5, COUNTRIES[place % 6]),
            proto_piece(6, proto_text(1, SYSTEMS[device % 3]) + proto_integer(2, number % 997)),
            _value(7, one, first),
            _value(8, other, second),
        )
    )


def _value(field: int, kind: str, bits: int) -> bytes:
    """64 random bits as a value of a kind, the same as in JSON."""
    if kind == "text":
        return proto_text(field, f"{bits >> 16:x} and {bits & 0xFFFFF}")
    if kind == "integer":
        return proto_integer(field, bits & 0xFFFFFF)
    if kind == "number":
        number = bits % 100_000 / 100
        return bytes([field << 3 | _EIGHT_BYTES]) + _DOUBLE.pack(number) if number else b""
    return proto_integer(field, bits & 1)


def proto_text(field: int, text: str) -> bytes:
    """A field with a text."""
    return proto_piece(field, text.encode())


def proto_piece(field: int, raw: bytes) -> bytes:
    """A field with bytes: a text, a message, or packed numbers."""
    return bytes([field << 3 | _LENGTH]) + proto_varint(len(raw)) + raw


def proto_integer(field: int, number: int, *, is_optional: bool = False) -> bytes:
    """A field with a whole number from 0 on; a zero is only written if the field is optional."""
    written = number or is_optional
    return bytes([field << 3 | _VARINT]) + proto_varint(number) if written else b""


def proto_varint(number: int) -> bytes:
    """A whole number from 0 on, seven bits in a byte."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
