"""Sealing: what is packed, when, and that readers and writers keep to it."""

import hashlib
import json
import zlib
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace

import pytest

from penstock.errors import (
    EntryNewer,
    EntryRefused,
    Fenced,
    JournalCut,
    OutcomeUnknown,
)
from penstock.model.envelope import Seal
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.book_state import sealed_to
from penstock.protocol.journal.errors import SegmentDamaged
from penstock.protocol.journal.every_book import seal_objection
from penstock.protocol.journal.sealing import (
    SealPolicy,
    delete_originals,
    original_keys,
    pack_entries,
    seal_old,
    sealable_to,
)
from penstock.protocol.journal.segment_objects import (
    SEGMENT_FORMAT,
    PackedEntry,
    SegmentObject,
    read_segment,
    segment_bytes,
)
from penstock.protocol.journal.wire import seal
from penstock.runtime.surroundings import Surroundings, one_by_one
from penstock.testing.fault_store import Fault, FaultStore, What
from penstock.testing.memory_store import Act
from tests.helpers.journals import LAYOUT, WatchedStore, a_room, an_owner, next_entry
from tests.helpers.sealed_feeds import (
    AT_ONCE,
    NOW_S,
    a_feed,
    lose,
    sealed_feed,
    torn,
    with_checkpoints,
)
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import Room, compactor, surroundings

DAY_S = 86_400.0


def originals(store: WatchedStore) -> dict[str, bytes]:
    """Entries and markers where they were created."""
    rooms = (f"{LAYOUT.journal}/", f"{LAYOUT.done}/")
    return {k: v for k, v in store.shelf.objects.items() if k.startswith(rooms)}


def test_entries_and_markers_are_packed_byte_for_byte_and_the_originals_go() -> None:
    room, store = a_feed()
    before = originals(store)
    tail = room.journal().open().state.number
    done = seal_old(room.journal(), AT_ONCE, 1, NOW_S)
    assert done == Seal(0, tail - 1, LAYOUT.segment(0), done.sha256 if done else "")
    journal = room.journal()
    assert journal.open().state.seal == done
    assert {number: journal.entry_bytes([number])[0] for number in range(tail)} == {
        number: before[LAYOUT.entry(number)] for number in range(tail)
    }
    assert {key: journal.segments.read(key) for key in before if "/done/" in key} == {
        key: raw for key, raw in before.items() if "/done/" in key
    }
    assert sorted(originals(store)) == [
        LAYOUT.marker(tail),
        LAYOUT.entry(tail),
        LAYOUT.entry(tail + 1),
    ], "the newest checkpoint's entry, its marker and the seal itself"


def test_a_segment_can_be_read_with_plain_tools() -> None:
    _, store, done = sealed_feed()
    raw = store.shelf.objects[done.key]
    found = json.loads(raw)
    assert found["hash"] == done.sha256 == hashlib.sha256(raw[raw.index(b",") :]).hexdigest()
    entries = json.loads(zlib.decompress(b64decode(found["packed"])))
    assert [json.loads(each["entry"])["number"] for each in entries] == list(range(done.last + 1))


def test_all_ways_to_read_go_on_over_sealed_history() -> None:
    room, store = a_feed()
    wanted = room.journal().open_from_first()
    done = seal_old(room.journal(), AT_ONCE, 1, NOW_S)
    assert done is not None
    for key in [*list_keys(store, LAYOUT.checkpoints), *list_keys(store, LAYOUT.inventory_roots)]:
        lose(store, key)
    for fold in (room.journal().open_from_first(), room.journal().open(deep=True)):
        assert fold.state.undone == {}
        assert fold.state.watermarks() == wanted.state.watermarks()
        assert fold.inventory is not None
        assert wanted.inventory is not None
        assert set(fold.inventory.files) == set(wanted.inventory.files)
    search = EntrySearch(room.journal(), fold.state.number, one_by_one)
    third = search.window("1-3")
    assert third is not None
    assert third.number <= done.last
    assert len(list(search.in_brief(0, len))) == fold.state.number + 1
    assert len(list(search.of_kinds(frozenset({"seal", "bind"}), 0, done.last + 3))) == 2
    assert compactor("a")(room) == "decided"


