"""`run` does not wait for a Spark that it will not need: refused, or stopped while Spark starts."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext

from penstock.cli.main import main
from tests.helpers.doctored_lakes import DoctoredLake, events
from tests.helpers.slow_spark import SlowSpark
from tests.simulator.kafka import TOPIC
from tests.simulator.programs import FEED


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DoctoredLake]:
    lake = DoctoredLake(tmp_path, events(20), 10)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(SparkContext, "_gateway", None)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield lake
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlowSpark:
    return SlowSpark(tmp_path / "spark", monkeypatch)


def test_a_refused_configuration_ends_the_run_although_spark_still_starts(
    lake: DoctoredLake, slow: SlowSpark, capsys: pytest.CaptureFixture[str]
) -> None:
    text = lake.config.read_text()
    assert f"  {FEED}: {{topics: [{TOPIC}]}}\n" in text
    lake.config.write_text(text.replace("{topics", "{format: orc, topics", 1))
    assert main(lake.words("run", FEED, "--once")) != 0
    printed = capsys.readouterr()
    assert "FORMAT_CHANGED" in printed.out + printed.err
    assert not (slow.home / "waited").exists()
    assert not (slow.home / "begun").exists() or slow.is_gone


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_while_spark_starts_ends_with_success(
    lake: DoctoredLake, slow: SlowSpark, number: signal.Signals
) -> None:
    def stop() -> None:
        slow.wait_until_begun()
        os.kill(os.getpid(), number)

    stopper = threading.Thread(target=stop)
    stopper.start()
    assert main(lake.words("run")) == 0
    stopper.join()
    assert slow.is_gone
