"""A source that refuses access in mid-run: the feed waits, says why, and goes on when it may.

Method: turns on the thread of the test, over a list of records whose source hides and refuses.
"""

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from penstock.api.source import ReadRequest, SourceUnavailable, Task
from penstock.feeds.feed_trouble import trouble_of
from penstock.model.window import Available, Place
from penstock.ports.source.errors import LoginRefused, NotAuthorized
from penstock.testing.list_source import ListSource
from tests.helpers.list_story import FEED, TOPIC, Story, events, places
from tests.helpers.live_run import LiveRun


class Secured(ListSource):
    """A source that hides its topics, or refuses reads and exports, when the test says so."""

    hides = False
    refuses_reads = False
    refuses_exports = False

    def look(self) -> Available:
        found = super().look()
        return msgspec.structs.replace(found, topics=()) if Secured.hides else found

    def check_absent(self, topics: Sequence[str]) -> None:
        if Secured.hides:
            raise NotAuthorized("k:1", "topic", topics, "see")

    def read(self, request: ReadRequest, task: Task) -> list[bytes]:
        if Secured.refuses_reads:
            error = LoginRefused("k:1", "PLAIN", "wrong password")
            error.while_reading = True
            raise error
        return super().read(request, task)

    def export_offsets(self, reader: str, offsets: Mapping[Place, int]) -> None:
        if Secured.refuses_exports:
            raise NotAuthorized("k:1", "group", [reader], "use")
        super().export_offsets(reader, offsets)


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> Story:
    for name in ("hides", "refuses_reads", "refuses_exports"):
        monkeypatch.setattr(Secured, name, False)
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 8))
    return story


def started(story: Story) -> LiveRun:
    run = LiveRun(story, FEED, source=Secured)
    run.go_on(61.0)
    run.go_on(61.0)
    return run


def codes(run: LiveRun, name: str) -> list[object]:
    return [event.facts["code"] for event in run.said if event.name == name]


def test_a_topic_that_is_hidden_is_not_taken_for_a_deleted_one(story: Story) -> None:
    run = started(story)
    assert story.delivered() == places(0, *range(8))
    Secured.hides = True
    story.cluster.append(TOPIC, 0, *events("click", 8))
    for _ in range(3):
        run.go_on(61.0, turns=2)
    assert set(codes(run, "trouble")) == {"KAFKA_NOT_AUTHORIZED"}
    assert "halted" not in run.told()
    Secured.hides = False
    run.go_on(120.0)
    run.go_on(120.0)
    assert story.delivered() == places(0, *range(16))
    assert run.code() == 0


def test_a_topic_that_is_deleted_still_halts_its_feed(story: Story) -> None:
    run = started(story)
    story.cluster.delete_topic(TOPIC)
    run.go_on(61.0)
    assert codes(run, "halted") == ["TOPIC_MISSING"]


def test_a_login_that_tasks_are_refused_is_trouble_until_it_is_mended(story: Story) -> None:
    """Also while the next try reads: the look before it worked, and proves nothing."""
    run = started(story)
    Secured.refuses_reads = True
    story.cluster.append(TOPIC, 0, *events("click", 8))
    for _ in range(3):
        run.go_on(61.0, turns=2)
    found = codes(run, "trouble")
    assert set(found) == {"KAFKA_LOGIN"}
    assert len(found) <= 3, "each try is followed by a pause"
    assert run.turns.trouble is not None
    assert not run.turns.trouble.is_of_source
    Secured.refuses_reads = False
    run.go_on(120.0)
    run.go_on(120.0)
    assert story.delivered() == places(0, *range(16))


def test_lag_that_may_not_be_exported_is_told_once_and_stops_nothing(story: Story) -> None:
    Secured.refuses_exports = True
    run = started(story)
    for count in (16, 24):
        story.cluster.append(TOPIC, 0, *events("click", 8))
        run.go_on(61.0)
        assert story.delivered() == places(0, *range(count))
    assert codes(run, "export_failed") == ["KAFKA_NOT_AUTHORIZED"]
    Secured.refuses_exports = False
    story.cluster.append(TOPIC, 0, *events("click", 8))
    run.go_on(61.0)
    assert story.cluster.exported["penstock-feed"][TOPIC, 0] == 32
    Secured.refuses_exports = True
    story.cluster.append(TOPIC, 0, *events("click", 8))
    run.go_on(61.0)
    assert len(codes(run, "export_failed")) == 2, "a later failure is told again"


def test_a_source_that_answers_again_may_have_refused_to_be_read() -> None:
    error = SourceUnavailable("s", "w")
    assert trouble_of(error, None, "a", tries=1, next_try=1).is_of_source
    error.while_reading = True
    assert not trouble_of(error, None, "a", tries=1, next_try=1).is_of_source
