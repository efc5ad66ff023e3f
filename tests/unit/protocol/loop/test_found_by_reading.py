"""Faults that a close reading of the core has found; each stays a test."""

import hashlib

import msgspec
import pytest

from penstock.care.done_files import done_files
from penstock.care.retire import retire
from penstock.care.seek import Approval, accept_gaps, unpark
from penstock.errors import (
    EntryDamaged,
    EntryImpossible,
    EntryRefused,
    GapFound,
    JournalCut,
    JournalError,
    ManifestDamaged,
)
from penstock.model.entries import LastRecord, PartitionStart, Rebind, Start
from penstock.model.manifest import QUARANTINE, ManifestRef
from penstock.model.names import FileName
from penstock.model.window import StagedWindow, StageOrder
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.state import FOLD
from penstock.protocol.journal.book_state import Checkpoint
from penstock.protocol.journal.wire import seal
from penstock.testing.memory_store import MemoryStore
from tests.helpers.changing_kafka import ChangingKafka, expired_to
from tests.helpers.journals import (
    BEGINNING,
    LAYOUT,
    WatchedStore,
    a_room,
    a_window,
    an_owner,
    begun,
    covered,
    decided_only,
    delivered,
    kinds,
    next_entry,
    rows,
    told,
    why_not,
)
from tests.simulator.kafka import BAD, CLUSTER, TOPIC, TOPIC_ID, SimKafka, SimSource
from tests.simulator.schedules import at_window


def test_the_loser_of_two_first_starts_goes_on_although_the_winner_has_claimed() -> None:
    store = MemoryStore()
    one, two = a_room(store=store).journal(), a_room(store=store, name="two").journal()
    mine, theirs = one.open(), two.open()
    one.bind(mine, CLUSTER, "parquet")
    one.claim(mine, "one")
    two.bind(theirs, CLUSTER, "parquet")
    assert two.claim(theirs, "two") == 2


def test_a_last_record_outside_the_ranges_is_refused_and_poisons_nothing() -> None:
    store = MemoryStore()
    journal, fold = begun(store)
    last = LastRecord(TOPIC_ID, 77, 2, 1)
    window = msgspec.structs.replace(a_window(covered(0, 3)), last_records=(last,))
    with pytest.raises(EntryRefused, match="not in its ranges"):
        journal.append(fold, window, 1)
    journal.open()


def test_an_unpark_that_comes_with_a_decision_does_not_turn_the_queue_around() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"] * 3}), store)
    store.broken = {"a"}
    owner = an_owner(room, max_records=1)
    owner.run_window()
    owner.run_window()
    store.broken = set()
    store.once(at_window, lambda: unpark(room.journal(), room.around, "a", "me"))
    owner.run_window()
    published = store.published("feed/a/")
    assert len(published) == 3
    assert published == sorted(published)


def test_owners_that_live_shortly_leave_checkpoints_too() -> None:
    room = a_room(SimKafka({0: ["a"] * 80}, {0: 0}))
    for count in range(80):
        room.kafka.latest[0] = count + 1
        owner = an_owner(room, max_records=1)
        while owner.run_window():
            pass
    assert list_keys(room.store, LAYOUT.checkpoints)
    assert len(list_keys(room.store, LAYOUT.tails)) < 200


def test_a_window_id_that_is_none_is_an_impossible_entry() -> None:
    store = MemoryStore()
    journal, fold = begun(store)
    entry = next_entry(fold.state, a_window(covered(0, 3), window="abc"))
    store.create(LAYOUT.entry(3), seal(entry)[0])
    with pytest.raises(EntryImpossible, match="not a window id"):
        journal.open()


def test_a_rebind_names_each_partition_of_its_own_topic_once() -> None:
    state = told(*BEGINNING)
    new = PartitionStart(TOPIC, "id-2", 0, 0)
    other = PartitionStart("other", "id-2", 0, 0)
    again = msgspec.structs.replace(new, offset=9)
    for starts in ((other,), (new, again)):
        assert why_not(state, Rebind(TOPIC, TOPIC_ID, "id-2", starts, "me", "why")) is not None


def test_a_topic_starts_with_one_id() -> None:
    starts = (PartitionStart("u", "x", 0, 0), PartitionStart("u", "y", 0, 0))
    assert why_not(told(*BEGINNING), Start(starts)) is not None


