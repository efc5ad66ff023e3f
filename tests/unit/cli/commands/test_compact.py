"""`penstock compact` through the command line; the work is done here, not by Spark."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.dataset as ds
import pytest

from penstock.cli.main import main
from penstock.model.entries import Compact, Park
from penstock.model.spec import LakeSpec, PartitionKey
from penstock.runtime.parallel import in_this_process
from tests.helpers.doctored_lakes import SPEC, events
from tests.helpers.journals import an_owner
from tests.helpers.lakes_on_disk import DiskLake, ShreddedSource
from tests.simulator.programs import FEED

CONFIG = """\
version: 1
lake: ./lake
kafka: {bootstrap.servers: "nowhere:1"}
feeds:
  feed: {topics: [events], compact: {min_files: 3}}
"""


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    """Two datasets, each with many small files of one day."""
    made = DiskLake(tmp_path)
    made.config.write_text(CONFIG)
    spec = msgspec.structs.replace(SPEC, partition=(PartitionKey(),))
    owner = an_owner(made.room(), ShreddedSource(made.store, spec, events(40)), max_records=5)
    while owner.run_window():
        pass
    return made


@pytest.fixture(autouse=True)
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every start of what stands in for Spark."""
    started: list[str] = []

    @contextmanager
    def opened(spec: LakeSpec) -> Iterator[Any]:
        started.append(spec.lake.uri)
        yield in_this_process

    monkeypatch.setattr("penstock.cli.commands.compact.parallel_on_spark", opened)
    return started


def compact(lake: DiskLake, *words: str, what: str = FEED) -> int:
    return main(lake.words("compact", what, "--author", "ann", *words))


def rows(lake: DiskLake) -> list[int]:
    found = ds.dataset(lake.root / FEED, format="parquet", exclude_invalid_files=True).to_table()
    return sorted(found["_offset"].to_pylist())


def files(lake: DiskLake) -> dict[str, int]:
    return {name: len(lake.files(f"{FEED}/{name}", "*.parquet")) for name in ("click", "order")}


def test_small_files_become_one_for_each_directory(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    before = rows(lake)
    assert files(lake) == {"click": 8, "order": 8}
    assert compact(lake) == 0
    told = capsys.readouterr()
    assert files(lake) == {"click": 1, "order": 1}
    assert rows(lake) == before
    first, second = told.out.splitlines()
    assert first.startswith(f"{FEED}/click/day=2027-01-15: 8 files of ")
    assert second.startswith(f"{FEED}/order/day=2027-01-15: 8 files of ")
    assert re.search(
        r": 8 files of \d+\.\d KB became 1 of \d\.\d KB, 20 rows, by entry \d+$", first
    )
    assert main(lake.words("audit", FEED)) == 0


def test_programs_get_a_row_for_each_directory(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--execute", "--reason", "a day is over", "--output", "json")
    assert compact(lake, *words, what=f"{FEED}/order") == 0
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert files(lake) == {"click": 8, "order": 1}
    journal = lake.room().journal()
    body = journal.require(row["entry"]).body
    assert isinstance(body, Compact)
    assert (body.author, body.reason) == ("ann", "a day is over")
    (made,) = lake.files(row["directory"], "*.parquet")
    assert main(lake.words("where", FEED, str(made.relative_to(lake.root)))) == 0
    assert "by ann: a day is over" in capsys.readouterr().out
    assert row.pop("bytes") > row.pop("bytes_after") > 0
    assert {key: row[key] for key in ("feed", "dataset", "directory", "files", "into", "rows")} == {
        "feed": FEED,
        "dataset": "order",
        "directory": f"{FEED}/order/day=2027-01-15",
        "files": 8,
        "into": 1,
        "rows": 16,
    }


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_dry_run_shows_what_would_be_done_and_does_nothing(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], starts: list[str], output: str
) -> None:
    assert compact(lake, "--dry-run", "--output", output) == 0
    told = capsys.readouterr()
    assert files(lake) == {"click": 8, "order": 8}
    assert starts == []
    lines = told.out.splitlines()
    assert len(lines) == 2
    if output == "json":
        row = json.loads(lines[0])
        assert (row["files"], row["into"], row["entry"], row["rows"]) == (8, 1, None, None)
    else:
        words = (
            re.escape(f"{FEED}/click/day=2027-01-15") + r": 8 files of \d+\.\d KB would become 1"
        )
        assert re.fullmatch(words, lines[0])
        assert told.err == "nothing was changed; without --dry-run they are rewritten\n"


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_where_nothing_is_worth_it_spark_is_not_started(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], starts: list[str], words: tuple[str, ...]
) -> None:
    assert compact(lake, "--day", "2027-01-16", *words) == 0
    assert capsys.readouterr().out == f"nothing of {FEED} is worth compacting\n"
    assert starts == []


def test_a_dataset_that_is_not_there_is_refused(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compact(lake, what=f"{FEED}/nobody") == 2
    assert "DATASET_UNKNOWN" in capsys.readouterr().err


@pytest.mark.parametrize("what", [FEED, f"{FEED}/click"])
def test_a_parked_dataset_is_left_out_and_named(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    journal = lake.room().journal()
    fold = journal.open()
    journal.append(fold, Park("click", 0, "on purpose"), fold.state.epoch)
    assert compact(lake, what=what) == 0
    told = capsys.readouterr()
    assert files(lake) == {"click": 8, "order": 1 if what == FEED else 8}
    assert "click is parked and left out" in told.err
    assert compact(lake, what=f"{FEED}/order") == 0
    assert "parked" not in capsys.readouterr().err


def test_a_dataset_may_be_named_as_its_directory_or_as_its_route(tmp_path: Path) -> None:
    made = DiskLake(tmp_path)
    made.config.write_text(CONFIG)
    spec = msgspec.structs.replace(SPEC, partition=(PartitionKey(),))
    payloads = [None if each is None else each.replace(b"click", b"a/b") for each in events(40)]
    owner = an_owner(made.room(), ShreddedSource(made.store, spec, payloads), max_records=5)
    while owner.run_window():
        pass
    assert compact(made, what=f"{FEED}/a/b") == 0
    assert len(made.files(f"{FEED}/a%2Fb", "*.parquet")) == 1
    assert compact(made, what=f"{FEED}/a%2Fb") == 0


def test_the_day_narrows_it(lake: DiskLake) -> None:
    assert compact(lake, "--day", "2027-01-15", what=f"{FEED}/click") == 0
    assert files(lake) == {"click": 1, "order": 8}


def test_the_author_is_recorded_so_it_is_never_empty(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("compact", FEED, "--author", " ")) == 2
    assert "The author is empty" in capsys.readouterr().err


def test_the_wide_status_says_what_there_is_to_compact(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("status", FEED, "--wide", "--output", "json")) == 0
    debt = json.loads(capsys.readouterr().out)["compaction_debt"]
    assert debt["files"] == 16
    assert debt["size_bytes"] > 0
    assert main(lake.words("status", FEED, "--wide")) == 0
    assert re.search(r" 16 \(\d+\.\d KB\) ", capsys.readouterr().out)
    assert compact(lake) == 0
    capsys.readouterr()
    assert main(lake.words("status", FEED, "--wide", "--output", "json")) == 0
    assert json.loads(capsys.readouterr().out)["compaction_debt"] == {"files": 0, "size_bytes": 0}
    assert main(lake.words("status", FEED, "--output", "json")) == 0
    assert json.loads(capsys.readouterr().out)["compaction_debt"] is None, "nobody has looked"
