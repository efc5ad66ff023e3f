"""Completeness: what is complete gets its mark, what comes later is late, and nothing is hidden."""

import json
from collections.abc import Iterable
from contextlib import suppress

import msgspec
import pytest

from penstock.audit.shallow import audit
from penstock.care import finalize as finalizing
from penstock.care.command_entries import decide_for_command
from penstock.care.finalize import finalize, finalize_to
from penstock.care.retire import days_before, retire_days
from penstock.care.seek import Approval
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.entries import Finalize, Window
from penstock.model.final_days import Frontier
from penstock.model.finalized import Finalized
from penstock.model.layout import Layout
from penstock.model.spec import DatasetSpec, FeedSpec, FinalizeSpec, PartitionKey, TimeSpec
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_lease import last_beat
from penstock.testing.fault_store import Fault, FaultStore, What
from penstock.testing.list_source import ListedRecord
from tests.helpers.list_story import FEED, TOPIC, Story, places

DATED = msgspec.structs.replace(FEED, time=TimeSpec(field="at"))
HOURS = (PartitionKey("day"), PartitionKey("hour"))
HOURLY = msgspec.structs.replace(DATED, partition=HOURS)


def record(kind: str, at: str) -> ListedRecord:
    """A record whose event time and Kafka's timestamp are the same."""
    whole = f"{at}T07:30:00Z" if "T" not in at else f"{at}:30:00Z"
    return ListedRecord(json.dumps({"type": kind, "at": whole}).encode())


def told(story: Story, *records: tuple[str, str], feed: FeedSpec = DATED) -> Story:
    story.cluster.append(TOPIC, 0, *(record(*each) for each in records))
    assert story.run_once(feed) == 0
    return story


def a_story(*records: tuple[str, str], feed: FeedSpec = DATED) -> Story:
    return told(Story(), *records, feed=feed)


def to(story: Story, days: str = "", hours: str = "") -> list[Finalized]:
    around = story.clock.around()
    return [*finalize_to(story.journal(), around, Frontier(days, hours), "me")]


def marks(story: Story, name: str = "_SUCCESS") -> list[str]:
    """The directories with this mark, without the feed."""
    keys = list_keys(story.store, "feed")
    return [key.rpartition("/")[0][5:] for key in keys if key.rpartition("/")[2] == name]


