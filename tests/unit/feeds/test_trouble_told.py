"""What fails in a run is in its signs of life, so that other processes see it, and goes with it.

Method: turns on the thread of the test; the beat is read from the lake as `status` reads it.
"""

import msgspec
import pytest

from penstock.api.source import ReadFailed, SourceUnavailable
from penstock.errors import OutcomeUnknown
from penstock.feeds.feed_trouble import LONGEST_SENTENCE, trouble_of, unpublished
from penstock.model.layout import Layout
from penstock.model.process_id import Process
from penstock.model.spec import FeedSpec
from penstock.model.value import Value
from penstock.model.window import Available
from penstock.protocol.feed_book.feed_lease import (
    FeedBeat,
    FeedTrouble,
    Note,
    last_beat,
)
from penstock.protocol.journal.beats import Beat, understood
from penstock.protocol.publish.troubles import Trouble as PartTrouble
from penstock.status.snapshot import FeedSnapshot, snapshot
from penstock.testing.fault_store import Fault, FaultStore, What
from penstock.testing.list_source import ListCluster, ListSource
from tests.helpers.list_story import FEED, TOPIC, Story, events, places
from tests.helpers.live_run import LiveRun

WHY = "connection refused"


class Broker(ListSource):
    """A source that is down when the test says so."""

    is_down = False

    def __init__(self, feed: FeedSpec, cluster: ListCluster) -> None:
        super().__init__(feed, cluster)

    def look(self) -> Available:
        if Broker.is_down:
            raise SourceUnavailable("the broker", WHY)
        return super().look()


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> Story:
    monkeypatch.setattr(Broker, "is_down", False)
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 4))
    return story


def live(story: Story) -> LiveRun:
    return LiveRun(story, FEED, source=Broker)


def beaten(run: LiveRun) -> FeedBeat:
    """The next sign of life, as another process reads it."""
    assert run.turns.feed is not None
    run.turns.feed.beat()
    beat = last_beat(run.story.store, Layout("feed"))
    assert beat is not None
    return beat


def shown(run: LiveRun) -> FeedSnapshot:
    state = run.story.journal().open().state
    return snapshot("feed", state, beaten(run), None, run.story.clock.now())


def test_a_broker_that_is_down_is_told_with_since_when_and_how_often_until_it_answers(
    story: Story,
) -> None:
    run = live(story)
    run.go_on(61.0, turns=4)
    assert (shown(run).state, shown(run).trouble) == ("running", None)
    Broker.is_down = True
    run.go_on(61.0, turns=2)
    first = shown(run)
    assert first.state == "in trouble"
    assert first.owner_state == "running"
    assert first.trouble is not None
    assert first.trouble.code == "SOURCE_UNAVAILABLE"
    assert first.trouble.sentence == f"the broker did not answer: {WHY}."
    run.go_on(120.0, turns=8)
    later = shown(run).trouble
    assert later is not None
    assert later.since == first.trouble.since
    assert later.tries > first.trouble.tries
    Broker.is_down = False
    run.go_on(120.0, turns=4)
    assert (shown(run).state, shown(run).trouble) == ("running", None)


def test_a_new_feed_that_cannot_start_is_in_trouble_and_not_running(story: Story) -> None:
    Broker.is_down = True
    run = live(story)
    run.go_on(turns=3)
    found = shown(run)
    assert (found.state, found.windows) == ("in trouble", 0)
    Broker.is_down = False
    run.go_on(120.0)
    assert shown(run).state == "running"


def test_a_broker_that_answers_again_is_no_trouble_while_its_window_is_read(story: Story) -> None:
    run = live(story)
    run.go_on(61.0)
    run.go_on(61.0)
    assert story.delivered() == places(0, 0, 1, 2, 3)
    story.cluster.append(TOPIC, 0, *events("click", 8))  # a full window, read at the first look
    Broker.is_down = True
    run.go_on(61.0, turns=3)
    assert shown(run).state == "in trouble"
    Broker.is_down = False
    seen: list[str] = []
    story.cluster.on_read("before", lambda: seen.append(shown(run).state))
    run.go_on(120.0)
    run.go_on(120.0)
    assert seen == ["running"]
    assert story.delivered() == places(0, *range(12))


