"""Offsets of one topic, and the plan of a window over them."""

from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.model.window import Available, PartitionOffsets, TopicOffsets
from penstock.protocol.loop.window_plan import (
    plan_ranges,
)


def available(*latest: int, earliest: int = 0, topic: str = "t", cluster: str = "c") -> Available:
    """One topic whose partitions end at these offsets."""
    offsets = {p: PartitionOffsets(min(earliest, end), end) for p, end in enumerate(latest)}
    return Available(cluster, (TopicOffsets(topic, f"id-{topic}", offsets),))


def marks(*watermarks: int) -> dict[TopicPartition, int]:
    """The watermarks of partitions 0, 1, ..."""
    return {TopicPartition("id-t", p): offset for p, offset in enumerate(watermarks)}


def sizes(planned: tuple[OffsetRange, ...]) -> dict[int, int]:
    """How much each partition got."""
    return {found.partition: len(found) for found in planned}


def plan(watermarks: tuple[int, ...], latest: tuple[int, ...], cap: int) -> dict[int, int]:
    return sizes(plan_ranges(marks(*watermarks), available(*latest), cap))
