"""The audit: whole lakes pass, doctored ones do not, and a live owner is no difference."""

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from penstock.audit.ledger import open_ledger
from penstock.audit.receipt import Receipt
from penstock.audit.shallow import audit
from penstock.care.replay import drop, live_records
from penstock.care.seek import Approval, accept_gaps, seek_all, unpark
from penstock.errors import EntryDamaged, EntryNewer
from penstock.model.entries import FORMAT, AnyBody, Rebind, SealedEntry, Window
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.manifest import QUARANTINE, Content, Input
from penstock.model.ranges import OffsetSet, TopicPartition
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.fold import apply_body
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.markers import Marker
from penstock.protocol.journal.wire import open_entry, seal
from tests.helpers.journals import (
    LAYOUT,
    WatchedStore,
    a_compaction,
    a_file,
    a_room,
    a_window,
    an_owner,
    begins,
    covered,
    decided_only,
    delivered,
    window_of,
)
from tests.simulator.kafka import BAD, FILTERED, MARKER, TOPIC, TOPIC_ID, SimKafka
from tests.simulator.programs import FEED, GivenRules, Room, compactor, replayer, retirer

PLACE = TopicPartition(TOPIC_ID, 0)
MIXED = ["a", BAD, "b", FILTERED, MARKER, "a", BAD]


def a_lake(*fates: list[str], max_records: int = 2) -> tuple[Room, WatchedStore]:
    """Everything delivered, in small windows."""
    store = WatchedStore()
    room = a_room(SimKafka(dict(enumerate(fates or (MIXED, ["b", "a"])))), store)
    return delivered(room, max_records=max_records), store


def more(room: Room, *fates: str) -> None:
    """More records arrive in partition 0."""
    room.kafka.partitions[0] += fates
    room.kafka.latest[0] = len(room.kafka.partitions[0])


def fates_of(receipt: Receipt, partition: int = 0) -> dict[str, int]:
    """Where the offsets of a partition are."""
    part = receipt.partitions[partition]
    names = ("read", "written", "quarantined", "filtered", "empty", "given_up")
    return {name: getattr(part, name) for name in names if getattr(part, name)}


def data_of(store: WatchedStore, part: str = f"{FEED}/a/") -> list[str]:
    """The visible files of a directory."""
    return [key for key in store.shelf.objects if key.startswith(part)]


def found(room: Room) -> list[tuple[str, str]]:
    """The kinds and files of what an audit objects to."""
    return [(each.kind, each.file) for each in audit(room.journal()).differences]


def test_a_whole_lake_passes_and_every_offset_has_one_fate() -> None:
    room, store = a_lake()
    receipt = audit(room.journal())
    state = room.journal().open().state
    assert receipt.verdict == "ok"
    assert (receipt.entries, receipt.windows) == (state.number + 1, state.windows)
    assert [(p.start, p.watermark) for p in receipt.partitions] == [(0, 7), (0, 2)]
    assert fates_of(receipt) == {
        "read": 6, "written": 3, "quarantined": 2, "filtered": 1, "empty": 1,
    }  # fmt: skip
    assert fates_of(receipt, 1) == {"read": 2, "written": 2}
    files = [*data_of(store), *data_of(store, f"{FEED}/b/"), *data_of(store, quarantine())]
    assert receipt.files == len(files)
    assert receipt.size_bytes == sum(len(store.read(key) or b"") for key in files)
    assert not receipt.pending


def test_sizes_come_from_listings_and_only_what_differs_is_asked_for() -> None:
    """Goal: an audit of many files costs listings, not a request for each file."""
    room, store = a_lake()
    asked: list[str] = []
    head = store.head

    def counted(key: str) -> int | None:
        asked.append(key)
        return head(key)

    store.head = counted  # type: ignore[method-assign]
    assert audit(room.journal()).verdict == "ok"
    assert [key for key in asked if key.endswith(".json")] == asked, "no data file"
    victim = data_of(store)[0]
    store.delete(victim)
    asked.clear()
    assert found(room) == [("file_missing", victim)]
    assert [key for key in asked if not key.endswith(".json")] == [victim]


def quarantine() -> str:
    return f"_penstock/{FEED}/quarantine/"


