"""How long topics keep records is asked now and then, some topics at a time, and harms nothing."""

from collections.abc import Sequence

import msgspec

from penstock.api.source import SourceUnavailable
from penstock.feeds.feed_intake import RETENTION_EVERY_S, TOPICS_AT_ONCE, FeedIntake
from penstock.model.spec import FeedSpec
from penstock.testing.list_source import ListCluster, ListSource
from tests.helpers.clock import Clock
from tests.helpers.list_story import FEED, TOPIC, Story, events
from tests.helpers.plain_source import PlainSource

NAMES = [f"logs.{number:03}" for number in range(2 * TOPICS_AT_ONCE + 10)]


class Asked(ListSource):
    """Notes what it was asked, and fails when it was told to."""

    def __init__(self, feed: FeedSpec, cluster: ListCluster) -> None:
        super().__init__(feed, cluster)
        self.asked: list[int] = []
        self.fails = False

    def retention_s(self, topics: Sequence[str]) -> dict[str, float]:
        self.asked.append(len(topics))
        if self.fails:
            raise SourceUnavailable("The list of records", "it is busy")
        return super().retention_s(topics)


class NothingHeld:
    """A stager as far as a look needs one."""

    again = ""

    def held_now(self) -> dict[tuple[str, int], str]:
        return {}


def intake_of(source: Asked, clock: Clock) -> FeedIntake:
    return FeedIntake(source, NothingHeld(), clock.around(), once=False)  # type: ignore[arg-type]


def test_many_topics_are_asked_some_at_a_time_and_again_after_a_while() -> None:
    cluster, clock = ListCluster(), Clock()
    for name in NAMES:
        cluster.create_topic(name)
        cluster.retention_s[name] = 60.0
    source = Asked(msgspec.structs.replace(FEED, topics=tuple(NAMES)), cluster)
    intake = intake_of(source, clock)
    for _ in range(5):
        intake.look()
    assert source.asked == [TOPICS_AT_ONCE, TOPICS_AT_ONCE, 10]
    assert intake.retention_s == dict.fromkeys(NAMES, 60.0)
    cluster.retention_s[NAMES[0]] = 30.0
    del cluster.retention_s[NAMES[1]]
    clock.passes(RETENTION_EVERY_S)
    intake.look()
    assert intake.retention_s[NAMES[0]] == 30.0
    assert NAMES[1] not in intake.retention_s
    assert len(intake.retention_s) == len(NAMES) - 1


def test_a_source_that_does_not_answer_this_question_is_read_all_the_same() -> None:
    cluster, clock = ListCluster(), Clock()
    cluster.create_topic(TOPIC)
    source = Asked(FEED, cluster)
    source.fails = True
    intake = intake_of(source, clock)
    assert [each.topic for each in intake.look().topics] == [TOPIC]
    assert intake.retention_s == {}


def test_a_source_without_this_talent_is_not_asked() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 2))
    assert story.run_once(source=PlainSource) == 0
