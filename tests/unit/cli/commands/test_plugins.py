"""`penstock plugins`: what it lists, and what it says of what cannot be used."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import __version__
from penstock.api.doors import EVERY_DOOR
from penstock.cli.main import main
from tests.helpers.installed_packages import install_package

MODULE = """
print("a word from the plug-in")

class Shout:
    def output_schema(self, schema): return schema
    def convert_record(self, record): return record
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on the path; what was imported from it is forgotten again."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["plugins", "--output", "json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_everything_that_is_built_in_can_be_used(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys)
    assert {(row["state"], row["package"]) for row in rows} == {("built in", "penstock")}
    assert {row["version"] for row in rows} == {__version__}
    assert list(dict.fromkeys(row["door"] for row in rows)) == [door.word for door in EVERY_DOOR]


def test_what_others_offer_is_listed_with_what_is_wrong_with_it(
    packages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shout, gone = "acme_shout:Shout", "acme_shout:Gone"
    entries = {
        "penstock.converters": {"shout": shout, "gone": gone, "both": shout},
        "penstock.stores": {"attic": "acme_attic:open_attic [attic]"},
    }
    modules = {"acme_shout": MODULE, "acme_attic": "import no_such_module_anywhere\n"}
    install_package(packages, "acme", entries, modules, version="3.1")
    install_package(packages, "other", {"penstock.converters": {"both": "os:sep"}}, {})
    found = {(row["name"], row["package"]): row for row in listed(capsys)}
    states = {key: row["state"] for key, row in found.items() if key[1] != "penstock"}
    assert states == {
        ("shout", "acme"): "installed",
        ("gone", "acme"): "broken",
        ("both", "acme"): "ambiguous",
        ("both", "other"): "ambiguous",
        ("attic", "acme"): "missing extra",
    }
    assert found["shout", "acme"]["version"] == "3.1"
    assert "has no attribute 'Gone'" in found["gone", "acme"]["note"]
    assert "pip install 'acme[attic]'" in found["attic", "acme"]["note"]
    assert "acme 3.1 and other 1.0" in found["both", "other"]["note"]


def test_the_text_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["door", "name", "state", "package", "version", "target", "note"]
    assert ["converter", "mask", "built", "in"] in [line.split()[:4] for line in lines]
