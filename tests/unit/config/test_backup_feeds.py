"""The backup of a feed is another feed of the file, with the same records as they came."""

from pathlib import Path

import pytest

from penstock.config.errors import ConfigInvalid
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
