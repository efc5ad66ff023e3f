"""Kafka as the owner's source: looks through the admin client, stages through one Spark job."""

from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.api.store import Store
from penstock.datapath.schemas.learning import ROUNDS, Learning
from penstock.datapath.stage.shred_plan import MAX_NEW, ShredPlan, TaskReport
from penstock.datapath.stage.task import REPORT_SCHEMA, RecordTooLarge, read_report, shredding
from penstock.model.manifest import schema_versions
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.window import Available, StagedWindow, StageOrder, TopicOffsets
from penstock.ports.registry.errors import RegistryTrouble
from penstock.ports.source.errors import ReadFailed
from penstock.ports.source.kafka.admin import KafkaAdmin
from penstock.ports.source.kafka.reader import read_ranges
from penstock.ports.store.discard_windows import discard_windows
from penstock.runtime.surroundings import Surroundings
from penstock.spark.batch_size import MOST_BYTES, batches_for, weighing
from penstock.spark.errors import first_line

QUIET_RECORDS = 20_000  # below this one task is quicker than starting several
HOLD_S = 5.0
LONGEST_HOLD_S = 60.0


@dataclass(frozen=True, slots=True)
class Held:
    """A partition that is left out: why, for how long, and until which tick."""

    why: str
    pause_s: float
    until: float


