"""What `run --serve` and `run --metrics-file` have around a run, without the run."""

from pathlib import Path

import pytest

from penstock.cli.common import chosen_feeds, configured
from penstock.cli.main import parser
from penstock.cli.serving import observed, watching_of
from penstock.runtime.run_figures import RunFigures
from tests.helpers.http_asking import ask
from tests.helpers.journals import delivered
from tests.helpers.lakes_on_disk import DiskLake

READ = b'penstock_records_read_total{feed="feed"} 3.0'
FAILED = b'penstock_publish_failures_total{dataset="new",feed="feed"} 1.0'


@pytest.fixture(params=["journal in the lake", "journal elsewhere"])
def lake(tmp_path: Path, request: pytest.FixtureRequest) -> DiskLake:
    found = DiskLake(tmp_path, elsewhere=request.param == "journal elsewhere")
    delivered(found.room(["a", "b", "a"]))
    return found


def test_a_run_is_answered_for_and_reported_at_its_end_with_what_it_counted(
    lake: DiskLake, tmp_path: Path
) -> None:
    file = tmp_path / "penstock.prom"
    words = lake.words("run", "feed", "--serve", "--port", "0", "--metrics-file", str(file))
    chosen = parser().parse_args(words)
    spec, figures, told = configured(chosen), RunFigures(), list[str]()
    feeds = chosen_feeds(spec, chosen.feeds)
    with observed(spec, feeds, watching_of(chosen), figures, told.append) as url:
        figures.of("feed").publish_tried("new", has_failed=True)
        found = ask(url, "/metrics").body
        assert READ in found
        assert FAILED in found
        assert not file.exists()
    assert READ in file.read_bytes()
    assert FAILED in file.read_bytes()
    assert told == []


def test_a_run_that_nobody_watches_starts_nothing(lake: DiskLake) -> None:
    chosen = parser().parse_args(lake.words("run"))
    spec = configured(chosen)
    with observed(spec, spec.feeds, watching_of(chosen), RunFigures(), print) as url:
        assert url == ""


def test_a_report_that_fails_is_told_and_the_run_ends_well(lake: DiskLake, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    words = lake.words("run", "--metrics-file", str(folder / "file"))
    chosen = parser().parse_args(words)
    spec, told = configured(chosen), list[str]()
    with observed(spec, spec.feeds, watching_of(chosen), RunFigures(), told.append):
        folder.rmdir()
    (sentence,) = told
    assert "FileNotFoundError" in sentence
