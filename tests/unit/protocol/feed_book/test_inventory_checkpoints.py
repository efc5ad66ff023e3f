"""Inventory checkpoints: written by anyone, killed anywhere, lost in part, never just believed."""

import contextlib

import msgspec
import pytest

from penstock.care.command_entries import decide_for_command
from penstock.errors import ChainBroken, EntryNewer, JournalCut, OutcomeUnknown
from penstock.model.entries import Drop
from penstock.model.manifest import QUARANTINE, Content
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.inventory_objects import (
    INVENTORY_FORMAT,
    InventoryRoot,
    RootObject,
    read_root,
    root_bytes,
)
from penstock.protocol.feed_book.inventory_reader import InventoryRoots, ref_key
from penstock.protocol.feed_book.inventory_writer import KEPT_ROOTS, update_inventory
from penstock.protocol.feed_book.shard_names import (
    file_shard,
    of_dataset,
    of_quarantine,
    records_shard,
)
from penstock.protocol.journal.wire import seal
from penstock.runtime.surroundings import Surroundings
from penstock.testing.fault_store import Died, Fault, FaultStore, What
from tests.helpers.inventory_stories import InventoryStory, facts, told_story
from tests.helpers.journals import LAYOUT, WatchedStore, a_room
from tests.simulator.programs import surroundings

AROUND = surroundings("keeper")
LIFE = [("window", 0), ("broken", 1), ("window", 2), ("window", 3), ("compact", 0), ("window", 4)]


def kept(story: InventoryStory) -> int | None:
    """Leave a root now."""
    return update_inventory(story.journal, AROUND, every=1)


def roots_of(story: InventoryStory) -> InventoryRoots:
    keys = list_keys(story.store, LAYOUT.inventory_roots)
    return InventoryRoots(story.journal, keys)


def newest_root(story: InventoryStory) -> InventoryRoot:
    root = roots_of(story).newest()
    assert root is not None
    return root


def is_right(journal: FeedJournal) -> bool:
    """True when the inventory from checkpoints is that of all entries."""
    wanted = facts(journal.open_from_first().inventory)
    return facts(journal.open(deep=True).inventory) == wanted


def watched(ops: list[tuple[str, int]]) -> tuple[InventoryStory, WatchedStore]:
    store = WatchedStore()
    return told_story(ops, store), store


def read_keys(store: WatchedStore, part: str) -> list[str]:
    return [act.key for act in store.acts if act.name == "read" and part in act.key]


@pytest.mark.parametrize(
    ("final", "name"),
    [
        ("feed/a/day=2026-11-15/hour=07/x.rows", "files/a/day=2026-11-15"),
        ("feed/a/region=de/day=2026-11-15/x.rows", "files/a/day=2026-11-15"),
        ("feed/a/x.rows", "files/a/bucket=15"),
        ("feed/a/hour=2026-11-15-07/x.rows", "files/a/bucket=15"),
        ("_penstock/feed/quarantine/d/0_events_3_5-9_1-7.rows", "files/_quarantine/events/3"),
        ("_penstock/feed/quarantine/d/odd.rows", "files/_quarantine/bucket=12"),
    ],
)
def test_the_shard_of_a_file_is_found_from_its_name(final: str, name: str) -> None:
    assert file_shard(final) == name


def test_shards_are_chosen_by_dataset_and_day_or_all_of_the_quarantine() -> None:
    names = ["files/a/day=1", "files/ab/day=1", "files/a/bucket=03", records_shard("id", 0)]
    assert [name for name in names if of_dataset("a")(name)] == ["files/a/day=1", names[2]]
    assert [name for name in names if of_dataset("a", "1")(name)] == ["files/a/day=1"]
    assert [name for name in names if of_dataset("", "1")(name)] == names[:2]
    assert [name for name in names if of_quarantine(name)] == ["records/id/0"]
    assert of_quarantine(f"files/{QUARANTINE}/events/0")


