"""Planning: from watermarks and what Kafka has to the ranges of the next window. Pure."""

from collections.abc import Callable, Mapping

from penstock.errors import (
    ClusterChanged,
    GapFound,
    LogWentBack,
    TopicMissing,
    TopicReplaced,
)
from penstock.model.entries import PartitionStart
from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.model.value import Value
from penstock.model.window import Available, PartitionOffsets, TopicOffsets
from penstock.protocol.loop.errors import TopicWithoutId

FIRST_RECORDS = 100_000

FirstOffset = Callable[[str, int, PartitionOffsets], int]


class WindowPolicy(Value, frozen=True):
    """How much one window may take."""

    max_records: int = 5_000_000
    max_bytes: int = 1_000_000_000

    def cap(self, record_bytes: float) -> int:
        """How many records of this mean size one window may take; 0: the size is not known.

        A first window is small: it tells the size of records, and shows new types before
        millions of records have to be read again for them.
        """
        if record_bytes <= 0:
            return min(self.max_records, FIRST_RECORDS)
        return max(1, min(self.max_records, int(self.max_bytes / record_bytes)))

    def within(self, records: int, size_bytes: float) -> "WindowPolicy":
        """The same, with no more than is left of the whole window."""
        return WindowPolicy(min(self.max_records, records), int(min(self.max_bytes, size_bytes)))


def from_earliest(_topic: str, _partition: int, offsets: PartitionOffsets) -> int:
    """The default first offset: everything there is."""
    return offsets.earliest


def check_source(
    cluster_id: str,
    bound: Mapping[str, str],
    watermarks: Mapping[TopicPartition, int],
    available: Available,
) -> None:
    """Stop when what answers is not what was read before, or when unread records are gone."""
    check_identity(cluster_id, bound, available)
    for topic in available.topics:
        _check_offsets(topic, watermarks)


def check_identity(cluster_id: str, bound: Mapping[str, str], available: Available) -> None:
    """The cluster and every topic must still be the ones that were read before."""
    check_topic_ids(available)
    if available.cluster_id != cluster_id:
        raise ClusterChanged(cluster_id, available.cluster_id)
    topics = {topic.topic: topic for topic in available.topics}
    for name, topic_id in bound.items():
        topic = topics.get(name)
        if topic is None:
            raise TopicMissing(name)
        if topic.topic_id != topic_id:
            raise TopicReplaced(name, topic_id, topic.topic_id)


def check_topic_ids(available: Available) -> None:
    """Every topic needs an id of its own: by its name alone, a recreated one looks the same."""
    found: set[str] = set()
    for topic in available.topics:
        if not topic.topic_id or topic.topic_id in found:
            raise TopicWithoutId(topic.topic)
        found.add(topic.topic_id)


def _check_offsets(topic: TopicOffsets, watermarks: Mapping[TopicPartition, int]) -> None:
    for partition, offsets in sorted(topic.partitions.items()):
        watermark = watermarks.get(TopicPartition(topic.topic_id, partition))
        if watermark is None:
            continue
        if watermark < offsets.earliest:
            raise GapFound(topic.topic, partition, watermark, offsets.earliest)
        if watermark > offsets.latest:
            raise LogWentBack(topic.topic, partition, watermark, offsets.latest)


def new_starts(
    bound: Mapping[str, str],
    watermarks: Mapping[TopicPartition, int],
    available: Available,
    first_offset: FirstOffset,
) -> tuple[PartitionStart, ...]:
    """First offsets of partitions never met before.

    A partition that was added to a topic we already read starts at the log's beginning, whatever
    the configuration says: its records came after ours.
    """
    return tuple(
        PartitionStart(
            topic.topic,
            topic.topic_id,
            partition,
            offsets.earliest
            if topic.topic in bound
            else first_offset(topic.topic, partition, offsets),
        )
        for topic in available.topics
        for partition, offsets in sorted(topic.partitions.items())
        if TopicPartition(topic.topic_id, partition) not in watermarks
    )


def plan_ranges(
    watermarks: Mapping[TopicPartition, int], available: Available, cap: int, turn: int = 0
) -> tuple[OffsetRange, ...]:
    """The next window of at most `cap` records: small partitions drained, the rest shares.

    `turn` grows with the journal; when there are more partitions than records to take, it says
    whose turn it is, so that none starves.
    """
    return share_out(waiting_ranges(watermarks, available), cap, turn)


def share_out(waiting: list[OffsetRange], cap: int, turn: int = 0) -> tuple[OffsetRange, ...]:
    """At most `cap` records of the ranges that wait, as `plan_ranges` shares them."""
    if cap < len(waiting):
        first = turn * cap % len(waiting)
        served = (waiting[first:] + waiting[:first])[:cap]
        return tuple(sorted(found.with_bounds(found.start, found.start + 1) for found in served))
    planned = []
    left = cap
    for index, found in enumerate(sorted(waiting, key=len)):
        share = min(len(found), left // (len(waiting) - index))
        left -= share
        planned.append(found.with_bounds(found.start, found.start + share))
    return tuple(sorted(planned))


def waiting_ranges(
    watermarks: Mapping[TopicPartition, int], available: Available
) -> list[OffsetRange]:
    """What every partition holds beyond its watermark, in order."""
    found = []
    for topic in available.topics:
        for partition, offsets in topic.partitions.items():
            watermark = watermarks.get(TopicPartition(topic.topic_id, partition))
            if watermark is not None and watermark < offsets.end:
                found.append(
                    OffsetRange(topic.topic, topic.topic_id, partition, watermark, offsets.end)
                )
    return sorted(found)
