"""How fast small files become large ones: `make bench-compact`.

Makes a lake of many small files with the real owner and the real writer, without Kafka. Then two
ways to rewrite them take turns in one Spark session with two cores:

    penstock     a whole compaction: plan, copy with checksums, sort, write, read back, compare all
                 values, stage with sync, decide, publish, delete the inputs, done markers
    plain_sorted Spark reads a dataset, brings the rows of a day together (`repartition`), sorts
                 them by position, and writes one file for each day: the same files as penstock's
    plain        the same without an order: a task reads all files of a directory and writes them

Nothing is proven, synced, decided or removed by plain Spark. Every turn of penstock has a fresh
copy of the lake; the rows in the files are counted after each turn.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench import audit as lakes
from bench.figures import Turn, by_cpu, by_time, ratio
from bench.interrupted import in_one_line
from bench.machine import machine
from bench.processes import Watch, WorkerMemory
from penstock.care.compact_feed import CompactionTools, compact_directories
from penstock.care.compaction_plan import CompactionPolicy
from penstock.care.feed_plan import planned
from penstock.cli.commands.compact import FILES_OF_JOB
from penstock.ports.store.open_store import local_spec, open_store
from penstock.runtime.parallel import ParallelMap
from penstock.spark.parallel_map import SparkParallelMap
from penstock.spark.session import open_session

RECORDS = 2_000_000
WINDOW = 100_000
TARGET = 0.8  # of plain Spark by processor time
OURS, SORTED, PLAIN = "penstock", "plain_sorted", "plain"
HEAP = {"spark.master": "local[2]", "spark.driver.memory": "4g"}

Rewrite = Callable[[SparkSession, Path, Path], Path]


def penstock(spark: SparkSession, _lake: Path, target: Path) -> Path:
    """Compact a copy of the lake; where its files are."""

    @contextmanager
    def opened() -> Iterator[ParallelMap]:
        yield SparkParallelMap(lambda: spark, lambda _what, _done, _of: None)

    policy = CompactionPolicy(min_files=2)
    journal = lakes.journal_of(open_store(local_spec(target)))
    fold = journal.open(deep=True)
    tools = CompactionTools(lakes.FEED, lakes.AROUND, "bench", policy, opened, FILES_OF_JOB)
    plans = list(planned(journal, fold, policy))
    for each in compact_directories(journal, fold, plans, tools):
        if each.refused is not None:
            raise each.refused
    return target / "events"


def plain_sorted(spark: SparkSession, lake: Path, target: Path) -> Path:
    """One file for each day, in order."""
    for dataset in sorted((lake / "events").glob("[!_]*")):
        rows = spark.read.parquet(str(dataset)).repartition("day")
        rows = rows.sortWithinPartitions("day", "_topic", "_partition", "_offset")
        written(rows.write.partitionBy("day"), target / dataset.name)
    return target


def plain(spark: SparkSession, lake: Path, target: Path) -> Path:
    """One file for each directory, as the rows come."""
    for directory in sorted((lake / "events").glob("*/day=*")):
        rows = spark.read.parquet(str(directory)).coalesce(1)
        written(rows.write, target / directory.parent.name / directory.name)
    return target


def written(writer: object, target: Path) -> None:
    """With the codec that Penstock uses."""
    writer.option("compression", "zstd").parquet(str(target))  # type: ignore[attr-defined]


WAYS: dict[str, Rewrite] = {SORTED: plain_sorted, OURS: penstock, PLAIN: plain}


def take_turn(way: str, spark: SparkSession, lake: Path, watch: Watch, scratch: Path) -> Turn:
    """One turn in a directory of its own, which is removed when it was counted."""
    target = scratch / f"{way}-{time.monotonic_ns()}"
    if way == OURS:
        shutil.copytree(lake, target)
    spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]
    watch.begin_peak()
    before, began = watch.cpu_s(), time.monotonic()
    place = WAYS[way](spark, lake, target)
    elapsed_s, cpu_s = time.monotonic() - began, watch.cpu_s() - before
    files = sorted(place.rglob("*.parquet"))
    rows = sum(pq.ParquetFile(file).metadata.num_rows for file in files)
    size = sum(file.stat().st_size for file in files)
    shutil.rmtree(target)
    return Turn(
        records=rows,
        elapsed_s=elapsed_s,
        cpu_s=cpu_s,
        files=len(files),
        file_bytes=size,
        peak_rss_bytes=watch.peak_bytes(),
    )


def made(keep: Path | None, scratch: Path, records: int) -> Path:
    """A lake of small files; with `keep` that of an earlier run."""
    lake = keep or scratch / "lake"
    lakes.fill(open_store(local_spec(lake)), records, 12, window=WINDOW, distinct=records)
    return lake


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=RECORDS)
    arguments.add_argument("--rounds", type=int, default=3, help="turns of each that count")
    arguments.add_argument("--warm-ups", type=int, default=1, help="turns before these")
    arguments.add_argument("--keep", type=Path, help="where the lake stays for the next run")
    options = arguments.parse_args()
    turns: dict[str, list[Turn]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        scratch = Path(folder)
        lake = made(options.keep, scratch, options.records)
        files = list((lake / "events").rglob("*.parquet"))
        size = sum(each.stat().st_size for each in files)
        print(f"{options.records:,} rows in {len(files):,} files, {size / 2**20:,.0f} MiB")
        print(f"on {machine()}", flush=True)
        spark = open_session("bench", HEAP, [])
        try:
            with Watch(os.getpid()) as watch, WorkerMemory() as memory:
                for number in range(1 - options.warm_ups, options.rounds + 1):
                    for way in WAYS:
                        turn = take_turn(way, spark, lake, watch, scratch)
                        if turn.records != options.records:
                            raise SystemExit(f"{way} has {turn.records:,} rows")
                        turns[way] += [turn] if number > 0 else []
                        print(line_of(number, way, turn), flush=True)
                most_bytes = memory.most_bytes
        finally:
            spark.stop()
    print(f"on {machine()}")
    for way in (SORTED, PLAIN):
        by = ratio(turns[OURS], turns[way], by_cpu), ratio(turns[OURS], turns[way], by_time)
        print(f"against {way}: {by[0]:.2f} by processor time, {by[1]:.2f} by time")
    found = ratio(turns[OURS], turns[SORTED], by_cpu)
    verdict = "reached" if found >= TARGET else "missed"
    print(f"target of {TARGET} of plain Spark with the same result, by processor time: {verdict}")
    print(f"at most {most_bytes / 2**20:,.0f} MiB in a worker")
    speed = statistics.median(map(by_cpu, turns[OURS]))
    print(f"penstock: {speed:,.0f} rows per second of a processor")


def line_of(number: int, way: str, turn: Turn) -> str:
    """A turn as a line."""
    return (
        f"  {number:2} {way:12}  {turn.elapsed_s:6.1f} s  {turn.cpu_s:6.1f} s of a processor  "
        f"{turn.files:5,} files  {turn.file_bytes / 2**20:6.1f} MiB"
    )


if __name__ == "__main__":
    in_one_line(main)
