"""A feed that begins at given offsets: where another consumer stopped, or those of `start` itself.

Nothing is skipped by mistake: what has no offset is named, what has expired is a gap.
"""

from collections import Counter

import msgspec
import pytest

from penstock.model.entries import Gap, Start
from penstock.model.spec import FeedSpec, StartSpec
from tests.helpers.list_story import FEED, TOPIC, Story, events, places
from tests.helpers.plain_source import PlainSource

GROUP = StartSpec(kind="group", group="old")


def beginning(start: StartSpec, **changes: object) -> FeedSpec:
    return msgspec.structs.replace(FEED, start=start, **changes)


@pytest.fixture
def story() -> Story:
    found = Story()
    for partition in (0, 1):
        found.cluster.append(TOPIC, partition, *events("click", 5))
    return found


def test_a_feed_begins_at_the_offsets_of_a_group_and_never_asks_again(story: Story) -> None:
    story.cluster.exported["old"] = {(TOPIC, 0): 3, (TOPIC, 1): 5}
    assert story.run_once(beginning(GROUP)) == 0
    assert story.delivered() == places(0, 3, 4)
    story.cluster.exported["old"] = {(TOPIC, 0): 0, (TOPIC, 1): 0}
    story.cluster.append(TOPIC, 1, *events("click", 1))
    assert story.run_once(beginning(GROUP)) == 0
    assert story.delivered() == places(0, 3, 4) + places(1, 5)
    (start,) = story.entries(Start)
    assert [each.offset for each in start.partitions] == [3, 5]


def test_a_feed_begins_at_the_offsets_of_a_file(story: Story) -> None:
    start = StartSpec(kind="file", offsets={TOPIC: {0: 4, 1: 0}, "other": {0: 9}})
    assert story.run_once(beginning(start)) == 0
    assert story.delivered() == places(0, 4) + places(1, *range(5))


def test_partitions_without_an_offset_are_named_and_nothing_is_written(story: Story) -> None:
    story.cluster.exported["old"] = {(TOPIC, 0): 3}
    assert story.run_once(beginning(GROUP)) == 2
    assert "START_INCOMPLETE" in story.said[-1]
    assert f"has no offset for {TOPIC}/1." in story.said[-1]
    assert story.entries(Start) == []
    assert story.delivered() == Counter()
    assert story.run_once(beginning(msgspec.structs.replace(GROUP, missing="earliest"))) == 0
    assert story.delivered() == places(0, 3, 4) + places(1, *range(5))


def test_a_group_that_nobody_knows_names_every_partition(story: Story) -> None:
    assert story.run_once(beginning(GROUP)) == 2
    assert f"{TOPIC}/0, {TOPIC}/1" in story.said[-1]


@pytest.mark.parametrize("kind", ["group", "file"])
def test_a_name_without_any_offset_is_refused_even_where_some_may_be_missing(
    story: Story, kind: str
) -> None:
    """A misspelt group with `missing: earliest` would read everything once more, in silence."""
    story.cluster.exported["old"] = {(TOPIC, 0): 3, (TOPIC, 1): 4}
    starts = {
        "group": StartSpec(kind="group", group="odl", missing="earliest"),
        "file": StartSpec(kind="file", offsets={"other": {0: 9}}, missing="earliest"),
    }
    assert story.run_once(beginning(starts[kind])) == 2
    assert "START_INCOMPLETE" in story.said[-1]
    assert f"no offset for any partition of this feed ({TOPIC}/0, {TOPIC}/1)" in story.said[-1]
    assert "set `start` to earliest" in story.said[-1]
    assert story.entries(Start) == []


def test_a_partition_without_a_leader_may_be_the_one_that_has_an_offset(story: Story) -> None:
    """It is waited for, and not taken for a misspelt name."""
    filled = beginning(msgspec.structs.replace(GROUP, missing="earliest"))
    story.cluster.exported["old"] = {(TOPIC, 1): 4}
    story.cluster.lead(TOPIC, 1, is_led=False)
    assert story.run_once(filled) not in (0, 2)
    assert story.entries(Start) == []
    story.cluster.lead(TOPIC, 1, is_led=True)
    assert story.run_once(filled) == 0
    assert story.delivered() == places(0, *range(5)) + places(1, 4)


