"""A feed whose configuration asks for completeness: days become final beside the loop."""

import json
from functools import partial

import msgspec
import pytest

from penstock.audit.shallow import audit
from penstock.care.finalize import finalize, finalize_to
from penstock.care.replay import ReplayOrder, StagedReplay, replay
from penstock.errors import EntryRefused
from penstock.feeds.feed_upkeep import Caring
from penstock.model.entries import Finalize, Window
from penstock.model.final_days import Frontier
from penstock.model.spec import FeedSpec, FinalizeSpec, PartitionKey, TimeSpec
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.loop import owner as owner_room
from penstock.testing.list_source import ListedRecord
from penstock.testing.memory_store import MemoryStore
from tests.helpers.clock import BEGAN_S
from tests.helpers.list_story import FEED, TOPIC, Story, places

DAY_S = 86_400.0
FINAL = msgspec.structs.replace(FEED, finalize=FinalizeSpec())
HOURLY = msgspec.structs.replace(
    FINAL,
    finalize=FinalizeSpec(hour=True, delay_s=600.0),
    partition=(PartitionKey("day"), PartitionKey("hour")),
)
EVENT_TIMES = msgspec.structs.replace(FINAL, time=TimeSpec(field="at"))


class FinalStory(Story):
    """Records get the time of the clock, which begins at 2027-01-15T08:00:00Z."""

    def __init__(self) -> None:
        super().__init__()
        self.caring = Caring(finalize=finalize)

    def append(self, count: int, partition: int = 0, ago_s: float = 0.0, kind: str = "a") -> None:
        at_ms = int((self.clock.now() - ago_s) * 1000)
        value = json.dumps({"type": kind, "at": at_ms}).encode()
        records = [ListedRecord(value, timestamp_ms=at_ms) for _ in range(count)]
        self.cluster.append(TOPIC, partition, *records)

    def marks(self, name: str = "_SUCCESS") -> list[str]:
        keys = list_keys(self.store, "feed/a")
        return [key.split("/", 2)[2] for key in keys if key.endswith(f"/{name}")]

    def run(self, feed: FeedSpec = FINAL) -> None:
        assert self.run_once(feed) == 0
        assert audit(self.journal()).differences == ()


@pytest.fixture
def story() -> FinalStory:
    """A feed with three records of 2027-01-15."""
    story = FinalStory()
    story.append(3)
    story.run()
    return story


def test_nothing_is_complete_while_its_day_lasts_and_for_the_delay_after_it(
    story: FinalStory,
) -> None:
    assert story.marks() == []
    story.clock.passes(16 * 3600 + 400)
    story.run()
    assert story.marks() == [], "it is not ten minutes after midnight"
    assert frontiers(story) == ["2027-01-15"]


def frontiers(story: FinalStory) -> list[str]:
    return [entry.frontier.days_before for entry in story.entries(Finalize)]


def test_an_idle_feed_is_complete_when_the_clock_has_passed_the_delay(story: FinalStory) -> None:
    story.clock.passes(16 * 3600 + 601)
    story.run()
    assert story.marks() == ["day=2027-01-15/_SUCCESS"]
    assert any(line.startswith("finalized: days before 2027-01-16 of 1") for line in story.said)
    story.run()
    assert frontiers(story) == ["2027-01-15", "2027-01-16"]


def test_nothing_is_declared_complete_unless_the_configuration_asks_for_it() -> None:
    story = FinalStory()
    story.append(3)
    story.run(FEED)
    story.clock.passes(3 * DAY_S)
    story.run(FEED)
    assert story.entries(Finalize) == []


def test_late_records_are_delivered_marked_and_told(story: FinalStory) -> None:
    """The story of late data: a day is final, a record of it arrives, and nobody is misled."""
    story.clock.passes(2 * DAY_S)
    story.run()
    assert story.marks() == ["day=2027-01-15/_SUCCESS"]
    story.append(2, ago_s=2 * DAY_S)
    story.append(1)
    story.run()
    assert story.delivered() == places(0, *range(6))
    assert story.marks("_LATE") == ["day=2027-01-15/_LATE"]
    window = story.entries(Window)[-1].window
    late = json.loads(story.store.read("feed/a/day=2027-01-15/_LATE") or b"")
    assert (late["rows"], late["window"]) == (2, window)
    assert [line for line in story.said if line.startswith("late_rows")] == [
        f"late_rows: 2 rows of a came after their day was complete, with window {window}; "
        "a mark `_LATE` lies beside them"
    ]
    story.run()
    assert not any(line.startswith("late_rows") for line in story.said), "told once"


