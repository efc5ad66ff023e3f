"""Where the lake and the journal lie, and which settings each of their stores gets."""

from pathlib import Path

import pytest

from penstock.config.clients import reveal_store
from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.config.mistakes import Mistake
from penstock.config.store_settings import StoreSettings
from penstock.model.spec import LakeSpec

FILE = "version: 1\nkafka: {bootstrap.servers: 'a:1'}\nfeeds: {f: {topics: [t]}}\n"


def spec_of(folder: Path, *lines: str) -> LakeSpec:
    """A small configuration with these lines."""
    (folder / "penstock.yaml").write_text(FILE + "\n".join(lines))
    return load(folder / "penstock.yaml", {})


def mistake_of(folder: Path, *lines: str) -> Mistake:
    """The only mistake of a configuration with these lines."""
    with pytest.raises(ConfigInvalid) as refused:
        spec_of(folder, *lines)
    (mistake,) = refused.value.mistakes
    return mistake


@pytest.mark.parametrize("lines", [(), ("journal: null",), ("journal:",)])
def test_without_a_journal_of_its_own_the_lake_keeps_it(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    assert spec_of(tmp_path, "lake: ./lake", *lines).journal is None


@pytest.mark.parametrize("word", ["./journal", "journal/", "x/../journal", "file:{}/journal"])
def test_a_journal_is_a_directory_beside_the_file(tmp_path: Path, word: str) -> None:
    spec = spec_of(tmp_path, "lake: ./lake", f"journal: {word.format(tmp_path)}")
    assert spec.journal is not None
    assert spec.journal.uri == str(tmp_path / "journal")


@pytest.mark.parametrize(
    ("lake", "journal", "words"),
    [
        ("./lake", "./lake", "the address of the lake"),
        ("./lake", "lake/", "the address of the lake"),
        ("./lake", "./lake/journal", "in the lake, or around it"),
        ("./data/lake", "./data", "in the lake, or around it"),
        ("./lake", "ftp://host/journal", "a journal on ftp:// is unknown"),
        ("./lake", "~/journal", "starts with '~'"),
        ("./lake", "[a, b]", "found a list"),
    ],
)
def test_a_journal_lies_apart_from_the_lake(
    tmp_path: Path, lake: str, journal: str, words: str
) -> None:
    mistake = mistake_of(tmp_path, f"lake: {lake}", f"journal: {journal}")
    assert mistake.path == "journal"
    assert words in mistake.found


def test_two_directories_with_a_name_in_common_are_apart(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "lake: ./lake", "journal: ./lake-journal")
    assert spec.journal is not None


def test_settings_go_to_the_store_with_the_longest_address_that_fits(tmp_path: Path) -> None:
    spec = spec_of(
        tmp_path,
        "lake: ./data/lake",
        "journal: ./journals/lake",
        "stores:",
        "  ./: {a: all}",
        "  ./journals: {a: near}",
        "  ./journals/lak: {a: another name}",
        "  s3://elsewhere: {a: nobody}",
    )
    assert spec.journal is not None
    assert (spec.lake.settings, spec.journal.settings) == ({"a": "all"}, {"a": "near"})


def test_the_settings_of_store_are_those_of_the_lake_alone(tmp_path: Path) -> None:
    spec = spec_of(
        tmp_path,
        "lake: ./lake",
        "journal: ./journal",
        "store: {own: '1'}",
        "stores: {./: {other: '2'}}",
    )
    assert spec.journal is not None
    assert (spec.lake.settings, spec.journal.settings) == ({"own": "1"}, {"other": "2"})


@pytest.mark.parametrize(
    ("prefix", "uri", "fits"),
    [
        ("s3://", "s3://bucket/lake", True),
        ("s3://bucket", "s3://bucket", True),
        ("s3://bucket", "s3://bucket/lake", True),
        ("s3://bucket", "s3://bucket-2/lake", False),
        ("gs://", "s3://bucket/lake", False),
        ("/data", "/data/lake", True),
        ("/data", "/database", False),
    ],
)
def test_a_prefix_ends_where_a_name_ends(prefix: str, uri: str, *, fits: bool) -> None:
    assert StoreSettings(prefix, {}).fits(uri) is fits


def test_an_address_has_settings_once(tmp_path: Path) -> None:
    mistake = mistake_of(tmp_path, "lake: ./lake", "stores: {./a: {x: '1'}, a/: {x: '2'}}")
    assert "the same address twice" in mistake.found


def test_a_secret_of_a_store_is_a_reference_and_is_looked_up_late(tmp_path: Path) -> None:
    mistake = mistake_of(tmp_path, "lake: ./lake", "stores: {./: {secret_key: opensesame}}")
    assert "a secret in plain text" in mistake.found
    assert "opensesame" not in str(mistake)
    spec = spec_of(tmp_path, "lake: ./lake", "stores: {./: {secret_key: '${env:KEY}'}}")
    assert reveal_store(spec.lake, {"KEY": "canary"}).settings == {"secret_key": "canary"}
    assert "canary" not in repr(spec)
