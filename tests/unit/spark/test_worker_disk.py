"""What a task cannot send yet waits where Spark keeps its own scratch."""

import tempfile
from pathlib import Path

import pytest

from penstock.config.places import spark_scratch
from penstock.spark import worker_disk
from penstock.spark.worker_disk import spool_on_sparks_disk


def test_the_first_directory_of_spark_that_can_be_written_is_taken(tmp_path: Path) -> None:
    words = {"SPARK_LOCAL_DIRS": f"{tmp_path / 'gone'},{tmp_path}"}
    assert spark_scratch(words) == tmp_path
    assert spark_scratch({"SPARK_LOCAL_DIRS": str(tmp_path / "gone")}) is None
    assert spark_scratch({}) is None


def test_what_an_operator_has_chosen_stays(tmp_path: Path) -> None:
    assert spark_scratch({"SPARK_LOCAL_DIRS": str(tmp_path), "TMPDIR": "/big"}) is None


def test_a_worker_spools_on_sparks_disk_and_any_other_process_where_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_disk, "spark_scratch", lambda: tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    spool_on_sparks_disk()
    assert tempfile.gettempdir() != str(tmp_path)
    monkeypatch.setattr(worker_disk, "is_worker", lambda: True)
    spool_on_sparks_disk()
    assert tempfile.gettempdir() == str(tmp_path)
