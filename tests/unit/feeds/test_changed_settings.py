"""What may not be changed in the life of a feed is refused, and what may be is told.

Goal: no run writes what readers could not take for one table, and none changes in silence what rows
mean. Method: a feed whose records are a list in memory, run again with another configuration.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import msgspec
import pytest

from penstock.care.replay_feed import ReplayRequest, ReplayTools, replay_feed
from penstock.datapath.schemas.learning import Learning
from penstock.feeds.setting_changes import change_events
from penstock.model import manifest
from penstock.model.entries import Window
from penstock.model.spec import DatasetSpec, FeedSpec, PartitionKey, RouteSpec, TimeSpec
from penstock.protocol.loop import owner, written_directories
from penstock.protocol.loop.errors import PartitionChanged
from penstock.protocol.loop.written_directories import known_directories
from penstock.runtime.parallel import ParallelMap, in_this_process
from tests.helpers.list_story import FEED, TOPIC, TORN, Story, events

HOURS = (PartitionKey("day"), PartitionKey("hour"))
HOURLY = msgspec.structs.replace(FEED, partition=HOURS)


@pytest.fixture
def story() -> Story:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 3), *events("order", 2))
    return story


@contextmanager
def as_before_format_3() -> Iterator[None]:
    """Entries without what format 3 has added."""
    with (
        patch.object(owner, "known_directories", lambda *_: {}),
        patch.object(owner, "new_directories", lambda *_: {}),
        patch.object(owner, "changed_settings", lambda *_: {}),
    ):
        yield


def changed(**changes: object) -> FeedSpec:
    return msgspec.structs.replace(FEED, **changes)


def run_with_more(story: Story, feed: FeedSpec) -> int:
    story.cluster.append(TOPIC, 0, *events("click", 1))
    return story.run_once(feed)


def told(story: Story) -> list[str]:
    return [line for line in story.said if line.startswith("setting_changed")]


def test_other_directories_are_refused_before_anything_is_read(story: Story) -> None:
    assert story.run_once() == 0
    before = story.delivered()
    tail = story.journal().open().state.number
    assert run_with_more(story, HOURLY) == 2
    assert "PARTITION_CHANGED" in story.said[-1]
    assert "click lies in directories by day and would get day, hour; order lies" in story.said[-1]
    assert story.delivered() == before
    assert story.journal().open().state.number == tail, "not even a claim was written"
    assert run_with_more(story, FEED) == 0


@pytest.mark.parametrize("inline", [1_000, 0], ids=["in the entry", "in a manifest"])
def test_a_feed_of_an_older_format_is_judged_by_the_names_of_its_files(
    story: Story, inline: int
) -> None:
    with as_before_format_3(), patch.object(manifest, "INLINE_FILES", inline):
        assert story.run_once() == 0
        assert run_with_more(story, FEED) == 0  # the newest entry has no order
    state = story.journal().open().state
    assert state.directories == {}
    assert known_directories(story.journal(), state) == {"click": ("day",), "order": ("day",)}
    assert run_with_more(story, HOURLY) == 2
    assert "PARTITION_CHANGED" in story.said[-1]
    assert run_with_more(story, FEED) == 0
    assert told(story) == [], "nobody knows what the zone was, so nothing is told"
    state = story.journal().open().state
    assert state.directories == {"click": ("day",), "order": ("day",)}, "recorded from now on"
    with patch.object(written_directories, "directories_of", side_effect=AssertionError):
        known_directories(story.journal(), state)


def test_a_dataset_that_keeps_its_own_directories_lets_the_others_change(story: Story) -> None:
    assert story.run_once() == 0
    days = (PartitionKey("day"),)
    pinned = tuple(DatasetSpec(name, partition=days) for name in ("click", "order"))
    story.cluster.append(TOPIC, 0, *events("refund", 1))
    assert run_with_more(story, changed(partition=HOURS, datasets=pinned)) == 0
    assert story.journal().open().state.directories["refund"] == ("day", "hour")
    assert ["partition" in line for line in told(story)] == [True]
    assert run_with_more(story, changed(partition=HOURS, datasets=pinned[:1])) == 2
    assert "order lies in directories by day and would get day, hour" in story.said[-1]


def test_directories_that_another_owner_was_first_to_write_are_refused_at_the_window(
    story: Story,
) -> None:
    """Goal: a race between two configurations loses nothing. Method: the check sees too little."""
    assert story.run_once() == 0
    with patch.object(owner, "check_partition", lambda *_: None):
        assert run_with_more(story, HOURLY) == 2
    assert "PARTITION_CHANGED" in story.said[-1]
    assert list(story.store.list_staged("_penstock/feed/staging", ())) == []
    assert run_with_more(story, FEED) == 0
    assert sum(story.delivered().values()) == 7


@pytest.mark.parametrize(
    ("feed", "words"),
    [
        (changed(time=TimeSpec(zone="Europe/Berlin")), "`time.zone` was UTC and is Europe/Berlin"),
        (changed(time=TimeSpec(field="at", missing="kafka")), "`time.field` was Kafka's timestamp"),
        (changed(route=RouteSpec("topic")), "`route` was field:type and is topic"),
    ],
)
def test_what_changes_the_meaning_of_rows_is_told_once_and_recorded(
    story: Story, feed: FeedSpec, words: str
) -> None:
    assert story.run_once() == 0
    assert told(story) == [], "a first start changes nothing"
    state = story.journal().open().state
    assert [event.level for event in change_events(feed, state)] == ["warning"]
    assert run_with_more(story, feed) == 0
    (sentence,) = told(story)
    assert words in sentence
    assert run_with_more(story, feed) == 0
    assert told(story) == [], "the journal knows it by now"
    recorded = [window.settings for window in story.entries(Window)]
    assert list(map(len, recorded)) == [4, 1, 0]


def test_the_same_directory_by_another_field_is_told(story: Story) -> None:
    by = (PartitionKey("day"), PartitionKey("field", "a.n"))
    assert story.run_once(changed(partition=by)) == 0
    other = (PartitionKey("day"), PartitionKey("field", "b.n"))
    assert run_with_more(story, changed(partition=other)) == 0
    assert "`partition` was day, field:a.n and is day, field:b.n" in told(story)[0]


def test_a_replay_is_refused_too_and_records_what_it_is_first_to_deliver(story: Story) -> None:
    strict = changed(time=TimeSpec(field="at", unit="s"))
    mended = changed(time=TimeSpec(field="at", unit="s", missing="kafka"))
    story.cluster.append(TOPIC, 1, TORN)
    assert story.run_once(strict) == 0
    journal = story.journal()

    @contextmanager
    def open_parallel() -> Iterator[ParallelMap]:
        yield in_this_process

    def replay(feed: FeedSpec) -> int:
        tools = ReplayTools(
            feed,
            story.clock.around(),
            lambda: Learning(story.store, journal.layout, feed, None),
            open_parallel,
        )
        return replay_feed(journal, journal.open(deep=True), ReplayRequest("ann"), tools).delivered

    assert replay(mended) == 5
    assert journal.open().state.directories == {"click": ("day",), "order": ("day",)}
    with pytest.raises(PartitionChanged, match="click lies in directories by day"):
        replay(msgspec.structs.replace(mended, partition=HOURS))
