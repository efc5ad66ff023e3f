"""What `--once` delivers: everything that was there at the start, and nothing that came since."""

from penstock.engine.owner import Source
from penstock.model.window import (
    Available,
    PartitionOffsets,
    StagedWindow,
    StageOrder,
    TopicOffsets,
)


class UpTo:
    """A source that ends where another ended at the start: what `--once` delivers."""

    def __init__(self, inner: Source) -> None:
        self._inner = inner
        self._ends: dict[tuple[str, int], int] | None = None

    def look(self) -> Available:
        """What there is now, without what came since the first look."""
        now = self._inner.look()
        if self._ends is None:
            self._ends = {
                (topic.topic_id, partition): offsets.latest
                for topic in now.topics
                for partition, offsets in topic.partitions.items()
            }
        return Available(
            now.cluster_id, tuple(self._cut(topic, self._ends) for topic in now.topics)
        )

    def stage(self, order: StageOrder) -> StagedWindow:
        """As the inner source."""
        return self._inner.stage(order)

    def _cut(self, topic: TopicOffsets, ends: dict[tuple[str, int], int]) -> TopicOffsets:
        kept = {
            partition: PartitionOffsets(offsets.earliest, min(offsets.latest, end))
            for partition, offsets in topic.partitions.items()
            if (end := ends.get((topic.topic_id, partition))) is not None
        }
        return TopicOffsets(topic.topic, topic.topic_id, kept)