def test_the_next_round_continues_where_the_last_one_ended() -> None:
    room, _ = a_feed()
    first = seal_old(room.journal(), SealPolicy(0.0, most=4), 1, NOW_S)
    second = seal_old(room.journal(), SealPolicy(0.0, most=4), 1, NOW_S)
    assert first is not None
    assert second is not None
    assert (first.first, first.last, second.first, second.last) == (0, 3, 4, 7)
    journal = room.journal()
    assert journal.segments.firsts() == [0, 4]
    assert [journal.require(number).number for number in (7, 3, 4, 0)] == [7, 3, 4, 0]


@pytest.mark.parametrize(
    ("age_s", "most", "wanted"),
    [
        (0.0, 10_000, True),
        (DAY_S, 10_000, False),  # none is old enough
        (0.6 * DAY_S, 10_000, False),  # old enough, and too few
        (0.6 * DAY_S, 5, True),  # a whole segment
        (0.5 * DAY_S, 10_000, True),  # the oldest has waited twice as long
    ],
)
def test_entries_are_sealed_when_they_are_old_and_enough(
    age_s: float, most: int, wanted: bool
) -> None:
    room, _ = a_feed()
    done = seal_old(room.journal(), SealPolicy(age_s, most), 1, NOW_S + 0.99999 * DAY_S + 1)
    assert (done is not None) == wanted


def test_only_what_is_old_is_sealed_where_time_has_passed_between_windows() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"] * 8}), store)
    owner = an_owner(room, max_records=1)
    for turn in range(8):
        owner._journal._around = at_time(NOW_S + turn * DAY_S)
        assert owner.run_window()
    with_checkpoints(room)
    done = seal_old(room.journal(), SealPolicy(2 * DAY_S), 1, NOW_S + 7 * DAY_S)
    assert done is not None
    journal = room.journal()
    assert journal.require(done.last).entry.at < journal.require(done.last + 1).entry.at
    assert journal.require(done.last).entry.at.startswith("2027-01-20")


def at_time(now_s: float) -> Surroundings:
    """Surroundings at another time."""
    return replace(surroundings(f"at {now_s}"), now=lambda: now_s)


def test_a_large_segment_is_cut_by_its_bytes() -> None:
    room, _ = a_feed()
    some = pack_entries(room.journal(), 0, 9, most_bytes=2_000)
    assert 1 < len(some) < 9
    done = seal_old(room.journal(), SealPolicy(0.0, most_bytes=2_000), 1, NOW_S)
    assert done is not None
    assert done.last == len(some) - 1


@pytest.mark.parametrize("gone", [LAYOUT.checkpoints, LAYOUT.inventory_roots])
def test_nothing_is_sealed_without_both_checkpoints(gone: str) -> None:
    room, store = a_feed()
    for key in list_keys(store, gone):
        lose(store, key)
    assert seal_old(room.journal(), AT_ONCE, 1, NOW_S) is None


def test_a_root_with_a_lost_shard_does_not_count() -> None:
    room, store = a_feed()
    assert room.journal().long_checkpoint() == room.journal().open().state.number
    lose(store, list_keys(store, LAYOUT.inventory_shards)[0])
    assert seal_old(room.journal(), AT_ONCE, 1, NOW_S) is None


def test_what_waits_is_not_sealed_nor_what_comes_after_it() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a", "b", "a", "a"]}), store)
    store.broken = {"b"}
    owner = an_owner(room, max_records=1)
    while owner.run_window():
        pass
    with_checkpoints(room)
    fold = room.journal().open()
    [stuck] = fold.state.undone
    assert sealable_to(room.journal(), fold) == stuck - 1


def test_an_owner_that_was_fenced_seals_nothing() -> None:
    room, store = a_feed()
    an_owner(room)
    before = originals(store)
    assert seal_old(room.journal(), AT_ONCE, 1, NOW_S) is None
    assert originals(store) == before


def test_an_append_under_a_sealed_number_is_fenced_and_leaves_nothing() -> None:
    room, store = a_feed()
    asleep = an_owner(room, max_records=1)
    room.kafka.partitions[0].append("a")
    room.kafka.latest[0] += 1
    an_owner(room, max_records=1).run_window()
    with_checkpoints(room)
    number = asleep.fold.state.number + 1
    assert seal_old(room.journal(), AT_ONCE, 3, NOW_S) is not None
    assert store.shelf.objects.get(LAYOUT.entry(number)) is None
    store.acts.clear()
    with pytest.raises(Fenced):
        asleep.run_window()
    assert [act.name for act in store.acts if act.key == LAYOUT.entry(number)] == [
        "create",
        "delete",
    ]
    assert store.shelf.objects.get(LAYOUT.entry(number)) is None
    assert len([key for key in store.shelf.objects if key.endswith("12-13_3-1.rows")]) == 1


