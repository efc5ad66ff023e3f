"""Sharing the files of a folder between processes."""

import subprocess
import sys

from tests.side_by_side import ROOT, shares


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
