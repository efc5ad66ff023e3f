"""`penstock errors drop` through the command line: what was named is given up, and nothing else."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.audit.ledger import open_ledger
from penstock.audit.quarantine_records import records
from penstock.cli.main import main
from tests.helpers.lakes_on_disk import DiskLake, Payload
from tests.helpers.quarantined_records import (
    GOOD,
    LATER_ID,
    UNTIMED,
    UNTIMED_TOO,
    Live,
    delivered,
    left,
    listed,
    lived_twice,
    shown,
)
from tests.simulator.kafka import TOPIC_ID
from tests.simulator.programs import FEED

UNREADABLE = b'{"type": "click", "at": "soon"}'


def dropped(lake: DiskLake, word: str, *more: str) -> int:
    by_whom = ("--reason", "load test", "--author", "ann", "--execute")
    return main(lake.words("errors", "drop", FEED, word, *by_whom, *more))


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    return DiskLake(tmp_path)


def untimed(lake: DiskLake, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return next(group for group in listed(lake, capsys) if group["reason"] == "TIME_MISSING")


@pytest.mark.parametrize(
    ("second", "rest"),
    [
        ([GOOD, GOOD, UNTIMED_TOO], []),
        ([GOOD, UNTIMED, UNTIMED_TOO], []),
        ([GOOD, UNREADABLE, UNTIMED_TOO], [(LATER_ID, ((1, 2),))]),
    ],
)
def test_a_fingerprint_means_its_records_of_every_life_and_no_others(
    lake: DiskLake,
    capsys: pytest.CaptureFixture[str],
    second: Sequence[Payload],
    rest: Live,
) -> None:
    room = lived_twice(lake, [GOOD, UNTIMED, GOOD], second)
    group = untimed(lake, capsys)
    assert dropped(lake, group["fingerprint"], "--output", "json") == 0
    assert json.loads(capsys.readouterr().out)["dropped"] == group["count"]
    assert left(room) == rest
    assert main(lake.words("audit", FEED)) == 0


def test_a_position_that_two_lives_have_is_refused_until_one_is_named(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    room = lived_twice(lake, [UNTIMED], [UNTIMED_TOO])
    both = [(TOPIC_ID, ((0, 1),)), (LATER_ID, ((0, 1),))]
    assert dropped(lake, "events/0/0") == 2
    told = capsys.readouterr().err
    assert "their topic was created again" in told
    assert f"--topic-id {TOPIC_ID} or --topic-id {LATER_ID}" in told
    assert left(room) == both
    assert dropped(lake, "events/0/0", "--topic-id", "nosuch") == 2
    assert "has no record 'events/0/0'" in capsys.readouterr().err
    assert left(room) == both
    assert dropped(lake, "events/0/0", "--topic-id", LATER_ID) == 0
    assert left(room) == both[:1]
    assert dropped(lake, "events/0/0") == 0
    assert left(room) == []


def test_a_fingerprint_may_be_given_up_in_one_life_alone(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    room = lived_twice(lake, [UNTIMED, UNTIMED], [UNTIMED_TOO])
    assert dropped(lake, untimed(lake, capsys)["fingerprint"], "--topic-id", TOPIC_ID) == 0
    assert left(room) == [(LATER_ID, ((0, 1),))]


def test_records_are_shown_with_the_id_of_their_topic(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    lived_twice(lake, [UNTIMED], [UNTIMED_TOO])
    found = {each["topic_id"]: each["value"] for each in shown(lake, capsys, "events/0/0")}
    assert found == {TOPIC_ID: UNTIMED.decode(), LATER_ID: UNTIMED_TOO.decode()}
    assert main(lake.words("errors", "show", FEED, "events/0/0")) == 0
    assert f"topic id     {LATER_ID}\n" in capsys.readouterr().out


def test_what_is_given_up_is_told_once_and_is_not_there_any_more(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    room = delivered(lake, [GOOD, UNTIMED, UNTIMED_TOO])
    assert dropped(lake, "events/0/1") == 0
    assert "1 record of feed is given up, by entry " in capsys.readouterr().out
    assert left(room) == [(TOPIC_ID, ((2, 3),))]
    assert dropped(lake, "events/0/1") == 2
    assert "has no record 'events/0/1'" in capsys.readouterr().err
    assert main(lake.words("audit", FEED)) == 0
    assert "by ann: load test" in capsys.readouterr().out
    assert main(lake.words("status", FEED)) == 0
    assert "  1 of 2  " in capsys.readouterr().out  # one waits, of all that ever came


def test_without_execute_it_is_only_shown_what_would_be_given_up(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    room = delivered(lake, [GOOD, UNTIMED, UNTIMED_TOO])
    fingerprint = untimed(lake, capsys)["fingerprint"]
    entries = room.journal().open().state.number
    for more, wanted in [((), "--reason and --execute"), (("--reason", "x"), "--execute")]:
        assert main(lake.words("errors", "drop", FEED, fingerprint, *more)) == 0
        told = capsys.readouterr()
        assert told.out == "2 records of feed would be given up\n"
        assert told.err == f"nothing was changed; add {wanted} to give them up\n"
    assert main(lake.words("errors", "drop", FEED, "events/0/1", "--output", "json")) == 0
    [row] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert row == {"feed": FEED, "records": 1, "dropped": 0, "entry": None}
    assert main(lake.words("errors", "drop", FEED, "events/0/0")) == 2
    assert "has no record 'events/0/0'" in capsys.readouterr().err
    assert left(room) == [(TOPIC_ID, ((1, 3),))]
    assert room.journal().open().state.number == entries


@pytest.mark.parametrize("empty", ["--reason", "--author"])
def test_nothing_is_given_up_without_a_reason_and_an_author(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], empty: str
) -> None:
    room = delivered(lake, [UNTIMED])
    words = {"--reason": "load test", "--author": "ann", empty: "  "}
    more = [word for pair in words.items() for word in pair]
    assert main(lake.words("errors", "drop", FEED, "events/0/0", "--execute", *more)) == 2
    told = {"--reason": "`--execute` needs a `--reason`.", "--author": "The author is empty."}
    assert told[empty] in capsys.readouterr().err
    assert left(room) == [(TOPIC_ID, ((0, 1),))]


def test_where_a_file_holds_both_lives_no_id_is_guessed(lake: DiskLake) -> None:
    """Goal: also after somebody has rewritten the quarantine, nothing is given up by a guess."""
    room = lived_twice(lake, [UNTIMED, GOOD], [UNTIMED_TOO, UNTIMED])
    state, ledger = open_ledger(room.journal())
    both = tuple(part for ranges in ledger.quarantine.values() for part in ranges)
    for final in ledger.quarantine:
        ledger.quarantine[final] = both
    found = [(each.position.offset, each.topic_id) for each in records(lake.store, state, ledger)]
    assert sorted(found) == [(0, ""), (0, ""), (1, LATER_ID)]