def test_without_an_answer_about_seals_the_outcome_of_an_append_is_unknown() -> None:
    room, store = a_feed(4)
    script = [Fault("head", What.FAIL_BEFORE, "*/segments/*", nth) for nth in (1, 2, 3)]
    deaf = FaultStore(store, script)
    journal = FeedJournal(deaf, LAYOUT, room.journal().lake, room.around)
    fold = room.journal().open()
    with pytest.raises(OutcomeUnknown, match="whether its number was sealed"):
        journal.claim(fold, "two")
    assert room.journal().open().state.epoch == 2, "it was decided all the same"


def test_one_lost_answer_about_seals_does_no_harm() -> None:
    room, store = a_feed(4)
    deaf = FaultStore(store, [Fault("head", What.FAIL_BEFORE, "*/segments/*")])
    journal = FeedJournal(deaf, LAYOUT, room.journal().lake, room.around)
    assert journal.claim(room.journal().open(), "two") == 2


def test_a_feed_that_is_not_sealed_pays_one_small_request_for_a_fold_and_an_append() -> None:
    room, store = a_feed(4)
    store.acts.clear()
    journal = room.journal()
    fold = journal.open()
    heads = [act.key for act in store.acts if act.name == "head"]
    assert heads == [LAYOUT.segment(0)]
    store.acts.clear()
    journal.claim(fold, "two")
    assert [act.name for act in store.acts] == ["create", "head"]


def test_opening_a_sealed_feed_reads_no_segment() -> None:
    room, store, _ = sealed_feed()
    with_checkpoints(room)
    store.acts.clear()
    room.journal().open(deep=True)
    assert {act.name for act in store.acts if "/segments" in act.key} == {"head"}


def faulty_rounds(fault: Fault) -> Room:
    """A round that meets a fault, then one that does not."""
    room, store = a_feed()
    broken = FaultStore(store, [fault])
    journal = FeedJournal(broken, LAYOUT, room.journal().lake, room.around)
    with pytest.raises(OutcomeUnknown):
        seal_old(journal, AT_ONCE, 1, NOW_S)
    with_checkpoints(room)
    seal_old(room.journal(), AT_ONCE, 1, NOW_S)
    return room


@pytest.mark.parametrize("place", [LAYOUT.journal, LAYOUT.done])
@pytest.mark.parametrize("nth", [1, 5])
def test_originals_that_could_not_be_deleted_go_with_the_next_round(place: str, nth: int) -> None:
    room = faulty_rounds(Fault("delete", What.FAIL_BEFORE, f"{place}/*", nth))
    state = room.journal().open().state
    assert state.seal is not None
    assert original_keys(room.journal(), 0, state.seal.last) == []


def test_what_sleepers_left_under_older_seals_goes_now_and_then() -> None:
    room, store = a_feed()
    for _ in range(2):
        assert seal_old(room.journal(), SealPolicy(0.0, most=4), 1, NOW_S) is not None
    strays = (LAYOUT.entry(1), LAYOUT.marker(2), LAYOUT.part_marker(3, "a@files"))
    for key in strays:
        lose(store, key, b"late")
    seal_old(room.journal(), SealPolicy(1e9), 1, NOW_S)
    assert set(strays) <= set(store.shelf.objects)
    seal_old(room.journal(), SealPolicy(1e9), 1, NOW_S, thorough=True)
    assert not set(strays) & set(store.shelf.objects)


def test_a_segment_that_nobody_decided_is_compared_and_decided() -> None:
    room, store = a_feed()
    data, sha256 = segment_bytes(0, pack_entries(room.journal(), 0, 4))
    store.create(LAYOUT.segment(0), data)
    done = seal_old(room.journal(), AT_ONCE, 1, NOW_S)
    assert done == Seal(0, 4, LAYOUT.segment(0), sha256)


def test_a_segment_with_other_entries_is_not_decided() -> None:
    room, store = a_feed()
    packed = pack_entries(room.journal(), 0, 4)
    packed[2] = PackedEntry(packed[1].entry)
    store.create(LAYOUT.segment(0), segment_bytes(0, packed)[0])
    before = originals(store)
    with pytest.raises(SegmentDamaged):
        delete_originals(room.journal(), Seal(0, 4, LAYOUT.segment(0), "0" * 64))
    with pytest.raises(SegmentDamaged, match="does not hold the entries"):
        seal_old(room.journal(), AT_ONCE, 1, NOW_S)
    assert originals(store) == before


