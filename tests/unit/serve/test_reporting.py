"""Reports of a run: whole files, the last one at the end, and failures that harm nobody."""

import threading
from pathlib import Path

import pytest

from penstock.api.reporter import Metric, Metrics, Sample
from penstock.serve.reporting import Reporting
from penstock.serve.text_file import TextFile

SOME = Metrics(1.0, (Metric("penstock_x", "counter", "Something", (Sample(3, {"feed": "f"}),)),))
TEXT = b"""\
# HELP penstock_x_total Something
# TYPE penstock_x_total counter
penstock_x_total{feed="f"} 3.0
"""


class Kept:
    """Keeps what it is given, after it has failed as often as it was told."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.given: list[Metrics] = []
        self.called = threading.Semaphore(0)

    def report(self, metrics: Metrics) -> None:
        self.called.release()
        if self.failures:
            self.failures -= 1
            raise OSError("the disk is full")
        self.given.append(metrics)


def test_the_end_of_a_run_is_reported_also_if_it_was_short() -> None:
    kept = Kept()
    with Reporting([kept], lambda: SOME, print, every_s=3600):
        assert kept.given == []
    assert kept.given == [SOME]


def test_a_long_run_is_reported_meanwhile() -> None:
    kept = Kept()
    with Reporting([kept], lambda: SOME, print, every_s=0.01):
        for _ in range(3):
            assert kept.called.acquire(timeout=20)


def test_a_failure_is_told_once_and_again_only_if_it_comes_back() -> None:
    kept, told = Kept(failures=3), list[str]()
    with Reporting([kept], lambda: SOME, told.append, every_s=0.01):
        for _ in range(5):
            assert kept.called.acquire(timeout=20)
        assert told == ["OSError: the disk is full"]
        kept.failures = 1
        for _ in range(3):
            assert kept.called.acquire(timeout=20)
    assert told == ["OSError: the disk is full"] * 2


def test_metrics_that_cannot_be_read_are_told_and_the_run_goes_on() -> None:
    told = list[str]()

    def fails() -> Metrics:
        raise ValueError("no facts")

    with Reporting([Kept()], fails, told.append, every_s=3600):
        pass
    assert told == ["ValueError: no facts"]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "penstock.prom"
    file.write_bytes(b"older")
    held = file.open("rb")
    TextFile(str(file)).report(SOME)
    assert held.read() == b"older", "who reads it sees one text or the other"
    held.close()
    assert file.read_bytes() == TEXT
    assert file.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [file]


def test_a_report_that_fails_leaves_the_file_before_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "penstock.prom"
    reporter = TextFile(str(file))
    reporter.report(SOME)

    def full(_self: Path, _target: Path) -> Path:
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="full"):
        reporter.report(Metrics(2.0, ()))
    assert file.read_bytes() == TEXT
    assert list(tmp_path.iterdir()) == [file]
