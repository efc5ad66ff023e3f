"""Entries of older formats: read in their present form, and refused if they never had that form."""

import json
from typing import Any

import pytest

from penstock.errors import EntryDamaged
from penstock.model.entries import FORMAT, AnyBody, Deciding, Finalize, Window
from penstock.model.steps import DeleteInputs, PublishFiles
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.wire import open_entry
from tests.helpers.entry_samples import BODIES
from tests.helpers.journals import next_entry
from tests.helpers.older_formats import entry_of_format_1, hashed

KEY = "journal/5"


def of_format_1(body: AnyBody) -> dict[str, Any]:
    """An entry with this body, as the first version wrote it."""
    return entry_of_format_1(next_entry(FeedState(), body, number=5, epoch=1))


@pytest.mark.parametrize(
    "body",
    [body for body in BODIES if not isinstance(body, Finalize)],  # its step is of format 5
    ids=lambda body: type(body).__name__,
)
def test_every_kind_of_format_1_is_read_as_its_present_value(body: AnyBody) -> None:
    raw = hashed(of_format_1(body))
    found = open_entry(FEED_BOOK, KEY, 5, raw)
    assert found.body == body
    assert found.entry.format == FORMAT, "it is the present form that was made of it"
    assert found.sha256 == json.loads(raw)["hash"], "the chain is over the bytes as they lie there"


def test_names_of_steps_become_values_in_their_order() -> None:
    found = open_entry(FEED_BOOK, KEY, 5, hashed(of_format_1(BODIES[3]))).body
    assert isinstance(found, Deciding)
    assert found.groups[0].steps == (PublishFiles(), DeleteInputs())


def test_a_group_of_format_1_without_steps_publishes_its_files() -> None:
    entry = of_format_1(BODIES[3])
    del entry["body"]["groups"][0]["steps"]
    found = open_entry(FEED_BOOK, KEY, 5, hashed(entry)).body
    assert isinstance(found, Deciding)
    assert found.groups[0].steps == (PublishFiles(),)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"steps": ["publish_files", "os.system"]}, r"'os\.system' is not a step of format 1"),
        ({"steps": [{"step": "publish_files"}]}, "is not a step of format 1"),
        ({"steps": "publish_files"}, "Expected `array`, got `str`"),
        ({"invented": 1}, "unknown field `invented`"),
    ],
)
def test_what_format_1_never_had_is_damage(change: dict[str, Any], why: str) -> None:
    entry = of_format_1(BODIES[3])
    entry["body"]["groups"][0] |= change
    with pytest.raises(EntryDamaged, match=why):
        open_entry(FEED_BOOK, KEY, 5, hashed(entry))


@pytest.mark.parametrize("groups", [None, "all", [7]])
def test_groups_that_are_not_groups_are_damage(groups: object) -> None:
    entry = of_format_1(BODIES[3])
    entry["body"]["groups"] = groups
    with pytest.raises(EntryDamaged, match="does not fit the schema of format 1"):
        open_entry(FEED_BOOK, KEY, 5, hashed(entry))


def of_format_3(ways: object) -> bytes:
    """A window as the version before wrote it, with these ways of reading."""
    window = next(body for body in BODIES if isinstance(body, Window))
    entry = of_format_1(window)
    entry["format"] = 3
    for group in entry["body"]["groups"]:
        group["steps"] = [{"step": step} for step in group["steps"]]
    entry["body"]["ways"] = ways
    return hashed(entry)


def test_a_window_of_format_3_has_a_row_for_each_record_that_was_read() -> None:
    raw = of_format_3([{"dataset": "a", "fast": 5, "reference": 2, "rest": 1}, {"dataset": "b"}])
    found = open_entry(FEED_BOOK, KEY, 5, raw).body
    assert isinstance(found, Window)
    assert [(ways.dataset, ways.rest, ways.rows) for ways in found.ways] == [
        ("a", 1, 7),
        ("b", 0, 0),
    ]


@pytest.mark.parametrize("ways", ["all", [7], [{"dataset": "a", "fast": "many"}]])
def test_ways_that_are_not_ways_are_damage(ways: object) -> None:
    with pytest.raises(EntryDamaged, match="does not fit the schema of format 3"):
        open_entry(FEED_BOOK, KEY, 5, of_format_3(ways))