def mark(story: Story, key: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(story.store.read(key) or b"")
    return found


def is_sound(story: Story) -> bool:
    return audit(story.journal()).differences == ()


def test_days_before_the_frontier_are_marked_by_an_entry_that_the_mark_names() -> None:
    story = a_story(("a", "2026-11-01"), ("b", "2026-11-02"), ("a", "2026-11-03"))
    [finalized] = to(story, "2026-11-03")
    assert marks(story) == ["a/day=2026-11-01", "b/day=2026-11-02"]
    [entry] = story.entries(Finalize)
    assert (entry.datasets, entry.author) == (("a", "b"), "me")
    assert entry.as_of == finalized.entry - 1
    content = mark(story, "feed/a/day=2026-11-01/_SUCCESS")
    sealed = story.journal().require(finalized.entry)
    assert (content["feed"], content["entry"]) == ("feed", finalized.entry)
    assert (content["hash"], content["window"]) == (sealed.sha256, entry.window)
    state = story.journal().open().state
    assert state.final == {"a": Frontier("2026-11-03"), "b": Frontier("2026-11-03")}
    assert (state.undone, state.finalized_at) == ({}, finalized.entry)
    assert is_sound(story)


def test_a_frontier_that_does_not_move_decides_nothing() -> None:
    story = a_story(("a", "2026-11-01"))
    assert len(to(story, "2026-11-03")) == 1
    assert to(story, "2026-11-03") == []
    assert to(story, "2026-11-02") == []
    assert to(story) == []
    assert len(to(story, "2026-11-04")) == 1, "also where no directory becomes final"
    assert marks(story) == ["a/day=2026-11-01"]


def test_hours_are_marked_before_their_day_and_those_of_final_days_no_more() -> None:
    times = ("2026-11-01T05", "2026-11-01T06", "2026-11-02T00", "2026-11-02T01")
    story = a_story(*(("a", time) for time in times), feed=HOURLY)
    to(story, hours="2026-11-01T06")
    assert marks(story) == ["a/day=2026-11-01/hour=05"]
    [finalized] = to(story, "2026-11-02", "2026-11-02T01")
    assert [each.removeprefix("feed/a/day=2026-11-") for each in finalized.directories] == [
        "01/hour=06",
        "01",
        "02/hour=00",
    ]
    story = a_story(*(("a", time) for time in times), feed=HOURLY)
    to(story, "2026-11-02")
    to(story, "2026-11-02", "2026-11-02T01")
    assert marks(story) == ["a/day=2026-11-01", "a/day=2026-11-02/hour=00"]


def test_late_rows_leave_a_mark_with_their_count_and_window() -> None:
    story = a_story(("a", "2026-11-01"), ("a", "2026-11-02"))
    to(story, "2026-11-02")
    told(story, ("a", "2026-11-01"), ("a", "2026-11-01"), ("a", "2026-11-02"))
    assert marks(story, "_LATE") == ["a/day=2026-11-01"]
    late = mark(story, "feed/a/day=2026-11-01/_LATE")
    window = story.entries(Window)[-1]
    assert (late["rows"], late["window"]) == (2, window.window)
    assert (window.late, window.finalized_at) == ({"a": 2}, story.entries(Finalize)[0].as_of + 1)
    state = story.journal().open().state
    assert (state.late["a"].rows, state.late["a"].entries) == (2, 1)
    assert state.late["a"].window == window.window
    assert story.delivered() == places(0, *range(5))
    assert is_sound(story)


def test_each_window_with_late_rows_leaves_a_mark_of_its_own() -> None:
    story = a_story(("a", "2026-11-01"))
    to(story, "2026-11-02")
    told(story, ("a", "2026-11-01"))
    told(story, ("a", "2026-11-01"))
    first, second = (window.window for window in story.entries(Window)[1:])
    assert mark(story, "feed/a/day=2026-11-01/_LATE")["window"] == first
    assert mark(story, f"feed/a/day=2026-11-01/_LATE-{second}")["window"] == second
    assert story.journal().open().state.late["a"].rows == 2


def test_the_hour_and_the_day_of_late_rows_are_marked() -> None:
    story = a_story(("a", "2026-11-01T05"), ("a", "2026-11-02T05"), feed=HOURLY)
    to(story, "2026-11-02", "2026-11-02T06")
    told(story, ("a", "2026-11-01T05"), ("a", "2026-11-02T05"), feed=HOURLY)
    assert marks(story, "_LATE") == [
        "a/day=2026-11-01",
        "a/day=2026-11-01/hour=05",
        "a/day=2026-11-02/hour=05",
    ]


def test_the_mark_of_late_rows_comes_before_their_files() -> None:
    story = a_story(("a", "2026-11-01"))
    to(story, "2026-11-02")
    before = set(list_keys(story.store, "feed/a"))
    whole = story.store
    faults = [Fault("publish", What.FAIL_BEFORE, "*", nth) for nth in range(1, 60)]
    story.store = FaultStore(whole, faults)
    story.cluster.append(TOPIC, 0, record("a", "2026-11-01"))
    story.run_once(DATED)
    story.store = whole
    assert set(list_keys(whole, "feed/a")) - before == {"feed/a/day=2026-11-01/_LATE"}
    assert story.run_once(DATED) == 0
    assert story.delivered() == places(0, 0, 1)
    assert marks(story, "_LATE") == ["a/day=2026-11-01"]
    assert is_sound(story)


def test_a_dataset_with_something_undone_is_left_out_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = a_story(("a", "2026-11-01"), ("b", "2026-11-01"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finalizing, "has_undone", lambda _state, dataset: dataset == "a")
        to(story, "2026-11-02")
    assert marks(story) == ["b/day=2026-11-01"]
    to(story, "2026-11-03")
    assert marks(story) == ["a/day=2026-11-01", "b/day=2026-11-01"]


def test_an_entry_is_decided_again_when_others_came_in_between() -> None:
    """Method: a window of another owner is decided right before the first try to append."""
    story = a_story(("a", "2026-11-01"))
    asked: list[int] = []

    def overtaken(*args: object, **options: object) -> object:
        if not asked:
            asked.append(1)
            told(story, ("a", "2026-11-01"), ("c", "2026-11-01"))
        return decide_for_command(*args, **options)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finalizing, "decide_for_command", overtaken)
        to(story, "2026-11-02")
    assert marks(story) == ["a/day=2026-11-01", "c/day=2026-11-01"]
    assert marks(story, "_LATE") == []
    assert is_sound(story)


def test_entries_are_small_and_go_from_the_oldest_day_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finalizing, "MOST_DIRECTORIES", 2)
    days = [f"2026-11-0{number}" for number in range(1, 6)]
    story = a_story(*(("a", day) for day in days))
    found = to(story, "2026-11-06")
    assert [len(each.directories) for each in found] == [2, 2, 1]
    assert [each.frontier.days_before for each in found] == [
        "2026-11-03",
        "2026-11-05",
        "2026-11-06",
    ]
    assert marks(story) == [f"a/day={day}" for day in days]