def test_an_entry_with_a_negative_first_offset_is_damaged() -> None:
    store = MemoryStore()
    journal, fold = begun(store)
    good = next_entry(fold.state, Start((PartitionStart("u", "x", 0, 5),)))
    plain = msgspec.json.encode(good).replace(b'"offset":5', b'"offset":-5')
    rest = b"," + plain[1:]
    raw = b'{"hash":"' + hashlib.sha256(rest).hexdigest().encode() + b'"' + rest
    store.create(LAYOUT.entry(3), raw)
    with pytest.raises(EntryDamaged, match="not a first offset"):
        journal.open()


def test_a_cut_journal_is_told_with_its_real_last_number() -> None:
    store = MemoryStore()
    journal, _ = begun(store)
    state = journal.open().state
    state.number += 7
    store.create(LAYOUT.checkpoint(state.number), seal(Checkpoint(FOLD, state))[0])
    with pytest.raises(JournalCut, match="ends at entry 2"):
        journal.open()


def test_derived_files_are_published_in_the_same_round() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"]}), store)
    decided_only(an_owner(room))
    store.lose_staged()
    an_owner(room, park_after=1).recover()
    assert rows(store, "a") == [(0, 0)]


def test_one_window_per_life_starves_no_partition() -> None:
    room = a_room(SimKafka({partition: ["a"] * 100 for partition in range(4)}))
    for _ in range(40):
        an_owner(room, max_records=1).run_window()
    assert min(room.journal().open().state.watermarks().values()) > 0


def test_a_gap_that_was_accepted_beside_a_live_owner_lets_it_go_on() -> None:
    kafka = ChangingKafka({0: ["a"] * 4})
    room = a_room(kafka)
    owner = an_owner(room, max_records=1)
    owner.run_window()
    kafka.change = expired_to(3)
    with pytest.raises(GapFound):
        owner.run_window()
    accept_gaps(room.journal(), [covered(1, 3)], Approval("me", "expired"))
    assert owner.run_window()


def test_a_checkpoint_of_another_history_stops_deep_openers_too() -> None:
    store = MemoryStore()
    journal, _ = begun(store)
    state = journal.open().state
    state.sha256 = "f" * 64
    store.create(LAYOUT.checkpoint(state.number), seal(Checkpoint(FOLD, state))[0])
    for deep in (False, True):
        with pytest.raises(JournalError):
            journal.open(deep=deep)


def test_digits_of_other_scripts_are_no_file_name() -> None:
    assert FileName.parse("\u0663_t_0_0-1_1-1.rows") is None


def test_the_quarantine_is_not_retired_while_it_holds_records() -> None:
    room = delivered(a_room(SimKafka({0: ["a", BAD]})))
    files = done_files(room.journal().open(deep=True), QUARANTINE)
    assert files
    with pytest.raises(EntryRefused, match="replay or drop them first"):
        retire(room.journal(), room.around, QUARANTINE, files, "me", "old")


def test_a_manifest_that_is_gone_stops_an_owner_before_it_claims() -> None:
    store = MemoryStore()
    room = a_room(SimKafka({0: [f"d{number}" for number in range(1001)]}), store)
    decided_only(an_owner(room, max_records=5000))
    (key,) = list_keys(store, LAYOUT.manifests)
    store.delete(key)
    before = kinds(room)
    with pytest.raises(ManifestDamaged):
        an_owner(room).recover()
    assert kinds(room) == before


def test_a_manifest_that_is_no_content_is_damaged_although_its_hash_fits() -> None:
    store = MemoryStore()
    journal, fold = begun(store)
    store.create("m", b"garbage")
    ref = ManifestRef("m", hashlib.sha256(b"garbage").hexdigest())
    window = msgspec.structs.replace(a_window(covered(0, 3)), content=None, manifest=ref)
    journal.append(fold, window, 1)
    with pytest.raises(ManifestDamaged, match="it is not a manifest"):
        journal.open(deep=True)


class FailsOnce(SimSource):
    """A source whose first job dies after it has staged everything."""

    failed = False

    def stage(self, order: StageOrder) -> StagedWindow:
        """Stage; the first time, fail afterwards."""
        staged = super().stage(order)
        if not self.failed:
            self.failed = True
            raise RuntimeError("a task was lost")
        return staged


def test_what_a_failed_job_left_is_tidied_up() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"] * 9}), store)
    owner = an_owner(room, FailsOnce(room.kafka, store, room.around), 1, checkpoint_every=3)
    with pytest.raises(RuntimeError):
        owner.run_window()
    while owner.run_window():
        pass
    assert store.shelf.staged == {}
