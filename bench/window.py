"""How fast a window is delivered, against plain Spark: `make bench-window`.

One topic, one Spark session with two cores, two ways that take turns:

    spark       reads the ranges, `from_json` with all fields of all types, writes Parquet by type
                and day: no positions, no evidence, no quarantine, nothing is decided
    penstock    an owner's whole window: stage, prove, decide, publish; files synced, with checksums

The best turn of each counts, because on a machine that is shared the slower turns measure the
others. Trust the ratio more than the figures.
"""

import argparse
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from mixed_topic import FIRST_WINDOW, OWN_FIELDS, PARTITIONS, World, learned_feed, open_world

TARGET = 2.2
SPARK_TYPES = {"text": "string", "integer": "bigint", "number": "double", "boolean": "boolean"}


def superset() -> str:
    """All fields of all types, as Spark writes schemas."""
    common = (
        "type string, event_time bigint, id string, user_id bigint, session string, "
        "country string, device struct<os: string, build: bigint>"
    )
    own = {name: SPARK_TYPES[kind] for fields in OWN_FIELDS for name, kind in fields}
    return ", ".join([common, *(f"{name} {kind}" for name, kind in own.items())])


def with_spark(world: World, target: Path) -> tuple[int, float]:
    """Plain Spark over the ranges that the measured window of a feed has."""
    first = FIRST_WINDOW // PARTITIONS
    starts = {world.topic: {str(number): first for number in range(PARTITIONS)}}
    began = time.perf_counter()
    (
        world.spark.read.format("kafka")
        .option("kafka.bootstrap.servers", world.bootstrap)
        .option("subscribe", world.topic)
        .option("startingOffsets", json.dumps(starts))
        .load()
        .selectExpr(f"from_json(cast(value as string), '{superset()}') as event")
        .selectExpr("event.*", "date(timestamp_millis(event.event_time)) as day")
        .write.partitionBy("type", "day")
        .option("compression", "zstd")
        .parquet(str(target))
    )
    return world.records - FIRST_WINDOW, time.perf_counter() - began


def with_penstock(world: World, target: Path) -> tuple[int, float]:
    """One window of a feed that knows its types."""
    feed, records = learned_feed(world, target)
    began = time.perf_counter()
    feed.run_window()
    took = time.perf_counter() - began
    feed.close()
    return records, took


def turn(world: World, way: Callable[[World, Path], tuple[int, float]]) -> float:
    """Records per second of one turn, whose output is removed."""
    target = world.scratch / "lake"
    records, took = way(world, target)
    shutil.rmtree(target)
    return records / took


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=2_000_000)
    arguments.add_argument("--types", type=int, default=12)
    arguments.add_argument("--rounds", type=int, default=3, help="turns of each, after one to warm")
    arguments.add_argument("--keep", type=Path, help="where the broker keeps the topic for later")
    options = arguments.parse_args()
    ways = {"spark": with_spark, "penstock": with_penstock}
    best = dict.fromkeys(ways, 0.0)
    with open_world(options.records, options.types, options.keep) as world:
        for number in range(options.rounds + 1):
            for name, way in ways.items():
                speed = turn(world, way)
                kind = f"turn {number}" if number else "warm-up"
                print(f"{kind:8} {name:10} {speed:10,.0f} records/s", flush=True)
                best[name] = max(best[name], speed) if number else 0.0
    ratio = best["penstock"] / best["spark"]
    print(f"best: spark {best['spark']:,.0f}, penstock {best['penstock']:,.0f} records/s")
    verdict = "reached" if ratio >= TARGET else "missed"
    print(f"{ratio:.2f} times plain Spark: target of {TARGET} {verdict}")


if __name__ == "__main__":
    main()
