"""Feeds whose files hold records as they came: which keys fit, and what their sections choose."""

from pathlib import Path

import pytest

from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.config.mistakes import Mistake
from penstock.model.spec import FeedSpec

HEAD = "version: 1\nlake: ./lake\nkafka: {bootstrap.servers: 'localhost:9092'}\n"


def feed_of(folder: Path, keys: str) -> FeedSpec:
    """A feed with these keys."""
    (folder / "penstock.yaml").write_text(f"{HEAD}feeds: {{a: {{topics: [t], {keys}}}}}\n")
    return load(folder / "penstock.yaml", {}).feeds[0]


def mistake_of(folder: Path, keys: str) -> Mistake:
    """The only mistake of such a feed."""
    with pytest.raises(ConfigInvalid) as caught:
        feed_of(folder, keys)
    (mistake,) = caught.value.mistakes
    return mistake


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ("format: text", ("text", "zstd")),
        ("format: text, compression: gzip, text: {line_ends: quarantine}", ("text", "gzip")),
        ("format: text, text: {line_ends: escape}", ("text-escaped", "zstd")),
        ("format: sequencefile", ("sequencefile", "block")),
        ("format: sequencefile, sequencefile: {key: offset}", ("sequencefile", "block")),
        ("sequencefile: {key: msgpack}, compression: record, format: sequencefile",
         ("sequencefile-msgpack", "record")),
        ("format: jsonl", ("jsonl", "zstd")),
    ],
)  # fmt: skip
def test_a_section_chooses_among_formats_and_each_has_a_usual_compression(
    tmp_path: Path, keys: str, wanted: tuple[str, str]
) -> None:
    feed = feed_of(tmp_path, keys)
    assert (feed.format, feed.compression) == wanted


@pytest.mark.parametrize(
    "keys",
    [
        "decode: {format: raw}",
        "decode: {format: json}, time: {field: at}",
        "route: {by: 'field:x'}",
        "convert: [{filter: {n: {least: 1}}}]",
        "tombstones: quarantine",
        "partition: ['field:x']",
        "files: {gather: auto}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["text", "sequencefile"])
def test_whatever_leaves_records_as_they_are_fits(tmp_path: Path, form: str, keys: str) -> None:
    assert feed_of(tmp_path, f"format: {form}, {keys}").format == form


@pytest.mark.parametrize(
    ("keys", "path", "found"),
    [
        ("decode: {spread: true}", "decode.spread", "`spread` for"),
        ("forks: [{to: b, when: {x: {is: [1]}}}]", "forks", "`forks` for"),
        ("convert: [{filter: {n: {least: 1}}}, {mask: {phone: 4}}]", "convert", "`mask` for"),
        ("include: [key]", "include", "`key` for"),
        ("tombstones: keep", "tombstones", "`keep` for"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        "text",
        "sequencefile",
        "text, text: {line_ends: escape}",
        "sequencefile, sequencefile: {key: msgpack}",
    ],
)
def test_what_such_files_cannot_hold_is_one_mistake(
    tmp_path: Path, form: str, keys: str, path: str, found: str
) -> None:
    mistake = mistake_of(tmp_path, f"format: {form}, {keys}")
    assert mistake.path == f"feeds.a.{path}"
    name = form.partition(",")[0]
    assert mistake.found == f"{found} {name}, whose files hold the values of records as they came"
    assert mistake.allowed


def test_a_section_of_another_format_is_a_mistake(tmp_path: Path) -> None:
    for keys, path in (
        ("text: {line_ends: escape}", "text"),
        ("format: sequencefile, text: {line_ends: escape}", "text"),
        ("format: text, sequencefile: {key: msgpack}", "sequencefile"),
    ):
        assert mistake_of(tmp_path, keys).path == f"feeds.a.{path}"


def test_a_name_of_journals_is_no_word_for_the_key(tmp_path: Path) -> None:
    for word, meant in (
        ("text-escaped", "line_ends: escape"),
        ("sequencefile-msgpack", "key: msgpack"),
    ):
        mistake = mistake_of(tmp_path, f"format: {word}")
        assert (mistake.path, meant in mistake.allowed) == ("feeds.a.format", True)


def test_their_compressions_are_their_own(tmp_path: Path) -> None:
    mistake = mistake_of(tmp_path, "format: sequencefile, compression: zstd")
    assert mistake.path == "feeds.a.compression"
    assert mistake.allowed == "block | record | none"
    mistake = mistake_of(tmp_path, "format: text, text: {line_ends: escape}, compression: lz4")
    assert mistake.found == "found 'lz4' for text files"
