"""How fast windows of each format are delivered: `make bench-formats`.

    json      against plain Spark's `from_json` with all fields of all types
    avro      against plain Spark's `from_avro`. It has no way to decode several schemas in one
              pass: it keeps the records in memory, and reads and writes them type by type
    protobuf  against Penstock with the same events in JSON: Spark's reader of Protobuf is a jar
              that not every mirror has, and the lock must not name what cannot be fetched
    broken    JSON with every hundredth record broken, against the same events without a fault

Each with 12 types and with 200 (`broken` with 12), in one run and one session; ways take turns, as
in `make bench`. The results join those of `make bench`. `--only protobuf-12` measures one workload.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import col, expr

from bench.avro_events import FIRST_ID, avro_schema
from bench.compare import HEAP, ROUNDS, WARM_UPS, check_sizes, line_of, out_of
from bench.events import type_name
from bench.figures import (
    ON_JSON,
    ON_WHOLE,
    OURS,
    READ_ONLY,
    Turn,
    broken_result,
    format_verdict,
    protobuf_result,
    variant,
    workload_result,
)
from bench.interrupted import in_one_line
from bench.machine import machine
from bench.mixed_topic import MixedTopic, fill, open_world
from bench.pictures import earlier, write_figures
from bench.processes import Watch
from bench.ways import (
    Way,
    frame_of,
    measured,
    penstock,
    plain_spark,
    read_only,
    take_turn,
    turn_of,
    watch_without,
)

WORKLOADS = (
    "json-12", "json-200", "avro-12", "avro-200", "protobuf-12", "protobuf-200", "broken-12",
)  # fmt: skip
RECORDS = 500_000
Turns = dict[str, dict[str, list[Turn]]]


def plain_avro(topic: MixedTopic, target: Path, watch: Watch) -> Turn:
    """Keep all records, then decode and write type by type."""
    spark = topic.world.spark
    spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", "0")
    schema_id = expr("cast(conv(hex(substring(value, 2, 4)), 16, 10) as int)").alias("id")
    with measured(watch) as spent:
        kept = frame_of(topic).select(schema_id, expr("substring(value, 6)").alias("body"))
        kept = kept.persist()
        for kind in range(topic.types):
            record = from_avro(col("body"), avro_schema(kind)).alias("event")
            rows = kept.where(col("id") == FIRST_ID + kind).select(record)
            rows = rows.selectExpr("event.*", "date(event.event_time) as day")
            writer = rows.write.partitionBy("day").option("compression", "zstd")
            writer.parquet(str(target / type_name(kind)))
        kept.unpersist(blocking=True)
    return turn_of(topic.measured, spent, list(target.rglob("*.parquet")))


def parts_of(workload: str) -> tuple[str, int]:
    """The format of a workload, and its number of types."""
    form, _, types = workload.partition("-")
    return form, int(types)


def ways_of(form: str) -> dict[str, tuple[str, Way]]:
    """What takes turns, and what the topic of each holds; in the order of their turns."""
    reading = (form, read_only("penstock"))
    if form == "broken":
        return {ON_WHOLE: ("whole", penstock()), OURS: (form, penstock())}
    if form == "protobuf":
        return {ON_JSON: ("json", penstock()), OURS: (form, penstock()), READ_ONLY: reading}
    plain = plain_avro if form == "avro" else plain_spark(0, "penstock")
    return {variant(0): (form, plain), OURS: (form, penstock()), READ_ONLY: reading}


def measure(options: argparse.Namespace) -> Turns:
    """All turns but those that warm up, by workload and way."""
    turns: Turns = {workload: {} for workload in options.only}
    began = time.perf_counter()
    with open_world(options.keep, HEAP) as world, watch_without(world.broker_pids) as watch:
        topics = {
            (form, types): fill(world, options.records, types, form)
            for name, types in map(parts_of, options.only)
            for form, _ in ways_of(name).values()
        }
        for number in range(1 - options.warm_ups, options.rounds + 1):
            for workload, mine in turns.items():
                name, types = parts_of(workload)
                for way_name, (form, way) in ways_of(name).items():
                    turn = take_turn(topics[form, types], way, watch)
                    mine.setdefault(way_name, []).extend([turn] if number > 0 else [])
                    took = f"{time.perf_counter() - began:5.0f} s  {number:2} {name:8}"
                    print(f"{took} {line_of(types, way_name, [turn])}", flush=True)
    return turns


def result_of(workload: str, turns: Mapping[str, list[Turn]]) -> dict[str, object]:
    """The figures of a workload, in the shape of its kind."""
    form, _ = parts_of(workload)
    if form == "broken":
        return broken_result(turns)
    return protobuf_result(turns) if form == "protobuf" else workload_result(turns)


def main() -> None:
    """Measure, print, and join what is there already."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=RECORDS, help="events per topic")
    arguments.add_argument("--only", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    arguments.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each that count")
    arguments.add_argument("--warm-ups", type=int, default=WARM_UPS, help="turns before these")
    arguments.add_argument("--keep", type=Path, help="where the broker keeps topics for later")
    arguments.add_argument("--out", type=Path, help="directory of results.json")
    options = arguments.parse_args()
    check_sizes(arguments, options)
    before = machine()
    turns = measure(options)
    about = {"machine": [before, machine()]}
    for workload, found in turns.items():
        print(format_verdict(*parts_of(workload), found))
    if (out := out_of(options, RECORDS)) is not None:
        names = {workload: f"{workload.replace('-', '_')}_types" for workload in turns}
        results = {names[w]: {**result_of(w, t), **about} for w, t in turns.items()}
        write_figures(out, "results", earlier(out, "results") | results)


if __name__ == "__main__":
    in_one_line(main)
