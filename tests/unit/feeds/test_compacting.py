"""A run compacts beside its loop: when it is asked to, in one slot, and harming no window.

Method: a feed whose records are a list in memory; the tasks work in this process.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.care.closed_directories import next_round_s
from penstock.care.compact_in_run import RunCompaction
from penstock.care.compaction_plan import CompactionPolicy, policy_of
from penstock.datapath.rewrite.errors import RowsDiffer
from penstock.errors import PenstockError
from penstock.feeds import compacting, runner
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.next_feeds import WaitingFeed, next_feeds
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.feeds.slots import FeedSlot, Slots
from penstock.model.compacted import Compacted
from penstock.model.debt import Debt
from penstock.model.entries import Compact
from penstock.model.spec import CompactSpec, FeedSpec, RunLimits, WindowSpec
from penstock.ports.store.list_keys import list_keys
from penstock.runtime.parallel import in_this_process
from penstock.testing.list_source import ListSource
from tests.helpers.list_story import FEED, TOPIC, Story, events, places

LIMIT_S = 20.0
ALWAYS = CompactSpec("every", every_s=3600.0, min_files=2)
COMPACTED = msgspec.structs.replace(FEED, compact=ALWAYS, window=WindowSpec(max_records=2))


class CompactingStory(Story):
    """Runs that go on until they have done what a test waits for."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Event] = []
        self.slots_seen: list[int] = []
        self.fault: PenstockError | None = None
        self.rounds = 0

    def run_until(self, is_over: Callable[[], bool], feed: FeedSpec, parallel: int = 1) -> int:
        """`penstock run`, stopped as soon as something holds."""
        end = time.monotonic() + LIMIT_S
        around = self.clock.around()
        tools = FeedTools(
            lambda spec: ListSource(spec, self.cluster),
            self.store,
            around,
            figures=self.figures,
            compact=RunCompaction(self._open, around),
            next_round=lambda spec, now_s: next_round_s(spec.compact, now_s),
        )
        spec = RunSpec(take_over=True, limits=RunLimits(parallel=parallel))
        self.runner = Runner(
            (feed,), tools, self.told.append, lambda: is_over() or time.monotonic() > end, spec
        )
        code = self.runner.run()
        assert time.monotonic() < end, "it never came to that"
        return code

    def _open(self, _feed: FeedSpec, go_on: Callable[[], None]) -> Any:
        def work(
            what: str, act: Callable[[Any], Any], items: Sequence[Any], weight: Any, /
        ) -> list[Any]:
            self.rounds += 1
            self.slots_seen.append(len(self.runner._slots._taken))
            go_on()
            if self.fault is not None:
                raise self.fault
            return in_this_process(what, act, items, weight)

        return work

    def names(self) -> list[str]:
        return [event.name for event in self.told]

    def files(self) -> list[str]:
        return [key for key in list_keys(self.store, "feed/click") if key.endswith(".parquet")]


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> CompactingStory:
    monkeypatch.setattr(runner, "LOOK_S", 0.05)
    made = CompactingStory()
    made.cluster.append(TOPIC, 0, *events("click", 12))
    assert made.run_once(COMPACTED) == 0
    assert len(made.files()) == 6
    return made


def assert_proven(story: Story) -> None:
    tools = DeepTools(in_this_process, None, lambda: 0.0)
    assert deep_audit(story.journal(), DeepSpec(), tools).differences == ()


def test_a_run_that_is_asked_to_compacts_beside_its_windows(story: CompactingStory) -> None:
    story.cluster.append(TOPIC, 1, *events("click", 4))
    assert story.run_until(lambda: "compacted" in story.names(), COMPACTED) == 0
    (event,) = [each for each in story.told if each.name == "compacted"]
    assert event.sentence.endswith("became 1")
    assert event.facts["directories"] == 1
    assert event.facts["into"] == 1
    (entry,) = story.entries(Compact)
    assert entry.author == "compact"
    assert entry.reason.startswith("the configuration compacts, when: ")
    assert story.slots_seen == [1], "its tasks had the one slot of the run"
    assert story.figures.of("feed").figures().debt == Debt()
    assert "upkeep_failed" not in story.names()
    assert story.delivered() == places(0, *range(12)) + places(1, *range(4))
    assert_proven(story)


