"""What dead runs have staged is removed by the next run itself, and no window depends on that."""

import threading
import time
from dataclasses import dataclass, field
from functools import partial

import pytest

from penstock.care.clean import Garbage, clean, garbage
from penstock.errors import StoreUnavailable
from penstock.feeds.cleaning import Cleaner, Job
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.feed_upkeep import Caring
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.staged import StagedRef
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.testing.fault_script import Died
from penstock.testing.list_source import ListSource
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import a_room, an_owner, decided_only
from tests.helpers.list_story import FEED, TOPIC, Story, events, places
from tests.simulator.programs import FEED as SIMULATED

STAGING = "_penstock/feed/staging"
LIMIT_S = 10.0


class CleaningStory(Story):
    """Runs that clean, as those of the command do."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        super().__init__()
        self.store = store or MemoryStore()
        self.told: list[Event] = []

    def run_cleaning(self) -> int:
        """`penstock run --once`; its exit code."""
        self.told = []
        around = self.clock.around()
        tools = FeedTools(
            lambda spec: ListSource(spec, self.cluster), self.store, around, caring=Caring(clean)
        )
        once = RunSpec(once=True, take_over=True)
        return Runner((FEED,), tools, self.told.append, lambda: False, once).run()

    def die_in_a_window(self) -> int:
        """A run is killed while it stages; how many files it left."""
        self.cluster.append(TOPIC, 0, *events("click", 3), *events("order", 3))

        def killed() -> None:
            raise Died("kill -9")

        assert self.run_once() == 0
        self.cluster.append(TOPIC, 0, *events("click", 3), *events("order", 3))
        self.cluster.on_read("after", killed)
        with pytest.raises(Died):
            self.run_once()
        return len(list(self.store.list_staged(STAGING, ())))


def test_the_next_run_removes_what_a_dead_one_has_staged() -> None:
    story = CleaningStory()
    left = story.die_in_a_window()
    assert left > 0
    assert story.run_cleaning() == 0
    assert list(story.store.list_staged(STAGING, ())) == []
    cleaned = [event for event in story.told if event.name == "cleaned"]
    assert [event.facts for event in cleaned] == [{"files": left, "objects": 0}]
    assert cleaned[0].sentence == f"{left} staged files of dead runs removed"
    assert story.delivered() == places(0, *range(12))
    assert story.run_cleaning() == 0
    assert [event.name for event in story.told if "clean" in event.name] == []


def test_a_cleaning_that_fails_fails_no_window_and_is_told() -> None:
    class Stubborn(MemoryStore):
        def discard(self, ref: StagedRef) -> None:
            raise StoreUnavailable("discard", str(ref), "no permission, for a test")

    story = CleaningStory(Stubborn())
    assert story.die_in_a_window() > 0
    assert story.run_cleaning() == 0
    failed, *_ = [event for event in story.told if event.name == "upkeep_failed"]
    facts = {"job": "cleaning", "code": "STORE_UNAVAILABLE", "pause_s": 1.0}
    assert (failed.level, failed.facts) == ("warning", facts)
    assert story.delivered() == places(0, *range(12))


def test_a_run_leaves_its_checkpoint_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: no window waits for tidying. Method: note which thread creates the checkpoint."""
    threads: dict[str, str] = {}

    class Noting(MemoryStore):
        def create(self, key: str, data: bytes) -> bool:
            threads[key.rsplit("/", 2)[-2]] = threading.current_thread().name
            return super().create(key, data)

    every_entry = partial(OwnerSpec, checkpoint_every=1)
    monkeypatch.setattr("penstock.feeds.running_feed.OwnerSpec", every_entry)
    story = CleaningStory(Noting())
    story.cluster.append(TOPIC, 0, *events("click", 3))
    assert story.run_cleaning() == 0
    assert threads["checkpoints"] == "penstock-cleaner"
    assert threads["_tail"] == "penstock-feed"


