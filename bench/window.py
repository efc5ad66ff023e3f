"""How fast a window is delivered, against plain Spark: `make bench-window`.

One topic, one Spark session with two cores, two ways that take turns:

    spark       reads the ranges, `from_json` with all fields of all types, writes Parquet by type
                and day: no positions, no evidence, no quarantine, nothing is decided
    penstock    an owner's whole window: stage, prove, decide, publish; files synced, with checksums

Each round gives both ways a turn, one right after the other, and the median of the rounds' ratios
counts: whatever else the machine does then falls on both alike. Trust the ratio more than the
figures.
"""

import argparse
import json
import os
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mixed_topic import FIRST_WINDOW, OWN_FIELDS, PARTITIONS, World, learned_feed, open_world
from workers import below, cpu_s

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


@dataclass(frozen=True)
class Measured:
    """How fast a turn was."""

    per_s: float
    per_cpu_s: float

    def __str__(self) -> str:
        return f"{self.per_s:10,.0f} records/s {self.per_cpu_s:10,.0f} per CPU-second"


def with_spark(world: World, target: Path) -> Measured:
    """Plain Spark over the ranges that the measured window of a feed has."""
    first = FIRST_WINDOW // PARTITIONS
    starts = {world.topic: {str(number): first for number in range(PARTITIONS)}}
    frame = (
        world.spark.read.format("kafka")
        .option("kafka.bootstrap.servers", world.bootstrap)
        .option("subscribe", world.topic)
        .option("startingOffsets", json.dumps(starts))
        .load()
        .selectExpr(f"from_json(cast(value as string), '{superset()}') as event")
        .selectExpr("event.*", "date(timestamp_millis(event.event_time)) as day")
    )
    writer = frame.write.partitionBy("type", "day").option("compression", "zstd")
    return measure(world, world.records - FIRST_WINDOW, lambda: writer.parquet(str(target)))


def with_penstock(world: World, target: Path) -> Measured:
    """One window of a feed that knows its types."""
    feed, records = learned_feed(world, target)
    measured = measure(world, records, feed.run_window)
    feed.close()
    return measured


def turn(world: World, way: Callable[[World, Path], Measured]) -> Measured:
    """One turn of a way, whose output is removed."""
    target = world.scratch / "lake"
    measured = way(world, target)
    shutil.rmtree(target)
    return measured


def measure(world: World, records: int, work: Callable[[], object]) -> Measured:
    """Records per second, and per second of processor time of all but the broker."""
    before, began = _cpu_s(world), time.perf_counter()
    work()
    return Measured(records / (time.perf_counter() - began), records / (_cpu_s(world) - before))


def _cpu_s(world: World) -> float:
    ours = {os.getpid(), *below(os.getpid())} - {*world.broker_pids}
    return cpu_s(sorted(ours))


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=2_000_000)
    arguments.add_argument("--types", type=int, default=12)
    arguments.add_argument("--rounds", type=int, default=5, help="turns of each, after one to warm")
    arguments.add_argument("--keep", type=Path, help="where the broker keeps the topic for later")
    options = arguments.parse_args()
    ways = {"spark": with_spark, "penstock": with_penstock}
    turns: dict[str, list[Measured]] = {name: [] for name in ways}
    with open_world(options.records, options.types, options.keep) as world:
        for number in range(options.rounds + 1):
            for name, way in ways.items():
                found = turn(world, way)
                kind = f"turn {number}" if number else "warm-up"
                print(f"{kind:8} {name:10} {found}", flush=True)
                turns[name] += [found] if number else []
    for name, found in turns.items():
        print(f"best     {name:10} {max(found, key=lambda each: each.per_s)}")
    rounds = list(zip(turns["penstock"], turns["spark"], strict=True))
    ratio = statistics.median(ours.per_s / plain.per_s for ours, plain in rounds)
    cpu_ratio = statistics.median(ours.per_cpu_s / plain.per_cpu_s for ours, plain in rounds)
    verdict = "reached" if ratio >= TARGET else "missed"
    print(f"{ratio:.2f} times plain Spark ({cpu_ratio:.2f} by CPU): target of {TARGET} {verdict}")


if __name__ == "__main__":
    main()
