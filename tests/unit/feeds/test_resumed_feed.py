"""A run with other feeds takes a halted feed up again after an operator's decision.

Method: turns on the thread of the test, by a clock of its own; and real runs with threads. Whoever
decides is another client of the lake.
"""

import threading
import time
from collections.abc import Callable
from random import SystemRandom

import msgspec
import pytest

from penstock.care.seek import Approval, seek_all
from penstock.errors import StoreUnavailable
from penstock.feeds import feed_halts
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.halted_watch import lets_go_on
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.envelope import Claim
from penstock.model.ranges import TopicPartition
from penstock.model.spec import FeedSpec, QuarantineSpec
from penstock.protocol.feed_book.acceptance import accept_next
from penstock.runtime.surroundings import Surroundings
from penstock.testing.list_source import BEGAN_MS, ListSource
from tests.helpers.entry_samples import BODIES
from tests.helpers.list_story import FEED, TOPIC, TORN, Story, events, places
from tests.helpers.live_run import LiveRun
from tests.helpers.turning import open_all

LIMIT_S = 20.0
STRICT = msgspec.structs.replace(FEED, quarantine=QuarantineSpec(max_ratio=0.25, min_records=2))
OTHER = msgspec.structs.replace(FEED, name="other")


def halted_run() -> LiveRun:
    """A window of good records is delivered, one with broken ones is refused."""
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once(STRICT) == 0
    story.cluster.append(TOPIC, 0, TORN, TORN, *events("click", 2))
    run = LiveRun(story, STRICT, OTHER)
    run.go_on(61.0)
    run.go_on(61.0)
    assert run.turns.stage == "halted"
    assert run.code() == 5
    return run


def accept(story: Story) -> None:
    journal = story.journal()
    accept_next(journal, journal.open().state, "ann", "known", "2026-11-18T00:00:00+00:00")


def test_a_halted_feed_goes_on_in_the_same_run_when_its_window_is_accepted() -> None:
    run = halted_run()
    accept(run.story)
    run.go_on(10.0)
    run.go_on(61.0)
    assert run.told()[-3:] == ["resumed", "claimed", "window"]
    assert run.runner.failures == {}
    assert run.story.delivered() == places(0, 0, 1, 2, 3, 6, 7)
    assert run.turns.stage == "owned"


def test_a_halted_feed_goes_on_after_an_entry_of_an_operator() -> None:
    run = halted_run()
    state = run.story.journal().open().state
    target = {TopicPartition(state.topics[TOPIC], 0): 6}
    seek_all(run.story.journal(), target, Approval("ann", "broken"))
    run.go_on(10.0)
    run.go_on(61.0)
    assert run.told()[-3:] == ["resumed", "claimed", "window"]
    assert run.story.delivered() == places(0, 0, 1, 2, 3, 6, 7)


def test_a_feed_stays_halted_while_nobody_decides_and_asks_little_meanwhile() -> None:
    run = halted_run()
    asked: list[str] = []
    head = run.story.store.head

    def counted(key: str) -> int | None:
        asked.append(key)
        return head(key)

    run.story.store.head = counted  # type: ignore[method-assign]
    [run.turns.turn() for _ in range(50)]
    before = len(asked)
    for _ in range(6):
        run.story.clock.passes(10.0)
        run.turns.turn()
    assert before == 0
    assert len(asked) == 6
    assert run.turns.stage == "halted"
    assert "resumed" not in run.told()


def test_a_claim_of_another_instance_is_not_a_decision() -> None:
    """Goal: two instances that halt for the same cause do not start each other for ever."""
    run = halted_run()
    assert run.story.run_once(STRICT) == 5
    claims = len(run.story.entries(Claim))
    for _ in range(10):
        run.go_on(10.0)
    assert run.turns.stage == "halted"
    assert len(run.story.entries(Claim)) == claims
    accept(run.story)
    run.go_on(10.0)
    assert "resumed" in run.told()


def test_a_decision_that_comes_while_the_halt_is_written_down_is_seen() -> None:
    """Method: the operator decides between the judgement and the word in the lake."""
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once(STRICT) == 0
    story.cluster.append(TOPIC, 0, TORN, TORN, *events("click", 2))
    run = LiveRun(story, STRICT, OTHER)
    open_all(run.runner)
    feed = run.turns.feed
    assert feed is not None
    record = feed.record_halt

    def decide_first(error: Exception) -> None:
        state = story.journal().open().state
        target = {TopicPartition(state.topics[TOPIC], 0): 6}
        seek_all(story.journal(), target, Approval("ann", "broken"))
        record(error)  # type: ignore[arg-type]

    feed.record_halt = decide_first  # type: ignore[method-assign]
    run.go_on(61.0)
    run.go_on(61.0)
    run.go_on(61.0)
    assert run.told()[-4:] == ["halted", "resumed", "claimed", "window"]


