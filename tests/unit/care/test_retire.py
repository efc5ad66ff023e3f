"""Retention by day: what is old goes by an entry, dataset by dataset, and all else stays."""

import json
from collections.abc import Iterable

import msgspec
import pytest

from penstock.audit.shallow import audit
from penstock.care import retire as retirement
from penstock.care.done_files import done_files
from penstock.care.retire import (
    days_before,
    first_day_kept,
    retire,
    retire_days,
    retire_old,
    size_of,
    without_days,
)
from penstock.care.seek import Approval
from penstock.errors import EntryRefused
from penstock.model.entries import Retire
from penstock.model.spec import DatasetSpec, PartitionKey, TimeSpec
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedFold
from tests.helpers.list_story import FEED, TOPIC, Story, places
from tests.simulator.programs import surroundings

ME = Approval("me", "past retention")
DATED = msgspec.structs.replace(FEED, time=TimeSpec(field="at"))
HOURLY = (PartitionKey("day"), PartitionKey("hour"))


def record(kind: str, day: str) -> bytes:
    return json.dumps({"type": kind, "at": f"{day}T07:30:00Z"}).encode()


def told(story: Story, *records: tuple[str, str]) -> Story:
    story.cluster.append(TOPIC, 0, *(record(*each) for each in records))
    assert story.run_once(DATED) == 0
    return story


def a_story(*records: tuple[str, str]) -> Story:
    return told(Story(), *records)


def retired(story: Story, before: str, dataset: str = "") -> list[tuple[str, int]]:
    """What goes, as datasets and rows, in the order of the entries."""
    journal = story.journal()
    days = days_before(journal, before, dataset)
    return [(e.dataset, e.rows) for e in retire_days(journal, story.clock.around(), days, ME)]


def directories(story: Story) -> list[str]:
    keys = [key for key in list_keys(story.store, "feed") if key.endswith(".parquet")]
    return sorted({key.rpartition("/")[0] for key in keys})


def is_sound(story: Story) -> bool:
    return audit(story.journal()).differences == ()


def test_days_before_the_day_go_and_the_day_itself_stays() -> None:
    story = a_story(("a", "2026-11-01"), ("a", "2026-11-02"), ("a", "2026-11-03"))
    assert retired(story, "2026-11-03") == [("a", 2)]
    assert directories(story) == ["feed/a/day=2026-11-03"]
    assert story.delivered() == places(0, 2)
    [entry] = story.entries(Retire)
    assert (entry.author, entry.reason) == ("me", "past retention")
    assert is_sound(story)


def test_an_entry_is_about_one_dataset_and_others_stay_when_one_is_named() -> None:
    story = a_story(("a", "2026-11-01"), ("b", "2026-11-01"), ("c", "2026-11-01"))
    assert retired(story, "2026-12-01", "b") == [("b", 1)]
    assert retired(story, "2026-12-01") == [("a", 1), ("c", 1)]
    assert len(story.entries(Retire)) == 3
    assert directories(story) == []


def test_hours_go_with_their_day() -> None:
    story = Story()
    spec = msgspec.structs.replace(DATED, partition=HOURLY)
    story.cluster.append(TOPIC, 0, record("a", "2026-11-01"), record("a", "2026-11-02"))
    assert story.run_once(spec) == 0
    assert retired(story, "2026-11-02") == [("a", 1)]
    assert directories(story) == ["feed/a/day=2026-11-02/hour=07"]


def test_what_would_go_is_shown_with_files_rows_and_bytes_and_nothing_is_changed() -> None:
    story = a_story(("a", "2026-11-01"), ("a", "2026-11-01"), ("a", "2026-11-05"))
    before = story.journal().open().state.number
    [day] = days_before(story.journal(), "2026-11-05")
    assert (day.dataset, day.day, len(day.files), day.rows, day.waiting) == (
        ("a", "2026-11-01", 1, 2, 0)
    )
    assert size_of(story.store, day) == story.store.head(day.files[0])
    assert story.journal().open().state.number == before


def test_a_dataset_without_days_is_named_and_never_retired() -> None:
    story = Story()
    plain = DatasetSpec("plain", partition=(PartitionKey("field", "type"),))
    spec = msgspec.structs.replace(DATED, datasets=(plain,))
    story.cluster.append(TOPIC, 0, record("plain", "2026-11-01"), record("a", "2026-11-01"))
    assert story.run_once(spec) == 0
    state = story.journal().open().state
    assert without_days(state.directories) == ["plain"]
    assert retired(story, "2030-01-01") == [("a", 1)]
    assert directories(story) == ["feed/plain/by_type=plain"]


