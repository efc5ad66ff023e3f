"""The backup of a feed is another feed of the file, with the same records as they came."""

from pathlib import Path

import pytest

from penstock.config.backup_feeds import backup_warnings
from penstock.config.errors import ConfigInvalid
from penstock.config.example import example_text
from penstock.config.load import load

FILE = """\
version: 1
lake: ./lake
kafka: {bootstrap.servers: "nowhere:1"}
feeds:
  events: {topics: [a, b], backup: WORD}
  raw: {topics: [a, b, c], decode: {format: raw}}
  part: {topics: [a], decode: {format: raw}}
  all: {pattern: ".*", decode: {format: raw}BESIDE}
  other: {topics: [a]}
"""


def written(folder: Path, word: str, beside: str = "") -> Path:
    path = folder / "penstock.yaml"
    path.write_text(FILE.replace("WORD", word).replace("BESIDE", beside))
    return path


@pytest.mark.parametrize("word", ["raw", "all"])
def test_a_raw_feed_over_the_same_topics_is_a_backup(tmp_path: Path, word: str) -> None:
    feed = load(written(tmp_path, word), {}).feeds[0]
    assert (feed.name, feed.backup) == ("events", word)


@pytest.mark.parametrize(
    ("word", "beside", "said"),
    [
        ("rwa", "", "found 'rwa'"),
        ("other", "", "found 'other'"),
        ("events", "", "found 'events'"),
        ("part", "", "feed 'part' does not read 'b'"),
        ("raw", ", backup: all", "found 'all'"),
    ],
)
def test_what_keeps_other_records_is_no_backup(
    tmp_path: Path, word: str, beside: str, said: str
) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        load(written(tmp_path, word, beside), {})
    [mistake] = caught.value.mistakes
    assert said in str(mistake)
    assert mistake.place.line in (5, 8)


def warnings(folder: Path, *changes: tuple[str, str]) -> list[str]:
    """What `check` says of the pair that `penstock init --backup` writes, with some changes."""
    pair, feed = example_text(with_backup=True).split("  raw_events:")
    for before, after in changes:
        assert before in feed
        feed = feed.replace(before, after)
    (folder / "penstock.yaml").write_text(f"{pair}  raw_events:{feed}")
    feeds = load(folder / "penstock.yaml", {}).feeds
    return [said for each in feeds for said in backup_warnings(each, feeds)]


def test_the_pair_that_init_writes_needs_no_warning(tmp_path: Path) -> None:
    assert warnings(tmp_path) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("tombstones: keep", "tombstones: filter", "leaves out records without a value"),
        ("tombstones: keep", "tombstones: quarantine", "quarantines records without a value"),
        ("[key, headers, timestamp_type]", "[key]", "add headers, timestamp_type to `include`"),
        ("route: {by: topic}", "route: {by: 'header:h'}", "can quarantine records for their route"),
        ("route: {by: topic}", "unknown: quarantine", "datasets that are not declared"),
        ("route: {by: topic}", "unknown: filter", "leaves out records of datasets"),
        ("route: {by: topic}", "convert: [{drop: [a]}]", "has `convert`"),
        ("partition: [day]", "format: orc", "only Parquet is known to take every record whole"),
        ("missing: 9999-12-31", "missing: kafka", "`time: {missing: 9999-12-31}`"),
        ("      outside: 9999-12-31\n", "", "`time: {outside: 9999-12-31}`"),
        ("missing: 9999-12-31", "field: at", "takes the time from a field"),
        ("partition: [day]", "partition: ['field:a']", "directories by a field"),
        ("on_gap: accept", "on_gap: stop", "halts where records expired"),
    ],
)
def test_a_backup_that_leaves_something_out_or_could_halt_is_warned_of(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    (warning,) = warnings(tmp_path, (before, after))
    assert warning.startswith("its backup 'raw_events' ")
    assert said in warning


def test_a_feed_without_a_backup_needs_no_warning(tmp_path: Path) -> None:
    feeds = load(written(tmp_path, "raw"), {}).feeds
    assert [list(backup_warnings(each, feeds)) for each in feeds if each.backup is None] == [[]] * 4
    (feed,) = [each for each in feeds if each.backup]
    assert len(list(backup_warnings(feed, feeds))) == 4