def test_opening_starts_at_the_root_and_reads_only_what_follows() -> None:
    story, store = watched(LIFE)
    number = kept(story)
    assert number is not None
    story.happen("window", 0)
    store.acts.clear()
    fold = story.journal.open_with(story.journal.newest_long())
    assert LAYOUT.entry(number + 1) in read_keys(store, "/journal/")
    assert fold.inventory is not None
    assert read_keys(store, "/shards/") == [
        key
        for ref in newest_root(story).shards
        if (key := ref_key(LAYOUT, ref)) and ref.name == "files/a/day=1"
    ], "the window touches one shard"
    assert facts(fold.inventory) == facts(story.journal.open_from_first().inventory)


def test_a_partial_inventory_reads_only_its_shards() -> None:
    story, store = watched(LIFE)
    kept(story)
    store.acts.clear()
    fold = story.journal.open_partial(of_dataset("b", "1"))
    assert fold.inventory is not None
    assert fold.inventory.files
    assert len(read_keys(store, "/shards/")) == 1
    assert fold.inventory.datasets() == {"a", "b", "c", QUARANTINE}
    with pytest.raises(ValueError, match="needs the whole inventory"):
        story.journal.append(fold, Drop(content=Content(), author="me", reason="x"), 1)


def test_a_partial_inventory_can_forget_what_was_listed_and_a_whole_one_cannot() -> None:
    story, _ = watched(LIFE)
    kept(story)
    some = story.journal.open_partial(of_dataset("")).inventory
    assert some is not None
    assert some.files_of("a")
    some.forget("a")
    assert {live.dataset for live in some.files.values()} == {"b", "c", QUARANTINE}
    with pytest.raises(ValueError, match="must not forget"):
        story.live.forget("a")


def test_only_touched_shards_are_written_and_the_others_are_named_again() -> None:
    story, store = watched(LIFE)
    kept(story)
    before = {ref.name: ref for ref in newest_root(story).shards}
    store.acts.clear()
    story.happen("window", 1)
    kept(story)
    after = {ref.name: ref for ref in newest_root(story).shards}
    assert {name for name in after if after[name] != before.get(name)} == {"files/a/day=2"}
    assert len(store.created("/shards/")) == 1


def test_a_root_is_left_only_when_enough_has_happened() -> None:
    story, store = watched(LIFE)
    assert update_inventory(story.journal, AROUND, every=100) is None
    assert store.created("/inventory/") == []
    number = kept(story)
    assert number == story.fold.state.number
    store.acts.clear()
    assert kept(story) is None
    assert [act.name for act in store.acts] == ["list", "list"], "looking costs two requests"


def test_a_long_journal_is_taken_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.protocol.feed_book.inventory_writer.MOST_AT_ONCE", 3)
    story, store = watched([*LIFE, *LIFE])
    assert kept(story) == story.fold.state.number
    created = store.created("/roots/")
    assert [int(key[-25:-5]) for key in created] == [2, 5, 8, 11, 14]
    assert len(list_keys(store, LAYOUT.inventory_roots)) == KEPT_ROOTS
    assert is_right(story.journal)


def test_a_lost_shard_is_folded_again_and_never_taken_as_empty() -> None:
    story, store = watched(LIFE)
    kept(story)
    story.happen("window", 0)
    kept(story)
    for key in list_keys(store, LAYOUT.inventory_shards):
        store.shelf = store.shelf.with_object(key, None)
    assert is_right(story.journal)
    assert "was folded again: it is gone" in "".join(story.journal.notices)


def test_a_lost_shard_is_written_again_by_the_next_root() -> None:
    story, store = watched(LIFE)
    kept(story)
    lost = next(ref for ref in newest_root(story).shards if ref.name == "files/b/day=1")
    store.shelf = store.shelf.with_object(ref_key(LAYOUT, lost), None)
    story.happen("window", 0)
    kept(story)
    healed = next(ref for ref in newest_root(story).shards if ref.name == lost.name)
    assert (healed.sha256, healed.number > lost.number) == (lost.sha256, True)
    assert store.read(ref_key(LAYOUT, healed)) is not None
    story.journal.notices.clear()
    assert is_right(story.journal)
    assert story.journal.notices == []


