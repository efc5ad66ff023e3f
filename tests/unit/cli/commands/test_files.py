"""`penstock files`: what it lists, and what it refuses."""

import json
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.inventory_writer import update_inventory
from tests.helpers.journals import an_owner, delivered
from tests.helpers.lakes_on_disk import DiskLake
from tests.simulator.kafka import BAD
from tests.simulator.programs import FEED, surroundings


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    """A lake with two datasets and a quarantine."""
    made = DiskLake(tmp_path)
    delivered(made.room(["a", BAD, "b", "a"]))
    return made


def test_the_files_of_one_dataset_are_listed_one_a_line(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("files", FEED)) == 0
    every = capsys.readouterr().out.splitlines()
    assert main(lake.words("files", f"{FEED}/a")) == 0
    mine = capsys.readouterr().out.splitlines()
    assert mine
    assert set(mine) < set(every)
    assert all(line.startswith(f"{FEED}/a/") for line in mine)


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize("dataset", ["nobody", "_quarantine", ""])
def test_a_dataset_that_is_not_there_is_refused_and_those_that_are_get_named(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], dataset: str, output: str
) -> None:
    assert main(lake.words("files", f"{FEED}/{dataset}", "--output", output)) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "DATASET_UNKNOWN" in told.err
    assert "Its datasets are: a, b." in told.err


@pytest.mark.parametrize("output", ["text", "json"])
def test_no_file_is_no_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    lake = DiskLake(tmp_path)
    an_owner(lake.room([]))
    assert main(lake.words("files", FEED, "--output", output)) == 0
    assert capsys.readouterr().out == ""


def test_addresses_are_printed_on_request_and_programs_get_both(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("files", f"{FEED}/a")) == 0
    names = capsys.readouterr().out.splitlines()
    assert main(lake.words("files", f"{FEED}/a", "--uri")) == 0
    addresses = capsys.readouterr().out.splitlines()
    assert addresses == [lake.store.uri(name) for name in names]
    assert main(lake.words("files", f"{FEED}/a", "--output", "json")) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["file"], each["uri"]) for each in found] == list(
        zip(names, addresses, strict=True)
    )


def test_programs_get_rows_and_entry(lake: DiskLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(lake.words("files", f"{FEED}/a", "--output", "json")) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum(each["rows"] for each in found) == 2
    assert all(each["entry"] > 0 for each in found)


def test_the_files_of_one_day_are_listed_from_their_shard_alone(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = lake.room([]).journal()
    assert update_inventory(journal, surroundings("keeper"), every=1) is not None
    read: list[str] = []
    real = LocalStore.read

    def noted(store: LocalStore, key: str) -> bytes | None:
        read.append(key)
        return real(store, key)

    monkeypatch.setattr(LocalStore, "read", noted)
    for day, expected in (("2026-11-15", True), ("2026-11-16", False)):
        read.clear()
        assert main(lake.words("files", f"{FEED}/a", "--day", day)) == 0
        assert bool(capsys.readouterr().out) == expected
        assert sum("/inventory/shards/" in key for key in read) == expected
    assert main(lake.words("files", FEED, "--day", "2026-11-15")) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(lake.files())
    assert main(lake.words("files", f"{FEED}/nobody", "--day", "2026-11-15")) == 2


@pytest.mark.parametrize("day", ["yesterday", "2026-11", "2026-02-30", "day=", "", "hour=07"])
def test_a_day_that_cannot_be_is_refused(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], day: str
) -> None:
    """Goal: a job that reads this list never takes a mistyped day for a day without files."""
    with pytest.raises(SystemExit) as ended:
        main(lake.words("files", FEED, "--day", day))
    assert ended.value.code == 2
    assert "is not a day such as 2026-11-15" in capsys.readouterr().err


def test_a_day_may_be_written_as_its_directory(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("files", FEED, "--day", "day=2026-11-15")) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(lake.files())
