"""Planning: who gets how much, where new partitions start, and when there is nothing to plan."""

import pytest

from penstock.errors import (
    ClusterChanged,
    FeedHalted,
    GapFound,
    LogWentBack,
    TopicMissing,
    TopicReplaced,
)
from penstock.model.ranges import OffsetRange
from penstock.model.window import Available, PartitionOffsets
from penstock.protocol.loop.window_plan import (
    check_identity,
    check_source,
    from_earliest,
    new_starts,
    plan_ranges,
)
from tests.helpers.offset_plans import available, marks, plan

BOUND = {"t": "id-t"}


def latest_of(_topic: str, _partition: int, offsets: PartitionOffsets) -> int:
    """As `start: latest` in a configuration."""
    return offsets.latest


def test_everything_is_taken_when_it_fits() -> None:
    planned = plan_ranges(marks(0, 5), available(3, 9), 7)
    assert planned == (OffsetRange("t", "id-t", 0, 0, 3), OffsetRange("t", "id-t", 1, 5, 9))


def test_nothing_new_gives_no_window() -> None:
    assert plan_ranges(marks(3, 9), available(3, 9), 7) == ()
    assert plan_ranges({}, available(3, 9), 7) == ()


def test_a_partition_without_a_start_is_not_planned() -> None:
    assert plan((0,), (3, 9), 100) == {0: 3}


def test_small_partitions_are_drained_and_the_large_ones_share_the_rest() -> None:
    assert plan((0, 0, 0), (1000, 2, 1000), 100) == {0: 49, 1: 2, 2: 49}
    assert plan((0, 0, 0), (1000, 2, 50), 100) == {0: 49, 1: 2, 2: 49}
    assert plan((0, 0, 0), (1000, 2, 10), 100) == {0: 88, 1: 2, 2: 10}


def test_a_new_feed_starts_where_it_was_told_to() -> None:
    what = available(4, 7, earliest=2)
    assert [s.offset for s in new_starts({}, {}, what, from_earliest)] == [2, 2]
    assert [s.offset for s in new_starts({}, {}, what, latest_of)] == [4, 7]


def test_a_partition_added_later_starts_at_the_beginning_although_start_is_latest() -> None:
    """Its records came after ours; starting it at its end would lose them."""
    starts = new_starts(BOUND, marks(4), available(4, 7, earliest=2), latest_of)
    assert [(s.topic, s.topic_id, s.partition, s.offset) for s in starts] == [("t", "id-t", 1, 2)]


def test_a_topic_added_later_starts_where_the_feed_was_told_to() -> None:
    both = Available("c", (*available(4).topics, *available(6, topic="u").topics))
    starts = new_starts(BOUND, marks(4), both, latest_of)
    assert [(s.topic, s.offset) for s in starts] == [("u", 6)]


def test_a_known_partition_does_not_start_again() -> None:
    assert new_starts(BOUND, marks(0, 0), available(4, 7), latest_of) == ()


def test_a_source_that_continues_ours_passes() -> None:
    check_source("c", BOUND, marks(2, 7), available(4, 7, earliest=2))
    check_source("c", {}, {}, available(4, 7))


def test_another_cluster_stops_the_feed_with_both_ids() -> None:
    with pytest.raises(ClusterChanged, match=r"'c'.*'d'") as caught:
        check_source("c", BOUND, marks(0), available(4, cluster="d"))
    assert caught.value.exit_code == 5


def test_a_missing_topic_stops_the_feed_by_name() -> None:
    with pytest.raises(TopicMissing, match="'t'") as caught:
        check_source("c", BOUND, marks(0), available(4, topic="u"))
    assert caught.value.topics == ("t",)


def test_a_recreated_topic_stops_the_feed_with_both_ids() -> None:
    with pytest.raises(TopicReplaced, match="its id is id-t, it was id-old") as caught:
        check_source("c", {"t": "id-old"}, {}, available(4))
    assert caught.value.topic == "t"


def test_identity_is_checked_before_offsets() -> None:
    """Offsets of another life mean nothing, so no gap may be reported about them."""
    with pytest.raises(TopicReplaced):
        check_source("c", {"t": "id-old"}, marks(0), available(4, earliest=2))
    with pytest.raises(ClusterChanged):
        check_identity("c", {"t": "id-old"}, available(4, cluster="d"))


def test_expired_records_stop_the_feed_with_the_lost_range() -> None:
    with pytest.raises(GapFound, match=r"t/1 \[1, 3\)") as caught:
        check_source("c", BOUND, marks(3, 1), available(9, 9, earliest=3))
    lost = caught.value
    assert (lost.topic, lost.partition, lost.start, lost.end) == ("t", 1, 1, 3)
    assert "accept-gap" in lost.advice


def test_a_log_that_went_back_stops_the_feed_with_both_ends() -> None:
    with pytest.raises(LogWentBack, match="ends at 4, but it was already read up to 5") as caught:
        check_source("c", BOUND, marks(5), available(4))
    assert (caught.value.topic, caught.value.partition) == ("t", 0)
    assert isinstance(caught.value, FeedHalted)


def test_an_empty_log_behind_a_watermark_is_a_log_that_went_back() -> None:
    with pytest.raises(LogWentBack):
        check_source("c", BOUND, marks(5), available(0))
