"""Objects beside the journal that a newer version wrote: "upgrade", never "damaged"."""

import json
from collections.abc import Callable

import msgspec
import pytest

from penstock.datapath.schemas.schema_objects import store_schema, stored_schemas
from penstock.errors import EntryDamaged, EntryNewer, MarkerWrong, ObjectDamaged, PenstockError
from penstock.model.broken_groups import BrokenRecord
from penstock.model.halted import Halted, HaltedSample
from penstock.model.record_position import Position
from penstock.model.schema import DatasetSchema
from penstock.model.wire_formats import format_of, newer_or
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.acceptance import accept_next, is_accepted
from penstock.protocol.feed_book.errors import AcceptanceDamaged, HaltedDamaged
from penstock.protocol.feed_book.halted_objects import read_halted, read_samples, write_halted
from penstock.protocol.journal.lake_identity import LAKE_KEY, known_identity, lake_identity
from tests.helpers.journals import LAYOUT, a_room, an_owner, delivered
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import FEED, LAKE, Room

FAR_AHEAD = 1_000  # of every kind of object


def a_feed() -> Room:
    """Two windows were delivered, and everything that can lie beside a journal is there."""
    room = a_room(SimKafka({0: ["a"] * 2}))
    lake_identity(room.store, room.around)
    delivered(room, max_records=1)
    journal = room.journal()
    state = journal.open().state
    at = "2026-11-15T00:00:00+00:00"
    accept_next(journal, state, "ann", "known", at)
    broken = BrokenRecord(Position("t", 0, 7), 0, "", "torn", None, b"{", None, 1)
    write_halted(journal, a_halt(at), (HaltedSample("f", broken),))
    store_schema(room.store, LAYOUT.schemas, DatasetSchema("a", 1, False, ()))
    return room


def a_halt(at: str) -> Halted:
    """The feed halted after its two windows."""
    return Halted(
        feed=FEED,
        lake=LAKE,
        epoch=1,
        number=5,
        windows=2,
        code="QUARANTINE_RATIO",
        sentence="All are broken.",
        advice="Mend them.",
        since=at,
        at=at,
        owner="me",
    )


def halted(room: Room) -> Halted | None:
    journal = room.journal()
    return read_halted(journal, journal.open().state)


def samples(room: Room) -> object:
    return read_samples(room.journal(), a_halt(""))


def accepted(room: Room) -> bool:
    journal = room.journal()
    return is_accepted(journal, journal.open().state)


OBJECTS: dict[str, tuple[str, type[ObjectDamaged], Callable[[Room], object]]] = {
    "done marker": (
        LAYOUT.marker(3),
        MarkerWrong,
        lambda room: room.journal().open(deep=True),
    ),
    "tail mark": (LAYOUT.tail(4), MarkerWrong, lambda room: room.journal().open()),
    "acceptance": (f"{LAYOUT.accepted}/{2:020}.json", AcceptanceDamaged, accepted),
    "halted": (LAYOUT.halted_object(1, 5), HaltedDamaged, halted),
    "halted samples": (LAYOUT.halted_samples(1, 5), HaltedDamaged, samples),
    "lake identity": (LAKE_KEY, EntryDamaged, lambda room: known_identity(room.store)),
    "schema": (
        f"{LAYOUT.schemas}/a/000001.json",
        EntryDamaged,
        lambda room: stored_schemas(room.store, LAYOUT.schemas),
    ),
}


def changed(room: Room, key: str, **fields: object) -> None:
    """The object with other fields, as another version would have written it."""
    raw = room.store.read(key)
    assert raw is not None, key
    room.store.delete(key)
    room.store.create(key, json.dumps({**json.loads(raw), **fields}).encode())


def refusal(room: Room, look: Callable[[Room], object]) -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        look(room)
    return caught.value


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_of_a_newer_format_asks_for_an_upgrade(name: str) -> None:
    key, _, look = OBJECTS[name]
    room = a_feed()
    look(room)
    changed(room, key, format=FAR_AHEAD, invented=True)
    error = refusal(room, look)
    assert isinstance(error, EntryNewer)
    assert key in str(error)
    assert f"format {FAR_AHEAD}; this version knows up to" in str(error)
    assert "upgrade this installation" in str(error)


@pytest.mark.parametrize("name", OBJECTS)
def test_an_unknown_field_of_a_known_format_is_damage(name: str) -> None:
    key, damaged, look = OBJECTS[name]
    room = a_feed()
    changed(room, key, invented=True)
    assert type(refusal(room, look)) is damaged


def test_an_owner_stops_at_a_newer_marker_and_changes_nothing() -> None:
    room = a_feed()
    changed(room, LAYOUT.tail(4), format=2, groups={})
    before = list_keys(room.store, "")
    assert isinstance(refusal(room, an_owner), EntryNewer)
    assert list_keys(room.store, "") == before


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b'{"number":1}', 1),
        (b'{"format":7,"number":{"any":"thing"}}', 7),
        (b'{"format":"two"}', None),
        (b"[]", None),
        (b"", None),
        (b'{"format":"\xff"}', None),
    ],
)
def test_an_object_without_a_number_is_of_format_1(raw: bytes, found: int | None) -> None:
    assert format_of(raw) == found


def test_what_does_not_even_have_a_format_is_damaged() -> None:
    damaged = MarkerWrong("key", "why")
    assert newer_or(damaged, b"garbage", 1) is damaged
    assert newer_or(damaged, msgspec.json.encode({"format": 1}), 1) is damaged
