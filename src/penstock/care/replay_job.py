"""Decoding quarantined records again, as one Spark job, with what the configuration says now."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec

from penstock.api.store import Store
from penstock.care.replay import DecodedAgain, DecodeOrder
from penstock.datapath.schemas.learning import ROUNDS, Learning
from penstock.datapath.stage.replay_task import AgainPart, AgainReport, shred_again
from penstock.datapath.stage.shred_plan import MAX_NEW, ShredPlan
from penstock.datapath.stage.task import new_attempt
from penstock.model.evidence import RangeEvidence
from penstock.model.manifest import RecordSet
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.window import StageOrder
from penstock.ports.source.errors import ReadFailed
from penstock.ports.store.discard_windows import discard_windows
from penstock.spark.parallel_map import SparkSpread


@dataclass(slots=True)
class DecodeAgain:
    """What `replay` calls. Afterwards it knows how many were `delivered`, and why others stay.

    If it is called for several entries, it knows that of the last one.
    """

    feed: FeedSpec
    store: Store
    learning: Learning
    spread: SparkSpread
    now: Callable[[], float]
    fingerprint: str = ""
    datasets: frozenset[str] | None = None
    tried: int = 0
    delivered: int = 0
    stays: Counter[str] = field(default_factory=Counter)

    def __call__(self, order: DecodeOrder) -> DecodedAgain:
        """Stage what can be delivered."""
        parts = self._parts(order)
        now_s = self.now()
        known = self.learning.schemas.known
        before = len(known)
        for _ in range(ROUNDS):
            room = max(MAX_NEW - (len(known) - before), 0)
            found = self._shred(order, parts, now_s, room)
            if not self.learning.learn([each.report for each in found], room):
                return self._told(found)
            discard_windows(self.store, order.staging, {order.window})
        raise ReadFailed(order.window, f"new types came in {ROUNDS} reads in a row")

    def _parts(self, order: DecodeOrder) -> list[AgainPart]:
        """The wanted records by Kafka partition, each with its files."""
        wanted: dict[tuple[str, str, int], list[RecordSet]] = {}
        for each in order.records:
            if self.datasets is None or each.dataset in self.datasets:
                wanted.setdefault((each.topic, each.topic_id, each.partition), []).append(each)
        return [
            AgainPart(
                _span(records),
                tuple(f for f, ranges in order.files if _is_of(ranges, place)),
                tuple(records),
                self.fingerprint,
            )
            for place, records in sorted(wanted.items())
        ]

    def _shred(
        self, order: DecodeOrder, parts: list[AgainPart], now_s: float, room: int
    ) -> list[AgainReport]:
        ranges = tuple(part.covered for part in parts)
        stage = StageOrder(self.feed.name, order.window, order.staging, ranges, planned_s=now_s)
        plan = ShredPlan(
            order=stage,
            feed=self.feed,
            schemas=dict(self.learning.schemas.known),
            now_s=now_s,
            max_new=room,
            record_schemas=self.learning.named.ready(),
            file_schemas=dict(self.learning.schemas.file_schemas.known),
            keys=self.learning.keys,
            is_replay=True,
        )
        work = partial(_work, plan, self.store)
        return self.spread("quarantined records", work, parts, _weight)

    def _told(self, found: list[AgainReport]) -> DecodedAgain:
        self.tried = sum(each.tried for each in found)
        self.stays = sum((Counter(each.report.reasons) for each in found), Counter())
        files = tuple(file for each in found for file in each.report.files)
        records = tuple(part for each in found for part in each.delivered)
        self.delivered = sum(len(part.offsets) for part in records)
        more = (each.report.evidence for each in found if each.report.evidence.extra.count)
        evidence = tuple(
            msgspec.structs.replace(
                RangeEvidence.empty(seen.range), extra=seen.extra, rows=seen.rows
            )
            for seen in more
        )
        return DecodedAgain(files, records, evidence)


def _work(plan: ShredPlan, store: Store, part: AgainPart) -> AgainReport:
    return shred_again(plan, store, new_attempt(), part)


def _weight(part: AgainPart) -> int:
    return sum(len(records.offsets) for records in part.wanted)


def _is_of(ranges: tuple[OffsetRange, ...], place: tuple[str, str, int]) -> bool:
    return any((each.topic, each.topic_id, each.partition) == place for each in ranges)


def _span(records: list[RecordSet]) -> OffsetRange:
    first = min(each.offsets.runs[0][0] for each in records)
    last = max(each.offsets.runs[-1][1] for each in records)
    part = records[0]
    return OffsetRange(part.topic, part.topic_id, part.partition, first, last)
