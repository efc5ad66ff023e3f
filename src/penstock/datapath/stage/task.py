"""The one function that runs inside Spark's tasks."""

import gc
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator

import msgspec
import pyarrow as pa

from penstock.api.source import REPORT
from penstock.api.store import Store
from penstock.datapath.shape.route.router import Router
from penstock.datapath.stage.cost_tally import CostTally, with_task_time
from penstock.datapath.stage.feed_decoder import feed_decoder
from penstock.datapath.stage.open_files import OpenFiles
from penstock.datapath.stage.own_columns import constant
from penstock.datapath.stage.placement import Placement
from penstock.datapath.stage.samples import Sampling
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.shredder import RangeShredder
from penstock.evidence.position_columns import split_by_place
from penstock.model.ranges import TOO_LARGE, OffsetRange
from penstock.runtime.worker import settle_in, worker_tick

_task_report_decoder = msgspec.msgpack.Decoder(TaskReport)

ROWS_AT_ONCE = 131_072
BYTES_AT_ONCE = 32 * 1024 * 1024
# With more datasets than this, more at once, since a batch has too few rows of each otherwise.
FEW_DATASETS = 50
MOST_TIMES = 4
_ARROW = pa.schema([(REPORT, pa.binary())])
_NOT_READ = b""  # in place of a report


class RecordTooLarge(Exception):
    """A record is larger than those before, and came without its contents."""


def new_attempt() -> str:
    """A word for one attempt of one task; made where the attempt runs."""
    return secrets.token_hex(16)


def shredding(
    plan: ShredPlan, store: Store, attempt: Callable[[], str] = new_attempt
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    """A function for `mapInArrow`: batches in, one encoded `TaskReport` per range out.

    Where a record came without its contents, all that comes out is that nothing was read.

    Runs on executors, once per attempt of a task; `attempt` gives a word that no other attempt
    ever uses. Everything it closes over pickles by value.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        suit_worker()
        wider = gathered(batches, len(plan.schemas))
        try:
            reports = list(shred_batches(plan, store, attempt(), wider))
            encoded = [msgspec.msgpack.encode(report) for report in reports]
        except RecordTooLarge:
            deque(batches, maxlen=0)  # Spark wants all of it taken, or calls the worker dead
            encoded = [_NOT_READ]
        yield pa.RecordBatch.from_arrays([pa.array(encoded, pa.binary())], schema=_ARROW)

    return run


def suit_worker() -> None:
    """Settings of the process that a task runs in.

    Every record makes a few objects that are gone a moment later and are part of no cycle. Looking
    for cycles after each 700 of them, as Python does by itself, takes a sixth of the decoding time.
    """
    settle_in()
    pa.set_cpu_count(1)  # Spark gives every core a task already
    gc.set_threshold(50_000, 10, 10)


def shred_batches(
    plan: ShredPlan, store: Store, attempt: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[TaskReport]:
    """Shred what a task reads; a report per range it met."""
    began = worker_tick()
    files = OpenFiles(store, plan, attempt)
    router = Router(plan.feed, frozenset(plan.schemas), plan.max_new)
    ranges = {(covered.topic, covered.partition): covered for covered in plan.order.ranges}
    any_topic = plan.order.ranges[0].topic if plan.order.ranges else ""
    shredders: dict[OffsetRange, RangeShredder] = {}
    latest: OffsetRange | None = None
    try:
        for batch in batches:
            for topic, partition, piece in in_parts(batch, any_topic):
                if partition == TOO_LARGE:
                    raise RecordTooLarge
                covered = ranges[topic, partition]
                if latest is not None and latest != covered:
                    shredders[latest].settle()
                latest = covered
                if covered not in shredders:
                    shredders[covered] = range_shredder(plan, covered, files, router)
                shredders[covered].take(piece)
        reports = [shredder.report() for shredder in shredders.values()]
        refused = router.refused_names()  # the router is shared, so one report has them
        for report in with_task_time(reports, worker_tick() - began):
            yield msgspec.structs.replace(report, refused_names=refused)
            refused = ()
    except BaseException:
        files.abandon()
        raise


def range_shredder(
    plan: ShredPlan, covered: OffsetRange, files: OpenFiles, router: Router
) -> RangeShredder:
    """A shredder for one range, with the decoder for the feed's records."""
    placement, samples = Placement(plan.feed, covered, router), Sampling()
    decoder = feed_decoder(plan, placement, samples)
    costs = CostTally(worker_tick)
    return RangeShredder(plan, covered, files, placement, decoder, samples, costs)


def gathered(batches: Iterable[pa.RecordBatch], datasets: int) -> Iterator[pa.RecordBatch]:
    """The same records in fewer batches, since much is done once per batch and dataset.

    Spark hands them over in small ones, which stay in the processor's cache on their way.
    """
    times = min(max(datasets // FEW_DATASETS, 1), MOST_TIMES)
    most_rows, most_bytes = times * ROWS_AT_ONCE, times * BYTES_AT_ONCE
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        is_full = rows + batch.num_rows > most_rows or size + batch.nbytes > most_bytes
        if waiting and is_full:
            yield pa.concat_batches(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    if waiting:
        yield pa.concat_batches(waiting)


def read_report(encoded: bytes) -> TaskReport:
    """A task's report as the driver reads it.

    Raises `RecordTooLarge` when the window has to be read again, in batches that are weighed.
    """
    if encoded == _NOT_READ:
        raise RecordTooLarge
    return _task_report_decoder.decode(encoded)


def in_parts(batch: pa.RecordBatch, only_topic: str) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    """The parts of a batch that are of one topic and partition each.

    A batch without the column `topic` is of the only topic that is read.
    """
    names = batch.schema.names
    topics = batch["topic"] if "topic" in names else constant(only_topic, batch.num_rows)
    for topic, partition, chosen in split_by_place(topics, batch["partition"]):
        whole = isinstance(chosen, slice)
        yield topic, partition, batch if whole else batch.take(pa.array(chosen))
