"""The ways that take turns: plain Spark, Penstock, and reading only.

All of them read the same records of the same topic in the same Spark session, four Kafka partitions
in four tasks on two cores.

    plain_spark   `from_json` with all fields of all types, Parquet (zstd) by type and day; no
                  positions, no evidence, no quarantine, nothing is synced or decided
    penstock      an owner's whole window: plan, stage, prove, decide, publish, done; with evidence,
                  checksums, synced files
    read_only     the connector to nothing: key, value, topic, partition, offset, timestamp and
                  timestampType of every record into Spark's sink "noop"
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from bench.events import superset
from bench.figures import OURS, READ_ONLY, WRITERS, Turn, variant
from bench.mixed_topic import PARTITIONS, MixedTopic, learned_feed
from bench.processes import Watch
from penstock.ports.source.kafka.reader import FETCHING

Way = Callable[[MixedTopic, Path, Watch], Turn]
# With Penstock's consumer settings Spark reads quicker than with Kafka's own, so it gets them too.
FETCHES = {"penstock": FETCHING, "kafka": {}}


def frame_of(topic: MixedTopic, fetch: str = "penstock") -> DataFrame:
    """The records that the measured window of a feed has, as Spark reads them."""
    first = topic.first // PARTITIONS
    starts = {topic.name: {str(number): first for number in range(PARTITIONS)}}
    reader = topic.world.spark.read.format("kafka")
    for name, value in FETCHES[fetch].items():
        reader = reader.option(f"kafka.{name}", value)
    return (
        reader.option("kafka.bootstrap.servers", topic.world.bootstrap)
        .option("subscribe", topic.name)
        .option("startingOffsets", json.dumps(starts))
        .load()
    )


def plain_spark(writers: int, fetch: str) -> Way:
    """Plain Spark, with at most so many open files per task; 0: sorted, one at a time."""

    def way(topic: MixedTopic, target: Path, watch: Watch) -> Turn:
        spark = topic.world.spark
        spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", str(writers))
        frame = (
            frame_of(topic, fetch)
            .selectExpr(f"from_json(cast(value as string), '{superset()}') as event")
            .selectExpr("event.*", "date(timestamp_millis(event.event_time)) as day")
        )
        writer = frame.write.partitionBy("type", "day").option("compression", "zstd")
        with measured(watch) as spent:
            writer.parquet(str(target))
        return turn_of(topic.measured, spent, list(target.rglob("*.parquet")))

    return way


def penstock(records: int | None = None) -> Way:
    """One window of a feed that knows its types: the rest of the topic, or so many records."""

    def way(topic: MixedTopic, target: Path, watch: Watch) -> Turn:
        feed = learned_feed(topic, target, records)
        before = set(target.rglob("*.parquet"))
        with measured(watch) as spent:
            feed.run_window()
        feed.close()
        written = [file for file in target.rglob("*.parquet") if file not in before]
        turn = turn_of(records or topic.measured, spent, written)
        return replace(turn, phases_s=dict(feed.phases_s))

    return way


def read_only(fetch: str) -> Way:
    """The connector to nothing."""

    def way(topic: MixedTopic, _target: Path, watch: Watch) -> Turn:
        writer = frame_of(topic, fetch).write.format("noop").mode("overwrite")
        with measured(watch) as spent:
            writer.save()
        return turn_of(topic.measured, spent, None)

    return way


def ways_of(fetch: str) -> dict[str, Way]:
    """In the order of their turns: both that ours is compared with are next to it."""
    first, *others = WRITERS
    return {
        variant(first): plain_spark(first, fetch),
        OURS: penstock(),
        READ_ONLY: read_only(fetch),
        **{variant(writers): plain_spark(writers, fetch) for writers in others},
    }


def take_turn(topic: MixedTopic, way: Way, watch: Watch) -> Turn:
    """One turn of a way. What earlier ones left is not on its account.

    Its output stays until the end: ext4 looks at every file that was removed of late whenever it
    makes one, so removing the output of one way would slow down the next.
    """
    jvm = topic.world.spark._jvm
    if jvm is not None:
        jvm.System.gc()
    return way(topic, Path(tempfile.mkdtemp(dir=topic.world.scratch)) / "lake", watch)


@contextmanager
def measured(watch: Watch) -> Iterator[dict[str, float]]:
    """Fill in what the body spends."""
    spent: dict[str, float] = {}
    watch.begin_peak()
    cpu_s, began = watch.cpu_s(), time.perf_counter()
    yield spent
    spent["elapsed_s"] = time.perf_counter() - began
    spent["cpu_s"] = watch.cpu_s() - cpu_s
    spent["peak_rss_bytes"] = watch.peak_bytes()


def turn_of(records: int, spent: dict[str, float], written: list[Path] | None) -> Turn:
    """A turn, once it is certain that every record is in the files."""
    files = written or []
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    if written is not None and rows != records:
        raise SystemExit(f"{rows:,} rows were written instead of {records:,}")
    return Turn(
        records=records,
        elapsed_s=spent["elapsed_s"],
        cpu_s=spent["cpu_s"],
        peak_rss_bytes=int(spent["peak_rss_bytes"]),
        files=len(files),
        file_bytes=sum(file.stat().st_size for file in files),
    )


def watch_without(broker_pids: tuple[int, ...]) -> Watch:
    """This process and all below it, but for the broker."""
    return Watch(os.getpid(), broker_pids)
