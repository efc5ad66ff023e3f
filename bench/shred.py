"""How fast one task shreds, without Spark and Kafka: `python -m bench.shred`.

The events are those of `bench.events`, in Arrow batches as Spark hands them over, of one Kafka
partition. Prints records per CPU-second, and with `--profile` where the time goes. In `broken`,
every hundredth event is broken; `whole` is the same without, both of declared types.
"""

import argparse
import cProfile
import pstats
import tempfile
import time
from typing import Any

import numpy as np
import pyarrow as pa

from bench.avro_events import FIRST_ID, avro_event, avro_schema
from bench.broken_events import broken_event, declared_schema
from bench.events import NOON_MS, event, type_name
from bench.proto_events import proto_event, proto_schema
from penstock.api.codec import RecordReader
from penstock.datapath.codec.avro.avro_reader import avro_reader
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.json.schema import from_json_schema
from penstock.datapath.codec.protobuf.protobuf_reader import protobuf_reader
from penstock.datapath.codec.protobuf.schema_compiler.compiler import prepared
from penstock.datapath.formats.parquet.parquet import FORMAT as PARQUET
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.datapath.stage.task import shred_batches, suit_worker
from penstock.model.ranges import OffsetRange
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import DatasetSchema
from penstock.model.schema_merging import first_version
from penstock.model.spec import DecodeSpec, FeedSpec, RouteSpec, TimeSpec
from penstock.model.window import StageOrder
from penstock.ports.store.open_store import local_spec, open_store

BATCH = 131_072
EVENTS = {
    "json": event,
    "avro": avro_event,
    "protobuf": proto_event,
    "whole": event,
    "broken": broken_event,
}


def batches_of(records: int, types: int, form: str = "json") -> list[Any]:
    """Batches as the reader's select makes them."""
    make = EVENTS[form]
    found = []
    for start in range(0, records, BATCH):
        count = min(BATCH, records - start)
        offsets = np.arange(start, start + count, dtype=np.int64)
        values = [make(number, types) for number in range(start, start + count)]
        columns = {
            "topic": pa.array(["events"] * count),
            "partition": pa.array(np.zeros(count, np.int32)),
            "offset": pa.array(offsets),
            "timestamp": pa.array(np.full(count, NOON_MS)),
            "key": pa.nulls(count, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "headers": pa.nulls(count, pa.string()),
            "hash": pa.array(offsets),
        }
        found.append(pa.RecordBatch.from_pydict(columns))
    return found


def order_for(batches: list[Any]) -> StageOrder:
    """The order to shred all of them, as one range of one partition."""
    end = sum(batch.num_rows for batch in batches)
    covered = OffsetRange("events", "id", 0, 0, end)
    return StageOrder("events", "1-1", "_penstock/events/staging", (covered,))


def plan_for(batches: list[Any], types: int, form: str) -> ShredPlan:
    """A plan that knows every type: declared, or from a sample."""
    feed = FeedSpec(
        name="events",
        topics=("events",),
        route=RouteSpec("field", "type"),
        time=TimeSpec(field="event_time", unit="ms"),
    )
    samples = batches[0]["value"].to_pylist()
    codec = JsonDecoder()
    schemas = {}
    for kind in range(types):
        name = type_name(kind)
        if form == "json":
            mine = [each for each in samples if f'"type":"{name}"'.encode() in each]
            schemas[name] = codec.infer(mine, name)
        else:
            fields = first_version(from_json_schema(declared_schema(kind)))
            schemas[name] = DatasetSchema(name, 1, declared=True, fields=fields)
    order = order_for(batches)
    return ShredPlan(order=order, feed=feed, schemas=schemas, now_s=time.time(), format=PARQUET)


def written_plan_for(batches: list[Any], types: int, form: str) -> ShredPlan:
    """A plan for records in Avro or Protobuf, whose datasets are named by their schemas."""
    written: dict[str, RegisteredSchema | None] = {}
    schemas = {}
    for kind in range(types):
        name = type_name(kind)
        schema, reader = _written(kind, form)
        written[str(FIRST_ID + kind)] = schema
        fields = first_version(reader.fields)
        schemas[name] = DatasetSchema(name, 1, declared=True, fields=fields)
    feed = FeedSpec(
        name="events",
        topics=("events",),
        decode=DecodeSpec("avro" if form == "avro" else "protobuf"),
        route=RouteSpec("schema", "schema"),
        time=TimeSpec(field="event_time", unit="ms"),
    )
    order = order_for(batches)
    return ShredPlan(
        order=order,
        feed=feed,
        schemas=schemas,
        now_s=time.time(),
        format=PARQUET,
        record_schemas=written,
    )


def _written(kind: int, form: str) -> tuple[RegisteredSchema, RecordReader]:
    if form == "avro":
        schema = RegisteredSchema("avro", avro_schema(kind))
        return schema, avro_reader(schema)
    schema = prepared(RegisteredSchema("protobuf", proto_schema(kind)))
    return schema, protobuf_reader(schema, (0,))


def run(plan: ShredPlan, batches: list[Any]) -> float:
    """The processor time of one task."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as lake:
        store = open_store(local_spec(lake))
        suit_worker()
        began = time.process_time()
        list(shred_batches(plan, store, "attempt", batches))
        return time.process_time() - began


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=200_000)
    arguments.add_argument("--types", type=int, default=12)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--format", choices=EVENTS, default="json")
    arguments.add_argument("--profile", action="store_true")
    options = arguments.parse_args()
    batches = batches_of(options.records, options.types, options.format)
    planning = written_plan_for if options.format in {"avro", "protobuf"} else plan_for
    plan = planning(batches, options.types, options.format)
    best = min(run(plan, batches) for _ in range(options.rounds))
    print(f"{options.records / best:,.0f} records per CPU-second")
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(run, plan, batches)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
