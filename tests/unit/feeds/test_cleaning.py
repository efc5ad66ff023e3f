"""What dead runs have staged is removed by the next run itself, and no window depends on that."""

import threading
from dataclasses import dataclass, field

import pytest

from penstock.care.clean import clean, garbage
from penstock.errors import PenstockError, StoreUnavailable
from penstock.feeds.cleaning import Cleaner
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.feeds.running_feed import FeedTools
from penstock.model.staged import StagedRef
from penstock.protocol.feed_book.feed_journal import FeedJournal
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
            lambda spec: ListSource(spec, self.cluster), self.store, around, clean=clean
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
        return len(list(self.store.list_staged(STAGING)))


def test_the_next_run_removes_what_a_dead_one_has_staged() -> None:
    story = CleaningStory()
    left = story.die_in_a_window()
    assert left > 0
    assert story.run_cleaning() == 0
    assert list(story.store.list_staged(STAGING)) == []
    cleaned = [event for event in story.told if event.name == "cleaned"]
    assert [event.facts for event in cleaned] == [{"files": left}]
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
    (failed,) = [event for event in story.told if event.name == "clean_failed"]
    assert (failed.level, failed.facts) == ("warning", {"code": "STORE_UNAVAILABLE"})
    assert story.delivered() == places(0, *range(12))


@dataclass
class FakeFeed:
    """A feed whose cleanings are scripted."""

    name: str
    answers: list[int | PenstockError]
    done: threading.Event = field(default_factory=threading.Event)

    def clean(self) -> int:
        answer = self.answers.pop(0)
        if not self.answers:
            self.done.set()
        if isinstance(answer, PenstockError):
            raise answer
        return answer


def test_owned_feeds_are_cleaned_again_and_again_whatever_fails() -> None:
    told: list[Event] = []
    feed = FakeFeed("a", [0, StoreUnavailable("list", "x", "down"), 1, 2_000])
    with Cleaner(lambda: [feed] if feed.answers else [], told.append, every_s=0.001):
        assert feed.done.wait(LIMIT_S)
    assert [event.sentence.partition(":")[0] for event in told] == [
        "what dead runs have staged could not be removed yet",
        "1 staged file of dead runs removed",
        "2,000 staged files of dead runs removed",
    ]


def test_the_end_waits_for_a_cleaning_that_was_asked_for() -> None:
    told: list[Event] = []
    feed = FakeFeed("a", [3])
    with Cleaner(list, told.append) as cleaner:
        cleaner.soon(feed)
    assert [event.name for event in told] == ["cleaned"]


def test_a_window_that_was_decided_keeps_what_it_has_staged() -> None:
    room = a_room()
    decided_only(an_owner(room))
    staged = list(room.store.list_staged(f"_penstock/{SIMULATED}/staging"))
    an_owner(room)  # a newer claim; the window is not published yet
    assert staged
    assert garbage(room.journal()) == []
    assert clean(room.journal()) == 0
    assert list(room.store.list_staged(f"_penstock/{SIMULATED}/staging")) == staged


def test_a_checkpoint_that_cannot_be_written_fails_no_delivered_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(_journal: FeedJournal, _state: object) -> None:
        raise StoreUnavailable("create", "checkpoint", "No space left on device")

    monkeypatch.setattr("penstock.protocol.loop.owner.write_checkpoint", refused)
    room = a_room()
    owner = an_owner(room, checkpoint_every=1)
    assert owner.run_window()
    (notice,) = owner._journal.notices
    assert "tried again after the next window" in notice
    assert "No space left on device" in notice
    assert owner.fold.state.windows == 1
