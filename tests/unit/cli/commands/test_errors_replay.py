"""`penstock errors replay` through the command line; the work is done here, not by Spark."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from penstock.care.replay import live_records
from penstock.cli.main import main
from penstock.model.spec import LakeSpec
from penstock.runtime.parallel import in_this_process
from tests.helpers.journals import an_owner, decided_only
from tests.helpers.lakes_on_disk import DiskLake, ShreddedSource
from tests.helpers.quarantined_records import (
    GOOD,
    SPEC,
    UNTIMED,
    UNTIMED_TOO,
    Dated,
    delivered,
    left,
    listed,
    lived_twice,
)
from tests.simulator.kafka import TOPIC_ID
from tests.simulator.programs import FEED

MENDED = """\
version: 1
lake: ./lake
kafka: {bootstrap.servers: "nowhere:1"}
feeds:
  feed:
    topics: [events]
    route: {by: "field:type"}
    time: {field: at, unit: s, missing: 2026-01-01}
  other: {topics: [events]}
"""
TORN = b'{"type": "click"'
MIXED = (GOOD, UNTIMED, TORN, UNTIMED_TOO, GOOD)


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    """A lake whose configuration was mended: records without a time are content with a day."""
    found = DiskLake(tmp_path)
    found.config.write_text(MENDED)
    return found


@pytest.fixture(autouse=True)
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every start of what stands in for Spark."""
    started: list[str] = []

    @contextmanager
    def opened(spec: LakeSpec) -> Iterator[Any]:
        started.append(spec.lake.uri)
        yield in_this_process

    monkeypatch.setattr("penstock.cli.commands.errors_replay.parallel_on_spark", opened)
    return started


def replayed(lake: DiskLake, *words: str) -> int:
    return main(lake.words("errors", "replay", FEED, "--author", "ann", *words))


def rows(lake: DiskLake) -> list[int | None]:
    """What the lake has of records without a time: their numbers."""
    table = ds.dataset(lake.root / FEED / "click", format="parquet", exclude_invalid_files=True)
    found = [row.get("n") for row in table.to_table().to_pylist()]
    return sorted(n for n in found if n is not None)


def test_what_is_whole_now_is_delivered_and_the_rest_stays(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    room = delivered(lake, MIXED)
    assert replayed(lake) == 0
    told = capsys.readouterr()
    assert told.out.startswith("2 records of feed are delivered, by entry ")
    assert told.err.startswith("1 record stays in the quarantine: NOT_JSON, ")
    assert told.err.endswith("; at events/0/2\n")
    assert rows(lake) == [1, 2]
    assert left(room) == [(TOPIC_ID, ((2, 3),))]
    assert main(lake.words("audit", FEED)) == 0


def test_all_that_stays_is_a_result_for_programs_too(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    delivered(lake, [GOOD, TORN])
    assert replayed(lake, "--output", "json") == 0
    row = json.loads(capsys.readouterr().out)
    stays = {"NOT_JSON": 1}
    (why,) = row.pop("why")
    assert (why["reason"], why["records"], why["first"]) == ("NOT_JSON", 1, "events/0/1")
    assert row == {"feed": FEED, "delivered": 0, "entry": None, "entries": [], "stays": stays}


def test_every_entry_of_a_replay_is_named(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    room = lived_twice(lake, [UNTIMED], [UNTIMED_TOO])
    assert replayed(lake, "--output", "json") == 0
    row = json.loads(capsys.readouterr().out)
    assert row["delivered"] == 2
    assert row["entries"] == [row["entry"], row["entry"] + 1]
    assert left(room) == []
    assert rows(lake) == [1, 2]
    assert main(lake.words("audit", FEED)) == 0


def test_a_group_or_a_dataset_may_be_replayed_alone(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    room = delivered(lake, MIXED)
    groups = {group["reason"]: group["fingerprint"] for group in listed(lake, capsys)}
    assert replayed(lake, "--fingerprint", groups["NOT_JSON"]) == 0
    assert "0 records of feed are delivered\n" in capsys.readouterr().out
    assert replayed(lake, "--dataset", "-") == 0
    assert "0 records of feed are delivered\n" in capsys.readouterr().out
    assert len(left(room)) == 2
    assert replayed(lake, "--dataset", "click", "--fingerprint", groups["TIME_MISSING"]) == 0
    assert left(room) == [(TOPIC_ID, ((2, 3),))]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--fingerprint", "nosuch"), "with fingerprint 'nosuch'"),
        (("--dataset", "nosuch"), "of dataset 'nosuch'"),
        (("--dataset", ".."), "of dataset '..'"),
        (
            ("--dataset", "click", "--fingerprint", "nosuch"),
            "with fingerprint 'nosuch' of dataset 'click'",
        ),
    ],
)
def test_a_group_or_a_dataset_that_is_not_there_is_said_so(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], what: str
) -> None:
    room = delivered(lake, MIXED)
    before = left(room)
    assert replayed(lake, *words) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"The quarantine of feed 'feed' has no record {what}." in told.err
    assert left(room) == before


def test_an_empty_quarantine_is_said_so_without_starting_spark(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], starts: list[str]
) -> None:
    delivered(lake, [GOOD])
    assert replayed(lake) == 0
    told = capsys.readouterr()
    assert told.out == "0 records of feed are delivered\n"
    assert told.err == "no record of feed feed is in the quarantine\n"
    assert replayed(lake, "--output", "json") == 0
    assert json.loads(capsys.readouterr().out)["entries"] == []
    assert replayed(lake, "--dataset", "click") == 2
    assert starts == []


