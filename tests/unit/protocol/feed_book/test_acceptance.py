"""A person's word about the next window: kept once, used up by the window, never guessed."""

import msgspec
import pytest

from penstock.model.layout import Layout
from penstock.model.ranges import OffsetRange
from penstock.protocol.feed_book.acceptance import (
    ACCEPTANCE_FORMAT,
    Accepted,
    accept_next,
    acceptance_of,
    is_accepted,
)
from penstock.protocol.feed_book.errors import AcceptanceDamaged
from penstock.testing.fault_store import Fault, FaultStore, What
from tests.helpers.journals import a_room, an_owner, delivered
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import FEED, LAKE, Room

AT = "2026-11-15T00:00:00.000+00:00"


def a_feed() -> Room:
    """Two records were delivered in two windows."""
    return delivered(a_room(SimKafka({0: ["a"] * 2})), max_records=1)


def accept(room: Room, author: str = "ann") -> bool:
    journal = room.journal()
    return accept_next(journal, journal.open().state, author, "known", AT)


def may_pass(room: Room) -> bool:
    journal = room.journal()
    return is_accepted(journal, journal.open().state)


def test_nothing_is_accepted_until_somebody_says_so() -> None:
    room = a_feed()
    assert not may_pass(room)
    assert accept(room) is True
    assert may_pass(room)


def test_the_first_word_stays() -> None:
    room = a_feed()
    assert accept(room, "ann") is True
    assert accept(room, "bob") is False
    raw = room.store.read(f"_penstock/{FEED}/accepted/{2:020}.json")
    assert raw is not None
    assert msgspec.json.decode(raw, type=Accepted) == Accepted(
        FEED, LAKE, 2, "ann", "known", AT, ACCEPTANCE_FORMAT
    )


def test_a_word_is_used_up_by_the_next_window_and_by_nothing_else() -> None:
    room = a_feed()
    accept(room)
    an_owner(room)  # a claim is no window
    assert may_pass(room)
    room.kafka.partitions[0].append("a")
    room.kafka.latest[0] = 3
    delivered(room)
    assert not may_pass(room)
    assert accept(room) is True


def test_a_lost_reply_is_recognised() -> None:
    plain = a_feed()
    store = FaultStore(plain.store, [Fault("create", What.FAIL_AFTER)])
    assert accept(Room("test", store, plain.around, plain.kafka)) is True
    assert may_pass(plain)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        msgspec.json.encode(Accepted(FEED, LAKE, 1, "ann", "known", AT)),
        msgspec.json.encode(Accepted("other", LAKE, 2, "ann", "known", AT)),
        msgspec.json.encode(Accepted(FEED, "lake-2", 2, "ann", "known", AT)),
    ],
)
def test_what_is_not_about_this_window_is_nobodys_word(raw: bytes) -> None:
    room = a_feed()
    room.store.create(f"{Layout(FEED).accepted}/{2:020}.json", raw)
    with pytest.raises(AcceptanceDamaged, match="errors accept"):
        may_pass(room)
    with pytest.raises(AcceptanceDamaged):
        accept(room)


def test_an_acceptance_of_the_first_format_is_read() -> None:
    """It has neither a format nor ranges."""
    room = a_feed()
    fields = {"feed": FEED, "lake": LAKE, "windows": 2, "author": "a", "reason": "r", "at": AT}
    room.store.create(f"{Layout(FEED).accepted}/{2:020}.json", msgspec.json.encode(fields))
    assert may_pass(room)


def test_an_acceptance_names_the_ranges_that_were_shown() -> None:
    room = a_feed()
    journal = room.journal()
    state = journal.open().state
    shown = (OffsetRange("t", "id", 0, 2, 9),)
    accept_next(journal, state, "ann", "known", AT, shown)
    found = acceptance_of(journal, state)
    assert found is not None
    assert found.ranges == shown