def test_a_partition_that_lags_holds_its_days_back(story: FinalStory) -> None:
    story.clock.passes(2 * DAY_S)
    story.append(1, partition=1)
    story.cluster.lead(TOPIC, 1, is_led=False)
    story.run_once(FINAL)
    assert story.marks() == []


def test_records_of_a_wrong_clock_make_no_day_complete(story: FinalStory) -> None:
    """Partition 1 has yesterday's records left to read; partition 0 one of the year 2033."""
    story.append(1, ago_s=-6 * 365 * DAY_S)
    story.run()
    state = story.journal().open().state
    [known] = [each for _, n, each in state.known_partitions() if n == 0]
    assert known.largest_timestamp_ms <= int((BEGAN_S + 200) * 1000)
    assert story.marks() == []


def test_hours_become_final_one_after_the_other(story: FinalStory) -> None:
    story = FinalStory()
    story.append(1)
    story.run(HOURLY)
    story.clock.passes(3600 + 601)
    story.append(1)
    story.run(HOURLY)
    assert story.marks() == ["day=2027-01-15/hour=08/_SUCCESS"]
    story.clock.passes(DAY_S)
    story.run(HOURLY)
    assert story.marks() == [
        "day=2027-01-15/_SUCCESS",
        "day=2027-01-15/hour=08/_SUCCESS",
        "day=2027-01-15/hour=09/_SUCCESS",
    ]


def test_a_window_that_was_staged_before_its_day_became_final_is_decided_as_late(
    story: FinalStory,
) -> None:
    """Goal: no late row without a mark, nothing read twice. Method: finalize after a read."""

    def meanwhile() -> None:
        frontier = Frontier("2027-01-16")
        list(finalize_to(story.journal(), story.clock.around(), frontier, "me"))

    story.append(2)
    story.cluster.on_read("after", meanwhile)
    before = len(story.cluster.reads)
    story.run()
    assert len(story.cluster.reads) == before + 1
    assert story.marks("_LATE") == ["day=2027-01-15/_LATE"]
    assert story.delivered() == places(0, *range(5))
    assert story.entries(Window)[-1].late == {"a": 2}


def test_a_window_that_is_overtaken_again_and_again_is_read_anew(
    story: FinalStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_room, "DECISIONS", 1)
    around = story.clock.around()

    def meanwhile() -> None:
        list(finalize_to(story.journal(), around, Frontier("2027-01-16"), "me"))

    story.append(2)
    story.cluster.on_read("after", meanwhile)
    before = len(story.cluster.reads)
    story.run()
    assert len(story.cluster.reads) == before + 2
    assert story.delivered() == places(0, *range(5))
    assert story.entries(Window)[-1].late == {"a": 2}


def test_a_lost_reply_or_a_death_between_entry_and_mark_is_made_up_for(story: FinalStory) -> None:
    store = story.store
    assert isinstance(store, MemoryStore)
    frontier = partial(finalize_to, story.journal(), story.clock.around())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.care.command_entries.Finisher.finish_fresh", lambda *_: None)
        list(frontier(Frontier("2027-01-16"), "me"))
    assert story.marks() == []
    story.run()
    assert story.marks() == ["day=2027-01-15/_SUCCESS"]
    assert story.journal().open().state.undone == {}


def test_a_replay_into_a_final_day_is_late(story: FinalStory) -> None:
    story.cluster.append(TOPIC, 0, ListedRecord(b'{"type": "a"', timestamp_ms=1_800_000_000_000))
    story.run()
    list(finalize_to(story.journal(), story.clock.around(), Frontier("2027-01-16"), "me"))

    def none(_order: ReplayOrder) -> StagedReplay:
        return StagedReplay((), ())

    with pytest.raises(EntryRefused, match="none of the records"):
        replay(story.journal(), story.clock.around(), "me", none)
    assert story.journal().open().state.late == {}