@pytest.mark.parametrize("when", ["off", "day_closed"])
def test_a_run_that_is_not_asked_to_compacts_nothing(story: CompactingStory, when: str) -> None:
    spec = CompactSpec(when, min_files=2)  # type: ignore[arg-type]
    feed = msgspec.structs.replace(COMPACTED, compact=spec)
    began = time.monotonic()
    assert story.run_until(lambda: time.monotonic() > began + 0.5, feed) == 0
    assert story.entries(Compact) == []
    debt = story.figures.of("feed").figures().debt
    assert debt is None if when == "off" else debt is not None and debt.files == 6


def test_a_run_to_the_end_does_not_wait_for_compaction(story: CompactingStory) -> None:
    assert story.run_once(COMPACTED) == 0
    assert story.entries(Compact) == []


def test_what_fails_is_told_and_fails_no_window(story: CompactingStory) -> None:
    story.fault = RowsDiffer("feed/click/a", "for a test")
    story.cluster.append(TOPIC, 1, *events("click", 4))

    def is_over() -> bool:
        return "upkeep_failed" in story.names() and sum(story.delivered().values()) == 16

    assert story.run_until(is_over, COMPACTED) == 0
    (event, *_) = [each for each in story.told if each.name == "upkeep_failed"]
    assert event.facts["job"] == "compaction"
    assert event.facts["code"] == "COMPACTION_DIFFERS"
    assert story.entries(Compact) == []
    assert_proven(story)


def test_a_run_that_stops_ends_its_compaction_and_says_nothing(story: CompactingStory) -> None:
    """The tasks look now and then whether the run goes on."""
    begun = threading.Event()

    def open_parallel(_feed: FeedSpec, go_on: Callable[[], None]) -> Any:
        def work(*_: Any) -> list[Any]:
            begun.set()
            for _number in range(1_000):
                time.sleep(0.01)
                go_on()
            raise AssertionError("nobody ended it")

        return work

    story._open = open_parallel  # type: ignore[method-assign]
    assert story.run_until(begun.is_set, COMPACTED) == 0
    assert "upkeep_failed" not in story.names()
    assert story.entries(Compact) == []


def test_a_directory_that_takes_longer_than_a_window_may_is_ended() -> None:
    story = CompactingStory()
    feed = msgspec.structs.replace(COMPACTED, timeout_s=10.0)
    slot = FeedSlot(Slots(RunLimits(parallel=1), time.monotonic), feed, time.monotonic)
    seconds = iter(range(100))
    around = replace(story.clock.around(), tick=lambda: float(next(seconds)))

    def compact(
        _feed: FeedSpec, _journal: Any, _held: compacting.Held, go_on: compacting.GoOn
    ) -> Compacted:
        for _number in range(50):
            go_on()
        raise AssertionError("nobody ended it")

    counters = story.figures.of("feed")
    mine = compacting.FeedCompaction(feed, compact, lambda *_: 1e12, around, counters, slot)
    (job,) = mine.jobs(story.journal)
    assert list(mine.jobs(story.journal)) == [], "the next round is far away"
    with pytest.raises(PenstockError, match=r"takes longer to compact than timeout \(10 s\)"):
        job.act()


def test_compaction_stands_behind_every_window_that_waits_but_not_for_ever() -> None:
    slots = Slots(RunLimits(parallel=1), lambda: 0.0)
    slot = FeedSlot(slots, COMPACTED, lambda: 0.0).for_upkeep("compaction")
    upkeep = slot._in_line()
    window = WaitingFeed("other", since_s=90.0, priority=1)
    limits = RunLimits(parallel=1)
    assert next_feeds([upkeep, window], {}, limits, now_s=100.0) == ("other",)
    assert next_feeds([upkeep], {}, limits, now_s=100.0) == (upkeep.feed,)
    later = WaitingFeed("other", since_s=1_990.0, priority=1)
    assert next_feeds([upkeep, later], {}, limits, now_s=2_000.0) == (upkeep.feed,)


def test_the_policy_is_that_of_the_configuration() -> None:
    feed = msgspec.structs.replace(FEED, compact=CompactSpec(target_bytes=7, min_files=3))
    assert policy_of(feed) == CompactionPolicy(7, 3)
