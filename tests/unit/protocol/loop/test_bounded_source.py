"""What `--once` reads: up to where each partition ended at the start, and no false alarm beyond."""

from penstock.model.ranges import TopicPartition
from penstock.model.window import (
    Available,
    PartitionOffsets,
    StagedWindow,
    StageOrder,
    TopicOffsets,
)
from penstock.protocol.loop.bounded_source import UpTo
from penstock.protocol.loop.window_plan import check_source, waiting_ranges


class Growing:
    """A partition that gets longer with every look."""

    def __init__(self, *ends: int) -> None:
        self.ends = list(ends)

    def look(self) -> Available:
        """The next length."""
        offsets = PartitionOffsets(0, self.ends.pop(0))
        return Available("c", (TopicOffsets("t", "id", {0: offsets}),))

    def stage(self, order: StageOrder) -> StagedWindow:
        """Nobody asks."""
        raise NotImplementedError(order)


def test_what_came_since_the_start_is_not_read() -> None:
    source = UpTo(Growing(100, 110))
    for _ in range(2):
        found = waiting_ranges({TopicPartition("id", 0): 40}, source.look())
        assert [(each.start, each.end) for each in found] == [(40, 100)]


def test_a_watermark_behind_the_end_of_the_start_is_no_truncated_log() -> None:
    """As after `start: time` with a time that nothing is later than, or a seek to the end."""
    source = UpTo(Growing(100, 110))
    source.look()
    seen, marks = source.look(), {TopicPartition("id", 0): 105}
    check_source("c", {"t": "id"}, marks, seen)
    assert waiting_ranges(marks, seen) == []