@pytest.mark.parametrize("directory", [f"{FEED}/a/", quarantine()])
def test_a_file_that_was_removed_is_named_with_its_offsets(directory: str) -> None:
    room, store = a_lake()
    victim = data_of(store, directory)[0]
    store.delete(victim)
    [difference] = audit(room.journal()).differences
    assert (difference.kind, difference.file) == ("file_missing", victim)
    [lost] = difference.ranges
    assert f"_{lost.partition}_{lost.start}-{lost.end}_" in victim


def test_a_file_of_another_size_is_named_with_both_sizes() -> None:
    room, store = a_lake()
    victim = data_of(store)[0]
    store.delete(victim)
    store.create(victim, b"[]")
    [difference] = audit(room.journal()).differences
    assert (difference.kind, difference.file) == ("file_size", victim)
    assert "has 2 bytes" in difference.found


@pytest.mark.parametrize(
    "key",
    [
        f"{FEED}/a/day=2026-11-15/copy.parquet",
        f"{FEED}/stray",
        f"{quarantine()}dataset=x/x.parquet",
    ],
)
def test_a_file_that_no_entry_names_is_foreign(key: str) -> None:
    room, store = a_lake()
    store.create(key, b"x")
    assert found(room) == [("file_foreign", key)]


@pytest.mark.parametrize(
    "key",
    [f"{FEED}/a/day=2026-11-15/_SUCCESS", f"{FEED}/a/.x.crc", f"{FEED}/_mine/x", "elsewhere/a/x"],
)
def test_what_readers_pass_over_is_not_foreign(key: str) -> None:
    room, store = a_lake()
    store.create(key, b"x")
    assert found(room) == []


def test_a_window_that_is_decided_and_not_published_is_pending_and_no_difference() -> None:
    room = a_room(SimKafka({0: ["a", BAD]}))
    number = decided_only(an_owner(room))
    receipt = audit(room.journal())
    assert receipt.verdict == "ok"
    assert [(p.entry, p.dataset, p.files, p.rows) for p in receipt.pending] == [
        (number, "_quarantine", 1, 1),
        (number, "a", 1, 1),
    ]
    assert (receipt.files, fates_of(receipt)["written"]) == (0, 1)


def test_a_parked_dataset_is_pending_with_its_reason_until_it_is_published() -> None:
    store = WatchedStore()
    store.broken = {"a"}
    room = delivered(a_room(SimKafka({0: ["a", "b"]}), store), max_records=1)
    [pending] = audit(room.journal()).pending
    assert (pending.dataset, pending.rows) == ("a", 1)
    assert "broken on purpose" in pending.parked
    store.broken = set()
    unpark(room.journal(), room.around, "a", "me")
    delivered(room)
    receipt = audit(room.journal())
    assert (receipt.verdict, receipt.pending, receipt.files) == ("ok", (), 2)


def test_a_group_that_is_done_is_checked_although_another_of_its_entry_is_not() -> None:
    store = WatchedStore()
    store.broken = {"a"}
    room = delivered(a_room(SimKafka({0: ["a", "b"]}), store))
    [victim] = data_of(store, f"{FEED}/b/")
    store.delete(victim)
    assert found(room) == [("file_missing", victim)]


def test_files_that_a_compaction_replaced_are_neither_missing_nor_live() -> None:
    room, store = a_lake(["a"] * 5)
    before = {key: store.read(key) or b"" for key in data_of(store)}
    assert compactor("a")(room) == "decided"
    receipt = audit(room.journal())
    assert (receipt.verdict, receipt.files, fates_of(receipt)["written"]) == ("ok", 1, 5)
    back, content = next(iter(before.items()))
    store.create(back, content)
    assert found(room) == [("file_foreign", back)]


def test_the_ledger_keeps_sizes_of_live_files_only() -> None:
    room, _ = a_lake(["a"] * 5)
    compactor("a")(room)
    _, ledger = open_ledger(room.journal())
    assert set(ledger.recorded) == set(ledger.files)


def decide(room: Room, body: AnyBody) -> None:
    """Append an entry that nobody proved."""
    journal = room.journal()
    fold = journal.open(deep=True)
    journal.append(fold, body, fold.state.epoch)


