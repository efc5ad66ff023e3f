"""A file format that cannot be used is a mistake of the configuration, listed with all others."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.api.errors import ExtraMissing, PluginAmbiguous
from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.config.mistakes import Mistake
from tests.helpers.installed_packages import install_package, look_for_packages_again

HEAD = "version: 1\nlake: ./lake\nkafka: {bootstrap.servers: 'localhost:9092'}\n"
GROUP = "penstock.formats"
OURS = "penstock.datapath.formats.parquet.parquet:FORMAT"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on the path; what a test installs there is forgotten again."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    yield tmp_path / "packages"
    for name in set(sys.modules) - before:
        del sys.modules[name]
    look_for_packages_again()


def mistakes_of(folder: Path, keys: str) -> list[Mistake]:
    """All mistakes of a feed, and of a second one that always has one."""
    feeds = f"{{a: {{topics: [a]{keys}}}, b: {{topics: [b], generation: many}}}}"
    (folder / "penstock.yaml").write_text(f"{HEAD}feeds: {feeds}\n")
    with pytest.raises(ConfigInvalid) as caught:
        load(folder / "penstock.yaml", {})
    *found, other = sorted(caught.value.mistakes, key=lambda each: each.path)
    assert other.path == "feeds.b.generation"
    return found


def test_a_format_whose_extra_is_missing_is_one_mistake_among_others(
    tmp_path: Path, packages: Path
) -> None:
    source = {"rows_files": "import a_module_that_nobody_has\nFORMAT = None\n"}
    install_package(packages, "acme-rows", {GROUP: {"rows": "rows_files:FORMAT [fast]"}}, source)
    for keys in (", format: rows", ", format: rows, compression: of_rows"):
        (mistake,) = mistakes_of(tmp_path, keys)
        assert mistake.path == "feeds.a.format"
        assert mistake.found == (
            "The file format 'rows' needs the module 'a_module_that_nobody_has', which is not "
            "installed"
        )
        assert "pip install 'acme-rows[fast]'" in mistake.allowed


def test_a_format_that_alone_is_wrong_is_told_in_the_sentence_of_all_doors(
    tmp_path: Path, packages: Path
) -> None:
    """Goal: an installation is not called a mistake in the file, however many feeds it stops."""
    source = {"rows_files": "import a_module_that_nobody_has\nFORMAT = None\n"}
    entries = {GROUP: {"rows": "rows_files:FORMAT [fast]", "parquet": "rows_files:FORMAT"}}
    install_package(packages, "acme-rows", entries, source)
    for feeds, error in (
        ("{a: {topics: [a], format: rows}, b: {topics: [b], format: rows}}", ExtraMissing),
        ("{a: {topics: [a]}, b: {topics: [b], format: parquet}}", PluginAmbiguous),
        ("{a: {topics: [a], format: rows}, b: {topics: [b]}}", ConfigInvalid),
    ):
        (tmp_path / "penstock.yaml").write_text(f"{HEAD}feeds: {feeds}\n")
        with pytest.raises(error):
            load(tmp_path / "penstock.yaml", {})


def test_a_format_that_two_packages_offer_is_one_mistake_among_others(
    tmp_path: Path, packages: Path
) -> None:
    for name in ("one", "two"):
        install_package(packages, name, {GROUP: {"rows": f"{name}_rows:FORMAT"}}, {})
    (mistake,) = mistakes_of(tmp_path, ", format: rows")
    assert mistake.path == "feeds.a.format"
    assert "one 1.0 and two 1.0" in mistake.found


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ("", "feeds.a"),
        (", compression: zstd", "feeds.a"),
        (", format: parquet", "feeds.a.format"),
        (", format: parquet, compression: zstd", "feeds.a.format"),
    ],
)
def test_a_second_package_for_the_default_is_a_mistake_once(
    tmp_path: Path, packages: Path, keys: str, path: str
) -> None:
    install_package(packages, "acme-rows", {GROUP: {"parquet": "rows_files:FORMAT"}}, {})
    found = [each for each in mistakes_of(tmp_path, keys) if each.path.startswith("feeds.a")]
    assert [each.path for each in found] == [path]
    assert "Several packages offer a file format called 'parquet'" in found[0].found


def test_a_format_that_has_another_name_than_its_entry_point_is_refused(
    tmp_path: Path, packages: Path
) -> None:
    """Names go into the journal and into files: what reads them finds the format by its name."""
    install_package(packages, "acme-rows", {GROUP: {"rows": OURS}}, {})
    (mistake,) = mistakes_of(tmp_path, ", format: rows")
    assert (mistake.path, mistake.found, mistake.allowed) == (
        "feeds.a.format",
        f"{OURS} of acme-rows 1.0 calls itself 'parquet'",
        "a file format of the name 'rows'",
    )
