"""Staging a window: read its records, learn what nobody knew, read again until nothing is new.

    1 read      tasks shred the records into files that nobody sees, and report
    2 learn     types and schemas that the tasks did not know; if there were any,
    3 discard   the files of this read do not count: back to 1

A partition whose records name a schema that cannot be found now is held for a while.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from penstock.api.doors import FORMATS
from penstock.api.feed_refs import with_refs
from penstock.api.find import find
from penstock.api.source import ANY_SIZE, ReadFailed
from penstock.api.store import Store
from penstock.datapath.driver.key_limits import check_key_room
from penstock.datapath.schemas.dataset_schemas import SchemasInUse
from penstock.datapath.schemas.learning import ROUNDS, Learning
from penstock.datapath.shape.route.distinct_names import count_of
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.task import RecordTooLarge
from penstock.model.broken_groups import merged
from penstock.model.layout import Layout
from penstock.model.manifest import schema_versions
from penstock.model.read_ways import window_ways
from penstock.model.refused_records import all_refused
from penstock.model.spec import FeedSpec
from penstock.model.window import Place, StagedWindow, StageOrder
from penstock.model.window_cost import added_task_spent, with_more_time
from penstock.ports.registry.errors import RegistryTrouble
from penstock.ports.store.discard_windows import discard_windows

HOLD_S = 5.0
LONGEST_HOLD_S = 60.0

# Runs the tasks of a plan over its records, once, and returns what successful attempts report.
RunTasks = Callable[[ShredPlan], list[TaskReport]]


@dataclass(frozen=True, slots=True)
class Hold:
    """A partition that is left out: why, for how long, and until which tick."""

    why: str
    pause_s: float
    until: float


class Stager:
    """Stages the windows of one feed, wherever its records come from. Driver only, one thread.

    `run_tasks` is how the records get to the tasks: from a source, or from the quarantine.
    """

    def __init__(
        self,
        feed: FeedSpec,
        store: Store,
        learning: Learning,
        run_tasks: RunTasks,
        tick: Callable[[], float],
        max_new: int | None = None,
    ) -> None:
        check_key_room(feed, store.longest_key_bytes)
        self._feed = with_refs(feed)  # tasks import what it names, and look up nothing
        self._store = store
        self._learning = learning
        self._run_tasks = run_tasks
        self._tick = tick
        self._max_new = feed.max_new_types if max_new is None else max_new
        self._holds: dict[Place, Hold] = {}
        self.again = ""  # why the window is being read again, for whoever watches

    def stage(self, order: StageOrder) -> StagedWindow:
        """Read exactly the ranges of the order, and write them invisibly. Safe to repeat.

        What a failure leaves staged is garbage, told from other attempts by its name. Raises
        `ReadFailed`, and `RegistryTrouble` when records name schemas that only the registry knows.
        """
        known = self._learning.schemas.known
        before = len(known)
        # Datasets that a decided window has no file of are not learned for it now.
        most_new = 0 if order.schemas is not None else self._max_new
        self._learning.named.begin()
        self._learning.foresee((covered.topic for covered in order.ranges), most_new)
        repeated_s = 0.0  # seconds of reads that did not count
        try:
            for _ in range(ROUNDS):
                # What one read has learned counts for the next: a flood ends in the quarantine.
                room = max(most_new - (len(known) - before), 0)
                in_use = self._in_use(order)
                order, reports = self._read(order, in_use, room)
                if not self._learn(order, reports, room):
                    staged = staged_window(reports, learned=len(known) - before)
                    return msgspec.structs.replace(
                        staged,
                        reading=reading_of(staged, in_use),
                        spent=with_more_time(staged.spent, repeated_s),
                        ways=self._learning.schemas.with_causes(staged.ways),
                    )
                self._discard(order)
                repeated_s += sum(each.task_s for report in reports for each in report.spent)
                self.again = f"reading again, new types: {len(known) - before:,}"
        finally:
            self.again = ""
        raise ReadFailed(order.window, f"new types came in {ROUNDS} reads in a row")

    def held_now(self) -> dict[Place, str]:
        """Partitions that are left out for now, and why; each is tried again after a while."""
        now = self._tick()
        return {place: hold.why for place, hold in self._holds.items() if now < hold.until}

    def _in_use(self, order: StageOrder) -> SchemasInUse:
        """The newest schemas; of a window that is decided, those that its entry records."""
        schemas = self._learning.schemas
        if order.schemas is None:
            return schemas.newest()
        return schemas.recorded(order.schemas, order.reading)

    def _read(
        self, order: StageOrder, in_use: SchemasInUse, room: int
    ) -> tuple[StageOrder, list[TaskReport]]:
        """Read once; twice if a record is much larger than those of recent windows.

        Also returns the order to read the window by from now on, which knows of such a record.
        """
        try:
            return order, self._run_tasks(self._plan(order, in_use, room))
        except RecordTooLarge:
            self._discard(order)
        order = msgspec.structs.replace(order, largest_bytes=ANY_SIZE)
        return order, self._run_tasks(self._plan(order, in_use, room))

    def _plan(self, order: StageOrder, in_use: SchemasInUse, room: int) -> ShredPlan:
        """What the tasks need to know, with all that is known by now.

        Files are compressed as the plan of the window says, also when it was made long ago.
        """
        compression = order.file_plan.compression or self._feed.compression
        return ShredPlan(
            order=order,
            feed=msgspec.structs.replace(self._feed, compression=compression),
            schemas=in_use.read,
            now_s=order.planned_s,
            format=find(FORMATS, self._feed.format),
            max_new=room,
            record_schemas=self._learning.named.ready(),
            file_schemas=in_use.files,
            keys=self._learning.keys,
            longest_key_bytes=self._store.longest_key_bytes,
        )

    def _learn(self, order: StageOrder, reports: list[TaskReport], room: int) -> bool:
        """Take up what was new; True if there was any. Hold what only a registry could tell."""
        try:
            return self._learning.learn(reports, room)
        except RegistryTrouble as error:
            self._discard(order)
            self._hold(reports, error)
            raise

    def _hold(self, reports: list[TaskReport], error: RegistryTrouble) -> None:
        """Leave out, for a while, the partitions whose records name schemas that nobody knows."""
        for report in reports:
            if set(report.named) - set(self._learning.named.known):
                place = (report.evidence.range.topic, report.evidence.range.partition)
                before = self._holds.get(place)
                pause_s = HOLD_S if before is None else min(2 * before.pause_s, LONGEST_HOLD_S)
                self._holds[place] = Hold(str(error), pause_s, self._tick() + pause_s)

    def _discard(self, order: StageOrder) -> None:
        """Remove what a read has staged that does not count.

        What is staged for a window that is decided may be all that is left of its other files, or
        be named by a `replace` entry: there the leftovers wait for the next cleaning.
        """
        if not order.decided:
            prefixes = Layout(order.feed).data_prefixes
            discard_windows(self._store, order.staging, prefixes, {order.window})


def reading_of(staged: StagedWindow, in_use: SchemasInUse) -> dict[str, int]:
    """The versions that records were read with, of the datasets whose records were converted."""
    return {
        dataset: in_use.read[dataset].version
        for dataset in staged.schemas
        if dataset in in_use.files
    }


def staged_window(reports: Sequence[TaskReport], learned: int = 0) -> StagedWindow:
    """The reports of all tasks as one staged window; so many datasets were learned for it."""
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
        tried=sum(report.tried for report in reports),
        delivered=tuple(part for report in reports for part in report.delivered),
        ways=window_ways(each for report in reports for each in report.ways),
        broken=merged(group for report in reports for group in report.broken),
        new_types=learned + count_of(name for each in reports for name in each.refused_names),
        spent=added_task_spent(each for report in reports for each in report.spent),
        refused=all_refused(report.refused for report in reports),
    )