def test_a_window_whose_sums_are_wrong_is_a_difference_although_the_rules_let_it_pass() -> None:
    room, _ = a_lake(["a"] * 2)
    decide(room, a_window(covered(2, 4), window="1-9"))
    receipt = audit(room.journal())
    words = [each.found for each in receipt.differences]
    assert "window 1-9 has evidence for other ranges than its own" in words
    assert "4 offsets have 2 fates" in words


def test_a_quarantined_record_that_is_not_named_is_a_difference() -> None:
    room, _ = a_lake(["a"] * 2)
    lost = covered(2, 3)
    seen = Evidence.of_positions(TOPIC, 0, [2])
    evidence = RangeEvidence(lost, OffsetSet.of([2]), seen, 0, quarantined=seen)
    content = Content(files=(a_file(QUARANTINE, lost, [2]),), evidence=(evidence,))
    decide(room, window_of(content, lost, window="1-9"))
    words = [each.found for each in audit(room.journal()).differences]
    assert "1 records are quarantined, but 0 are named" in words


def test_a_compaction_that_lost_a_row_is_a_difference_even_if_the_inventory_let_it_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room, store = a_lake(["a"] * 4)
    monkeypatch.setattr(Inventory, "_balance_objection", lambda *_: None)
    inputs = tuple(Input("a", final) for final in data_of(store))
    content = Content(files=(a_file("a", covered(0, 4), [0, 1, 2]),), inputs=inputs)
    decide(room, a_compaction(content))
    [difference, lost] = audit(room.journal()).differences
    assert lost.kind == "file_missing"  # nobody has staged it
    assert "4 rows were written and 0 removed, and the live files have 3" in difference.found


def test_a_watermark_that_does_not_follow_from_the_entries_is_a_difference() -> None:
    """Goal: the fold is not believed either. Method: a book that moves the watermark too far."""
    room, _ = a_lake(["a"] * 2)

    def generous(state: FeedState, sealed: SealedEntry) -> None:
        apply_body(state, sealed)
        if isinstance(sealed.body, Window):
            state.partitions[TOPIC_ID][0].watermark += 1

    journal = room.journal()
    journal.book = replace(FEED_BOOK, apply=generous)
    [difference] = audit(journal).differences
    assert difference.found == f"the entries of {TOPIC}/0 end at 2, but the watermark is 3"


def test_inputs_of_a_compaction_that_is_not_done_may_still_be_there() -> None:
    room, store = a_lake(["a"] * 5)
    store.broken = {"a"}
    with pytest.raises(Exception, match="broken on purpose"):
        compactor("a")(room)
    receipt = audit(room.journal())
    assert (receipt.verdict, receipt.files) == ("ok", 0)
    [pending] = receipt.pending
    assert (pending.files, pending.rows) == (1, 5)


def test_rows_that_retention_removed_are_counted() -> None:
    room, _ = a_lake(["a", "a", "b"])
    assert retirer("a")(room) == "decided"
    receipt = audit(room.journal())
    assert (receipt.verdict, receipt.retired_rows) == ("ok", 2)


def test_the_quarantine_is_left_by_replay_and_by_drop_with_the_author_named() -> None:
    room, _ = a_lake()
    [records] = live_records(room.journal().open(deep=True))
    first, _ = records.offsets
    part = msgspec.structs.replace(records, offsets=type(records.offsets).of([first]))
    drop(room.journal(), room.around, (part,), "ann", "test data")
    assert replayer("a")(room) == "decided"
    receipt = audit(room.journal())
    assert receipt.verdict == "ok"
    assert fates_of(receipt) == {
        "read": 6, "written": 4, "filtered": 1, "empty": 1, "given_up": 1,
    }  # fmt: skip
    [given_up] = receipt.given_up
    assert (given_up.kind, given_up.author, given_up.reason) == ("drop", "ann", "test data")
    assert (given_up.range.start, given_up.range.end) == (first, first + 1)


