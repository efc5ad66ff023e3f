"""`penstock finalize` and `penstock wait`: days are declared complete, and others wait for that."""

import json
from pathlib import Path

import pytest

from penstock.care.finalize import finalize_to
from penstock.cli.commands import wait as waiting
from penstock.cli.main import main
from penstock.model.entries import Finalize
from penstock.model.final_days import Frontier
from penstock.protocol.feed_book.feed_lease import FeedLease, Note
from penstock.protocol.journal.lease import Contender
from penstock.runtime.this_process import this_process
from tests.helpers.clock import Clock
from tests.helpers.journals import LAYOUT, delivered
from tests.helpers.lakes_on_disk import CONFIG, DiskLake
from tests.simulator.kafka import TOPIC
from tests.simulator.programs import FEED, surroundings

DAY = "2026-11-15"  # of all files of the simulated tasks
AFTER = Frontier("2026-11-16")
FINAL = "topics: [events], finalize: {hour: true}"


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    """A lake with two datasets, whose owner asks for completeness."""
    lake = DiskLake(tmp_path)
    lake.config.write_text(CONFIG.replace("feed: {topics: [events]}", f"feed: {{{FINAL}}}"))
    delivered(lake.room(["a", "b", "a"]), max_records=1)
    return lake


def declare(lake: DiskLake, frontier: Frontier = AFTER) -> None:
    room = lake.room(["a", "b", "a"])
    assert list(finalize_to(room.journal(), room.around, frontier, "me"))


def leave_beat(lake: DiskLake, looked_at: str, latest: int = 3) -> None:
    lease = FeedLease(
        lake.store,
        LAYOUT,
        Contender("me", this_process(), lambda _: False),
        surroundings("beat"),
    )
    assert lease.try_take() is None
    lease.beat(Note(latest={TOPIC: {0: latest}}, looked_at=looked_at))


def test_days_that_the_source_has_passed_are_declared_complete(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_beat(lake, "2026-11-16T00:11:00+00:00")
    assert main(lake.words("finalize", FEED, "--author", "ann", "--output", "json")) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["days_before"], row["hours_before"]) == ("2026-11-16", "2026-11-16T00")
    assert (row["datasets"], row["directories"]) == (2, 2)
    assert [path.parts[-3:] for path in lake.files(ending="_SUCCESS")] == [
        ("a", f"day={DAY}", "_SUCCESS"),
        ("b", f"day={DAY}", "_SUCCESS"),
    ]
    journal = lake.room().journal()
    body = journal.require(row["entry"]).body
    assert isinstance(body, Finalize)
    assert body.author == "ann"
    assert main(lake.words("audit", FEED)) == 0
    assert main(lake.words("files", FEED)) == 0
    assert "_SUCCESS" not in capsys.readouterr().out.replace("audit", "")


@pytest.mark.parametrize(
    ("looked_at", "latest", "why"),
    [
        ("2026-11-15T23:59:00+00:00", 3, "every partition has passed 2026-11-15T23:59:00+00:00"),
        ("2026-11-17T00:00:00+00:00", 4, "of some partition nothing was read yet"),
    ],
)
def test_what_is_not_complete_yet_is_said_with_the_reason(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], looked_at: str, latest: int, why: str
) -> None:
    declare(lake, Frontier(DAY, f"{DAY}T23"))
    leave_beat(lake, looked_at, latest)
    assert main(lake.words("finalize", FEED)) == 0
    assert why in capsys.readouterr().err


def test_waiting_ends_at_once_when_the_day_is_complete(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(lake)
    assert main(lake.words("wait", FEED, "--complete", DAY)) == 0
    assert capsys.readouterr().err == f"{FEED}: {DAY} is complete\n"
    assert main(lake.words("wait", f"{FEED}/a", "--complete", DAY, "--output", "json")) == 0
    row = json.loads(capsys.readouterr().out)
    assert row == {"feed": FEED, "dataset": "a", "complete": DAY}
    assert main(lake.words("wait", FEED, "--complete", f"{DAY}T07")) == 0, "an hour of the day"


def test_waiting_ends_with_its_own_code_and_says_what_is_missing(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(lake)
    assert main(lake.words("wait", FEED, "--complete", "2026-11-16", "--timeout", "0s")) == 75
    err = capsys.readouterr().err
    assert "NOT_COMPLETE_YET: 2026-11-16 of feed is not complete after 0 s" in err
    assert "a has days before 2026-11-16 complete; b has days before 2026-11-16 complete" in err


def test_waiting_goes_on_until_it_is_declared(
    lake: DiskLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    around, slept = clock.around(), []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.passes(seconds)
        if len(slept) == 3:
            declare(lake)

    monkeypatch.setattr(waiting, "surroundings", lambda: around)
    object.__setattr__(around, "sleep", sleep)
    assert main(lake.words("wait", FEED, "--complete", DAY, "--timeout", "10m")) == 0
    assert slept == [10.0] * 3


def test_waiting_for_what_nobody_declares_is_refused(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.config.write_text(CONFIG)
    assert main(lake.words("wait", FEED, "--complete", DAY)) == 2
    assert "Nothing declares days of feed 'feed' complete." in capsys.readouterr().err
    lake.config.write_text(CONFIG.replace("topics: [events]", "topics: [events], finalize: {}"))
    assert main(lake.words("wait", FEED, "--complete", f"{DAY}T07")) == 2
    assert "Nothing declares hours" in capsys.readouterr().err
    assert main(lake.words("wait", f"{FEED}/nothing", "--complete", DAY)) == 2


@pytest.mark.parametrize(
    "words", [("--complete", "yesterday"), ("--complete", f"{DAY}T24"), ("--timeout", "soon")]
)
def test_what_is_no_day_and_no_hour_is_refused(lake: DiskLake, words: tuple[str, str]) -> None:
    with pytest.raises(SystemExit):
        main(lake.words("wait", FEED, "--complete", DAY, *words))


def test_status_shows_what_is_complete_and_what_came_late(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(lake)
    delivered(lake.room(["a", "b", "a", "b"]))
    main(lake.words("status", FEED))
    text = " ".join(capsys.readouterr().out.split())
    assert "complete: days before 2026-11-16" in text
    assert "1 row of b came after their day or hour was complete, the last with window" in text
    main(lake.words("status", FEED, "--output", "json"))
    row = json.loads(capsys.readouterr().out)
    assert row["final"]["a"] == {"days_before": "2026-11-16", "hours_before": ""}
    assert row["late"]["b"]["rows"] == 1
