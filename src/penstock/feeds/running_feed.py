"""One feed as it runs: the owner with everything it needs, and its next window."""

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from penstock.api.store import Store
from penstock.datapath.schemas.learning import Learning
from penstock.errors import GapFound
from penstock.feeds.errors import QuarantineTooFull
from penstock.feeds.kafka_source import KafkaSource
from penstock.feeds.last_records import check_last_records
from penstock.model.encryption_keys import Keys
from penstock.model.entries import Counts, Gap
from penstock.model.layout import Layout
from penstock.model.names import encode_component
from penstock.model.ranges import OffsetRange
from penstock.model.schema_merging import SCHEMA_INCOMPATIBLE
from penstock.model.spec import FeedSpec, QuarantineSpec
from penstock.model.window import PartitionOffsets, StageOrder
from penstock.ports.registry.registry import Registry
from penstock.ports.source.kafka.admin import KafkaAdmin
from penstock.protocol.journal.acceptance import is_accepted
from penstock.protocol.journal.journal import Journal
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.protocol.journal.lease import Beat, Contender, Lease, Note
from penstock.protocol.journal.state import JournalState
from penstock.protocol.loop.bounded_source import UpTo
from penstock.protocol.loop.owner import Owner, OwnerSpec, Source
from penstock.protocol.loop.pace import Pace
from penstock.protocol.loop.prove import Findings
from penstock.protocol.loop.window_plan import (
    FirstOffset,
    WindowPolicy,
    from_earliest,
    waiting_ranges,
)
from penstock.runtime.surroundings import Surroundings
from penstock.runtime.this_process import is_dead, this_process

STUCK_S = 3600.0  # a loop that does not move for so long is not alive, whatever its threads do


@dataclass(frozen=True, slots=True)
class FeedTools:
    """What a running feed is given. `session` waits until Spark is up."""

    session: Callable[[], SparkSession]
    kafka: Mapping[str, str]
    store: Store
    around: Surroundings
    registry: Registry | None = None
    keys: Keys = field(default_factory=Keys)


class RunningFeed:
    """A feed from the opening of its journal to its end. Driver only.

    One thread turns it; another one may call `beat`.
    """

    def __init__(self, feed: FeedSpec, tools: FeedTools, *, once: bool) -> None:
        self.feed = feed
        self._tools = tools
        self._once = once
        self._layout = Layout(feed.name)
        lake = lake_identity(tools.store, tools.around)
        self._journal = Journal(tools.store, self._layout, lake, tools.around)
        name = f"{socket.gethostname()}:{os.getpid()}"
        me = Contender(name, this_process(), is_dead)
        self._lease = Lease(tools.store, self._layout, me, tools.around)
        self._name = name
        self._phase = ""
        self._window = ""
        self._records = 0
        self._moved_at = tools.around.tick()
        self._pace = Pace(feed.window.every_s, tools.around.tick, eager=once)
        self._kafka = self._source()
        self.owner = self._new_owner()

    @property
    def name(self) -> str:
        """The feed's name."""
        return self.feed.name

    @property
    def state(self) -> JournalState:
        """What the journal says, as far as this owner has folded it."""
        return self.owner.fold.state

    def open(self) -> None:
        """Fold the journal; needs neither Kafka nor Spark."""
        self.owner.open()

    def try_start(self, *, force: bool = False) -> Beat | None:
        """Claim the feed if nobody alive holds it. None: it is ours; else who holds it."""
        holder = None if self._lease.is_mine else self._lease.try_take(force=force)
        if holder is None:
            self._moved("claim", None)
            if not self.state.is_new:
                check_last_records(self.state, self._kafka.look(), self._kafka.hashes)
            self.owner.take_over()
        return holder

    def start_over(self) -> None:
        """Own the feed anew after an outcome that is not known: a fresh fold tells what landed."""
        self.owner = self._new_owner()
        self.owner.take_over()

    def run_window(self) -> bool:
        """Deliver the next window; False when there is nothing to read, or not enough yet."""
        self._moved("plan", None)
        try:
            delivered = self.owner.run_window()
        except GapFound as gap:
            if self.feed.on_gap != "accept":
                raise
            self._accept(gap)
            return True
        if delivered:
            self._pace.delivered()
        self._moved("", None)
        return delivered

    def export_offsets(self) -> None:
        """Tell Kafka's lag tools how far we are. Never read back."""
        offsets = {
            (topic, partition): known.watermark
            for topic, partition, known in self.state.known_partitions()
        }
        self._kafka.admin.commit_group(f"penstock-{self.name}", offsets)

    def unread_partitions(self) -> dict[tuple[str, int], str]:
        """Partitions that the last look left out, for want of a leader or a schema, and why."""
        return self._kafka.left_out

    def lag_records(self) -> int:
        """How many offsets lie between what is delivered and what Kafka last had."""
        seen = self._kafka.seen
        if seen is None:
            return 0
        return sum(map(len, waiting_ranges(self.state.watermarks(), seen)))

    def beat(self) -> None:
        """Leave a sign of life, unless the loop has not moved for very long."""
        if self._tools.around.tick() - self._moved_at < STUCK_S:
            self._lease.beat(self._note())

    def close(self) -> None:
        """Let go of the lease and of Kafka."""
        self._lease.release(self._note())
        self._kafka.close()

    def _source(self) -> KafkaSource:
        tools = self._tools
        learning = Learning(tools.store, self._layout, self.feed, tools.registry, tools.keys)
        return KafkaSource(
            tools.session, tools.kafka, self.feed, tools.store, learning, tools.around
        )

    def _new_owner(self) -> Owner:
        source: Source = UpTo(self._kafka) if self._once else self._kafka
        feed = self.feed
        spec = OwnerSpec(
            owner=self._name,
            policy=window_policy(feed),
            first_offset=first_offset(feed, lambda: self._kafka.admin),
            generation=feed.generation,
            files=feed.format,
            wants=feed.wants,
            is_due=self._pace.is_due,
            judge=self._judge,
            stops=stopping(feed),
            watch=self._moved,
        )
        return Owner(self._journal, source, self._tools.around, spec)

    def doing(self, tick: float) -> str:
        """What the feed is at, in a few words. Any thread."""
        if self._phase in ("", "claim", "plan"):
            return f"{self.state.windows} windows so far, looking for more"
        since_s = tick - self._moved_at
        return f"{self._phase} {self._window}, {self._records:,} records, {since_s:.0f} s"

    def _moved(self, phase: str, order: StageOrder | None) -> None:
        self._moved_at = self._tools.around.tick()
        self._phase = phase
        if order is not None:
            self._window, self._records = order.window, sum(map(len, order.ranges))

    def _note(self) -> Note:
        seen = self._kafka.seen
        latest = {
            topic.topic: {p: offsets.latest for p, offsets in topic.partitions.items()}
            for topic in (seen.topics if seen is not None else ())
        }
        looked_at = datetime.fromtimestamp(self._kafka.seen_at_s, UTC)
        return Note(
            epoch=self.owner.epoch,
            latest=latest,
            looked_at=looked_at.isoformat(timespec="milliseconds") if latest else "",
            phase=self._phase,
            window=self._window,
        )

    def _judge(self, found: Findings) -> None:
        """Too many broken records stop the window, unless a person has let this one through."""
        try:
            judge(self.feed, found)
        except QuarantineTooFull:
            if not is_accepted(self._journal, self.state):
                raise

    def _accept(self, gap: GapFound) -> None:
        """The configuration gives the word that a person would give, and the journal keeps it."""
        topic_id = self.owner.fold.state.topics[gap.topic]
        lost = OffsetRange(gap.topic, topic_id, gap.partition, gap.start, gap.end)
        body = Gap(lost, "on_gap: accept", "records expired before they were read")
        self._journal.append(self.owner.fold, body, self.owner.epoch)