@pytest.mark.parametrize("spoiled", [b"", b"{}", b'{"hash":"0"}'])
def test_a_spoiled_shard_or_root_is_passed_over(spoiled: bytes) -> None:
    for prefix in (LAYOUT.inventory_shards, LAYOUT.inventory_roots):
        story, store = watched(LIFE)
        kept(story)
        for key in list_keys(store, prefix):
            store.shelf = store.shelf.with_object(key, spoiled)
        assert is_right(story.journal)
        assert story.journal.notices


def test_a_shard_of_other_content_is_not_taken_for_the_one_that_is_named() -> None:
    """Goal: the hash is looked at. Method: exchange two whole shards."""
    story, store = watched(LIFE)
    kept(story)
    one, two = list_keys(store, LAYOUT.inventory_shards)[:2]
    raw = store.shelf.objects
    store.shelf = store.shelf.with_object(one, raw[two]).with_object(two, raw[one])
    assert is_right(story.journal)
    assert "has another hash" in "".join(story.journal.notices)


def test_a_root_that_was_restored_from_older_days_is_only_older() -> None:
    story, store = watched(LIFE)
    kept(story)
    before = store.shelf.objects
    for choice in range(5):
        story.happen("window", choice)
        kept(story)
    inventory = {key for key in store.shelf.objects if "/inventory/" in key}
    for key in inventory | {key for key in before if "/inventory/" in key}:
        store.shelf = store.shelf.with_object(key, before.get(key))
    assert is_right(story.journal)
    story.happen("window", 1)
    kept(story)
    assert is_right(story.journal)


def test_a_root_of_another_entry_stops_whoever_opens_the_inventory() -> None:
    story, store = watched(LIFE)
    root = newest_root_with(story, sha256="0" * 64)
    store.create(LAYOUT.inventory_root(root.number), root_bytes(root))
    with pytest.raises(ChainBroken):
        story.journal.open(deep=True)


def newest_root_with(story: InventoryStory, **changes: object) -> InventoryRoot:
    state = story.fold.state
    return msgspec.structs.replace(InventoryRoot(state.number, state.sha256, ()), **changes)


def test_a_root_beyond_the_tail_shows_that_the_journal_was_cut() -> None:
    story, store = watched(LIFE)
    root = newest_root_with(story, number=story.fold.state.number + 5)
    store.create(LAYOUT.inventory_root(root.number), root_bytes(root))
    with pytest.raises(JournalCut):
        story.journal.open(deep=True)


def test_a_root_of_a_newer_version_asks_for_an_upgrade() -> None:
    story, store = watched(LIFE)
    state = story.fold.state
    newer = RootObject(INVENTORY_FORMAT + 1, state.number, state.sha256, ())
    store.create(LAYOUT.inventory_root(state.number), seal(newer)[0])
    with pytest.raises(EntryNewer):
        story.journal.open(deep=True)


def test_a_root_survives_being_written_and_read_also_when_it_is_long() -> None:
    story, _ = watched(LIFE)
    kept(story)
    root = newest_root(story)
    many = msgspec.structs.replace(root, shards=root.shards * 100)
    for each in (root, many):
        assert read_root("key", root_bytes(each)) == each
    assert len(root_bytes(many)) < 100 * len(root_bytes(root)) / 5


def test_what_kept_roots_name_is_never_pruned_and_the_rest_is() -> None:
    story, store = watched(LIFE)
    for choice in range(8):
        story.happen("window", choice)
        kept(story)
    keys = list_keys(store, LAYOUT.inventory_roots)
    assert len(keys) == KEPT_ROOTS
    named = set()
    for key in keys:
        root = read_root(key, store.shelf.objects[key])
        assert root is not None
        named |= {ref_key(LAYOUT, ref) for ref in root.shards}
    assert set(list_keys(store, LAYOUT.inventory_shards)) == named


