"""What `--once` delivers: everything that was there at the start, and nothing that came since."""

import msgspec

from penstock.model.window import Available, PartitionOffsets, TopicOffsets


class BoundedLook:
    """Ends what there is to read where it ended when it was first seen."""

    def __init__(self) -> None:
        self._ends: dict[tuple[str, int], int] = {}

    def bound(self, now: Available) -> Available:
        """The same, and that reading ends where each partition ended when it was first seen.

        One that could not be read at first is still delivered as far as it reaches then. Where the
        log itself ends is told as it is: a start or a seek may lie behind what is delivered.
        """
        topics = tuple(self._bound_topic(topic) for topic in now.topics)
        return msgspec.structs.replace(now, topics=topics)

    def _bound_topic(self, topic: TopicOffsets) -> TopicOffsets:
        bounded = {}
        for partition, offsets in topic.partitions.items():
            end = self._ends.setdefault((topic.topic_id, partition), offsets.latest)
            bounded[partition] = PartitionOffsets(offsets.earliest, offsets.latest, end)
        return TopicOffsets(topic.topic, topic.topic_id, bounded)