def test_an_offset_that_has_expired_is_a_gap_and_no_silent_skip(story: Story) -> None:
    story.cluster.exported["old"] = {(TOPIC, 0): 1, (TOPIC, 1): 5}
    story.cluster.expire(TOPIC, 0, 3)
    assert story.run_once(beginning(GROUP)) == 5
    assert "GAP: Kafka no longer has events/0 [1, 3)" in story.said[-1]
    assert story.delivered() == Counter()
    assert story.run_once(beginning(GROUP, on_gap="accept")) == 0
    (gap,) = story.entries(Gap)
    assert (gap.range.start, gap.range.end) == (1, 3)
    assert story.delivered() == places(0, 3, 4)


def test_an_offset_beyond_the_log_belongs_to_another_log(story: Story) -> None:
    story.cluster.exported["old"] = {(TOPIC, 0): 1, (TOPIC, 1): 6}
    assert story.run_once(beginning(GROUP)) == 2
    assert "START_BEYOND_LOG" in story.said[-1]
    assert story.entries(Start) == []


def test_an_offset_of_start_itself_that_has_expired_is_a_gap_too(story: Story) -> None:
    story.cluster.expire(TOPIC, 0, 3)
    start = StartSpec(kind="offsets", offsets={TOPIC: {0: 1}})
    assert story.run_once(beginning(start)) == 5
    assert "GAP: Kafka no longer has events/0 [1, 3)" in story.said[-1]
    assert story.delivered() == Counter()
    assert story.run_once(beginning(start, on_gap="accept")) == 0
    assert story.delivered() == places(0, 3, 4) + places(1, *range(5))


def test_an_offset_of_start_itself_beyond_the_log_is_refused(story: Story) -> None:
    start = StartSpec(kind="offsets", offsets={TOPIC: {0: 5, 1: 6}})
    assert story.run_once(beginning(start)) == 2
    assert "START_BEYOND_LOG: `start` says that events/1 is read from 6 on" in story.said[-1]
    assert story.entries(Start) == []


def test_a_partition_without_a_leader_is_waited_for(story: Story) -> None:
    """Else it would begin at the start of its log, once it has a leader."""
    story.cluster.exported["old"] = {(TOPIC, 0): 3, (TOPIC, 1): 4}
    story.cluster.lead(TOPIC, 1, is_led=False)
    assert story.run_once(beginning(GROUP)) != 0
    assert story.entries(Start) == []
    story.cluster.lead(TOPIC, 1, is_led=True)
    assert story.run_once(beginning(GROUP)) == 0
    assert story.delivered() == places(0, 3, 4) + places(1, 4)


def test_a_topic_that_comes_later_begins_where_the_group_says_or_at_its_beginning(
    story: Story,
) -> None:
    feed = beginning(GROUP, topics=(), pattern=".*")
    story.cluster.exported["old"] = {(TOPIC, 0): 5, (TOPIC, 1): 5}
    assert story.run_once(feed) == 0
    assert story.delivered() == Counter()
    story.cluster.create_topic("known", partitions=1)
    story.cluster.create_topic("new", partitions=1)
    story.cluster.append("known", 0, *events("click", 3))
    story.cluster.append("new", 0, *events("click", 2))
    story.cluster.exported["old"] |= {("known", 0): 2}
    assert story.run_once(feed) == 0
    assert story.delivered() == places(0, 2) + places(0, 0, 1)


def test_a_source_that_knows_no_groups_says_so(story: Story) -> None:
    assert story.run_once(beginning(GROUP), source=PlainSource) == 2
    assert "START_NOT_RESOLVED" in story.said[-1]
    assert "names a consumer group" in story.said[-1]