Damage = Callable[[WatchedStore, str], None]


def edited(store: WatchedStore, key: str) -> None:
    other, _ = seal(SegmentObject(SEGMENT_FORMAT, 0, 3, zlib.compress(b"[]")))
    lose(store, key, other)


def no_json(store: WatchedStore, key: str) -> None:
    other, _ = seal(SegmentObject(SEGMENT_FORMAT, 0, 3, b"nothing packed"))
    lose(store, key, other)


@pytest.mark.parametrize("damage", [lose, torn, edited, no_json])
def test_a_segment_that_is_gone_or_damaged_stops_who_needs_it(damage: Damage) -> None:
    room, store, done = sealed_feed()
    with_checkpoints(room)
    damage(store, done.key)
    assert room.journal().open().state.seal == done, "who starts from checkpoints needs it not"
    with pytest.raises(SegmentDamaged, match="restore it from a backup"):
        room.journal().open_from_first()
    journal = room.journal()
    journal.open()
    with pytest.raises(SegmentDamaged):
        journal.require(2)


def test_originals_stay_where_the_segment_cannot_be_read_back() -> None:
    room, store = a_feed()
    fold = room.journal().open()
    data, sha256 = segment_bytes(0, pack_entries(room.journal(), 0, 4))
    store.create(LAYOUT.segment(0), data)
    room.journal().append(fold, Seal(0, 4, LAYOUT.segment(0), sha256), 1)
    torn(store, LAYOUT.segment(0))
    before = originals(store)
    with pytest.raises(SegmentDamaged):
        seal_old(room.journal(), AT_ONCE, 1, NOW_S)
    assert originals(store) == before


def test_a_segment_of_a_newer_version_says_upgrade() -> None:
    newer, _ = seal(SegmentObject(SEGMENT_FORMAT + 1, 0, 3, b""))
    with pytest.raises(EntryNewer):
        read_segment("k", 0, newer)


def test_a_segment_proves_that_the_journal_was_longer() -> None:
    room, store, done = sealed_feed()
    for key in store.shelf.objects:
        if not key.startswith((LAYOUT.segments, "feed/a")):
            lose(store, key)
    with pytest.raises(JournalCut, match="segments"):
        room.journal().open()
    assert done.last > 3


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (Seal(1, 2, "k", "h"), "all up to -1 is sealed"),
        (Seal(0, 4, "k", "h"), "the last is 4"),
        (Seal(0, -1, "k", "h"), "seals the entries 0 to -1"),
        (Seal(0, 3, "k", "h"), None),
    ],
)
def test_a_seal_continues_the_last_one_and_covers_what_is_there(
    body: Seal, why: str | None
) -> None:
    state = FeedState(number=4)
    found = seal_objection(state, next_entry(state, body))
    assert found is None if why is None else why in str(found)


def test_a_seal_is_folded_and_two_of_the_same_are_refused() -> None:
    room, _, done = sealed_feed()
    journal = room.journal()
    fold = journal.open()
    assert sealed_to(fold.state) == done.last
    with pytest.raises(EntryRefused, match="is sealed"):
        journal.append(fold, done, 1)


def test_a_stray_that_comes_while_a_reader_reads_is_passed_over() -> None:
    """Goal: what is read before a look counts only if the look allows it. Method: seal between."""
    room, store = a_feed()
    stray = store.shelf.objects[LAYOUT.entry(5)].replace(b'"at":"2', b'"at":"1')

    def seal_now() -> None:
        assert seal_old(room.journal(), AT_ONCE, 1, NOW_S) is not None
        plain = b"," + stray[stray.index(b'",') + 2 :]
        digest = hashlib.sha256(plain).hexdigest().encode()
        store.create(LAYOUT.entry(5), b'{"hash":"' + digest + b'"' + plain)

    def is_reading(act: Act) -> bool:
        return act.name == "read" and act.key == LAYOUT.entry(5)

    journal = room.journal()
    store.once(is_reading, seal_now)
    sealed = journal.require(5)
    assert sealed.entry.at.startswith("2"), "the original, out of the segment"
    fold = room.journal().open_from_first()
    assert fold.state.number > 5
