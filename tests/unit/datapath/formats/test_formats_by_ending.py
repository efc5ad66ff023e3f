"""Formats by the endings of names; a format that cannot be used is named instead of the file."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.api.errors import ExtraMissing, PluginAmbiguous, PluginUnknown
from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.datapath.formats import formats_by_ending
from penstock.datapath.formats.formats_by_ending import (
    format_of_file,
    format_of_recorded_file,
    known_endings,
)
from penstock.datapath.formats.parquet.parquet import FORMAT
from penstock.runtime.parallel import in_this_process
from tests.helpers.doctored_lakes import DoctoredLake, events
from tests.helpers.installed_packages import install_package, look_for_packages_again

GROUP = "penstock.formats"


def _forget() -> None:
    look_for_packages_again()
    formats_by_ending._installed.cache_clear()
    known_endings.cache_clear()


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on the path; formats that were known before are looked for again."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    _forget()
    yield tmp_path / "packages"
    for name in set(sys.modules) - before:
        del sys.modules[name]
    _forget()


def offer_rows(packages: Path) -> None:
    """A format whose files end in `.rows`, if only its extra were there."""
    source = {"rows_files": "import a_module_that_nobody_has\nFORMAT = None\n"}
    install_package(packages, "acme-rows", {GROUP: {"rows": "rows_files:FORMAT [fast]"}}, source)


def test_the_extra_of_the_feeds_format_is_named(packages: Path) -> None:
    offer_rows(packages)
    assert format_of_file("web/click/1.rows") is None
    with pytest.raises(ExtraMissing, match=r"pip install 'acme-rows\[fast\]'"):
        format_of_recorded_file("web/click/1.rows", "rows")


def test_a_format_that_is_gone_is_named(packages: Path) -> None:
    with pytest.raises(PluginUnknown, match="a file format called 'rows'"):
        format_of_recorded_file("web/click/1.rows", "rows")


def test_a_foreign_ending_is_not_blamed_on_a_format_of_another_feed(packages: Path) -> None:
    offer_rows(packages)
    assert format_of_recorded_file("web/click/1.rows", "parquet") is None
    assert format_of_recorded_file("web/click/1.parquet", "rows") is FORMAT


def test_a_deep_audit_does_not_call_files_different_that_it_cannot_read(
    tmp_path: Path, packages: Path
) -> None:
    lake = DoctoredLake(tmp_path, events(20), max_records=50)
    tools = DeepTools(in_this_process, lake.kafka, lambda: 0.0)
    journal = lake.room([]).journal()
    assert deep_audit(journal, DeepSpec(), tools).differences == ()
    install_package(packages, "acme-rows", {GROUP: {"parquet": "rows_files:FORMAT"}}, {})
    _forget()
    with pytest.raises(PluginAmbiguous, match=r"acme-rows 1\.0"):
        deep_audit(journal, DeepSpec(), tools)
