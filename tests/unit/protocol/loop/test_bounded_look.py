"""What `--once` reads: up to where each partition ended at the start, and no false alarm beyond."""

from penstock.model.ranges import TopicPartition
from penstock.model.window import Available, PartitionOffsets, TopicOffsets
from penstock.protocol.loop.bounded_look import BoundedLook
from penstock.protocol.loop.window_plan import check_source, waiting_ranges


def ending_at(end: int) -> Available:
    """A partition of a given length, beside one that nobody leads."""
    topics = (TopicOffsets("t", "id", {0: PartitionOffsets(0, end)}),)
    return Available("c", topics, {("t", 1): "it has no leader"})


def test_what_came_since_the_start_is_not_read() -> None:
    look = BoundedLook()
    for end in (100, 110):
        found = waiting_ranges({TopicPartition("id", 0): 40}, look.bound(ending_at(end)))
        assert [(each.start, each.end) for each in found] == [(40, 100)]


def test_a_watermark_behind_the_end_of_the_start_is_no_truncated_log() -> None:
    """As after `start: time` with a time that nothing is later than, or a seek to the end."""
    look = BoundedLook()
    look.bound(ending_at(100))
    seen, marks = look.bound(ending_at(110)), {TopicPartition("id", 0): 105}
    check_source("c", {"t": "id"}, marks, seen)
    assert waiting_ranges(marks, seen) == []


def test_what_cannot_be_read_stays_named() -> None:
    assert BoundedLook().bound(ending_at(100)).unreadable == {("t", 1): "it has no leader"}
