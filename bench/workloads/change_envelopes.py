"""Envelopes of changed rows in Avro: about 180 bytes, before and after as unions.

Rows have a map, an array, a decimal, an enum, timestamps and optional fields. `envelope` writes the
bare record, for a feed with a fixed schema; `framed_envelope` writes a zero, the id of the schema
of its table, and the record, as serializers with a registry do.
"""

import json
import struct

from bench.avro_events import FIRST_ID, avro_long, avro_text
from bench.workloads.change_events import TABLES
from bench.workloads.changed_rows import OPS, STATES, Change, ChangedRow, change_of
from bench.workloads.dice import Dice

SALT = 8
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
    return _envelope(change_of(Dice(number, SALT), "orders"))


def framed_envelope(number: int) -> bytes:
    """The envelope with this number, behind the id of the schema of its table."""
    dice = Dice(number, 9)
    place = dice.up_to(len(TABLES))
    return _ID.pack(0, FIRST_ID + place) + _envelope(change_of(dice, TABLES[place]))


def _envelope(change: Change) -> bytes:
    rows = [_NONE if row is None else _SOME + _row(row) for row in (change.before, change.after)]
    return b"".join((*rows, _source(change), avro_long(change.op), avro_long(change.at_ms)))


def _row(row: ChangedRow) -> bytes:
    total = row.total_cents
    parts = [
        avro_long(row.id),
        _optional(row.customer),
        _bytes(total.to_bytes(total.bit_length() // 8 + 1, "big", signed=True)),
        avro_long(row.state),
        avro_long(row.created_us),
        _optional(row.note),
        avro_long(len(row.attributes)) if row.attributes else b"",
        *(avro_text(name) + avro_text(value) for name, value in row.attributes),
        _END,
        avro_long(len(row.line_ids)) if row.line_ids else b"",
        *(avro_long(each) for each in row.line_ids),
        _END,
    ]
    return b"".join(parts)


def _source(change: Change) -> bytes:
    number = change.transaction
    transaction = _NONE if number is None else _SOME + avro_long(number)
    names = avro_text("shop") + avro_text(change.table)
    return names + avro_long(change.lsn) + transaction + _END  # no snapshot


def _optional(text: str | None) -> bytes:
    return _NONE if text is None else _SOME + avro_text(text)


def _bytes(raw: bytes) -> bytes:
    return avro_long(len(raw)) + raw


def _logical(kind: str, meaning: str, **more: int) -> dict[str, object]:
    return {"type": kind, "logicalType": meaning, **more}
