"""What a Python worker of Spark keeps from its daemon, and what it forgets."""

import sys
import zipfile
from pathlib import Path

import pytest

from penstock.runtime.worker import forget_archives
from penstock.spark.daemon import without_archives


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A place for packages that has a pyspark, which has its own zip inside."""
    package = tmp_path / "site" / "pyspark"
    (package / "python" / "lib").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "python" / "lib" / "pyspark.zip").touch()
    return package.parent


def test_the_archives_of_an_installed_spark_are_not_searched(installed: Path) -> None:
    inside = ("python/lib/pyspark.zip", "jars/spark-core.jar")
    archives = [str(installed / "pyspark" / each) for each in inside]
    path = ["/work", *archives, str(installed)]
    assert without_archives(path) == ["/work", str(installed)]


def test_the_archives_of_another_spark_come_first_as_before(installed: Path) -> None:
    path = ["/opt/spark/python/lib/pyspark.zip", str(installed)]
    assert without_archives(path) == path


def test_the_archives_of_the_user_stay(installed: Path) -> None:
    spark = str(installed / "pyspark" / "python" / "lib" / "pyspark.zip")
    path = ["/home/plug-ins.zip", spark, str(installed), "/opt/more.jar"]
    assert without_archives(path) == ["/home/plug-ins.zip", str(installed), "/opt/more.jar"]


def test_without_an_installed_pyspark_the_archives_stay() -> None:
    path = ["/opt/spark/python/lib/pyspark.zip", "/nowhere"]
    assert without_archives(path) == path


def test_a_forgotten_archive_is_opened_again_when_something_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "more.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("penstock_test_first.py", "")
        file.writestr("penstock_test_second.py", "")
    monkeypatch.syspath_prepend(str(archive))
    __import__("penstock_test_first")
    assert str(archive) in sys.path_importer_cache
    forget_archives()
    assert str(archive) not in sys.path_importer_cache
    __import__("penstock_test_second")
