"""Logs of the JVM: one per process, named, bounded in number, and gone when nothing is in them."""

import os
from pathlib import Path

import pytest

from penstock.config.places import log_directory
from penstock.spark import log_file
from penstock.spark.log_file import KEPT, close_log, current_log, first_words, open_log

NO_SUCH_PROCESS = 2**22 + 1  # above the largest number that Linux gives


@pytest.fixture(autouse=True)
def no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "_current", [])


def test_the_log_is_named_while_it_is_open_and_removed_if_nothing_is_in_it(tmp_path: Path) -> None:
    log = open_log(tmp_path / "state" / "logs")
    assert log.name == f"spark-{os.getpid()}.log"
    assert current_log() == log
    log.write_text("WARNING: Using incubator modules: jdk.incubator.vector\n")
    close_log(log)
    assert current_log() is None
    assert not log.exists()


def test_a_log_with_a_trace_stays(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.write_text("WARNING: Using incubator modules\n\n2026 ERROR Executor: it failed\n  at x\n")
    assert first_words(log) == "2026 ERROR Executor: it failed"
    close_log(log)
    assert log.exists()


def test_old_logs_of_ended_processes_are_removed_and_others_stay(tmp_path: Path) -> None:
    old = [tmp_path / f"spark-{NO_SUCH_PROCESS + n}.log{'.1' * (n % 2)}" for n in range(KEPT + 5)]
    for age, path in enumerate(old):
        path.write_text("x")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    mine = tmp_path / f"spark-{os.getppid()}.log"
    mine.write_text("of a process that runs")
    os.utime(mine, (1, 1))
    (tmp_path / "notes.txt").write_text("of a person")
    open_log(tmp_path)
    assert [path for path in old if path.exists()] == old[:KEPT]
    assert mine.exists()
    assert (tmp_path / "notes.txt").exists()


def test_where_the_directory_cannot_be_made_the_log_is_temporary(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = open_log(tmp_path / "file" / "logs")
    assert log.parent.name.startswith("penstock-logs-")
    close_log(log)
    log.parent.rmdir()


def test_the_directory_follows_the_state_of_the_user() -> None:
    assert log_directory({"XDG_STATE_HOME": "/s"}) == Path("/s/penstock/logs")
    assert log_directory({"XDG_STATE_HOME": "s", "HOME": "/h"}) == Path(
        "/h/.local/state/penstock/logs"
    )