@dataclass
class FakeFeed:
    """A feed with one job, whose outcomes are scripted."""

    name: str
    answers: list[Event | Exception | None]
    done: threading.Event = field(default_factory=threading.Event)

    def regular_jobs(self) -> list[Job]:
        return [Job("cleaning", self._answer)] if self.answers else []

    def _answer(self) -> Event | None:
        answer = self.answers.pop(0)
        if not self.answers:
            self.done.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


def removed(number: int) -> Event:
    return Event("a", "cleaned", f"{number} removed")


def test_owned_feeds_are_cleaned_again_and_again_whatever_fails() -> None:
    told: list[Event] = []
    down = StoreUnavailable("list", "x", "down")
    feed = FakeFeed("a", [None, down, removed(1), ValueError("a bug"), removed(2)])
    with Cleaner(lambda: [feed], told.append, time.monotonic, every_s=0.001):
        assert feed.done.wait(LIMIT_S)
    assert [(event.name, event.facts.get("code")) for event in told] == [
        ("upkeep_failed", "STORE_UNAVAILABLE"),
        ("cleaned", None),
        ("upkeep_failed", "ValueError"),
        ("cleaned", None),
    ]


def test_a_job_that_fails_is_tried_again_before_the_next_round() -> None:
    told: list[Event] = []
    clock = [0.0]

    def tick() -> float:
        clock[0] += 3.99  # so that only the last pause passes on the real clock, and only its end
        return clock[0]

    feed = FakeFeed("a", [ValueError("one"), ValueError("two"), ValueError("three"), None])
    (job,) = feed.regular_jobs()
    with Cleaner(list, told.append, tick, every_s=1e9) as cleaner:
        cleaner.ask("a", job)
        assert feed.done.wait(LIMIT_S)
    assert [event.facts["pause_s"] for event in told] == [1.0, 2.0, 4.0]


def test_jobs_of_a_feed_are_done_one_after_the_other_and_none_stops_the_next() -> None:
    told: list[Event] = []
    order: list[str] = []

    def job(name: str) -> Job:
        def act() -> None:
            order.append(name)
            if name == "second":
                raise StoreUnavailable("list", "x", "down")

        return Job(name, act)

    with Cleaner(list, told.append, time.monotonic) as cleaner:
        for name in ("first", "second", "third"):
            cleaner.ask("a", job(name))
    assert order == ["first", "second", "third"]
    assert [event.facts["job"] for event in told] == ["second"]


def test_a_newer_job_takes_the_place_of_one_that_waits() -> None:
    order: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        assert go_on.wait(LIMIT_S)

    with Cleaner(list, lambda _event: None, time.monotonic) as cleaner:
        cleaner.ask("a", Job("slow", slow))
        assert begun.wait(LIMIT_S)
        cleaner.ask("a", Job("tidying", lambda: order.append("older")))
        cleaner.ask("a", Job("tidying", lambda: order.append("newer")))
        cleaner.ask("b", Job("tidying", lambda: order.append("of b")))
        go_on.set()
    assert order == ["newer", "of b"]


def test_the_end_waits_for_a_cleaning_that_was_asked_for() -> None:
    told: list[Event] = []
    feed = FakeFeed("a", [removed(3)])
    with Cleaner(list, told.append, time.monotonic) as cleaner:
        cleaner.soon(feed)
    assert [event.name for event in told] == ["cleaned"]


def test_a_window_that_was_decided_keeps_what_it_has_staged() -> None:
    room = a_room()
    decided_only(an_owner(room))
    staged = list(room.store.list_staged(f"_penstock/{SIMULATED}/staging", ()))
    journal = room.journal()
    journal.claim(journal.open(), "newer")  # it has not published the window yet
    assert staged
    assert garbage(room.journal()) == Garbage()
    assert clean(room.journal()).total == 0
    assert list(room.store.list_staged(f"_penstock/{SIMULATED}/staging", ())) == staged