def test_a_day_with_more_directories_than_an_entry_should_name_is_not_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finalizing, "MOST_DIRECTORIES", 2)
    story = a_story(*((kind, "2026-11-01") for kind in "abcd"), ("a", "2026-11-02"))
    assert [len(each.directories) for each in to(story, "2026-11-03")] == [4, 1]


@pytest.mark.parametrize("what", [What.FAIL_BEFORE, What.FAIL_AFTER])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_failure_between_two_marks_leaves_no_hole(nth: int, what: What) -> None:
    """Goal: whenever a day is marked, all days before it are. Method: fail at each mark."""
    days = [f"2026-11-0{number}" for number in range(1, 4)]
    story = a_story(*(("a", day) for day in days))
    whole = story.store
    faults = [Fault("create", what, "*/_SUCCESS", each) for each in range(nth, 200)]
    story.store = FaultStore(whole, faults)
    with suppress(StoreUnavailable, OutcomeUnknown):
        to(story, "2026-11-06")
    there = marks(story)
    assert there == [f"a/day={day}" for day in days[: len(there)]]
    assert len(there) < 3 or what is What.FAIL_AFTER
    story.store = whole
    assert story.run_once(DATED) == 0, "the next owner finishes what was decided"
    assert marks(story) == [f"a/day={day}" for day in days]
    assert is_sound(story)


def test_marks_of_other_hands_stay_as_they_are() -> None:
    story = a_story(("a", "2026-11-01"))
    story.store.create("feed/a/day=2026-11-01/_SUCCESS", b"")
    to(story, "2026-11-02")
    assert story.store.read("feed/a/day=2026-11-01/_SUCCESS") == b""
    story.store.create("feed/a/day=2026-11-01/_LATE", b"not ours")
    told(story, ("a", "2026-11-01"))
    window = story.entries(Window)[-1].window
    assert mark(story, f"feed/a/day=2026-11-01/_LATE-{window}")["rows"] == 1
    assert is_sound(story)


def test_late_rows_of_a_final_day_that_was_retired_are_marked() -> None:
    story = a_story(("a", "2026-11-01"))
    to(story, "2026-11-02")
    journal = story.journal()
    old = days_before(journal, "2026-11-02")
    list(retire_days(journal, story.clock.around(), old, Approval("me", "old")))
    told(story, ("a", "2026-11-01"))
    assert marks(story, "_LATE") == ["a/day=2026-11-01"]
    assert is_sound(story)


def test_datasets_without_days_are_never_final() -> None:
    plain = DatasetSpec("plain", partition=(PartitionKey("field", "type"),))
    spec = msgspec.structs.replace(DATED, datasets=(plain,))
    story = a_story(("plain", "2026-11-01"), ("a", "2026-11-01"), feed=spec)
    to(story, "2026-11-02")
    assert story.journal().open().state.final.keys() == {"a"}


def names(found: Iterable[Finalized]) -> list[str]:
    return [each.frontier.days_before for each in found]


def test_what_the_source_has_shown_says_how_far_days_are_complete() -> None:
    """Both partitions are idle, and the owner looked at 08:01:40 of 2027-01-15."""
    story = a_story(("a", "2027-01-14"))
    beat = last_beat(story.store, Layout("feed"))
    assert beat is not None

    def go(delay_s: float) -> list[str]:
        spec, around = FinalizeSpec(delay_s=delay_s), story.clock.around()
        return names(finalize(story.journal(), around, spec, "UTC", beat.note, "finalize"))

    assert go(10 * 3600.0) == ["2027-01-14"]
    assert marks(story) == []
    assert go(600.0) == ["2027-01-15"]
    assert marks(story) == ["a/day=2027-01-14"]


def test_a_partition_that_was_not_read_to_its_end_holds_days_back() -> None:
    story = a_story(("a", "2027-01-14"))
    beat = last_beat(story.store, Layout("feed"))
    assert beat is not None
    more = {TOPIC: {**beat.note.latest[TOPIC], 1: 5}}
    note = msgspec.structs.replace(beat.note, latest=more)
    spec, around = FinalizeSpec(), story.clock.around()
    assert finalize(story.journal(), around, spec, "UTC", note, "finalize") == ()
    assert finalize(story.journal(), around, spec, "UTC", None, "finalize") == ()
