"""Topics that a feed names and that are not there: never green, and never silent.

Goal: `--once` fails and delivers the rest; a running feed waits, says so at once and again, and
goes on by itself. Method: runs of a feed whose records are a list.
"""

import msgspec

from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.feeds.topic_watch import TopicWatch, missing_topics
from penstock.model.spec import FeedSpec
from penstock.model.window import Available, PartitionOffsets, TopicOffsets
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.halted_objects import read_halted
from penstock.testing.list_source import ListSource
from tests.helpers.clock import Clock
from tests.helpers.list_story import FEED, TOPIC, Story, events, places
from tests.helpers.turning import run_turn_by_turn

MISSPELT = msgspec.structs.replace(FEED, topics=("evnets",))
ONE_OF_TWO = msgspec.structs.replace(FEED, topics=(TOPIC, "evnets", "orders"))
PATTERN = msgspec.structs.replace(FEED, topics=(), pattern="logs\\..*")


def test_once_fails_when_a_named_topic_does_not_exist() -> None:
    story = Story()
    assert story.run_once(MISSPELT) == 5
    assert [line.partition(":")[0] for line in story.said] == ["claimed", "halted"]
    assert "TOPIC_MISSING: Topic 'evnets' does not exist in Kafka" in story.said[-1]
    journal = story.journal()
    halted = read_halted(journal, journal.open().state)
    assert halted is not None
    assert (halted.code, [str(place) for place in halted.places]) == ("TOPIC_MISSING", ["evnets"])


def test_once_delivers_the_topics_that_are_there_before_it_fails() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 12))
    assert story.run_once(ONE_OF_TWO) == 5
    assert "Topics 'evnets', 'orders' do not exist in Kafka" in story.said[-1]
    assert story.delivered() == places(0, *range(12))
    for name in ("evnets", "orders"):
        story.cluster.create_topic(name)
    assert story.run_once(ONE_OF_TWO) == 0
    assert list_keys(story.store, "_penstock/feed/halted") != [], "nothing was delivered since"
    story.cluster.append(TOPIC, 0, *events("click", 1))
    assert story.run_once(ONE_OF_TWO) == 0
    assert list_keys(story.store, "_penstock/feed/halted") == []


def test_once_with_a_pattern_that_matches_nothing_warns() -> None:
    story = Story()
    assert story.run_once(PATTERN) == 0
    [warning] = [event for event in story.events if event.level == "warning"]
    assert warning.name == "no_topic_matches"
    assert "no topic matches the pattern 'logs\\\\..*'" in warning.sentence


def run_for(story: Story, feeds: tuple[FeedSpec, ...], seconds: float) -> list[Event]:
    """`penstock run` until so much time has passed; what it said."""
    said: list[Event] = []
    around = story.clock.around()
    tools = FeedTools(lambda spec: ListSource(spec, story.cluster), story.store, around)
    until = story.clock.tick_s + seconds
    runner = Runner(
        feeds, tools, said.append, lambda: story.clock.tick_s >= until, RunSpec(take_over=True)
    )
    assert run_turn_by_turn(runner) == 0
    return said


def test_a_running_feed_waits_for_a_topic_loudly_while_others_go_on() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 3))
    other = msgspec.structs.replace(FEED, name="other")
    said = run_for(story, (MISSPELT, other), 600.0)
    waits = [event for event in said if event.name == "topic_missing"]
    assert [event.facts["pause_s"] for event in waits] == [60.0, 120.0, 240.0, 480.0]
    assert all(event.level == "warning" and event.feed == "feed" for event in waits)
    first = waits[0].sentence
    assert "waiting for topic 'evnets' since 2027-" in first
    assert "asked for it at every look" in first
    assert [event.name for event in said if event.feed == "other"] == ["claimed", "window"]

    story.cluster.create_topic("evnets")
    story.cluster.append("evnets", 0, *events("click", 2))
    said = run_for(story, (MISSPELT,), 60.0)
    assert [event.name for event in said] == ["claimed", "window"]


def available(*topics: str) -> Available:
    return Available(
        "c", tuple(TopicOffsets(name, f"{name}-id", {0: PartitionOffsets(0, 1)}) for name in topics)
    )


def test_a_topic_that_comes_is_told_with_how_long_it_was_waited_for() -> None:
    clock = Clock()
    watch = TopicWatch(MISSPELT, clock.around())
    assert [event.name for event in watch.look({}, available())] == ["topic_missing"]
    clock.passes(30.0)
    assert list(watch.look({}, available())) == []
    clock.passes(5.0)
    [event] = watch.look({}, available("evnets"))
    assert (event.name, event.sentence) == (
        "topic_found",
        "there is topic 'evnets' now, after 35 s",
    )
    assert list(watch.look({}, available("evnets"))) == []


def test_pauses_grow_up_to_an_hour() -> None:
    clock = Clock()
    watch = TopicWatch(PATTERN, clock.around())
    told = []
    for _ in range(4 * 3600):
        told += [event.facts["pause_s"] for event in watch.look({}, available())]
        clock.passes(1.0)
    assert told == [60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, *[3600.0] * 3]
    [event] = watch.look({}, available("logs.a"))
    assert event.sentence.startswith("a topic matches the pattern")


def test_a_topic_that_was_read_is_not_one_that_never_was() -> None:
    assert missing_topics(ONE_OF_TWO, {"orders": "id"}, available(TOPIC)) == ("evnets",)