def test_gaps_and_seeks_are_given_up_by_name() -> None:
    room, _ = a_lake(["a"] * 2)
    more(room, *["a"] * 8)
    accept_gaps(room.journal(), [covered(2, 4)], Approval("ann", "expired"))
    seek_all(room.journal(), {PLACE: 8}, Approval("bob", "broken producer"))
    delivered(room)
    receipt = audit(room.journal())
    assert receipt.verdict == "ok"
    assert fates_of(receipt) == {"read": 4, "written": 4, "given_up": 6}
    assert [(g.kind, str(g.range), g.author, g.reason) for g in receipt.given_up] == [
        ("gap", f"{TOPIC}/0 [2, 4)", "ann", "expired"),
        ("seek", f"{TOPIC}/0 [4, 8)", "bob", "broken producer"),
    ]


def test_a_seek_back_takes_what_was_given_up_back() -> None:
    room, _ = a_lake(["a"] * 2)
    more(room, *["a"] * 8)
    seek_all(room.journal(), {PLACE: 6}, Approval("bob", "skip"))
    seek_all(room.journal(), {PLACE: 9}, Approval("bob", "skip more"))
    seek_all(room.journal(), {PLACE: 4}, Approval("bob", "after all"))
    delivered(room)
    receipt = audit(room.journal())
    assert receipt.verdict == "ok"
    assert fates_of(receipt) == {"read": 8, "written": 8, "given_up": 2}
    assert [str(g.range) for g in receipt.given_up] == [f"{TOPIC}/0 [2, 4)"]


def test_a_seek_below_the_first_offset_before_anything_was_read_moves_the_start() -> None:
    room = a_room(SimKafka({0: ["a"] * 4}))
    owner = an_owner(room, rules=GivenRules(begin=lambda _t, _p, _o: 3))
    assert owner.plan() is not None
    seek_all(room.journal(), {PLACE: 1}, Approval("bob", "earlier"))
    delivered(room)
    receipt = audit(room.journal())
    assert receipt.verdict == "ok"
    assert (receipt.partitions[0].start, fates_of(receipt)["written"]) == (1, 3)


def test_both_lives_of_a_recreated_topic_are_accounted_for() -> None:
    room, _ = a_lake(["a"] * 3)
    journal = room.journal()
    fold = journal.open()
    start = msgspec.structs.replace(begins(0, 0), topic_id="topic-id-2")
    body = Rebind(TOPIC, TOPIC_ID, "topic-id-2", (start,), "ann", "recreated")
    journal.append(fold, body, fold.state.epoch)
    receipt = audit(journal)
    assert receipt.verdict == "ok"
    assert [(p.topic_id, p.watermark) for p in receipt.partitions] == [
        (TOPIC_ID, 3),
        ("topic-id-2", 0),
    ]


def test_files_that_were_lost_and_derived_again_are_no_difference() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a", "b"]}), store)
    decided_only(an_owner(room))
    assert store.lose_staged() == 2
    delivered(room)
    receipt = audit(room.journal())
    assert (receipt.verdict, receipt.files) == ("ok", 2)


def test_a_compaction_while_files_are_looked_at_is_no_difference() -> None:
    room, store = a_lake(["a"] * 5)
    store.once(lambda act: act.name == "head", lambda: compactor("a")(room))
    receipt = audit(room.journal())
    assert receipt.verdict == "ok"
    assert len(data_of(store)) == 1


def test_windows_and_compactions_while_the_journal_is_read_are_no_difference() -> None:
    room, store = a_lake(["a"] * 5)
    more(room, "a", "a")

    def meanwhile() -> None:
        delivered(room)
        compactor("a")(room)

    store.once(lambda act: act.name == "read" and "journal" in act.key, meanwhile)
    receipt = audit(room.journal())
    assert (receipt.verdict, fates_of(receipt)["written"]) == ("ok", 7)


def test_a_file_that_stays_missing_while_others_are_compacted_is_named() -> None:
    room, store = a_lake(["a"] * 4 + ["b"] * 4)
    [victim, *_] = data_of(store, f"{FEED}/b/")
    store.delete(victim)
    store.once(lambda act: act.name == "head", lambda: compactor("a")(room))
    assert found(room) == [("file_missing", victim)]


