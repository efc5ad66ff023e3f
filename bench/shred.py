"""How fast one task shreds, without Spark and Kafka: `python -m bench.shred --format social`.

The records are in Arrow batches as Spark hands them over, of one Kafka partition. Prints records
and MB of source per CPU-second, which share was decoded without Python code per value, and with
`--profile` where the time goes. The formats are those of `bench.events`, with `--types` types, and
the workloads of `make bench-shapes`. In `broken`, every hundredth event is broken; `whole` is the
same without, both of declared types. `--files avro` writes files of another format.
"""

import argparse
import cProfile
import pstats
import time
from functools import partial

import msgspec
import pyarrow as pa

from bench.avro_events import FIRST_ID, avro_event, avro_schema
from bench.broken_events import broken_event, declared_schema
from bench.events import event, type_name
from bench.interrupted import in_one_line
from bench.one_task import batches_of, order_for, plan_of, shred
from bench.proto_events import proto_event, proto_schema
from bench.workloads.workload import WORKLOADS
from penstock.api.codec import RecordReader
from penstock.api.doors import FORMATS
from penstock.api.find import find, offers
from penstock.datapath.codec.avro.avro_reader import avro_reader
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.json.schema import from_json_schema
from penstock.datapath.codec.protobuf.protobuf_reader import protobuf_reader
from penstock.datapath.codec.protobuf.schema_compiler.compiler import prepared
from penstock.datapath.formats.parquet.parquet import FORMAT as PARQUET
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import DatasetSchema
from penstock.model.schema_merging import first_version
from penstock.model.spec import DecodeSpec, FeedSpec, RouteSpec, TimeSpec

EVENTS = {
    "json": event,
    "avro": avro_event,
    "protobuf": proto_event,
    "whole": event,
    "broken": broken_event,
}


def plan_for(batches: list[pa.RecordBatch], types: int, form: str) -> ShredPlan:
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


def written_plan_for(batches: list[pa.RecordBatch], types: int, form: str) -> ShredPlan:
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


def prepared_task(form: str, records: int, types: int) -> tuple[ShredPlan, list[pa.RecordBatch]]:
    """What a task is given: a plan that knows every type, and the records."""
    if form in WORKLOADS:
        batches = batches_of(WORKLOADS[form].make, records)
        return plan_of(WORKLOADS[form], batches), batches
    batches = batches_of(partial(EVENTS[form], types=types), records)
    planning = written_plan_for if form in {"avro", "protobuf"} else plan_for
    return planning(batches, types, form), batches


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, help="by default as many as make some 40 MB")
    arguments.add_argument("--types", type=int, default=12, help="of events; workloads have theirs")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--format", choices=(*EVENTS, *WORKLOADS), default="json")
    names = [each.name for each in offers(FORMATS)]
    arguments.add_argument("--files", choices=names, default=PARQUET.name, help="data files")
    arguments.add_argument("--profile", action="store_true")
    options = arguments.parse_args()
    form = options.format
    records = options.records or (WORKLOADS[form].records // 5 if form in WORKLOADS else 200_000)
    plan, batches = prepared_task(form, records, options.types)
    plan = msgspec.structs.replace(plan, format=find(FORMATS, options.files))
    turns = [shred(plan, batches) for _ in range(options.rounds)]
    best = min(turns, key=lambda turn: turn.cpu_s)
    if form != "broken" and best.rows != records:
        raise SystemExit(f"{best.rows:,} rows were written instead of {records:,}")
    print(
        f"{form}: {records / best.cpu_s:,.0f} records per CPU-second, "
        f"{best.source_bytes / best.cpu_s / 1e6:,.1f} MB per CPU-second, "
        f"{best.cpu_s / records * 1e6:.1f} µs per record of "
        f"{best.source_bytes / records:,.0f} bytes; "
        f"{best.fast_share:.2%} of the records without Python code per value"
    )
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(shred, plan, batches)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    in_one_line(main)
