"""One task without Spark and Kafka: records as Spark hands them over, and a plan that has learned.

The schemas are learned as a feed learns them, by the stager, from the first records. No JVM is
needed for any of this.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from bench.events import NOON_MS
from bench.workloads.workload import Workload
from penstock.datapath.driver.stager import Stager
from penstock.datapath.schemas.learning import Learning
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.task import BYTES_AT_ONCE, shred_batches, suit_worker
from penstock.model.layout import Layout
from penstock.model.manifest import QUARANTINE
from penstock.model.ranges import OffsetRange
from penstock.model.window import StageOrder
from penstock.ports.store.open_store import local_spec, open_store

TOPIC = "events"
BATCH = 131_072
FIRST_WINDOW = 4_000  # from so many records a workload's schemas are learned


@dataclass(frozen=True)
class Shredded:
    """What one task took and left."""

    records: int
    source_bytes: int
    cpu_s: float
    reports: tuple[TaskReport, ...]

    @property
    def rows(self) -> int:
        """How many rows it delivered; those in the quarantine do not count."""
        files = [file for report in self.reports for file in report.files]
        return sum(file.evidence.count for file in files if file.dataset != QUARANTINE)

    @property
    def fast_share(self) -> float:
        """Which share of the records was decoded without Python code per value."""
        ways = [each for report in self.reports for each in report.ways]
        fast = sum(each.fast for each in ways)
        return fast / max(fast + sum(each.reference for each in ways), 1)


def batches_of(make: Callable[[int], bytes], records: int, first: int = 0) -> list[pa.RecordBatch]:
    """Batches as the reader's select makes them and as tasks gather them, of one partition."""
    found = []
    start, end = first, first + records
    while start < end:
        values: list[bytes] = []
        size = 0
        while start + len(values) < end and len(values) < BATCH and size < BYTES_AT_ONCE:
            values.append(make(start + len(values)))
            size += len(values[-1])
        found.append(_batch(start, values))
        start += len(values)
    return found


def _batch(start: int, values: list[bytes]) -> pa.RecordBatch:
    count = len(values)
    offsets = np.arange(start, start + count, dtype=np.int64)
    columns = {
        "topic": pa.array([TOPIC] * count),
        "partition": pa.array(np.zeros(count, np.int32)),
        "offset": pa.array(offsets),
        "timestamp": pa.array(np.full(count, NOON_MS)),
        "key": pa.nulls(count, pa.binary()),
        "value": pa.array(values, pa.binary()),
        "headers": pa.nulls(count, pa.string()),
        "hash": pa.array(offsets),
    }
    return pa.RecordBatch.from_pydict(columns)


def order_for(batches: Sequence[pa.RecordBatch]) -> StageOrder:
    """The order to shred all of them, as one range of one partition."""
    start, last = batches[0]["offset"][0].as_py(), batches[-1]["offset"][-1].as_py()
    covered = OffsetRange(TOPIC, "id", 0, start, last + 1)
    staging = "_penstock/events/staging"
    return StageOrder(TOPIC, "1-1", staging, (covered,), planned_s=time.time())


@dataclass(frozen=True)
class Learned:
    """How a first window went: the plan of its last read, and when each read ended."""

    plan: ShredPlan
    took_s: float
    reads_s: tuple[float, ...]


def learned_from(workload: Workload, batches: Sequence[pa.RecordBatch], lake: Path) -> Learned:
    """Stage a first window in this process, as a new feed does."""
    store = open_store(local_spec(lake))
    feed = workload.feed(TOPIC, 10**9)
    plans: list[ShredPlan] = []
    reads: list[float] = []

    def run_tasks(plan: ShredPlan) -> list[TaskReport]:
        plans.append(plan)
        began = time.process_time()
        reports = list(shred_batches(plan, store, f"attempt-{len(plans)}", batches))
        reads.append(time.process_time() - began)
        return reports

    began = time.process_time()
    learning = Learning(store, Layout(feed.name), feed, workload.registry())
    Stager(feed, store, learning, run_tasks, time.monotonic).stage(order_for(batches))
    return Learned(plans[-1], time.process_time() - began, tuple(reads))


def plan_of(
    workload: Workload, batches: Sequence[pa.RecordBatch], learn_from: int = FIRST_WINDOW
) -> ShredPlan:
    """A plan to shred these batches, learned from the first records of the workload."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as lake:
        first = batches_of(workload.make, learn_from)
        plan = learned_from(workload, first, Path(lake)).plan
    return msgspec.structs.replace(plan, order=order_for(batches))


def shred(plan: ShredPlan, batches: Sequence[pa.RecordBatch]) -> Shredded:
    """Run one task, and say what it took."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as lake:
        store = open_store(local_spec(lake))
        suit_worker()
        began = time.process_time()
        reports = tuple(shred_batches(plan, store, "attempt", batches))
        cpu_s = time.process_time() - began
    records = sum(batch.num_rows for batch in batches)
    size = sum(batch["value"].nbytes for batch in batches)
    return Shredded(records, size, cpu_s, reports)
