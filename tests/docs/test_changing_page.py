"""The page about changes names every key of a feed, and says of each what the code does."""

import re
from pathlib import Path

import pytest

from penstock.config.load import all_keys
from penstock.datapath.driver.shape_of_feed import shape_of
from penstock.model.spec import DatasetSpec, FeedSpec, PartitionKey

PAGE = Path(__file__).parents[2] / "docs" / "changing.md"
FEED = "feeds.NAME."


def rows() -> dict[str, tuple[str, str]]:
    """What the page says of each key: the word, and the sentence behind it."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 3 and cells[0].startswith("`"):
            key = cells[0].strip("`")
            assert key not in found, f"{key} is named twice"
            found[key] = (cells[1], cells[2])
    return found


def test_every_key_of_a_feed_is_named_once() -> None:
    wanted = {key.removeprefix(FEED) for key in all_keys() if key.startswith(FEED)}
    assert rows().keys() == wanted
    assert {word for word, _ in rows().values()} == {"free", "told", "refused"}


def test_whatever_is_refused_names_its_error_or_the_key_that_does() -> None:
    for key, (word, sentence) in rows().items():
        if word == "refused":
            assert re.search(r"\[[A-Z_]+\]\(errors\.md#|^As `", sentence), key


def test_the_settings_that_the_journal_records_are_those_that_are_told() -> None:
    own = DatasetSpec("NAME", partition=(PartitionKey(),))
    recorded = shape_of(FeedSpec(name="a", datasets=(own,))).settings.keys()
    told = {key for key, (word, _) in rows().items() if word == "told"}
    assert {"route", "time.field", "time.zone"} == recorded & told
    assert recorded - told == {"partition", "datasets.NAME.partition"}, "and these may be refused"
    assert all(
        any(key.startswith(each) or each.startswith(key) for each in recorded) for key in told
    )


@pytest.mark.parametrize("word", ["free", "told", "refused"])
def test_the_words_are_explained_above_the_table(word: str) -> None:
    assert f"- **{word}**:" in PAGE.read_text(encoding="utf-8")