def edit(store: WatchedStore, key: str, change: Callable[[bytes], bytes]) -> None:
    raw = store.read(key)
    assert raw is not None
    store.delete(key)
    store.create(key, change(raw))


def damage(room: Room) -> list[tuple[str, str]]:
    """The objects of the journal that an audit objects to, with the code of what is wrong."""
    differences = audit(room.journal()).differences
    assert {each.kind for each in differences} == {"journal"}
    return [(each.file, each.found.partition(":")[0]) for each in differences]


def test_a_damaged_entry_is_a_difference_and_the_auditor_still_tells_what_it_could_read() -> None:
    room, store = a_lake()
    edit(store, LAYOUT.entry(4), lambda raw: raw.replace(b'"read":', b'"rEad":'))
    assert damage(room) == [(LAYOUT.entry(4), "ENTRY_DAMAGED")]
    receipt = audit(room.journal())
    assert (receipt.entries, receipt.windows) == (4, 1)
    with pytest.raises(EntryDamaged):
        open_ledger(room.journal())


def test_damage_below_a_checkpoint_is_found_although_owners_no_longer_look_there() -> None:
    store = WatchedStore()
    room = delivered(a_room(SimKafka({0: ["a"] * 9}), store), max_records=1, checkpoint_every=2)
    edit(store, LAYOUT.entry(4), lambda raw: raw[:-1])
    room.journal().open()
    assert damage(room) == [(LAYOUT.entry(4), "ENTRY_DAMAGED")]


def test_an_entry_that_was_exchanged_breaks_the_chain() -> None:
    room, store = a_lake()
    foreign, _ = a_lake(["a"])
    edit(store, LAYOUT.entry(2), lambda _: foreign.store.read(LAYOUT.entry(2)) or b"")
    assert damage(room) == [(LAYOUT.entry(3), "CHAIN_BROKEN")]


def test_an_entry_that_is_missing_in_the_middle_is_named() -> None:
    room, store = a_lake()
    store.delete(LAYOUT.entry(3))
    assert damage(room) == [(LAYOUT.entry(3), "ENTRY_MISSING")]


def test_an_entry_of_a_newer_version_is_no_damage() -> None:
    room, store = a_lake(["a"])

    def newer(raw: bytes) -> bytes:
        sealed = open_entry(FEED_BOOK, "", 3, raw)
        return seal(msgspec.structs.replace(sealed.entry, format=FORMAT + 1))[0]

    edit(store, LAYOUT.entry(3), newer)
    with pytest.raises(EntryNewer):
        audit(room.journal())


def test_manifests_are_read_and_a_lost_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.model.manifest.INLINE_FILES", 0)
    room, store = a_lake(["a"] * 3)
    assert audit(room.journal()).verdict == "ok"
    [first, *_] = list_keys(store, LAYOUT.manifests)
    store.delete(first)
    assert damage(room) == [(first, "MANIFEST_DAMAGED")]


def test_markers_of_nothing_and_of_groups_that_an_entry_does_not_have_are_differences() -> None:
    room, store = a_lake(["a"])
    claim, window = room.journal().require(1), room.journal().require(3)
    store.create(LAYOUT.marker(1), msgspec.json.encode(Marker(1, claim.sha256, ())))
    late = msgspec.json.encode(Marker(3, window.sha256, ("b",)))
    store.create(LAYOUT.part_marker(3, "b"), late)
    assert [each[0] for each in damage(room)] == [LAYOUT.marker(1), LAYOUT.part_marker(3, "b")]


def test_progress_counts_entries_and_files() -> None:
    room, _ = a_lake()
    told: list[tuple[str, int, int]] = []
    receipt = audit(room.journal(), lambda *step: told.append(step))
    assert ("entries", receipt.entries, receipt.entries) in told
    assert ("files", receipt.files, receipt.files) in told


def test_an_audit_writes_nothing() -> None:
    room, store = a_lake()
    store.create(f"{FEED}/stray", b"x")
    store.acts.clear()
    assert audit(room.journal()).verdict == "different"
    reading = {"read", "head", "list"}
    assert {act.name for act in store.acts} <= reading


def test_a_feed_that_never_ran_has_no_entries() -> None:
    assert audit(a_room().journal()).entries == 0