def test_a_feed_that_the_configuration_ends_stays_ended() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once(FEED) == 0
    run = LiveRun(story, msgspec.structs.replace(FEED, format="orc"), OTHER)
    run.go_on(61.0)
    assert run.turns.stage == "ended"
    assert run.code() == 2


def test_a_lake_that_does_not_answer_leaves_the_feed_halted_until_it_does() -> None:
    run = halted_run()
    accept(run.story)
    store, head = run.story.store, run.story.store.head

    def silent(key: str, *_page: object) -> None:
        raise StoreUnavailable("read", key, "no answer")

    store.head = silent  # type: ignore[method-assign]
    run.go_on(10.0)
    assert run.turns.stage == "halted"
    store.head = head  # type: ignore[method-assign]
    list_objects = store.list_objects
    store.list_objects = silent  # type: ignore[method-assign, assignment]
    run.story.clock.passes(10.0)
    for _ in range(3):
        run.turns.turn()
    assert (run.turns.stage, run.code()) == ("halted", 5)
    store.list_objects = list_objects  # type: ignore[method-assign]
    run.go_on(10.0)
    run.go_on(61.0)
    assert run.told()[-3:] == ["resumed", "claimed", "window"]


def test_a_feed_that_halts_again_is_watched_again() -> None:
    run = halted_run()
    accept(run.story)
    run.go_on(10.0)
    run.story.cluster.append(TOPIC, 0, TORN, TORN, *events("click", 2))
    run.go_on(61.0)
    run.go_on(61.0)
    assert (run.turns.stage, run.code()) == ("halted", 5)
    accept(run.story)
    run.go_on(10.0)
    run.go_on(61.0)
    assert run.told().count("resumed") == 2
    assert run.runner.failures == {}


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_only_what_changes_or_disproves_a_cause_lets_a_feed_go_on(body: object) -> None:
    wanted = {"Gap", "Seek", "Rebind", "Unpark", "Generation", "Window"}
    assert lets_go_on(body) == (type(body).__name__ in wanted)  # type: ignore[arg-type]


def real(rest_s: float) -> None:
    time.sleep(min(rest_s, 0.02))


QUICK = Surroundings(lambda: BEGAN_MS / 1_000 + 60.0, real, SystemRandom())


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


class ThreadedRun:
    """A real run on threads."""

    def __init__(self, *feeds: FeedSpec) -> None:
        self.story = Story()
        self.story.cluster.append(TOPIC, 0, TORN, TORN, *events("click", 2))
        self.said: list[Event] = []
        self.is_stopping = threading.Event()
        tools = FeedTools(
            lambda spec: ListSource(spec, self.story.cluster), self.story.store, QUICK
        )
        self.runner = Runner(
            feeds, tools, self.said.append, self.is_stopping.is_set, RunSpec(once=False)
        )

    def has_told(self, name: str) -> bool:
        return any((event.feed, event.name) == ("feed", name) for event in self.said)

    def run(self, meanwhile: Callable[[], None] = lambda: None) -> int:
        thread = threading.Thread(target=meanwhile, daemon=True)
        thread.start()
        code = self.runner.run()
        thread.join(LIMIT_S)
        assert not thread.is_alive()
        return code


EAGER = msgspec.structs.replace(STRICT, window=msgspec.structs.replace(FEED.window, every_s=0.1))


def test_a_live_run_takes_a_feed_up_and_ends_without_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed_halts, "LOOK_S", 0.1)
    run = ThreadedRun(EAGER, OTHER)

    def decide() -> None:
        until(lambda: run.has_told("halted"))
        accept(run.story)
        until(lambda: run.has_told("window"))
        run.is_stopping.set()

    assert run.run(decide) == 0
    assert run.has_told("resumed")
    assert run.runner.left_behind == ()
    assert run.story.delivered() == places(0, 2, 3)


def test_a_run_that_is_stopped_while_a_feed_is_halted_ends_with_its_code() -> None:
    run = ThreadedRun(EAGER, OTHER)

    def stop() -> None:
        until(lambda: run.has_told("halted"))
        run.is_stopping.set()

    assert run.run(stop) == 5
    assert run.runner.left_behind == ()


def test_a_run_ends_when_all_of_its_feeds_are_halted() -> None:
    run = ThreadedRun(EAGER)
    assert run.run() == 5
    assert run.runner.left_behind == ()
