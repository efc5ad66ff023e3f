"""Checkpoints: they save time, never decide, and are completed when an older fold made them."""

import json

import pytest

from penstock.errors import EntryNewer
from penstock.model.ranges import TopicPartition
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FOLD, FeedState
from penstock.protocol.journal.checkpoints import read_checkpoint, write_checkpoint
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import LAYOUT, WatchedStore, a_room, an_owner, delivered
from tests.helpers.older_formats import checkpoint_of_fold_1, hashed
from tests.simulator.kafka import TOPIC_ID, SimKafka
from tests.simulator.programs import GivenRules, Room

KEY = LAYOUT.checkpoint(5)


def a_feed() -> tuple[Room, WatchedStore]:
    """Three windows of two partitions; the second partition began at its third record."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"] * 3, 1: ["b"] * 5}), store)
    delivered(room, rules=GivenRules(begin=lambda _topic, partition, _offsets: 2 * partition))
    return room, store


def opened(room: Room) -> FeedState:
    return room.journal().open().state


def entries_read(store: WatchedStore) -> list[str]:
    return [act.key for act in store.acts if act.name == "read" and "/journal/" in act.key]


def test_a_checkpoint_of_this_fold_is_taken_over_and_saves_reading() -> None:
    room, store = a_feed()
    whole = opened(room)
    write_checkpoint(room.journal(), whole)
    store.acts.clear()
    assert opened(room) == whole
    assert LAYOUT.entry(0) not in entries_read(store)


def test_a_checkpoint_of_an_older_fold_is_completed_from_the_entries() -> None:
    room, store = a_feed()
    whole = opened(room)
    store.create(LAYOUT.checkpoint(whole.number), checkpoint_of_fold_1(whole))
    store.acts.clear()
    found = opened(room)
    assert found == whole
    second = found.partition(TopicPartition(TOPIC_ID, 1))
    assert second is not None
    assert (second.first_offset, second.last_window) == (2, "1-3")
    assert LAYOUT.entry(0) in entries_read(store), "what it did not know is in the entries"


def test_what_an_older_checkpoint_proves_done_stays_done_without_its_marker() -> None:
    """Goal: completing loses no proof. Method: remove the marker of an entry below it."""
    room, store = a_feed()
    whole = opened(room)
    store.create(LAYOUT.checkpoint(whole.number), checkpoint_of_fold_1(whole))
    store.delete(LAYOUT.marker(3))
    assert opened(room).undone == {}


def test_what_was_undone_in_an_older_checkpoint_is_looked_up_again() -> None:
    room, store = a_feed()
    owner = an_owner(room)
    room.kafka.partitions[0].append("a")
    room.kafka.latest[0] = 4
    order = owner.plan()
    assert order is not None
    staged = owner.stage(order)
    owner.decide(order, staged, owner.prove(order, staged))  # and dies before it publishes
    state = owner.fold.state
    assert [undone.parts for undone in state.undone.values()] == [["a@files"]]
    store.create(LAYOUT.checkpoint(state.number), checkpoint_of_fold_1(state))
    assert [undone.parts for undone in opened(room).undone.values()] == [["a@files"]]
    an_owner(room).recover()
    assert opened(room).undone == {}


def test_an_owner_soon_leaves_a_checkpoint_of_its_own_fold() -> None:
    room, store = a_feed()
    whole = opened(room)
    store.create(LAYOUT.checkpoint(whole.number), checkpoint_of_fold_1(whole))
    room.kafka.partitions[0].append("a")
    room.kafka.latest[0] = 4
    assert an_owner(room, checkpoint_every=8).run_window()
    newest = list_keys(store, LAYOUT.checkpoints)[-1]
    raw = store.read(newest)
    assert raw is not None
    assert json.loads(raw)["fold"] == FOLD


def test_a_checkpoint_of_a_newer_fold_asks_for_an_upgrade() -> None:
    room, store = a_feed()
    whole = opened(room)
    newer = {"fold": FOLD + 1, "state": {"everything": "is different"}}
    store.create(LAYOUT.checkpoint(whole.number), hashed(newer))
    for deep in (False, True):
        with pytest.raises(EntryNewer, match=f"format {FOLD + 1}; this version knows up to {FOLD}"):
            room.journal().open(deep=deep)


@pytest.mark.parametrize(
    "raw",
    [
        b"garbage",
        hashed({"state": {}}),
        hashed({"fold": "two"}),
        hashed({"fold": FOLD, "state": {"number": 5, "sha256": "x", "undone": {}}}),
        checkpoint_of_fold_1(FeedState())[:-1],
    ],
)
def test_a_damaged_checkpoint_is_passed_over_and_never_filled_with_defaults(raw: bytes) -> None:
    assert read_checkpoint(FEED_BOOK, KEY, raw) is None
    room, store = a_feed()
    whole = opened(room)
    store.create(KEY, raw)
    journal: FeedJournal = room.journal()
    assert journal.open().state == whole
    assert journal.notices == [f"the checkpoint {KEY!r} is damaged and was passed over"]


def test_a_checkpoint_survives_being_written_and_read() -> None:
    room, store = a_feed()
    state = opened(room)
    write_checkpoint(room.journal(), state)
    raw = MemoryStore.read(store, LAYOUT.checkpoint(state.number))
    assert raw is not None
    found = read_checkpoint(FEED_BOOK, KEY, raw)
    assert found is not None
    assert (found.number, found.sha256, found.state) == (state.number, state.sha256, state)
