"""What `--once` delivers: everything that was there at the start, and nothing that came since."""

from penstock.model.window import (
    Available,
    PartitionOffsets,
    StagedWindow,
    StageOrder,
    TopicOffsets,
)
from penstock.protocol.loop.owner import Source


class UpTo:
    """A source that ends where another ended at the start: what `--once` delivers."""

    def __init__(self, inner: Source) -> None:
        self._inner = inner
        self._ends: dict[tuple[str, int], int] = {}

    def look(self) -> Available:
        """What there is now, and that reading ends where a partition ended when it was first seen.

        One that had no leader at the first look is still delivered as far as it reaches then. Where
        the log itself ends is told as it is: a start or a seek may lie behind what is delivered.
        """
        now = self._inner.look()
        return Available(now.cluster_id, tuple(self._cut(topic) for topic in now.topics))

    def stage(self, order: StageOrder) -> StagedWindow:
        """As the inner source."""
        return self._inner.stage(order)

    def _cut(self, topic: TopicOffsets) -> TopicOffsets:
        kept = {}
        for partition, offsets in topic.partitions.items():
            end = self._ends.setdefault((topic.topic_id, partition), offsets.latest)
            kept[partition] = PartitionOffsets(offsets.earliest, offsets.latest, end)
        return TopicOffsets(topic.topic, topic.topic_id, kept)
