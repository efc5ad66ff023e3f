"""A feed from end to end without Kafka and without Spark: its records are a list in memory.

Goal: each record arrives once, whatever happens on the way, and what cannot be delivered stops the
feed instead of being passed over. Method: everything is real but for the source (a list with
scripted faults), the store (memory) and the clock. What arrived is read by pyarrow alone.
"""

import json
from collections import Counter
from typing import Any

import pytest

from penstock.care.clean import clean
from penstock.model.entries import Gap, Window
from penstock.model.spec import FeedSpec, StartSpec
from penstock.ports.store.split_store import split_store
from penstock.testing.fault_script import Died
from penstock.testing.list_source import (
    BEGAN_MS,
    MOST_BYTES,
    die,
)
from penstock.testing.memory_store import MemoryStore
from tests.helpers.list_story import FEED, TOPIC, TORN, Story, events, places
from tests.helpers.plain_source import PlainSource


@pytest.fixture(params=["journal in the lake", "journal elsewhere"])
def story(request: pytest.FixtureRequest) -> Story:
    made = Story()
    if request.param == "journal elsewhere":
        made.store = split_store(MemoryStore(), MemoryStore(), "memory://journal")
    return made


def test_every_record_arrives_once_through_failing_jobs_new_types_and_a_death(
    story: Story,
) -> None:
    cluster = story.cluster
    cluster.append(TOPIC, 0, *events("click", 5), TORN, *events("order", 4))
    cluster.append(TOPIC, 1, *events("view", 6))
    cluster.compact(TOPIC, 1, 2, 3)  # holes are no loss

    # A job fails before it begins, one in the middle of its records, and one when it has written
    # everything and only its answer is missing.
    for moment in ("before", "middle", "after"):
        cluster.on_read(moment, die)
        assert story.run_once() == 0
        cluster.append(TOPIC, 1, *events("view", 2))
    assert sum("trouble" in line for line in story.said) == 1
    assert story.quarantined() == places(0, 5)

    # The process dies while it reads; the next one delivers.
    cluster.append(TOPIC, 0, *events("refund", 3))  # a type that nobody has seen

    def killed() -> None:
        raise Died("kill -9")

    cluster.on_read("middle", killed, nth=2)
    with pytest.raises(Died):
        story.run_once()
    assert story.run_once() == 0

    # A record that is larger than all before makes its window be read again.
    large = json.dumps({"type": "click", "text": "x" * MOST_BYTES}).encode()
    cluster.append(TOPIC, 1, large, *events("click", 2))
    assert story.run_once() == 0

    assert cluster.unmet() == 0
    assert story.quarantined() == places(0, 5)
    assert story.delivered() == (
        places(0, *range(13)) - places(0, 5) + places(1, *range(15)) - places(1, 2, 3)
    )
    clean(story.journal())  # what the job without an answer has written is garbage
    assert list(story.store.list_staged("_penstock/feed/staging", ())) == []
    assert cluster.exported == {"penstock-feed": {(TOPIC, 0): 13, (TOPIC, 1): 15}}


def test_records_that_expired_unread_stop_the_feed_until_somebody_accepts_their_loss(
    story: Story,
) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 3))
    assert story.run_once() == 0
    story.cluster.append(TOPIC, 0, *events("click", 6))
    story.cluster.expire(TOPIC, 0, before=7)
    assert story.run_once() == 5
    assert "GAP" in story.said[-1]
    assert "[3, 7)" in story.said[-1]
    assert story.delivered() == places(0, 0, 1, 2)

    accepting = FeedSpec(name="feed", topics=(TOPIC,), route=FEED.route, on_gap="accept")
    assert story.run_once(accepting) == 0
    assert [(gap.range.start, gap.range.end) for gap in story.entries(Gap)] == [(3, 7)]
    assert story.delivered() == places(0, 0, 1, 2, 7, 8)


@pytest.mark.parametrize("moment", ["before", "middle"])
def test_records_that_expire_while_they_are_read_are_a_gap_and_no_short_window(
    story: Story, moment: Any
) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 8))
    story.cluster.on_read(moment, lambda: story.cluster.expire(TOPIC, 0, before=5))
    assert story.run_once() == 5
    assert [line.partition(":")[0] for line in story.said] == ["claimed", "trouble", "halted"]
    assert "READ_FAILED" in story.said[1]
    assert "[0, 5)" in story.said[2]
    assert story.entries(Window) == []
    assert story.delivered() == Counter()


