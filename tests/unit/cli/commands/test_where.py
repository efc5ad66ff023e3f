"""`penstock where` and `penstock status --config-of` on a lake on a real disk."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.cli.main import main
from penstock.config.load import load
from penstock.model.row_config import RowConfig
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.row_configs import RowConfigs
from tests.helpers.lakes_on_disk import DiskLake
from tests.helpers.list_story import TOPIC, TORN, Story, events

CONFIG = """\
version: 1
lake: ./lake
kafka: {bootstrap.servers: "nowhere:1"}
feeds:
  feed:
    topics: [events]
    route: {by: "field:type"}
    datasets: {order: {schema: order.avsc, team: shop}}
    time: {not_after: 90m, zone: Europe/Berlin}
    convert:
      - {mask: {email: 4}, datasets: [click]}
      - {hash: {id: "${env:PENSTOCK_TEST_SALT}"}}
      - {set: {source: "1", n: 1}}
      - {filter: {n: {most: 2}, "a.b": [x, null, "true"]}}
    quarantine: {min_records: 1000}
"""
SCHEMA = """\
{"type": "record", "name": "order", "fields": [
  {"name": "n", "type": ["null", "long"]}
]}
"""
PLAIN = re.sub(r"    convert:\n(      .*\n)*", "", CONFIG)


class DiskStory(Story):
    """A story whose lake lies on disk, beside its configuration."""

    def __init__(self, directory: Path, config: str) -> None:
        super().__init__()
        self.lake = DiskLake(directory)
        self.store = self.lake.store
        self.lake.config.write_text(config)
        (directory / "order.avsc").write_text(SCHEMA)
        self.feed = load(self.lake.config, {"PENSTOCK_TEST_SALT": "pepper"}).feeds[0]


@pytest.fixture
def story(tmp_path: Path) -> DiskStory:
    story = DiskStory(tmp_path, PLAIN)
    story.cluster.append(TOPIC, 0, *events("click", 3), TORN)
    assert story.run_once(story.feed) == 0
    return story


def asked(story: DiskStory, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """The exit code, and the objects that were printed."""
    code = main(story.lake.words(*words, "--output", "json"))
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def text_of(story: DiskStory, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(story.lake.words(*words))
    told = capsys.readouterr()
    return code, told.out + told.err


def test_a_record_is_shown_with_file_row_window_entry_and_time(
    story: DiskStory, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = text_of(story, capsys, "where", "feed", "events/0/2")
    assert code == 0
    first, window, place = text.splitlines()
    assert first == "events/0/2: delivered"
    assert re.fullmatch(r"  window 1-1, entry \d+ \(window\), decided 20.*", window)
    assert re.fullmatch(r"  click: feed/click/day=\S+\.parquet, row 2 \(from 0\)", place)
    code, (answer,) = asked(story, capsys, "where", "feed", "events/0/2")
    assert code == 0
    assert (answer["fate"], answer["rows"][0]["row"]) == ("delivered", 2)


def test_a_record_in_the_quarantine_is_shown_with_its_reason(
    story: DiskStory, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = text_of(story, capsys, "where", "feed", "events/0/3")
    assert code == 0
    assert "events/0/3: quarantined" in text
    assert re.search(r"  quarantine: _penstock/feed/quarantine/\S+, row 0 \(from 0\), \S+", text)


@pytest.mark.parametrize(
    ("position", "words"),
    [
        ("events/0/4", "not read yet; the next offset to read is 4"),
        ("events/9/0", "the feed has never read this partition"),
    ],
)
def test_what_is_not_known_ends_with_1(
    story: DiskStory, capsys: pytest.CaptureFixture[str], position: str, words: str
) -> None:
    code, text = text_of(story, capsys, "where", "feed", position)
    assert code == 1
    assert words in text


@pytest.mark.parametrize(
    "word", ["events/0/x", "events/0/-1", "events/one/2", f"events/0/{'9' * 20}"]
)
def test_a_position_without_whole_numbers_is_not_taken_for_a_file(
    story: DiskStory, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    code, text = text_of(story, capsys, "where", "feed", word)
    assert code == 2
    assert f"'{word}' is not the position of a record" in text
    assert "whole numbers" in text


def test_a_file_of_another_feed_is_not_taken_for_a_position(
    story: DiskStory, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = text_of(story, capsys, "where", "feed", "events/click/x.parquet")
    assert (code, "no entry of feed 'feed' names this file" in text) == (1, True)


def test_a_file_may_be_named_by_key_path_and_uri(
    story: DiskStory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = story.lake.files("feed/click", "*.parquet")
    key = path.relative_to(story.lake.root).as_posix()
    monkeypatch.chdir(story.lake.root.parent)
    for name in (key, str(path), path.as_uri(), f"lake/{key}"):
        code, (answer,) = asked(story, capsys, "where", "feed", name)
        assert code == 0
        assert (answer["file"], answer["state"], answer["rows"]) == (key, "live", 3)
    code, text = text_of(story, capsys, "where", "feed", key)
    assert code == 0
    assert "events/0 [0, 4)" in text
    assert "schema version 1" in text
    path.unlink()
    assert text_of(story, capsys, "where", "feed", key)[0] == 4
    assert text_of(story, capsys, "where", "feed", "events/0/1")[0] == 4
    code, text = text_of(story, capsys, "where", "feed", "feed/click/other.parquet")
    assert code == 1
    assert "no entry of feed 'feed' names this file" in text


def test_the_configuration_of_a_window_can_be_put_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Goal: what is printed makes the same rows. Method: put it into the file, and load that."""
    story = DiskStory(tmp_path, CONFIG)
    plain = msgspec.structs.replace(story.feed, convert=())
    story.cluster.append(TOPIC, 0, *events("click", 3))
    with_config = RowConfig.of(story.feed)
    original = RowConfigs.keep
    with pytest.MonkeyPatch.context() as patch:  # the records of this test need no secret
        patch.setattr(RowConfigs, "keep", lambda self, _config: original(self, with_config))
        assert story.run_once(plain) == 0
    code, text = text_of(story, capsys, "status", "feed", "--config-of", "1-1")
    assert code == 0
    assert "pepper" not in text
    assert "# feed feed, window 1-1, entry" in text
    assert f"# configuration {with_config.digest}; schemas: click v1" in text
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    head = CONFIG.partition("    route:")[0]
    (tmp_path / "again.yaml").write_text(head + indented)
    (again,) = load(tmp_path / "again.yaml", {}).feeds
    assert RowConfig.of(again) == with_config

    code, (answer,) = asked(story, capsys, "status", "feed", "--config-of", "1-1")
    assert code == 0
    assert answer["settings"]["time"]["zone"] == "Europe/Berlin"
    assert (answer["window"], answer["config"]) == ("1-1", with_config.digest)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("feed", "--config-of", "9-9"), "Feed 'feed' has not decided a window '9-9'."),
        (("feed", "--config-of", "x"), "Feed 'feed' has not decided a window 'x'."),
        (("--config-of", "1-1"), "--config-of is about a window of one feed."),
    ],
)
def test_a_window_that_is_not_there_is_told(
    story: DiskStory, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    code, text = text_of(story, capsys, "status", *words)
    assert code == 2
    assert sentence in text


def test_a_window_of_an_older_format_and_a_text_that_is_gone_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = DiskStory(tmp_path, PLAIN)
    story.cluster.append(TOPIC, 0, *events("click", 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowConfigs, "keep", lambda *_: "")
        assert story.run_once(story.feed) == 0
    code, text = text_of(story, capsys, "status", "feed", "--config-of", "1-1")
    assert code == 2
    assert "was decided by a version that did not record its configuration" in text
    story.cluster.append(TOPIC, 0, *events("click", 3))
    assert story.run_once(story.feed) == 0
    for path in (story.lake.root / "_penstock" / "feed" / "configs").iterdir():
        path.unlink()
    code, text = text_of(story, capsys, "status", "feed", "--config-of", "2-1")
    assert code == 2
    assert "is not in the lake any more" in text


BACKED_UP = """\
version: 1
lake: ./lake
kafka: {bootstrap.servers: "nowhere:1"}
feeds:
  feed: {topics: [events], route: {by: "field:type"}, backup: raw}
  raw: {topics: [events], decode: {format: raw}, window: {max_records: 2}}
"""


def test_a_file_is_shown_with_the_files_of_the_backup_that_hold_its_ranges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Goal: what Kafka forgets is found. Method: a raw feed that has cut other windows."""
    story = DiskStory(tmp_path, BACKED_UP)
    feed, raw = load(story.lake.config, {}).feeds
    story.cluster.append(TOPIC, 0, *events("click", 5))
    assert story.run_once(raw) == 0
    story.cluster.append(TOPIC, 0, *events("click", 3))
    assert story.run_once(feed) == 0
    [file] = list_keys(story.store, "feed/click")
    code, [found] = asked(story, capsys, "where", "feed", file)
    backup = found["backup"]
    assert (code, backup["feed"]) == (0, "raw")
    assert [each["file"] for each in backup["files"]] == list_keys(story.store, "raw/events")
    assert {each["state"] for each in backup["files"]} == {"live"}
    assert [each["delivered_by"]["entry"] for each in backup["files"]] == [3, 4, 5]
    assert [(each["start"], each["end"]) for each in backup["missing"]] == [(5, 8)]
    _, text = text_of(story, capsys, "where", "feed", file)
    assert text.count("  backup raw: raw/events/day=") == 3
    assert text.endswith("  backup raw does not have events/0 [5, 8)\n")
