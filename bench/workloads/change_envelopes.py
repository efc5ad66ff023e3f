"""Envelopes of changed rows in Avro: about 180 bytes, before and after as unions.

Rows have a map, an array, a decimal, an enum, timestamps and optional fields. `envelope` writes the
bare record, for a feed with a fixed schema; `framed_envelope` writes a zero, the id of the schema
of its table, and the record, as serializers with a registry do.
"""

import json
import struct

from bench.avro_events import FIRST_ID, avro_long, avro_text
from bench.workloads.change_events import TABLES
from bench.workloads.dice import Dice

OPS = ("CREATE", "UPDATE", "DELETE", "READ")
STATES = ("NEW", "PAID", "SENT", "RETURNED")
_ID = struct.Struct(">bI")
_NONE, _SOME = avro_long(0), avro_long(1)
_END = b"\0"


def envelope_schema(table: str = "orders") -> str:
    """The schema of the envelopes of a table, all alike but for their names."""
    row = {
        "type": "record",
        "name": "Row",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "customer", "type": ["null", "string"], "default": None},
            {"name": "total", "type": _logical("bytes", "decimal", precision=12, scale=2)},
            {"name": "state", "type": {"type": "enum", "name": "State", "symbols": STATES}},
            {"name": "created_at", "type": _logical("long", "timestamp-micros")},
            {"name": "note", "type": ["null", "string"], "default": None},
            {"name": "attributes", "type": {"type": "map", "values": "string"}},
            {"name": "line_ids", "type": {"type": "array", "items": "long"}},
        ],
    }
    source = {
        "type": "record",
        "name": "Source",
        "fields": [
            {"name": "db", "type": "string"},
            {"name": "table", "type": "string"},
            {"name": "lsn", "type": "long"},
            {"name": "tx_id", "type": ["null", "long"], "default": None},
            {"name": "snapshot", "type": "boolean"},
        ],
    }
    fields = [
        {"name": "before", "type": ["null", row], "default": None},
        {"name": "after", "type": ["null", "Row"], "default": None},
        {"name": "source", "type": source},
        {"name": "op", "type": {"type": "enum", "name": "Op", "symbols": OPS}},
        {"name": "ts_ms", "type": _logical("long", "timestamp-millis")},
    ]
    return json.dumps({"type": "record", "name": table, "fields": fields})


def envelope(number: int) -> bytes:
    """The envelope with this number, without a frame."""
    return _envelope(Dice(number, 8), "orders")


def framed_envelope(number: int) -> bytes:
    """The envelope with this number, behind the id of the schema of its table."""
    dice = Dice(number, 9)
    place = dice.up_to(len(TABLES))
    return _ID.pack(0, FIRST_ID + place) + _envelope(dice, TABLES[place])


def _envelope(dice: Dice, table: str) -> bytes:
    op = dice.pick((0, 1, 1, 1, 1, 1, 1, 1, 2, 3))
    before = _NONE if op in (0, 3) else _SOME + _row(dice)
    after = _NONE if op == 2 else _SOME + _row(dice)
    return b"".join((before, after, _source(dice, table), avro_long(op), avro_long(dice.time_ms())))


def _row(dice: Dice) -> bytes:
    total = dice.bits(22)
    pairs = [("farbe", "grün"), ("gift", "no"), ("ref", dice.hex(6))][: dice.up_to(4)]
    lines = [dice.bits(20) for _ in range(dice.up_to(6))]
    parts = [
        avro_long(dice.bits(33)),
        _optional(f"C-{dice.hex(13)}", is_absent=dice.one_in(9)),
        _bytes(total.to_bytes(total.bit_length() // 8 + 1, "big", signed=True)),
        avro_long(dice.up_to(len(STATES))),
        avro_long(dice.time_ms() * 1000 + dice.up_to(1000)),
        _optional(f"Lieferung {dice.hex(16)}", is_absent=dice.one_in(3)),
        avro_long(len(pairs)) if pairs else b"",
        *(avro_text(name) + avro_text(value) for name, value in pairs),
        _END,
        avro_long(len(lines)) if lines else b"",
        *(avro_long(each) for each in lines),
        _END,
    ]
    return b"".join(parts)


def _source(dice: Dice, table: str) -> bytes:
    transaction = _NONE if dice.one_in(5) else _SOME + avro_long(dice.bits(28))
    lsn = avro_long(dice.bits(36))
    return avro_text("shop") + avro_text(table) + lsn + transaction + _END  # no snapshot


def _optional(text: str, *, is_absent: bool) -> bytes:
    return _NONE if is_absent else _SOME + avro_text(text)


def _bytes(raw: bytes) -> bytes:
    return avro_long(len(raw)) + raw


def _logical(kind: str, meaning: str, **more: int) -> dict[str, object]:
    return {"type": kind, "logicalType": meaning, **more}