def test_late_data_in_a_retired_day_is_delivered_and_goes_with_the_next_round() -> None:
    story = a_story(("a", "2026-11-01"))
    retired(story, "2026-11-02")
    told(story, ("a", "2026-11-01"))
    assert story.delivered() == places(0, 1)
    assert is_sound(story)
    assert retired(story, "2026-11-02") == [("a", 1)]
    assert directories(story) == []
    assert retired(story, "2026-11-02") == []
    assert is_sound(story)


def test_many_files_go_by_several_entries_oldest_days_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retirement, "MOST_FILES", 2)
    days = [f"2026-11-0{number}" for number in (3, 1, 2, 5, 4)]
    story = a_story(*(("a", day) for day in days))
    journal = story.journal()
    found = days_before(journal, "2026-11-06")
    went = retire_days(journal, story.clock.around(), found, ME)
    next(went)
    assert [each[-2:] for each in directories(story)] == ["03", "04", "05"]
    assert [len(each.files) for each in went] == [2, 1]
    assert directories(story) == []


def test_what_a_compaction_has_consumed_meanwhile_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goal: no retirement of what is gone. Method: another one between the look and the append."""
    story = a_story(("a", "2026-11-01"), ("a", "2026-11-02"))
    real, journal = done_files, story.journal()

    def overtaken(fold: FeedFold, dataset: str, day: str = "") -> tuple[str, ...]:
        found = real(fold, dataset, day)
        if not story.entries(Retire) and day == "2026-11-02":
            monkeypatch.setattr(retirement, "done_files", real)
            retire(story.journal(), surroundings("other"), "a", found, "other", "faster")
        return found

    monkeypatch.setattr(retirement, "done_files", overtaken)
    days = days_before(journal, "2026-11-05")
    [mine] = retire_days(journal, story.clock.around(), days, ME)
    assert [final.split("/")[2] for final in mine.files] == ["day=2026-11-01"]
    assert [entry.author for entry in story.entries(Retire)] == ["other", "me"]
    assert is_sound(story)


def test_what_is_refused_again_and_again_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    story = a_story(("a", "2026-11-01"))

    def refused(*_: object) -> None:
        raise EntryRefused("retention", "others are faster")

    monkeypatch.setattr(retirement, "decide_for_command", refused)
    journal = story.journal()
    with pytest.raises(EntryRefused):
        list(retire_days(journal, story.clock.around(), days_before(journal, "2026-12-01"), ME))


def test_the_files_of_a_parked_dataset_wait() -> None:
    story = a_story(("a", "2026-11-01"))
    journal = story.journal()
    [whole] = days_before(journal, "2026-11-02")

    def pending(*_: object) -> bool:
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retirement, "is_pending", pending)
        [day] = days_before(journal, "2026-11-02")
    assert (day.files, day.rows, day.waiting) == ((), 0, len(whole.files))
    assert list(retire_days(journal, story.clock.around(), [day], ME)) == []


@pytest.mark.parametrize(
    ("zone", "now_s", "kept"),
    [
        ("UTC", 1_800_000_000.0, "2027-01-05"),  # 2027-01-15T08:00:00Z
        ("UTC", 1_799_971_200.0, "2027-01-05"),  # midnight
        ("UTC", 1_799_971_199.0, "2027-01-04"),  # a second before
        ("America/New_York", 1_799_971_200.0, "2027-01-04"),
        ("Asia/Tokyo", 1_799_971_199.0, "2027-01-05"),
    ],
)
def test_a_day_goes_when_its_last_moment_is_older_than_is_kept(
    zone: str, now_s: float, kept: str
) -> None:
    assert first_day_kept(now_s, 10 * 86_400.0, zone) == kept


def test_the_configuration_retires_by_the_clock_a_bounded_part_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retirement, "MOST_ENTRIES", 1)
    story = a_story(("a", "2026-11-01"), ("b", "2026-11-02"), ("b", "2027-01-14"))
    around, day_s = story.clock.around(), 86_400.0

    def go() -> Iterable[str]:
        return [each.dataset for each in retire_old(story.journal(), around, 10 * day_s, "UTC")]

    assert (go(), go(), go()) == (["a"], ["b"], [])
    assert directories(story) == ["feed/b/day=2027-01-14"]
    [first, _] = story.entries(Retire)
    assert first.author == "retain"
    assert first.reason == "days before 2027-01-05 are older than the configuration keeps"
