"""Decodes quarantined records with the present configuration and stages them. Kafka is not read."""

from collections import Counter
from dataclasses import dataclass, field
from functools import partial

import msgspec

from penstock.api.store import Store
from penstock.care.quarantine_parts import quarantine_parts
from penstock.care.replay import ReplayOrder, StagedReplay
from penstock.datapath.driver.stager import Stager
from penstock.datapath.schemas.learning import Learning
from penstock.datapath.stage.quarantine_rows import QuarantinePart
from penstock.datapath.stage.replay_task import shred_quarantined
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.task import new_attempt
from penstock.model.broken_groups import BrokenGroup
from penstock.model.evidence import RangeEvidence
from penstock.model.spec import FeedSpec
from penstock.model.window import StagedWindow, StageOrder
from penstock.runtime.parallel import ParallelMap
from penstock.runtime.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class QuarantineTasks:
    """Gives records from the quarantine's files to the tasks, part by part. Driver only."""

    store: Store
    parallel: ParallelMap
    parts: list[QuarantinePart]

    def __call__(self, plan: ShredPlan) -> list[TaskReport]:
        """Run the task for every part once, and stage what can be delivered."""
        work = partial(_shred, msgspec.structs.replace(plan, is_replay=True), self.store)
        return self.parallel("quarantined records", work, self.parts, _weight)


@dataclass(slots=True)
class ReplayStager:
    """Called by `replay`. Afterwards it has the number `delivered`, and why others stay.

    If it is called for several entries, it has the result of the last one. Without a `fingerprint`
    or `datasets` all records are meant.
    """

    feed: FeedSpec
    store: Store
    learning: Learning
    parallel: ParallelMap
    around: Surroundings
    fingerprint: str = ""
    datasets: frozenset[str] | None = None
    tried: int = 0
    delivered: int = 0
    stays: Counter[str] = field(default_factory=Counter)
    broken: tuple[BrokenGroup, ...] = ()

    def __call__(self, order: ReplayOrder) -> StagedReplay:
        """Stage what can be delivered."""
        parts = quarantine_parts(order.records, order.files, self.datasets, self.fingerprint)
        tasks = QuarantineTasks(self.store, self.parallel, parts)
        stager = Stager(self.feed, self.store, self.learning, tasks, self.around.tick)
        ranges = tuple(part.covered for part in parts)
        now_s = self.around.now()
        staged = stager.stage(
            StageOrder(self.feed.name, order.window, order.staging, ranges, planned_s=now_s)
        )
        self.tried, self.stays = staged.tried, Counter(staged.reasons)
        self.broken = staged.broken
        self.delivered = sum(len(part.offsets) for part in staged.delivered)
        return StagedReplay(staged.files, staged.delivered, _extra_rows(staged))


def _shred(plan: ShredPlan, store: Store, part: QuarantinePart) -> TaskReport:
    return shred_quarantined(plan, store, new_attempt(), part)


def _weight(part: QuarantinePart) -> int:
    return sum(len(records.offsets) for records in part.wanted)


def _extra_rows(staged: StagedWindow) -> tuple[RangeEvidence, ...]:
    """Evidence of additional rows of records that become several rows, known only now."""
    return tuple(
        msgspec.structs.replace(RangeEvidence.empty(seen.range), extra=seen.extra, rows=seen.rows)
        for seen in staged.evidence
        if seen.extra.count
    )
