"""`penstock clean`: what it shows, what it removes, and what it leaves."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.datapath.codec.shared import code_cache
from penstock.model.staged import StagingSpot
from tests.helpers.journals import LAYOUT, an_owner, delivered
from tests.helpers.lakes_on_disk import DiskLake
from tests.simulator.programs import FEED

OLD = "0" * 16


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DiskLake]:
    """A lake in which a dead run has left two staged files and a manifest; and old code."""
    monkeypatch.setattr(code_cache, "cache_directory", lambda: tmp_path / "cache")
    monkeypatch.setattr(code_cache.old_code, "__defaults__", (1,))
    code_cache.code_place.cache_clear()
    (tmp_path / "cache/compiled" / OLD).mkdir(parents=True)
    made = DiskLake(tmp_path)
    room = delivered(made.room(["a", "b", "a"]))
    for window, attempt in (("1-7", "t1"), ("1-7", "t2"), ("2-1", "t3")):
        spot = StagingSpot(LAYOUT.staging, window, attempt)
        room.store.open_staged("feed/a/left", spot).finish()
    room.store.create(LAYOUT.manifest("1-7-abc"), b"")
    an_owner(room)
    yield made
    code_cache.code_place.cache_clear()


FOUND = [
    {"kind": "staged", "window": "1-7", "objects": 2},
    {"kind": "manifests", "window": "1-7", "objects": 1},
    {"kind": "code", "window": None, "objects": 1},
]


def test_garbage_is_shown_by_kind_and_nothing_is_removed(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(lake.root.rglob("*"))
    assert main(lake.words("clean", FEED)) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split() for line in out[1:-2]] == [
        ["staged", "1-7", "2"],
        ["manifests", "1-7", "1"],
        ["code", "-", "1"],
    ]
    assert out[-2] == "4 objects that nobody needs; --execute removes them"
    assert sorted(lake.root.rglob("*")) == before


def test_what_is_removed_is_told_by_kind(
    lake: DiskLake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("clean", FEED, "--execute", "--output", "json")) == 0
    told = json.loads(capsys.readouterr().out)
    removed = {kind: count for kind, count in told["removed"].items() if count}
    assert (told["feed"], told["found"]) == (FEED, FOUND)
    assert removed == {"staged": 2, "manifests": 1, "code": 1}
    assert [path.parent.name for path in lake.root.rglob("*.staged")] == ["2-1"]
    assert not (tmp_path / "cache/compiled" / OLD).exists()
    assert main(lake.words("clean", FEED, "--execute")) == 0
    assert capsys.readouterr().out.startswith("nothing to remove\n1 staged file of epoch 2, ")


def test_the_summary_names_kinds(lake: DiskLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(lake.words("clean", FEED, "--execute")) == 0
    assert capsys.readouterr().out.splitlines()[-2] == "removed: staged 2, manifests 1, code 1"


def test_what_a_killed_run_has_left_is_told_though_it_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Goal: right after kill -9 nobody reads that nothing is there."""
    lake = DiskLake(tmp_path)
    room = delivered(lake.room(["a", "b", "a"]))
    epoch = room.journal().open().state.epoch
    for attempt in ("t1", "t2"):
        spot = StagingSpot(LAYOUT.staging, f"{epoch}-7", attempt)
        room.store.open_staged("feed/a/left", spot).finish()
    assert main(lake.words("clean", FEED)) == 0
    told = capsys.readouterr().out.splitlines()[-1]
    assert told.startswith(f"2 staged files of epoch {epoch}, the newest, stay: ")
    assert told.endswith("the next run removes them")
    assert main(lake.words("clean", FEED, "--output", "json")) == 0
    assert json.loads(capsys.readouterr().out)["newest"] == {"epoch": epoch, "staged": 2}
