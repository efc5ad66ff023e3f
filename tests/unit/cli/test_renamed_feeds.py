"""`penstock check` hints at a feed that was renamed: under another name it would start over."""

import msgspec

from penstock.cli.renamed_feeds import feeds_of_lake, former_names
from penstock.model.layout import Layout
from penstock.protocol.feed_book.feed_journal import FeedJournal
from tests.helpers.list_story import FEED, TOPIC, Story, events
from tests.simulator.programs import surroundings


def told(story: Story, *configured: str, topics: tuple[str, ...] = (TOPIC,)) -> list[str]:
    """What is said of a new feed `renamed`."""
    lake = story.journal().lake
    journal = FeedJournal(story.store, Layout("renamed"), lake, surroundings("check"))
    return list(former_names(journal, topics, ["renamed", *configured], surroundings("check")))


def test_a_feed_that_is_not_configured_any_more_and_has_read_the_topics_is_named() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 3))
    assert story.run_once(FEED) == 0
    assert list(feeds_of_lake(story.store)) == [FEED.name]
    (sentence,) = told(story)
    assert f"feed '{FEED.name}', which the file does not name, has read {TOPIC}" in sentence
    assert told(story, FEED.name) == []
    assert told(story, topics=("others",)) == []


def test_all_feeds_of_a_lake_are_found_and_nothing_else() -> None:
    story = Story()
    for name in ("b", "a", "a.b", "zoo"):
        assert story.run_once(msgspec.structs.replace(FEED, name=name)) == 0
    story.store.create("_penstock/leftover/staging/x", b"")
    assert sorted(feeds_of_lake(story.store)) == ["a", "a.b", "b", "zoo"]


def test_a_journal_that_cannot_be_read_is_not_for_check_to_judge() -> None:
    story = Story()
    assert story.run_once(FEED) == 0
    story.store.delete(f"_penstock/{FEED.name}/journal/0/{0:020}.json")
    assert told(story) == []
