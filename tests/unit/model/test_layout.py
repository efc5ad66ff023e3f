"""Every object of a feed has its side: with the journal, or in the lake."""

import re
from pathlib import Path

import pytest

from penstock.model.layout import JOURNAL_ROOMS, Layout, is_journal_key, is_journal_prefix

PAGE = Path(__file__).parents[3] / "docs" / "protocol.md"
ARGUMENTS: dict[str, tuple[object, ...]] = {
    "shard": ("_penstock/web/journal", 3),
    "part_marker": (3, "click@files"),
    "inventory_shard": (3, "0" * 64),
    "halted_object": (1, 3),
    "halted_samples": (1, 3),
    "config": ("0" * 64,),
    "manifest": ("1-1",),
    "quarantine_of": ("team", "click"),
}
NO_PATHS = {"feed", "incarnation", "data_prefixes"}
IN_LAKE = {
    *("data", "tails", "tail", "journal_place"),
    *("staging", "quarantine", "quarantine_of", "corrections"),
}


def paths(layout: Layout) -> dict[str, str]:
    """Every path that a layout can give, by the name of its member."""
    names = [name for name in dir(Layout) if not name.startswith("_") and name not in NO_PATHS]
    found = {}
    for name in names:
        member = getattr(layout, name)
        found[name] = member(*ARGUMENTS.get(name, (3,))) if callable(member) else member
    return {name: path for name, path in found.items() if isinstance(path, str)}


@pytest.mark.parametrize("incarnation", [1, 2, 17])
def test_every_path_of_a_feed_lies_with_the_journal_or_in_the_lake(incarnation: int) -> None:
    sides = {n: is_journal_prefix(p) for n, p in paths(Layout("web", incarnation)).items()}
    assert None not in sides.values()
    assert {name for name, side in sides.items() if not side} == IN_LAKE


def test_objects_lie_where_their_directories_do() -> None:
    for path in paths(Layout("web")).values():
        assert is_journal_key(f"{path}/x.json") == is_journal_prefix(path)


@pytest.mark.parametrize("key", ["_penstock/lake.json", "_penstock/probe/x", "journal/done/x/y"])
def test_what_belongs_to_no_journal_lies_in_the_lake(key: str) -> None:
    assert not is_journal_key(key)


@pytest.mark.parametrize("prefix", ["", "/", "_penstock", "_penstock/", "_penstock/web"])
def test_a_directory_above_both_has_no_side(prefix: str) -> None:
    assert is_journal_prefix(prefix) is None


def test_the_page_of_the_protocol_says_the_same() -> None:
    """Method: read the table of places there, and compare it with the code."""
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("### Which store has what")[2].partition("\n### ")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if "|" in line][2:]
    stated = {
        room: cells[1].strip()
        for cells in rows
        for room in re.findall(r"`_penstock/<feed>/([a-z]+)", cells[0])
    }
    assert {room for room, side in stated.items() if side == "journal"} == JOURNAL_ROOMS
    assert set(stated.values()) == {"journal", "lake"}
    assert {room for room, side in stated.items() if side == "lake"} == {
        "staging",
        "quarantine",
        "corrections",
    }