def test_files_that_cannot_be_published_are_told(story: Story) -> None:
    inner = story.store
    faults = [Fault("publish", What.FAIL_BEFORE, "feed/*", nth) for nth in range(1, 99)]
    story.store = FaultStore(inner, faults)
    run = live(story)
    run.go_on(61.0)
    run.go_on(61.0, turns=2)
    found = shown(run)
    assert found.trouble is not None
    assert (found.state, found.trouble.code) == ("in trouble", "PUBLISH_FAILED")
    assert found.trouble.sentence.startswith("click is decided and not visible yet: ")


def test_a_store_that_does_not_stage_is_told(story: Story) -> None:
    """Method: what a full disk does: nothing can be staged, and small objects still fit."""
    faults = [Fault("open_staged", What.FAIL_BEFORE, "*", nth) for nth in range(1, 99)]
    story.store = FaultStore(story.store, faults)
    run = live(story)
    run.go_on(61.0)
    run.go_on(61.0, turns=2)
    found = shown(run)
    assert found.trouble is not None
    assert found.state == "in trouble"


def test_a_run_that_lets_go_is_stopped_and_not_in_trouble(story: Story) -> None:
    run = live(story)
    Broker.is_down = True
    run.go_on(61.0, turns=3)
    run.turns.close()
    found = snapshot(
        "feed",
        story.journal().open().state,
        last_beat(story.store, Layout("feed")),
        None,
        story.clock.now(),
    )
    assert (found.state, found.trouble) == ("stopped", None)


def test_a_silent_owner_is_shown_as_silent_with_its_last_trouble(story: Story) -> None:
    run = live(story)
    Broker.is_down = True
    run.go_on(61.0, turns=3)
    beat = beaten(run)
    story.clock.passes(600.0)
    state = story.journal().open().state
    found = snapshot("feed", state, beat, None, story.clock.now())
    assert found.state == "silent"
    assert found.trouble is not None


def test_no_value_of_a_record_gets_into_a_beat() -> None:
    error = ReadFailed("7-1", "ValueError: cannot convert '4111-secret'")
    told = trouble_of(error, None, "now", tries=1, next_try=0.0).told
    assert told.code == "READ_FAILED"
    assert "secret" not in told.sentence
    assert "window 7-1" in told.sentence


def test_a_long_sentence_is_cut_and_an_unknown_outcome_is_remembered() -> None:
    first = trouble_of(OutcomeUnknown("create", "k", "x" * 9_999), None, "a", tries=1, next_try=1)
    assert len(first.told.sentence) == LONGEST_SENTENCE
    second = trouble_of(SourceUnavailable("s", "w"), first, "b", tries=2, next_try=2)
    assert second.start_over
    assert (second.told.since, second.told.tries) == ("a", 2)


def test_of_several_parts_the_one_with_the_most_tries_is_told() -> None:
    failing = {"a": PartTrouble(1, 0.0, "w1"), "b": PartTrouble(3, 0.0, "w2")}
    told = unpublished(failing, None, "now")
    sentence = "b and 1 other dataset are decided and not visible yet: w2"
    assert told == FeedTrouble("PUBLISH_FAILED", sentence, "now", 3)
    assert unpublished({}, told, "later") is None


class OldNote(Value, frozen=True):
    """What a beat of 0.3 says about work."""

    epoch: int = 0
    latest: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)
    looked_at: str = ""
    phase: str = ""
    window: str = ""


class OldBeat(Beat, frozen=True):
    """A beat as 0.3 reads and writes it."""

    note: OldNote = OldNote()


ME = Process("h", 1)


def test_beats_of_older_versions_are_read() -> None:
    old = OldBeat(1, 2, "me", ME, "now", "n", note=OldNote(3, {"t": {0: 5}}, "then", "plan", "w"))
    found = understood(msgspec.json.encode(old), 0, 0, msgspec.json.Decoder(FeedBeat))
    assert found.note == Note(3, {"t": {0: 5}}, "then", "plan", "w")
    assert (found.owner, found.format) == ("me", 1)
