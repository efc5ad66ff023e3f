"""Packages for executors: those that tasks need, in an archive that Python can import from."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from penstock.spark.executor_packages import PENSTOCK, main, needed, pack


def test_what_tasks_need_is_found_with_all_that_it_needs_itself() -> None:
    found = set(needed([(PENSTOCK, frozenset({"s3"}))]))
    assert {"boto3", "botocore", "jmespath", "pyarrow", "numba", "llvmlite", "msgspec"} <= found
    assert not found & {"pyspark", "py4j", "starlette", "anyio", "grpcio", "pytest", "duckdb"}


def test_extras_that_are_not_named_are_left_out() -> None:
    assert "boto3" not in needed([(PENSTOCK, frozenset())])


@pytest.mark.parametrize("name", ["packages.tar.gz", "packages.tar"])
def test_packages_are_imported_from_the_unpacked_archive_with_their_versions(
    name: str, tmp_path: Path
) -> None:
    packages = needed([("python-dateutil", frozenset())])
    assert set(packages) == {"python-dateutil", "six"}
    count = pack(tmp_path / name, list(packages.values()))
    with tarfile.open(tmp_path / name) as archive:
        assert len(archive.getnames()) == count
        archive.extractall(tmp_path / "packages", filter="data")
    code = (
        "import importlib.metadata as m, dateutil.parser as p; print(m.version('six'), p.__file__)"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code],  # without what is installed here
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": "packages"},
    )
    version, file = ran.stdout.split()
    assert version == packages["six"].version
    assert "packages/dateutil/parser" in file


@pytest.mark.parametrize("word", ["s4", "+no-such-plugin"])
def test_a_word_that_leads_to_nothing_is_refused_before_anything_is_written(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "packages.tar"), word])
    assert word.lstrip("+") in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
