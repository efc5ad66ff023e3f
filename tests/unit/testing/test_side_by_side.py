"""Sharing the files of a folder between processes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.side_by_side import ROOT, place_of_files, run_shares, shares


def test_shares_end_at_about_the_same_time_and_have_every_file_once() -> None:
    stored = {"a": 6.0, "b": 3.0, "c": 3.0}
    assert shares(["a", "b", "c"], stored, 2) == [["a"], ["b", "c"]]


def test_a_file_that_nobody_measured_counts_as_a_short_one() -> None:
    assert shares(["new", "a"], {"a": 1.0}, 2) == [["a"], ["new"]]


def test_no_process_is_started_for_nothing() -> None:
    assert shares(["a"], {}, 4) == [["a"]]


def test_a_folder_without_tests_is_told() -> None:
    command = [sys.executable, "-m", "tests.side_by_side", "tests/fixtures"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (5, "there are no tests in tests/fixtures\n")


def test_files_lie_in_memory_where_there_is_room(tmp_path: Path) -> None:
    assert place_of_files(tmp_path, least_bytes=1) == tmp_path
    assert place_of_files(tmp_path, least_bytes=1 << 60) is None
    assert place_of_files(tmp_path / "none", least_bytes=1) is None


PROGRAM = """
from pathlib import Path
def test_good(tmp_path): (tmp_path / "good").touch()
def test_bad(tmp_path): assert (tmp_path / "bad").touch()
"""


def test_the_files_of_tests_that_fail_are_kept_and_no_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test_two.py"
    file.write_text(PROGRAM)
    place = tmp_path / "place"
    place.mkdir()
    options = [f"--rootdir={tmp_path}", "--import-mode=importlib"]
    assert run_shares([[f"{file}::test_good"], [f"{file}::test_bad"]], options, place) == 1
    said = capfd.readouterr()
    assert "1 passed" in said.out
    assert "1 failed" in said.out
    (kept,) = place.iterdir()
    assert said.err == f"files of tests that failed: {kept}\n"
    assert {each.name for each in kept.glob("*/*/*")} == {"bad"}


def test_nothing_is_kept_when_all_is_well(tmp_path: Path) -> None:
    assert run_shares([[]], ["--version"], tmp_path) == 0
    assert list(tmp_path.iterdir()) == []
