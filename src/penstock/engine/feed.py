"""One feed as it runs: the owner with everything it needs, and its next window."""

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from penstock.engine.errors import QuarantineTooFull
from penstock.engine.kafka_source import KafkaSource
from penstock.engine.owner import Owner, OwnerSpec, Source
from penstock.engine.schemas import SchemaShelf
from penstock.errors import GapFound
from penstock.journal.journal import Journal
from penstock.journal.lake import lake_identity
from penstock.journal.layout import Layout
from penstock.model.entries import Counts, Gap
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.surroundings import Surroundings
from penstock.model.window import (
    Available,
    PartitionOffsets,
    StagedWindow,
    StageOrder,
    TopicOffsets,
)
from penstock.source.admin import KafkaAdmin, wants
from penstock.source.plan import FirstOffset, WindowPolicy, from_earliest
from penstock.store.protocol import Store


class UpTo:
    """A source that ends where another ended at the start: what `--once` delivers."""

    def __init__(self, inner: Source) -> None:
        self._inner = inner
        first = inner.look()
        self._ends = {
            (topic.topic_id, partition): offsets.latest
            for topic in first.topics
            for partition, offsets in topic.partitions.items()
        }

    def look(self) -> Available:
        """What there is now, without what came since."""
        now = self._inner.look()
        return Available(now.cluster_id, tuple(self._cut(topic) for topic in now.topics))

    def stage(self, order: StageOrder) -> StagedWindow:
        """As the inner source."""
        return self._inner.stage(order)

    def _cut(self, topic: TopicOffsets) -> TopicOffsets:
        kept = {
            partition: PartitionOffsets(offsets.earliest, min(offsets.latest, end))
            for partition, offsets in topic.partitions.items()
            if (end := self._ends.get((topic.topic_id, partition))) is not None
        }
        return TopicOffsets(topic.topic, topic.topic_id, kept)


@dataclass(frozen=True, slots=True)
class FeedTools:
    """What a running feed is given."""

    spark: SparkSession
    kafka: Mapping[str, str]
    store: Store
    around: Surroundings


class RunningFeed:
    """A feed from take-over to its end. Driver only, one thread."""

    def __init__(self, feed: FeedSpec, tools: FeedTools, *, once: bool) -> None:
        self.feed = feed
        layout = Layout(feed.name)
        lake = lake_identity(tools.store, tools.around)
        self._journal = Journal(tools.store, layout, lake, tools.around)
        schemas = SchemaShelf(tools.store, layout, feed)
        self._kafka = KafkaSource(
            tools.spark, tools.kafka, feed, tools.store, schemas, tools.around.now
        )
        source: Source = UpTo(self._kafka) if once else self._kafka
        spec = owner_spec(feed, self._kafka.admin)
        self.owner = Owner(self._journal, source, tools.around, spec)

    def take_over(self) -> None:
        """Claim the feed."""
        self.owner.take_over()

    def run_window(self) -> bool:
        """Deliver the next window; False when there is nothing to read."""
        try:
            return self.owner.run_window()
        except GapFound as gap:
            if self.feed.on_gap != "accept":
                raise
            self._accept(gap)
            return True

    def close(self) -> None:
        """Let go of Kafka."""
        self._kafka.close()

    def _accept(self, gap: GapFound) -> None:
        """The configuration gives the word that a person would give, and the journal keeps it."""
        topic_id = self.owner.fold.state.topics[gap.topic]
        lost = OffsetRange(gap.topic, topic_id, gap.partition, gap.start, gap.end)
        body = Gap(lost, "on_gap: accept", "records expired before they were read")
        self._journal.append(self.owner.fold, body, self.owner.epoch)


def owner_spec(feed: FeedSpec, admin: KafkaAdmin) -> OwnerSpec:
    """The feed's configuration as the owner understands it."""
    return OwnerSpec(
        owner=f"{socket.gethostname()}:{os.getpid()}",
        policy=WindowPolicy(feed.window.max_records),
        first_offset=first_offset(feed, admin),
        generation=feed.generation,
        wants=lambda topic: wants(feed, topic),
        judge=judge(feed),
    )


def first_offset(feed: FeedSpec, admin: KafkaAdmin) -> FirstOffset:
    """How `start` becomes an offset; asked once per partition, and then held."""
    start = feed.start
    if start.kind == "latest":
        return lambda _topic, _partition, offsets: offsets.latest
    if start.kind == "time":

        def at_time(topic: str, partition: int, _offsets: PartitionOffsets) -> int:
            return admin.offsets({(topic, partition): start.time_ms})[topic, partition]

        return at_time
    if start.kind == "offsets":

        def as_told(topic: str, partition: int, offsets: PartitionOffsets) -> int:
            told = start.offsets.get(topic, {}).get(partition, offsets.earliest)
            return min(max(told, offsets.earliest), offsets.latest)

        return as_told
    return from_earliest


def judge(feed: FeedSpec) -> Callable[[Counts], None]:
    """Stop a window with too many broken records before anything of it is decided."""

    def check(counts: Counts) -> None:
        limit = feed.quarantine
        if counts.read < limit.min_records:
            return
        if counts.quarantined > limit.max_ratio * counts.read:
            raise QuarantineTooFull(feed.name, counts.quarantined, counts.read, limit.max_ratio)

    return check
