"""Protobuf to columns: microseconds per record of ten fields, beside Avro and google.protobuf.

Run: python -m bench.protobuf
"""

import io
import json
import random
import time
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from bench.interrupted import in_one_line
from penstock.datapath.codec.avro.avro_reader import avro_reader
from penstock.datapath.codec.protobuf.protobuf_reader import proto_layout, read_proto
from penstock.datapath.codec.protobuf.schema_compiler.compiler import prepared
from penstock.model.registered_schema import RegisteredSchema

RECORDS = 10_000
ROUNDS = 9
TEXT = """
syntax = "proto3"; package bench;
message Event {
  string id = 1; int64 user = 2; string name = 3; double price = 4; int32 count = 5;
  bool paid = 6; string note = 7; Place place = 8; int64 at = 9; double tax = 10;
}
message Place { string city = 1; double lat = 2; double lon = 3; }
"""
PLACE = [("city", "string"), ("lat", "double"), ("lon", "double")]
EVENT = [
    ("id", "string"), ("user", "int64"), ("name", "string"), ("price", "double"),
    ("count", "int32"), ("paid", "bool"), ("note", "string"), ("place", ".bench.Place"),
    ("at", "int64"), ("tax", "double"),
]  # fmt: skip
IN_AVRO = {"int64": "long", "int32": "int", "bool": "boolean"}


def events() -> list[dict[str, Any]]:
    """Records of about a hundred bytes, the same every time."""
    luck = random.Random(1)
    return [
        {
            "id": f"{luck.getrandbits(64):016x}",
            "user": luck.randrange(10**9),
            "name": luck.choice(["ann", "bob", "christopher"]) + str(number),
            "price": luck.random() * 100,
            "count": luck.randrange(5),
            "paid": luck.random() < 0.5,
            "note": luck.choice(["", "x" * luck.randrange(30)]),
            "place": {"city": luck.choice(["Paris", "Rome"]), "lat": luck.random(), "lon": 1.5},
            "at": 1_700_000_000_000 + luck.randrange(10**9),
            "tax": luck.random(),
        }
        for number in range(RECORDS)
    ]


def message_class() -> Any:
    """The message as google.protobuf knows it."""
    file = FileDescriptorProto(name="bench.proto", package="bench", syntax="proto3")
    for name, fields in (("Event", EVENT), ("Place", PLACE)):
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields, 1):
            made = message.field.add(name=field, number=number, label=1)
            if kind.startswith("."):
                made.type, made.type_name = FieldDescriptorProto.TYPE_MESSAGE, kind
            else:
                made.type = getattr(FieldDescriptorProto, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("bench.Event"))


def in_avro(rows: list[dict[str, Any]]) -> tuple[str, list[bytes]]:
    """The same records in Avro; the place may be null there, as it may be in Protobuf."""

    def record(name: str, fields: list[tuple[str, str]]) -> dict[str, Any]:
        types = [
            {"name": f, "type": ["null", record("Place", PLACE)] if "." in k else IN_AVRO.get(k, k)}
            for f, k in fields
        ]
        return {"type": "record", "name": name, "fields": types}

    schema = record("Event", EVENT)
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
    payloads = []
    for row in rows:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, row)
        payloads.append(out.getvalue())
    return json.dumps(schema), payloads


def best(act: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Microseconds per record, of the best round."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return min(times) / RECORDS * 1e6


def columns(make: Any, payloads: list[bytes]) -> pa.RecordBatch:
    """What one would write with google.protobuf alone."""
    found = [make.FromString(payload) for payload in payloads]
    arrays = [pa.array([getattr(each, name) for each in found]) for name, kind in EVENT[:7]]
    places = [
        {"city": each.place.city, "lat": each.place.lat, "lon": each.place.lon} for each in found
    ]
    arrays += [pa.array(places)]
    arrays += [pa.array([getattr(each, name) for each in found]) for name, kind in EVENT[8:]]
    return pa.RecordBatch.from_arrays(arrays, [name for name, _ in EVENT])


def main() -> None:
    """Print a line per way."""
    rows, make = events(), message_class()
    payloads = [make(**row).SerializeToString() for row in rows]
    layout = proto_layout(prepared(RegisteredSchema("protobuf", TEXT)), (0,))
    values = pa.array(payloads, pa.binary())
    schema, others = in_avro(rows)
    avro, avro_values = avro_reader(RegisteredSchema("avro", schema)), pa.array(others, pa.binary())
    if read_proto(layout, values, 0).batch.to_pylist() != columns(make, payloads).to_pylist():
        raise SystemExit("the ways do not agree")
    print(f"fast way             {best(lambda: read_proto(layout, values, 0)):7.2f}")
    print(f"Avro, fast way       {best(lambda: avro.read(avro_values, 0)):7.2f}")
    print(f"google, parse only   {best(lambda: [make.FromString(each) for each in payloads]):7.2f}")
    print(f"google, into columns {best(lambda: columns(make, payloads), 3):7.2f}")
    print(f"reference            {best(lambda: read_proto(layout, values, 0, True), 2):7.2f}")


if __name__ == "__main__":
    in_one_line(main)
