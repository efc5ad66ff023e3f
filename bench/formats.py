"""How fast windows of Avro are delivered, against plain Spark: `make bench-formats`.

Plain Spark has no way to decode several schemas in one pass: it keeps the records in memory, and
reads and writes them type by type with `from_avro`. The results join those of `make bench`.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import col, expr

from bench.avro_events import FIRST_ID, avro_schema
from bench.compare import HEAP, WARM_UPS, line_of
from bench.events import type_name
from bench.figures import OURS, READ_ONLY, Turn, variant, workload_result
from bench.machine import machine
from bench.mixed_topic import MixedTopic, fill, open_world
from bench.processes import Watch
from bench.ways import (
    Way,
    frame_of,
    measured,
    penstock,
    read_only,
    take_turn,
    turn_of,
    watch_without,
)

TARGET = 2.2


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


def ways() -> dict[str, Way]:
    """In the order of their turns."""
    return {variant(0): plain_avro, OURS: penstock(), READ_ONLY: read_only("penstock")}


def measure(options: argparse.Namespace) -> dict[str, dict[str, list[Turn]]]:
    """All turns but those that warm up, by workload and way."""
    turns: dict[str, dict[str, list[Turn]]] = {}
    began = time.perf_counter()
    with open_world(options.keep, HEAP) as world, watch_without(world.broker_pids) as watch:
        topics = [fill(world, options.records, types, "avro") for types in options.types]
        for number in range(1 - WARM_UPS, options.rounds + 1):
            for topic in topics:
                mine = turns.setdefault(f"avro_{topic.types}_types", {})
                for name, way in ways().items():
                    turn = take_turn(topic, way, watch)
                    mine.setdefault(name, []).extend([turn] if number > 0 else [])
                    took = f"{time.perf_counter() - began:5.0f} s"
                    print(f"{took}  {number:2} {line_of(topic.types, name, [turn])}", flush=True)
    return turns


def main() -> None:
    """Measure, print, and join what is there already."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=2_000_000, help="events per topic")
    arguments.add_argument("--types", type=int, nargs="+", default=[12, 200], help="workloads")
    arguments.add_argument("--rounds", type=int, default=3, help="turns of each, after two to warm")
    arguments.add_argument("--keep", type=Path, help="where the broker keeps topics for later")
    arguments.add_argument("--out", type=Path, help="directory of results.json")
    options = arguments.parse_args()
    about = {"machine": machine()}
    results = {name: {**workload_result(t), **about} for name, t in measure(options).items()}
    for name, result in results.items():
        times = f"{result['ratio_plain_spark']} times plain Spark"
        print(f"{name}: {times} ({result['ratio_plain_spark_cpu']} by CPU), target {TARGET}")
    if options.out is not None:
        place = options.out / "results.json"
        before = json.loads(place.read_text()) if place.exists() else {}
        with tempfile.NamedTemporaryFile("w", dir=options.out, delete=False) as file:
            json.dump(before | results, file, indent=2)
        Path(file.name).replace(place)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("stopped") from None
