"""Records of all types, whole and broken in many ways, for loops that run without bounds."""

import io
import json
import random
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa

from penstock.api.codec import DecodedBatch
from penstock.datapath.codec.avro.avro_reader import read_avro
from penstock.datapath.codec.avro.columns import avro_plan
from penstock.datapath.codec.avro.types import parse_avro
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
