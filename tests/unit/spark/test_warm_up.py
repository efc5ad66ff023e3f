"""What is done while Spark starts: it helps if it works, and does no harm if it does not."""

import sys
from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pytest

from penstock.spark import compiling, warm_up


def test_workers_that_cannot_be_started_are_left_to_the_first_window() -> None:
    session = MagicMock()
    session.range.side_effect = OSError("the JVM is gone")
    warm_up._start(session)
    session.range.assert_called_once()


def test_the_task_that_starts_workers_changes_nothing() -> None:
    batch = pa.RecordBatch.from_pydict({"id": [0]})
    assert list(warm_up.unchanged([batch])) == [batch]


def test_compiling_is_a_program_that_ends_with_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = MagicMock()
    monkeypatch.setattr("subprocess.Popen", started)
    at_exit: list[Any] = []
    monkeypatch.setattr("atexit.register", at_exit.append)
    warm_up.compile_meanwhile()
    [words] = started.call_args.args
    assert words == [sys.executable, "-m", compiling.__name__]
    assert at_exit == [started.return_value.terminate]
