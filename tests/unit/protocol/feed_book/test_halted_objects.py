"""The objects of a halted feed decide nothing, and only the newest moment counts."""

import ast
from pathlib import Path

import msgspec
import pytest

from penstock.model.halted import Halted, HaltedPlace
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.errors import HaltedDamaged
from penstock.protocol.feed_book.halted_objects import (
    read_halted,
    remove_void,
    shown_halted,
    write_halted,
)
from tests.helpers.journals import LAYOUT, a_room, an_owner, delivered
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import FEED, LAKE, Room

PROTOCOL = Path(__file__).parents[4] / "src" / "penstock" / "protocol"
AT = "2026-11-15T00:00:00.000+00:00"


def a_feed() -> Room:
    """Two records were delivered in two windows."""
    return delivered(a_room(SimKafka({0: ["a"] * 2})), max_records=1)


def a_halt(room: Room, epoch: int = 0, number: int = 0, at: str = AT) -> Halted:
    """A halt at the newest entry, or some epochs and entries away from it."""
    state = room.journal().open().state
    return Halted(
        feed=FEED,
        lake=LAKE,
        epoch=state.epoch + epoch,
        number=state.number + 1 + number,
        windows=state.windows,
        code="GAP",
        sentence="Gone.",
        advice="Accept it.",
        since=at,
        at=at,
        owner="me",
        places=(HaltedPlace("t", 0, 2, 5),),
    )


def now(room: Room) -> Halted | None:
    journal = room.journal()
    return read_halted(journal, journal.open().state)


def test_nothing_in_the_protocol_reads_what_a_halt_left() -> None:
    """Goal: no decision can depend on it. Method: nobody there imports the module that reads it."""
    importers = [
        str(file.relative_to(PROTOCOL))
        for file in PROTOCOL.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("halted_objects")
    ]
    assert importers == []


def test_a_halt_is_void_as_soon_as_any_entry_follows() -> None:
    room = a_feed()
    write_halted(room.journal(), a_halt(room))
    assert now(room) is not None
    an_owner(room)  # claims
    assert now(room) is None


def test_the_word_of_an_older_owner_neither_shows_nor_removes_that_of_a_newer_one() -> None:
    room = a_feed()
    newest = a_halt(room)
    write_halted(room.journal(), newest)
    write_halted(room.journal(), a_halt(room, epoch=-1))
    assert now(room) == newest
    remove_void(room.journal(), room.journal().open().state)
    assert now(room) == newest, "it is about the entry that comes next"
    assert list_keys(room.store, LAYOUT.halted) == [LAYOUT.halted_object(1, newest.number)]


def test_a_feed_that_never_ran_is_not_halted() -> None:
    assert now(a_room(SimKafka({0: []}))) is None


def test_the_same_cause_is_told_since_it_was_first_met() -> None:
    room = a_feed()
    later = "2026-11-16T00:00:00.000+00:00"
    write_halted(room.journal(), a_halt(room))
    write_halted(room.journal(), a_halt(room, at=later))
    found = now(room)
    assert found is not None
    assert (found.since, found.at) == (AT, later)
    other = msgspec.structs.replace(a_halt(room, at=later), places=(HaltedPlace("t", 1, 2, 5),))
    write_halted(room.journal(), other)
    found = now(room)
    assert found is not None
    assert found.since == later


@pytest.mark.parametrize("field", ["feed", "lake", "epoch", "number"])
def test_a_copied_file_says_nothing_about_this_feed(field: str) -> None:
    room = a_feed()
    halted = a_halt(room)
    other: object = "other" if field in ("feed", "lake") else 77
    raw = msgspec.json.encode(msgspec.structs.replace(halted, **{field: other}))
    room.store.create(LAYOUT.halted_object(halted.epoch, halted.number), raw)
    with pytest.raises(HaltedDamaged, match="another lake or another entry"):
        now(room)
    journal = room.journal()
    shown = shown_halted(journal, journal.open().state)
    assert shown is not None
    assert shown.code == "HALTED_DAMAGED"
    write_halted(room.journal(), halted)
    assert now(room) == halted, "a damaged object is replaced by the next halt"


def test_strangers_in_the_directory_are_left_alone() -> None:
    room = a_feed()
    room.store.create(f"{LAYOUT.halted}/notes.txt", b"by hand")
    write_halted(room.journal(), a_halt(room))
    an_owner(room)
    remove_void(room.journal(), room.journal().open().state)
    assert list_keys(room.store, LAYOUT.halted) == [f"{LAYOUT.halted}/notes.txt"]
