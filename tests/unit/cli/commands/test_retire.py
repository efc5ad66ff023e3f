"""`penstock retire`: what would go, what went, and what a bucket keeps of it."""

import json
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.model.entries import Retire
from penstock.ports.store.local.local_store import LocalStore
from tests.helpers.journals import delivered
from tests.helpers.lakes_on_disk import DiskLake
from tests.simulator.programs import FEED

DAY = "2026-11-15"  # of all files of the simulated tasks
AFTER = "2026-11-16"


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    """A lake with two datasets, of one day."""
    lake = DiskLake(tmp_path)
    delivered(lake.room(["a", "b", "a"]), max_records=1)
    return lake


def retire(lake: DiskLake, *words: str) -> int:
    return main(lake.words("retire", *words))


def test_a_dry_run_prints_each_day_and_changes_nothing(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    before = len(lake.files())
    assert retire(lake, FEED, "--before", AFTER, "--output", "json") == 0
    out = capsys.readouterr()
    rows = [json.loads(line) for line in out.out.splitlines()]
    assert [(r["dataset"], r["day"], r["files"], r["rows"]) for r in rows] == [
        ("a", DAY, 2, 2),
        ("b", DAY, 1, 1),
    ]
    assert sum(r["bytes"] for r in rows) == sum(file.stat().st_size for file in lake.files())
    assert [r["entry"] for r in rows] == [None, None]
    assert "dry run, nothing was changed: 3 files with 3 rows" in out.err
    assert "Add --reason and --execute to remove them" in out.err
    assert len(lake.files()) == before


def test_days_from_the_named_one_on_stay(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert retire(lake, FEED, "--before", DAY, "--execute", "--reason", "old") == 0
    out = capsys.readouterr()
    assert (out.out, out.err) == ("", "nothing to remove\n")
    assert len(lake.files()) == 3


def test_a_dataset_is_retired_with_author_and_reason(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (f"{FEED}/a", "--before", AFTER, "--execute", "--reason", "90 days", "--author", "ann")
    assert retire(lake, *words) == 0
    out = capsys.readouterr()
    assert "done: 2 files with 2 rows removed, by 1 entry" in out.err
    room = lake.room(["a", "b", "a"])
    state = room.journal().open().state
    body = room.journal().require(state.number).body
    assert isinstance(body, Retire)
    assert (body.author, body.reason) == ("ann", "90 days")
    assert str(state.number) in out.out
    assert [file.parent.parent.name for file in lake.files()] == ["b"]
    assert main(lake.words("audit", FEED)) == 0


def test_nothing_is_removed_without_a_reason(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert retire(lake, FEED, "--before", AFTER, "--execute") == 2
    assert "needs a `--reason`" in capsys.readouterr().err
    assert len(lake.files()) == 3


def test_a_dataset_that_there_is_not_is_named_with_those_that_there_are(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert retire(lake, f"{FEED}/nothing", "--before", AFTER) == 2
    assert "Its datasets are: a, b" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["yesterday", "2026-11-31", "2026-11-15T00:00:00Z"])
def test_what_is_no_day_is_refused(
    lake: DiskLake, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        retire(lake, FEED, "--before", word)
    assert "is not a day such as" in capsys.readouterr().err


def test_what_a_bucket_keeps_of_removed_files_is_told(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ["It keeps versions."]
    monkeypatch.setattr(LocalStore, "deleted_stays", lambda _: kept, raising=False)
    retire(lake, FEED, "--before", AFTER)
    assert "It keeps versions." in capsys.readouterr().err
    retire(lake, FEED, "--before", DAY)
    assert "It keeps versions." not in capsys.readouterr().err, "nothing would go"


def test_datasets_without_days_are_refused_or_left_out(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Method: the simulated entries record no directories, so the test tells them."""
    told: dict[str, tuple[str, ...]] = {"a": ("day",), "b": ("by_type",)}
    monkeypatch.setattr("penstock.cli.commands.retire.recorded_directories", lambda _: told)
    assert retire(lake, f"{FEED}/b", "--before", AFTER) == 2
    assert "Nothing tells how old the files are of b: its directories have no day." in (
        capsys.readouterr().err
    )
    assert retire(lake, f"{FEED}/a", "--before", AFTER) == 0
    assert "left out" not in capsys.readouterr().err
    assert retire(lake, FEED, "--before", AFTER) == 0
    assert "left out, since nothing tells how old the files are of b" in capsys.readouterr().err