def test_records_that_are_gone_in_the_middle_of_a_log_are_never_passed_over(story: Story) -> None:
    """The log says that they are there, so no plan can name them: the feed waits, and ends."""
    story.cluster.append(TOPIC, 0, *events("click", 8))
    story.cluster.lose(TOPIC, 0, 4, 5)
    assert story.run_once() == 1
    assert "READ_FAILED" in story.said[-1]
    assert "offset 4 is gone" in story.said[-1]
    assert story.delivered() == Counter()
    story.cluster.recover(TOPIC, 0)
    assert story.run_once() == 0
    assert story.delivered() == places(0, *range(8))


def test_a_partition_without_a_leader_waits_and_the_others_go_on(story: Story) -> None:
    for partition in (0, 1):
        story.cluster.append(TOPIC, partition, *events("click", 3))
    story.cluster.lead(TOPIC, 1, is_led=False)
    assert story.run_once() == 1
    assert "PARTITIONS_UNREAD" in story.said[-1]
    assert f"{TOPIC}/1: it has no leader" in story.said[-1]
    assert story.delivered() == places(0, 0, 1, 2)
    story.cluster.lead(TOPIC, 1, is_led=True)
    assert story.run_once() == 0
    assert story.delivered() == places(0, 0, 1, 2) + places(1, 0, 1, 2)


def test_a_cluster_that_is_down_moves_nothing(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 3))
    story.cluster.is_down = True
    assert story.run_once() == 1
    assert "SOURCE_UNAVAILABLE" in story.said[-1]
    story.cluster.is_down = False
    assert story.run_once() == 0
    assert story.delivered() == places(0, 0, 1, 2)


def test_a_topic_that_was_deleted_and_made_again_stops_the_feed(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 3))
    assert story.run_once() == 0
    story.cluster.delete_topic(TOPIC)
    assert story.run_once() == 5
    assert "TOPIC_MISSING" in story.said[-1]
    story.cluster.create_topic(TOPIC, partitions=2)
    story.cluster.append(TOPIC, 0, *events("click", 9))
    assert story.run_once() == 5
    assert "TOPIC_REPLACED" in story.said[-1]
    assert story.delivered() == places(0, 0, 1, 2)


def test_a_log_that_was_cut_and_filled_again_is_noticed_by_its_last_record(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 3))
    assert story.run_once() == 0
    story.cluster.cut(TOPIC, 0, end=2)
    assert story.run_once() == 5
    assert "LOG_TRUNCATED" in story.said[-1]
    story.cluster.append(TOPIC, 0, *events("order", 5))
    assert story.run_once() == 5
    assert "LOG_REWRITTEN" in story.said[-1]
    assert "offset 2" in story.said[-1]
    assert story.delivered() == places(0, 0, 1, 2)


def test_once_delivers_what_was_there_at_the_start_and_nothing_that_came_since(
    story: Story,
) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 10))

    def produce() -> None:
        story.cluster.append(TOPIC, 0, *events("click", 8))

    for nth in (1, 2, 3):  # a producer that is faster than we are
        story.cluster.on_read("before", produce, nth)
    assert story.run_once() == 0
    assert "done" in story.said[-1]
    assert story.delivered() == places(0, *range(10))
    assert story.run_once() == 0
    there = len(story.cluster.log(TOPIC, 0).records)
    assert there > 10
    assert story.delivered() == places(0, *range(there))


def starting_at(time_ms: int) -> FeedSpec:
    """The feed, if it begins at a time."""
    return FeedSpec(name="feed", topics=(TOPIC,), start=StartSpec("time", time_ms))


def test_a_feed_begins_at_the_first_record_of_a_time(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 5))
    assert story.run_once(starting_at(BEGAN_MS + 2_500)) == 0
    assert story.delivered() == places(0, 3, 4)


def test_a_source_without_any_extra_is_enough_for_a_feed(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 5))
    assert story.run_once(source=PlainSource) == 0
    story.cluster.append(TOPIC, 0, *events("click", 5))
    assert story.run_once(source=PlainSource) == 0
    assert story.delivered() == places(0, *range(10))
    assert story.cluster.exported == {}


def test_a_start_that_the_source_cannot_find_is_refused(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 5))
    assert story.run_once(starting_at(BEGAN_MS), source=PlainSource) == 2
    assert "START_NOT_RESOLVED" in story.said[-1]
    assert story.delivered() == Counter()
