"""The same events in Avro, as serializers write them: a zero, the id of the schema, the record.

Every type has a schema of its own, and its name is the type: about 85 bytes instead of 200.
"""

import json
import struct

from bench.events import COUNTRIES, OWN_FIELDS, SYSTEMS, chance_of, time_ms, type_name

AVRO_TYPES = {"text": "string", "integer": "long", "number": "double", "boolean": "boolean"}
FIRST_ID = 1
_ID = struct.Struct(">bI")
_DOUBLE = struct.Struct("<d")


def avro_schema(kind: int) -> str:
    """The schema of a type."""
    device = {
        "type": "record",
        "name": "Device",
        "fields": [{"name": "os", "type": "string"}, {"name": "build", "type": "long"}],
    }
    common = {
        "event_time": {"type": "long", "logicalType": "timestamp-millis"},
        "id": "string",
        "user_id": "long",
        "session": "string",
        "country": "string",
        "device": device,
    }
    own = {name: AVRO_TYPES[word] for name, word in OWN_FIELDS[kind % len(OWN_FIELDS)]}
    fields = [{"name": name, "type": word} for name, word in (common | own).items()]
    return json.dumps({"type": "record", "name": type_name(kind), "fields": fields})


def avro_event(number: int, types: int) -> bytes:
    """The event with this number, as Avro."""
    choice, chance, identity, person, place, device, first, second = chance_of(number)
    kind = choice % types
    (_, one), (_, other) = OWN_FIELDS[kind % len(OWN_FIELDS)]
    return b"".join(
        (
            _ID.pack(0, FIRST_ID + kind),
            avro_long(time_ms(choice, chance)),
            avro_text(f"{identity:016x}"),
            avro_long(person & 0x3FFFFFFF),
            avro_text(f"{person >> 32:08x}"),
            avro_text(COUNTRIES[place % 6]),
            avro_text(SYSTEMS[device % 3]),
            avro_long(number % 997),
            _value(one, first),
            _value(other, second),
        )
    )


def _value(kind: str, bits: int) -> bytes:
    """64 random bits as a value of a kind, the same as in JSON."""
    if kind == "text":
        return avro_text(f"{bits >> 16:x} and {bits & 0xFFFFF}")
    if kind == "integer":
        return avro_long(bits & 0xFFFFFF)
    if kind == "number":
        return _DOUBLE.pack(bits % 100_000 / 100)
    return b"\1" if bits & 1 else b"\0"


def avro_text(text: str) -> bytes:
    raw = text.encode()
    return avro_long(len(raw)) + raw


def avro_long(number: int) -> bytes:
    left = (number << 1) ^ (number >> 63)
    out = bytearray()
    while left > 127:
        out.append(left & 127 | 128)
        left >>= 7
    out.append(left)
    return bytes(out)