def window_policy(feed: FeedSpec) -> WindowPolicy:
    """How much of a feed one window may take."""
    return WindowPolicy(feed.window.max_records, feed.window.max_bytes)


def first_offset(feed: FeedSpec, admin: Callable[[], KafkaAdmin]) -> FirstOffset:
    """How `start` becomes an offset; asked once per partition, and then held."""
    start = feed.start
    if start.kind == "latest":
        return lambda _topic, _partition, offsets: offsets.latest
    if start.kind == "time":

        def at_time(topic: str, partition: int, _offsets: PartitionOffsets) -> int:
            return admin().offsets({(topic, partition): start.time_ms})[topic, partition]

        return at_time
    if start.kind == "offsets":

        def as_told(topic: str, partition: int, offsets: PartitionOffsets) -> int:
            told = start.offsets.get(topic, {}).get(partition, offsets.earliest)
            return min(max(told, offsets.earliest), offsets.latest)

        return as_told
    return from_earliest


def stopping(feed: FeedSpec) -> Callable[[str], bool]:
    """Whether a dataset stops at records whose schema cannot be merged with its own."""
    by_feed = feed.decode.incompatible
    own = {encode_component(each.route): each.incompatible or by_feed for each in feed.datasets}
    return lambda dataset: own.get(dataset, by_feed) == "stop"


def judge(feed: FeedSpec, found: Findings) -> None:
    """Stop a window with too many broken records before anything of it is decided."""
    found = without_stopping(feed, found)
    if is_too_full(feed.quarantine, found.counts):
        of = f"the next window of feed {feed.name!r}"
        limit = feed.quarantine.max_ratio
        raise QuarantineTooFull(feed.name, of, found.counts, limit, found.reasons)
    for each in feed.datasets:
        mine = found.datasets.get(encode_component(each.route))
        if each.quarantine is not None and mine is not None and is_too_full(each.quarantine, mine):
            of = f"dataset {each.route!r} in the next window of feed {feed.name!r}"
            raise QuarantineTooFull(feed.name, of, mine, each.quarantine.max_ratio, {})


def without_stopping(feed: FeedSpec, found: Findings) -> Findings:
    """What is left to judge when records that stop their dataset are taken out.

    Their dataset stops, by name and with an alarm; the others shall go on, however many they are.
    """
    stops = stopping(feed)
    gone = {dataset: count for dataset, count in found.misfits.items() if stops(dataset)}
    everywhere = sum(gone.values())
    datasets = {name: less(each, gone.get(name, 0)) for name, each in found.datasets.items()}
    reasons = {
        reason: count - (everywhere if reason == SCHEMA_INCOMPATIBLE else 0)
        for reason, count in found.reasons.items()
    }
    kept = {reason: count for reason, count in reasons.items() if count}
    return Findings(less(found.counts, everywhere), datasets, kept)


def less(counts: Counts, quarantined: int) -> Counts:
    """Counts without some of the quarantined rows."""
    return counts + Counts(read=-quarantined, quarantined=-quarantined)


def is_too_full(limit: QuarantineSpec, counts: Counts) -> bool:
    """True when more is broken than a limit allows; few records are not judged.

    What is quarantined are rows, so where records become several, it is held against all rows.
    """
    if counts.rows < limit.min_records:
        return False
    return counts.quarantined > limit.max_ratio * counts.rows
