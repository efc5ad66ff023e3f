"""Readers that go away: no verdict gets better by it, and no delivery depends on them."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from penstock.cli.output_streams import say
from penstock.cli.run_output import teller
from penstock.errors import StoreUnavailable
from penstock.feeds.heartbeat import Beating, Heart
from penstock.feeds.run_events import Event
from tests.helpers.journals import delivered
from tests.helpers.lakes_on_disk import DiskLake
from tests.helpers.warm_python import WarmPython
from tests.simulator.programs import FEED

MANY = 2_000  # lines: more than any buffer between a command and its reader holds

RUNS = """
import argparse, os, sys
from penstock.cli import main
from penstock.cli.run_output import teller
from penstock.feeds.run_events import Event

def command(chosen):
    tell = teller(os.environ)
    for n in range(3):
        tell(Event("f", "window", "x" * 70_000))
    return int(sys.argv[1])

class Named:
    def get(self):
        return command

class Parser:
    def parse_args(self, _words):
        return argparse.Namespace(command=Named())

main.parser = Parser
sys.exit(main.main([]))
"""


@pytest.fixture
def nobody() -> Iterator[int]:
    """A pipe into which nobody looks."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    found = DiskLake(tmp_path)
    delivered(found.room(["a", "b"]))
    return found


class Penstock(Protocol):
    """A command in a process of its own: its exit code, and what it said on stderr."""

    def __call__(self, *words: str, stdout: int, stderr: int = ...) -> tuple[int, str]: ...


@pytest.fixture
def penstock(warm_python: WarmPython) -> Penstock:
    def run(*words: str, stdout: int, stderr: int = subprocess.PIPE) -> tuple[int, str]:
        command = [sys.executable, "-m", "penstock", *words]
        ran = warm_python.run(command, stdout=stdout, stderr=stderr, text=True)
        return ran.returncode, ran.stderr or ""

    return run


def with_strangers(lake: DiskLake, count: int) -> None:
    """Files that an audit does not expect; each becomes a few lines."""
    home = lake.root / FEED / "a"
    for number in range(count):
        (home / f"stranger-{number}.parquet").write_bytes(b"x")


@pytest.mark.parametrize("count", [1, MANY])
def test_an_audit_that_found_differences_says_so_although_its_reader_is_gone(
    penstock: Penstock, lake: DiskLake, nobody: int, count: int
) -> None:
    """Goal: with one stranger the pipe breaks at the very end, with many in the middle."""
    with_strangers(lake, count)
    code, told = penstock(*lake.words("audit", FEED), stdout=nobody)
    assert code == 4
    assert "AUDIT_DIFFERENCE" in told
    assert "Traceback" not in told
    assert "BrokenPipeError" not in told
    assert penstock(*lake.words("audit", FEED), stdout=nobody, stderr=nobody)[0] == 4


def test_an_audit_goes_on_to_the_next_feed_although_its_reader_is_gone(
    penstock: Penstock, lake: DiskLake, nobody: int
) -> None:
    """Method: `other` was never delivered, which is told after the receipt of `feed` is lost."""
    with_strangers(lake, MANY)
    code, told = penstock(*lake.words("audit", FEED, "other"), stdout=nobody)
    assert code == 4
    assert "other: USAGE" in told


@pytest.mark.parametrize("words", [("audit", FEED), ("status", FEED), ("files", FEED), ("--help",)])
def test_a_command_whose_end_nobody_has_heard_does_not_end_well_and_leaves_no_trace(
    penstock: Penstock, lake: DiskLake, nobody: int, words: tuple[str, ...]
) -> None:
    is_help = words == ("--help",)
    code, told = penstock(*(words if is_help else lake.words(*words)), stdout=nobody)
    assert (code, told) == (0 if is_help else 1, "")


def test_an_error_keeps_its_exit_code_although_nobody_hears_it(
    penstock: Penstock, tmp_path: Path, nobody: int
) -> None:
    words = ("status", "-c", str(tmp_path / "none.yaml"))
    assert penstock(*words, stdout=nobody, stderr=nobody)[0] == 2


@pytest.mark.parametrize("code", [0, 5])
def test_a_run_ends_as_it_would_although_nobody_reads_its_log(
    warm_python: WarmPython, nobody: int, code: int
) -> None:
    command = [sys.executable, "-c", RUNS, str(code)]
    ran = warm_python.run(command, stdout=subprocess.DEVNULL, stderr=nobody)
    assert ran.returncode == code


def test_a_full_disk_under_the_output_is_told_and_no_success(
    penstock: Penstock, lake: DiskLake
) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        code, told = penstock(*lake.words("files", FEED), stdout=full)
    finally:
        os.close(full)
    assert code == 1
    assert told.startswith("the output could not be written: ")
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("is_closed", [False, True])
def test_what_is_told_to_nobody_raises_nothing(nobody: int, is_closed: bool) -> None:
    with os.fdopen(os.dup(nobody), "w", buffering=1) as stream:
        if is_closed:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            stream.close()
        for _ in range(3):
            say("a line", stream)
        if not is_closed:
            teller({}, stream)(Event("f", "window", "x" * 100_000))
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # for its own last flush


class Failing:
    """A feed whose every second beat fails."""

    name = "f"

    def __init__(self) -> None:
        self.beats = 0
        self.is_enough = threading.Event()

    def beat(self) -> None:
        self.beats += 1
        if self.beats == 6:
            self.is_enough.set()
        if self.beats % 2:
            raise StoreUnavailable("create", "k", "EIO")


def test_the_heart_goes_on_although_whoever_is_told_of_its_trouble_is_gone() -> None:
    feed = Failing()

    def trouble(_feed: Beating, _error: Exception) -> None:
        raise BrokenPipeError

    with Heart(trouble, every_s=0.01) as heart:
        heart.beat_for(feed)
        assert feed.is_enough.wait(10.0)


def test_a_reader_that_has_seen_enough_turns_no_difference_into_a_success(lake: DiskLake) -> None:
    """Method: as people type it, `penstock audit | head -1`, with the exit code of the first."""
    with_strangers(lake, MANY)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "penstock", *lake.words("audit", FEED)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=buffered
    ) as audit:
        assert audit.stdout is not None
        audit.stdout.readline()
        audit.stdout.close()
        assert audit.wait(60.0) == 4
