"""How fast the deep audit reads a lake: `make bench-audit`.

Makes a lake with the real owner and the real writer, from batches as Spark hands them over, and
without Kafka. Then audits it on Spark with two cores, and prints rows per second and the most
memory that any Python worker held. With `--keep` the lake is found again by the next run.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom
from typing import Any

import numpy as np
import pyarrow as pa

from bench.events import event
from bench.interrupted import in_one_line
from bench.processes import Watch, WorkerMemory
from penstock.api.store import Store
from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.audit.receipt import Receipt
from penstock.datapath.driver.stager import staged_window
from penstock.datapath.formats.parquet.parquet import FORMAT as PARQUET
from penstock.datapath.schemas.dataset_schemas import DatasetSchemas
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.datapath.stage.task import new_attempt, shred_batches
from penstock.model.layout import Layout
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec, RouteSpec, TimeSpec
from penstock.model.window import (
    Available,
    PartitionOffsets,
    StagedWindow,
    StageOrder,
    TopicOffsets,
)
from penstock.ports.store.discard_windows import discard_windows
from penstock.ports.store.open_store import local_spec, open_store
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.runtime.surroundings import Surroundings
from penstock.spark.parallel_map import SparkParallelMap
from penstock.spark.session import open_session

AROUND = Surroundings(time.time, time.sleep, SystemRandom())
FEED = FeedSpec(
    name="events",
    topics=("events",),
    route=RouteSpec("field", "type"),
    time=TimeSpec(field="event_time", unit="ms"),
)
BATCH = 20_000
WINDOW = 1_000_000
PARTITIONS = 4
DISTINCT = WINDOW // PARTITIONS  # payloads; then they come again
LIMIT_S = 60.0
MEASURED_ROWS = 10_000_000


class Batches:
    """A source that gives the same payloads again and again, at ever new offsets."""

    def __init__(self, store: Store, records: int, types: int, distinct: int) -> None:
        self._store = store
        self._schemas = DatasetSchemas(store, Layout(FEED.name), FEED)
        self._each = records // PARTITIONS
        self._now_ms = int(time.time() * 1000)
        count = min(records, distinct)
        values = [event(number, types) for number in range(count)]
        self._values = pa.array(values, pa.binary())

    def look(self) -> Available:
        """All partitions, from the beginning."""
        offsets = {p: PartitionOffsets(0, self._each) for p in range(PARTITIONS)}
        return Available("bench", (TopicOffsets("events", "id", offsets),))

    def stage(self, order: StageOrder) -> StagedWindow:
        """Shred; learn new types and shred again."""
        while True:
            known = dict(self._schemas.known)
            plan = ShredPlan(
                order=order, feed=FEED, schemas=known, now_s=time.time(), format=PARQUET
            )
            batches = (b for covered in order.ranges for b in self._batches(covered))
            reports = list(shred_batches(plan, self._store, new_attempt(), batches))
            if not self._schemas.learn([s for report in reports for s in report.samples]):
                return staged_window(reports)
            prefixes = Layout(FEED.name).data_prefixes
            discard_windows(self._store, order.staging, prefixes, {order.window})

    def _batches(self, covered: OffsetRange) -> Iterator[Any]:
        for start in range(covered.start, covered.end, BATCH):
            count = min(BATCH, covered.end - start)
            at = (covered.partition * self._each + start) % max(len(self._values) - BATCH, 1)
            offsets = np.arange(start, start + count, dtype=np.int64)
            yield pa.RecordBatch.from_pydict(
                {
                    "topic": pa.array(["events"] * count),
                    "partition": pa.array(np.full(count, covered.partition, np.int32)),
                    "offset": pa.array(offsets),
                    "timestamp": pa.array(np.full(count, self._now_ms)),
                    "key": pa.nulls(count, pa.binary()),
                    "value": self._values.slice(at, count),
                    "headers": pa.nulls(count, pa.string()),
                    "hash": pa.array(offsets),
                }
            )


def journal_of(store: Store) -> FeedJournal:
    """The journal of the one feed."""
    return FeedJournal(store, Layout(FEED.name), lake_identity(store, AROUND), AROUND)


def fill(
    store: Store,
    records: int,
    types: int,
    window: int = WINDOW,
    distinct: int = DISTINCT,
) -> None:
    """Deliver everything in windows, unless an earlier run has."""
    if not journal_of(store).open().state.is_new:
        return
    source = Batches(store, records, types, distinct)
    spec = OwnerSpec("bench", WindowPolicy(window), files=FEED.format)
    owner = Owner(journal_of(store), source, AROUND, spec)
    owner.take_over()
    while owner.run_window():
        print(f"  {owner.fold.state.counts.read:,} records delivered", flush=True)


def measure(store: Store) -> tuple[Receipt, int, float]:
    """The audit, the most memory that a worker held, and the processor time of all of them."""
    spark = open_session("bench", {"spark.master": "local[2]"}, [])
    try:
        spark.sparkContext.parallelize(range(8), 8).map(abs).collect()  # workers are up
        with WorkerMemory() as memory, Watch(os.getpid()) as watch:
            spread = SparkParallelMap(lambda: spark, lambda _what, _done, _of: None)
            tools = DeepTools(spread, None, time.monotonic)
            before = watch.cpu_s()
            receipt = deep_audit(journal_of(store), DeepSpec(), tools)
            return receipt, memory.most_bytes, watch.cpu_s() - before
    finally:
        spark.stop()


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=MEASURED_ROWS)
    arguments.add_argument("--types", type=int, default=12)
    arguments.add_argument("--keep", type=Path, help="where the lake stays for the next run")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        store = open_store(local_spec(options.keep or Path(scratch) / "lake"))
        fill(store, options.records, options.types)
        receipt, most_bytes, used = measure(store)
    deep = receipt.deep
    if deep is None or receipt.differences:
        raise SystemExit(f"the audit objects: {receipt.differences[:3]}")
    print(
        f"{deep.rows:,} rows, {deep.files:,} files, {deep.size_bytes / 2**20:,.0f} MiB in "
        f"{deep.seconds:.1f} s: {deep.rows / deep.seconds:,.0f} rows/s"
    )
    whole_s = MEASURED_ROWS / (deep.rows / deep.seconds)
    verdict = "kept" if whole_s <= LIMIT_S else "broken"
    print(f"10 million rows in {whole_s:.0f} s: limit of {LIMIT_S:.0f} s {verdict}")
    print(f"processor time {used:.1f} s, {used / deep.rows * 1e6:.2f} s per million rows")
    print(f"at most {most_bytes / 2**20:,.0f} MiB in a worker")


if __name__ == "__main__":
    in_one_line(main)