def test_records_that_are_not_visible_yet_are_announced(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    decided_only(an_owner(lake.room([]), ShreddedSource(lake.store, SPEC, MIXED), max_records=9))
    assert replayed(lake) == 1
    told = capsys.readouterr().err
    assert "decided but not yet visible: 3 more records" in told
    assert "ENTRY_REFUSED" in told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--dataset", ""), "--dataset is empty."),
        (("--fingerprint", ""), "--fingerprint is empty."),
        (("--author", "   "), "The author is empty."),
    ],
)
def test_an_empty_word_is_a_mistake_and_not_everything(
    lake: DiskLake,
    capsys: pytest.CaptureFixture[str],
    starts: list[str],
    words: tuple[str, ...],
    sentence: str,
) -> None:
    room = delivered(lake, MIXED)
    before = left(room)
    assert replayed(lake, *words) == 2
    assert sentence in capsys.readouterr().err
    assert (left(room), starts) == (before, [])


def test_a_feed_that_never_ran_has_nothing_to_replay(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], starts: list[str]
) -> None:
    assert replayed(lake) == 2
    assert "Nothing was delivered by feed 'feed' yet." in capsys.readouterr().err
    assert starts == []


def test_who_replays_is_kept(lake: DiskLake) -> None:
    room = delivered(lake, MIXED)
    assert replayed(lake, "--author", "  bob ") == 0
    entries = sorted((lake.root / "_penstock" / FEED / "journal").rglob("*.json"))
    bodies = [json.loads(path.read_text())["body"] for path in entries]
    assert [body["author"] for body in bodies if body["kind"] == "replay"] == ["bob"]
    assert live_records(room.journal().open(deep=True))


@pytest.mark.parametrize("kafka_ms", [-(2**63), 253_402_300_800_000, 2**63 - 1])
def test_a_record_with_a_time_of_no_calendar_comes_back_whole(
    lake: DiskLake, kafka_ms: int
) -> None:
    source = Dated(lake.store, SPEC, MIXED)
    source.kafka_ms = kafka_ms
    room = lake.room([])
    assert an_owner(room, source, max_records=9).run_window()
    assert replayed(lake) == 0
    assert left(room) == [(TOPIC_ID, ((2, 3),))]
    assert main(lake.words("audit", FEED)) == 0
