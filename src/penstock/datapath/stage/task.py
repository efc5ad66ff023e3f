"""The one function that runs inside Spark's tasks."""

import gc
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator

import msgspec
import pyarrow as pa

from penstock.api.source import REPORT, ReadFailed
from penstock.api.store import Store
from penstock.datapath.codec.codecs import codec_of
from penstock.datapath.shape.route.router import Router
from penstock.datapath.stage.batch_parts import in_parts
from penstock.datapath.stage.cost_tally import CostTally, with_task_time
from penstock.datapath.stage.feed_decoder import feed_decoder
from penstock.datapath.stage.file_parts import FilePart
from penstock.datapath.stage.group_writer import GroupFiles
from penstock.datapath.stage.open_files import OpenFiles
from penstock.datapath.stage.placement import Placement, declared_datasets
from penstock.datapath.stage.samples import Sampling
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.shredder import RangeShredder
from penstock.model.ranges import TOO_LARGE, OffsetRange
from penstock.model.spec import FeedSpec
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
    """Shred what a task reads; a report per range it met, one of each file group with its files."""
    began = worker_tick()
    files = OpenFiles(store, plan, attempt)
    work = _Task(plan, files)
    try:
        for batch in batches:
            work.take(batch)
        reports = work.reports()
        refused = work.router.refused_names()  # the router is shared, so one report has them
        for report in with_task_time(reports, worker_tick() - began):
            yield msgspec.structs.replace(report, refused_names=refused, attempt=attempt)
            refused = ()
    except BaseException:
        files.abandon()
        raise


class _Task:
    """The ranges and file groups that one attempt of a task has met. Used by one thread."""

    def __init__(self, plan: ShredPlan, files: OpenFiles) -> None:
        self._plan = plan
        self._files = files
        self.router = Router(plan.feed, frozenset(plan.schemas), plan.max_new)
        self._ranges = {(each.topic, each.partition): each for each in plan.order.ranges}
        groups = plan.order.groups
        self._group_of = {covered: group for group in groups for covered in group.ranges}
        self._any_topic = plan.order.ranges[0].topic if plan.order.ranges else ""
        self._is_shared = is_shared(plan.feed)
        self._groups: dict[int, GroupFiles] = {}
        self._ranges_of: dict[int, dict[int, tuple[OffsetRange, ...]]] = {}
        self._by_ranges: dict[tuple[OffsetRange, ...], RangeShredder] = {}
        self._shredders: dict[int, list[RangeShredder]] = {}
        self._latest: GroupFiles | None = None

    def take(self, batch: pa.RecordBatch) -> None:
        """Take the next batch of records.

        Records of several ranges of a group are decoded together, where nothing depends on their
        partition: much is done once per batch and dataset, however few records there are.
        """
        start = end = 0
        before: tuple[GroupFiles, FilePart] | None = None
        partitions: list[int] = []
        for topic, partition, some in in_parts(batch, self._any_topic):
            if partition == TOO_LARGE:
                raise RecordTooLarge
            group = self._group(self._covered(topic, partition, some))
            for piece in group.parts.pieces(partition, some):
                now = (group, group.parts.now)
                is_apart = not self._is_shared and partition not in partitions
                if before is not None and (before != now or is_apart):
                    self._shred(*before, partitions, batch.slice(start, end - start))
                    start, partitions = end, []
                before = now
                partitions.append(partition)
                end += piece.num_rows
        if before is not None:
            self._shred(*before, partitions, batch.slice(start, end - start))

    def _shred(
        self, group: GroupFiles, part: FilePart, partitions: list[int], some: pa.RecordBatch
    ) -> None:
        """Shred records of one part of a group. Later partitions begin when earlier ones are in."""
        if self._latest is not None and self._latest is not group:
            self._latest.settle()
        self._latest = group
        group.parts.now = part
        self._begin(group, partitions[0])
        self._shredder(group, partitions[0]).take(some)
        for partition in partitions[1:]:
            self._begin(group, partition)

    def _begin(self, group: GroupFiles, partition: int) -> None:
        if not group.parts.arrival.begin(partition):
            why = f"records of partition {partition} came again after others had come"
            raise self._foreign(why)

    def reports(self) -> list[TaskReport]:
        """What was met, and the files of every group; none while there is something to learn."""
        learning = any(shr.is_learning for each in self._shredders.values() for shr in each)
        found: list[TaskReport] = []
        for number, group in self._groups.items():
            mine = [
                msgspec.structs.replace(report, group=number)
                for shredder in self._shredders[number]
                for report in shredder.reports(learning=learning)
            ]
            if not learning:
                mine[0] = msgspec.structs.replace(mine[0], files=group.finish())
            found += mine
        if learning:
            self._files.abandon()
        return found

    def _covered(self, topic: str, partition: int, some: pa.RecordBatch) -> OffsetRange:
        """The range that records belong to. What was not planned must not be read."""
        covered = self._ranges.get((topic, partition))
        offsets = some["offset"].to_numpy()
        if covered is None or offsets[0] not in covered or offsets[-1] not in covered:
            raise self._foreign(f"offset {offsets[0]} of {topic}/{partition} was not planned")
        return covered

    def _foreign(self, why: str) -> ReadFailed:
        return ReadFailed(self._plan.order.window, why)

    def _group(self, covered: OffsetRange) -> GroupFiles:
        """The files of the group of a range."""
        of = self._group_of[covered]
        if of.number not in self._groups:
            declared = declared_datasets(self._plan.feed)
            self._groups[of.number] = GroupFiles(self._plan, of, self._files, declared)
            ranges = [of.ranges] if self._is_shared else [(each,) for each in of.ranges]
            self._ranges_of[of.number] = {r.partition: each for each in ranges for r in each}
            self._shredders[of.number] = []
        return self._groups[of.number]

    def _shredder(self, group: GroupFiles, partition: int) -> RangeShredder:
        """The shredder of the ranges that are decoded together with those of a partition."""
        number = group.parts.number
        ranges = self._ranges_of[number][partition]
        if ranges not in self._by_ranges:
            made = range_shredder(self._plan, ranges, group, self.router)
            self._by_ranges[ranges] = made
            self._shredders[number].append(made)
        return self._by_ranges[ranges]


def is_shared(feed: FeedSpec) -> bool:
    """True if records of several partitions can be decoded together.

    Plug-ins and some converters are told the partition of their records, those with schemas are
    held back by partition, and records that become several rows are counted by it.
    """
    if feed.has_rows or feed.route.kind == "plugin":
        return False
    if any(step.is_of_partition for step in feed.convert):
        return False
    keys = [*feed.partition, *(key for each in feed.datasets for key in each.partition or ())]
    if any(key.kind == "plugin" for key in keys):
        return False
    return codec_of(feed.decode).schemas_for(feed.decode) is None


def range_shredder(
    plan: ShredPlan, ranges: tuple[OffsetRange, ...], group: GroupFiles, router: Router
) -> RangeShredder:
    """A shredder for ranges of a group, with the decoder for the feed's records."""
    placement, samples = Placement(plan.feed, ranges[0], router), Sampling()
    decoder = feed_decoder(plan, placement, samples)
    costs = CostTally(worker_tick)
    return RangeShredder(plan, ranges, group, placement, decoder, samples, costs)


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
