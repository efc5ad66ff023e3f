"""Codecs by name: those that are built in, and what is said of one that cannot be used."""

import tomllib
from pathlib import Path

import pytest

from penstock.api.doors import CODECS
from penstock.api.errors import ExtraMissing, PluginAmbiguous
from penstock.api.find import load as load_ref
from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.datapath.codec.codecs import BUILT_IN
from tests.helpers.installed_packages import install_package

ROOT = Path(__file__).parents[4]
FILE = """version: 1
lake: ./lake
kafka: {bootstrap.servers: "localhost:9092"}
feeds: {a: {topics: [a], decode: {format: FORMAT}}}
"""


def test_executors_know_the_codecs_that_the_package_offers() -> None:
    """Goal: no codec is found on the driver only. Method: compare the list with the metadata."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    offered = project["entry-points"][CODECS.group]
    assert {name: ref.target for name, ref in BUILT_IN.items()} == offered
    assert {load_ref(CODECS, ref).name for ref in BUILT_IN.values()} == set(offered)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = {"acme_codecs": "import no_such_module_anywhere\n"}
    entries = {"penstock.codecs": {"cbor": "acme_codecs:CODEC [cbor]", "raw": "acme_codecs:RAW"}}
    install_package(tmp_path, "acme-codecs", entries, modules)
    return tmp_path


def configured(folder: Path, name: str) -> None:
    (folder / "penstock.yaml").write_text(FILE.replace("FORMAT", name))
    load(folder / "penstock.yaml", {})


def test_a_missing_extra_is_told_in_the_sentence_of_all_doors(packages: Path) -> None:
    with pytest.raises(ExtraMissing) as raised:
        configured(packages, "cbor")
    assert str(raised.value) == (
        "EXTRA_MISSING: The codec 'cbor' needs the module 'no_such_module_anywhere', which is not "
        "installed: run `pip install 'acme-codecs[cbor]'` here and on every executor."
    )


def test_a_missing_extra_hides_no_mistake_of_the_file(packages: Path) -> None:
    with pytest.raises(ConfigInvalid) as raised:
        configured(packages, "cbor}, window: {every: often")
    paths = [mistake.path for mistake in raised.value.mistakes]
    assert paths == ["feeds.a.decode.format", "feeds.a.window.every"]


def test_a_name_that_two_packages_offer_is_told_with_both(packages: Path) -> None:
    with pytest.raises(PluginAmbiguous, match=r"a codec called 'raw', acme-codecs 1.0 and penst"):
        configured(packages, "raw")