class KafkaSource:
    """The source of one feed. Driver only."""

    def __init__(
        self,
        session: Callable[[], SparkSession],
        options: Mapping[str, str],
        feed: FeedSpec,
        store: Store,
        learning: Learning,
        around: Surroundings,
        max_new: int = MAX_NEW,
    ) -> None:
        self._session = session
        self._options = options
        self._feed = feed
        self._store = store
        self._learning = learning
        self._around = around
        self._max_new = max_new
        self._admin: KafkaAdmin | None = None
        self.seen: Available | None = None
        self.seen_at_s = 0.0
        self.left_out: dict[tuple[str, int], str] = {}
        self._held: dict[tuple[str, int], Held] = {}

    @property
    def admin(self) -> KafkaAdmin:
        """Kafka's admin client; the first to ask waits until the JVM is up."""
        if self._admin is None:
            self._admin = KafkaAdmin(self._session()._jvm, self._options)
        return self._admin

    def look(self) -> Available:
        """What there is to read now; `left_out` tells what else there is, and why it is not read.

        It is kept until the next look: a hold that runs out meanwhile has read nothing.
        """
        held = self.held_now()
        found = without(self.admin.available(self._feed), held)
        self.left_out = self.admin.skipped | held
        self.seen, self.seen_at_s = found, self._around.now()
        return found

    def stage(self, order: StageOrder) -> StagedWindow:
        """Read and shred the ranges; learn new types and read again until none is new."""
        known = self._learning.schemas.known
        before = len(known)
        self._learning.named.begin()
        for _ in range(ROUNDS):
            # What one read has learned counts for the next: a flood ends in the quarantine.
            room = max(self._max_new - (len(known) - before), 0)
            order, reports = self._read(order, room)
            if not self._learn(order, reports, room):
                return staged_window(reports)
            self._discard(order)
        raise ReadFailed(order.window, f"new types came in {ROUNDS} reads in a row")

    def _learn(self, order: StageOrder, reports: list[TaskReport], room: int) -> bool:
        """As `Learning` does; what only a registry in trouble could tell, is held."""
        try:
            return self._learning.learn(reports, room)
        except RegistryTrouble as error:
            self._hold(order, reports, error)
            raise

    def _discard(self, order: StageOrder) -> None:
        """Remove what a read has staged that does not count.

        What is staged for a window that is decided may be all that is left of its other files, or
        be named by somebody's `replace` entry: there the leftovers wait for the next tidying.
        """
        if not order.decided:
            discard_windows(self._store, order.staging, {order.window})

    def _hold(self, order: StageOrder, reports: list[TaskReport], error: RegistryTrouble) -> None:
        """Leave out, for a while, the partitions whose records name schemas that nobody knows."""
        self._discard(order)
        for report in reports:
            if set(report.named) - set(self._learning.named.known):
                place = (report.evidence.range.topic, report.evidence.range.partition)
                before = self._held.get(place)
                pause_s = HOLD_S if before is None else min(2 * before.pause_s, LONGEST_HOLD_S)
                self._held[place] = Held(str(error), pause_s, self._around.tick() + pause_s)

    def held_now(self) -> dict[tuple[str, int], str]:
        """Partitions that are left out for now, and why; each is tried again after a while."""
        now = self._around.tick()
        return {place: held.why for place, held in self._held.items() if now < held.until}

    def hashes(self, ranges: tuple[OffsetRange, ...]) -> dict[OffsetRange, int]:
        """The hash of the record at each of these single offsets, where Kafka still has one."""
        rows = self._collect(
            "at the watermarks",
            read_ranges(self._session(), self._options, ranges).drop("key", "value").coalesce(1),
        )
        only = ranges[0].topic
        found = {(getattr(row, "topic", only), row.partition): row.hash % 2**64 for row in rows}
        return {
            one: found[one.topic, one.partition]
            for one in ranges
            if (one.topic, one.partition) in found
        }

    def close(self) -> None:
        """Let go of the admin client."""
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def _read(self, order: StageOrder, max_new: int) -> tuple[StageOrder, list[TaskReport]]:
        """Read in batches that are counted, or weighed when a record is too large for that.

        Also returns the order to read the window by from now on, which knows of such a record.
        """
        spark, most_bytes = batches_for(self._session(), order.largest_bytes)
        try:
            return order, self._run(order, max_new, spark, most_bytes)
        except RecordTooLarge:
            self._discard(order)
        order = msgspec.structs.replace(order, largest_bytes=MOST_BYTES + 1)
        return order, self._run(order, max_new, weighing(spark), None)

    def _run(
        self, order: StageOrder, max_new: int, spark: SparkSession, most_bytes: int | None
    ) -> list[TaskReport]:
        """One job, one action; only what successful attempts return counts."""
        plan = ShredPlan(
            order=order,
            feed=self._feed,
            schemas=dict(self._learning.schemas.known),
            now_s=order.planned_s,
            max_new=max_new,
            record_schemas=self._learning.named.ready(),
            file_schemas=dict(self._learning.schemas.file_schemas.known),
            keys=self._learning.keys,
        )
        frame = read_ranges(spark, self._options, order.ranges, most_bytes)
        if sum(map(len, order.ranges)) <= QUIET_RECORDS:
            frame = frame.coalesce(1)
        work = shredding(plan, self._store)
        rows = self._collect(order.window, frame.mapInArrow(work, REPORT_SCHEMA))
        return [read_report(bytes(row.report)) for row in rows]

    def _collect(self, window: str, frame: DataFrame) -> list[Any]:
        """Run the one job. A JVM that is gone fails it like a task that is gone."""
        try:
            return frame.collect()
        except (Py4JError, PySparkException, ConnectionError) as error:
            raise ReadFailed(window, first_line(error)) from error


def without(available: Available, held: Container[tuple[str, int]]) -> Available:
    """What there is, without some partitions."""
    topics = tuple(
        TopicOffsets(
            topic.topic,
            topic.topic_id,
            {p: offsets for p, offsets in topic.partitions.items() if (topic.topic, p) not in held},
        )
        for topic in available.topics
    )
    return Available(available.cluster_id, topics)


def staged_window(reports: list[TaskReport]) -> StagedWindow:
    """The reports of all tasks as one staged window."""
    files = tuple(file for report in reports for file in report.files)
    return StagedWindow(
        files=files,
        evidence=tuple(report.evidence for report in reports),
        quarantined=tuple(part for report in reports for part in report.quarantined),
        last_records=tuple(r.last_record for r in reports if r.last_record is not None),
        schemas=schema_versions(files),
        read_bytes=sum(report.read_bytes for report in reports),
        largest_bytes=max((report.largest_bytes for report in reports), default=0),
        reasons=dict(sum((Counter(report.reasons) for report in reports), Counter())),
        misfits=dict(sum((Counter(report.misfits) for report in reports), Counter())),
    )