def test_shards_of_a_writer_that_is_not_done_yet_are_not_pruned() -> None:
    """Goal: two writers do not harm each other. Method: one is stopped before its root."""
    story, store = watched(LIFE)
    for choice in range(4):
        story.happen("window", choice)
        kept(story)
    story.happen("window", 0)
    slow: list[str] = []

    def meanwhile() -> None:
        slow.extend(store.created(f"/shards/{story.fold.state.number:020}"))
        story.happen("window", 1)
        update_inventory(a_room(store=store, name="other").journal(), AROUND, every=1)

    store.once(lambda act: act.name == "create" and "/roots/" in act.key, meanwhile)
    kept(story)
    assert slow
    assert set(slow) <= set(list_keys(store, LAYOUT.inventory_shards))
    assert is_right(story.journal)
    assert story.journal.notices == []


WRITES = ("create", "delete")


@pytest.mark.parametrize("what", [What.DIE_BEFORE, What.DIE_AFTER, What.FAIL_AFTER, What.DELAY])
@pytest.mark.parametrize("call", WRITES)
def test_a_keeper_that_dies_anywhere_leaves_what_the_next_one_uses(call: str, what: What) -> None:
    """Goal: no write of a checkpoint can do harm. Method: each of them fails once."""
    for nth in range(1, 12):
        story, store = watched(LIFE)
        for choice in range(3):
            story.happen("window", choice)
            kept(story)
        story.happen("broken", 1)
        faulty = FaultStore(store, [Fault(call, what, "*/inventory/*", nth)])
        journal = FeedJournal(faulty, LAYOUT, story.journal.lake, AROUND)
        with contextlib.suppress(Died, OutcomeUnknown):
            update_inventory(journal, AROUND, every=1)
        if faulty.unmet():
            assert nth > 1
            return
        assert is_right(story.journal)
        faulty.deliver()
        assert is_right(story.journal)
        story.happen("window", 2)
        kept(story)
        assert is_right(story.journal)
    raise AssertionError("a keeper writes less than that")


def test_a_command_that_folded_deep_leaves_a_root(monkeypatch: pytest.MonkeyPatch) -> None:
    story, _ = watched(LIFE)
    monkeypatch.setattr("penstock.care.command_entries.INVENTORY_EVERY", 5)
    updates: list[int | None] = []

    def update(journal: FeedJournal, around: Surroundings) -> None:
        updates.append(update_inventory(journal, around, every=5))

    monkeypatch.setattr("penstock.care.command_entries.update_inventory", update)
    body = Drop(content=Content(), author="me", reason="x")
    decide_for_command(story.journal, AROUND, lambda _fold, _window: body)
    assert newest_root(story).number == story.fold.state.number + 1
    decide_for_command(story.journal, AROUND, lambda _fold, _window: body)
    assert len(updates) == 1


def test_a_command_whose_checkpoint_fails_has_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    story, store = watched(LIFE)
    monkeypatch.setattr("penstock.care.command_entries.INVENTORY_EVERY", 5)
    monkeypatch.setattr("penstock.protocol.feed_book.inventory_writer.INVENTORY_EVERY", 5)
    faulty = FaultStore(store, [Fault("list_objects", What.FAIL_BEFORE, "*/roots", 2)])
    journal = FeedJournal(faulty, LAYOUT, story.journal.lake, AROUND)
    body = Drop(content=Content(), author="me", reason="x")
    sealed = decide_for_command(journal, AROUND, lambda _fold, _window: body)
    assert story.journal.open().state.number == sealed.number
    assert "was not brought up to date" in journal.notices[-1]
    assert list_keys(store, LAYOUT.inventory_roots) == []
