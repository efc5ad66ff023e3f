"""An audit of a sealed journal: segments gone, damaged or exchanged, and entries that came back."""

import pytest

from penstock.audit.receipt import Receipt
from penstock.audit.shallow import audit
from penstock.model.envelope import Seal
from penstock.protocol.journal.sealing import SealPolicy, pack_entries, seal_old
from penstock.protocol.journal.segment_objects import segment_bytes
from tests.helpers.journals import LAYOUT, WatchedStore
from tests.helpers.sealed_feeds import (
    AT_ONCE,
    NOW_S,
    a_feed,
    lose,
    sealed_feed,
    torn,
    with_checkpoints,
)
from tests.simulator.programs import Room


def found(room: Room) -> list[tuple[str, str]]:
    """The differences: which object, and what is wrong."""
    return [(each.file, each.found) for each in audit(room.journal()).differences]


def facts(receipt: Receipt) -> tuple[object, ...]:
    return receipt.partitions, receipt.files, receipt.size_bytes, receipt.datasets, receipt.windows


def test_a_sealed_journal_has_the_receipt_that_it_had_before() -> None:
    room, _ = a_feed()
    before = audit(room.journal())
    assert seal_old(room.journal(), SealPolicy(0.0, most=5), 1, NOW_S) is not None
    assert seal_old(room.journal(), SealPolicy(0.0, most=5), 1, NOW_S) is not None
    after = audit(room.journal())
    assert (after.differences, after.pending) == ((), ())
    assert facts(after) == facts(before)
    assert after.entries == before.entries + 2


def test_originals_that_still_lie_there_are_no_difference() -> None:
    room, store = a_feed()
    before = store.shelf
    done = seal_old(room.journal(), AT_ONCE, 1, NOW_S)
    assert done is not None
    for key in (LAYOUT.entry(3), LAYOUT.entry(7), LAYOUT.marker(5)):
        lose(store, key, before.objects[key])
    assert found(room) == []


def test_an_entry_that_came_back_with_other_bytes_is_a_difference() -> None:
    room, store, _ = sealed_feed()
    lose(store, LAYOUT.entry(3), b"written by a process that slept")
    [(key, words)] = found(room)
    assert key == LAYOUT.entry(3)
    assert "entry 3 is sealed, and this is another one" in words


def test_a_marker_that_came_back_with_other_bytes_is_a_difference() -> None:
    room, store, _ = sealed_feed()
    lose(store, LAYOUT.marker(3), b'{"number":3,"sha256":"00","groups":["a@files"]}')
    assert [key for key, _ in found(room)] == []
    lose(store, LAYOUT.marker(0), b'{"number":0,"sha256":"00","groups":["a@files"]}')
    assert (LAYOUT.marker(0), "it marks an entry that publishes nothing") in found(room)


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_segment_that_is_gone_or_torn_is_a_difference(is_gone: bool) -> None:
    room, store, done = sealed_feed()
    with_checkpoints(room)
    if is_gone:
        lose(store, done.key)
    else:
        torn(store, done.key)
    differences = found(room)
    [words] = {words for key, words in differences if key == done.key}
    assert "SEGMENT_DAMAGED" in words
    assert ("it is gone" if is_gone else "its hash is wrong") in words


def exchanged(store: WatchedStore, room: Room, done: Seal) -> None:
    """A whole segment, which is not the one that was sealed: markers are missing."""
    segment = room.journal().segments.segment(done.first)
    entries = [type(each)(each.entry) for each in segment.entries]
    lose(store, done.key, segment_bytes(done.first, entries)[0])


def test_another_segment_than_the_one_that_was_sealed_is_a_difference() -> None:
    room, store, done = sealed_feed()
    exchanged(store, room, done)
    number = done.last + 2
    assert (done.key, f"it is not the segment that entry {number} has sealed") in found(room)


def test_a_segment_that_no_entry_names_is_one_unless_it_is_the_last() -> None:
    room, store = a_feed()
    store.create(LAYOUT.segment(0), segment_bytes(0, pack_entries(room.journal(), 0, 3))[0])
    assert found(room) == [], "a round died before it could decide"
    store.create(LAYOUT.segment(4), segment_bytes(4, pack_entries(room.journal(), 4, 5))[0])
    key, words = LAYOUT.segment(0), "no entry of the journal names this segment"
    assert found(room) == [(key, words)]
