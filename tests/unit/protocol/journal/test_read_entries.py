"""Entries and markers are read side by side, and a listing decides nothing."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from penstock.api.store import ListedObject
from penstock.errors import EntryMissing
from penstock.model.layout import Layout
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.journal import read_entries
from penstock.protocol.journal.checkpoints import write_checkpoint
from penstock.protocol.journal.read_entries import BATCH, listed_entries
from penstock.runtime.surroundings import Acts
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import LAYOUT, WatchedStore, a_room, an_owner
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import LAKE, surroundings

Listing = Callable[[list[str]], list[str]]


class ListingStore(WatchedStore):
    """A store whose listings of the journal can be wrong."""

    lists: Listing = staticmethod(lambda keys: keys)

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        found = {each.key: each for each in super().list_objects(prefix, after, limit)}
        keys = list(found)
        shown = self.lists(keys) if prefix.startswith(LAYOUT.journal) else keys
        return (found.get(key, ListedObject(key, 1)) for key in shown)


def a_long_feed(windows: int = 80) -> tuple[ListingStore, int]:
    """A feed of so many windows of one record, and the number of its last entry."""
    store = ListingStore()
    owner = an_owner(a_room(SimKafka({0: ["a"] * windows}), store), max_records=1)
    while owner.run_window():
        pass
    store.acts.clear()
    return store, owner.fold.state.number


def a_journal(store: MemoryStore) -> tuple[FeedJournal, list[int]]:
    """A client that counts how many questions it asks at once."""
    asked: list[int] = []

    def do_all(acts: Acts) -> None:
        asked.append(len(acts))
        for act in reversed(acts):  # the order of answers is not that of questions
            act()

    around = replace(surroundings("reader"), do_all=do_all)
    return FeedJournal(store, Layout("feed"), LAKE, around), asked


def test_entries_are_read_in_batches_and_markers_at_once() -> None:
    store, tail = a_long_feed()
    journal, asked = a_journal(store)
    fold = journal.open()
    assert (fold.state.number, fold.state.undone) == (tail, {})
    assert asked == [BATCH, tail - BATCH, 80], "two batches of entries, and the markers"
    lists = [act for act in store.acts if act.name == "list" and "/journal/" in act.key]
    assert len(lists) == 3, "what there is; and at the tail, whether anything lies beyond"


def test_a_stale_listing_hides_nothing() -> None:
    store, tail = a_long_feed()
    store.lists = lambda keys: keys[:7]
    journal, _ = a_journal(store)
    assert journal.open().state.number == tail


def test_a_listing_that_names_nothing_is_only_slow() -> None:
    store, tail = a_long_feed()
    store.lists = lambda keys: []
    journal, asked = a_journal(store)
    assert journal.open().state.number == tail
    assert asked == [80]


def test_names_that_are_not_there_and_strangers_do_no_harm() -> None:
    store, tail = a_long_feed()
    beyond = [LAYOUT.entry(tail + 1), LAYOUT.entry(tail + 2), f"{LAYOUT.journal}/0/readme"]
    seen: list[str] = []

    def lists(keys: list[str]) -> list[str]:
        first, seen[:] = not seen, ["seen"]
        return [*keys, *beyond] if first else keys

    store.lists = lists
    journal, _ = a_journal(store)
    assert journal.open().state.number == tail


@pytest.mark.parametrize("hole", [2, 20, 50])
def test_a_hole_is_found_wherever_it_is(hole: int) -> None:
    store, _ = a_long_feed()
    store.delete(LAYOUT.entry(hole))
    journal, _ = a_journal(store)
    with pytest.raises(EntryMissing, match=f"{hole:020}"):
        journal.open()


def test_entries_that_lie_in_two_shards_are_all_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.model.layout.SHARD", 16)
    monkeypatch.setattr("penstock.protocol.journal.entry_reader.SHARD", 16)
    monkeypatch.setattr("penstock.protocol.journal.witnesses.SHARD", 16)
    store, tail = a_long_feed()
    journal, asked = a_journal(store)
    assert journal.open().state.number == tail
    assert asked[:3] == [15, 15, 15], "the first of each shard is asked for by itself"


def test_a_listing_is_read_up_to_what_is_wanted() -> None:
    store, tail = a_long_feed()
    assert listed_entries(store, LAYOUT, 5, 9) == [5, 6, 7, 8, 9]
    assert listed_entries(store, LAYOUT, tail + 1, None) == []


def test_answers_come_in_the_order_of_the_questions() -> None:
    journal, asked = a_journal(MemoryStore())
    found = list(read_entries.ask_all(journal._around, str, range(5), batch=2))
    assert found == [(0, "0"), (1, "1"), (2, "2"), (3, "3"), (4, "4")]
    assert asked == [2, 2, 1]


def test_only_markers_after_the_known_entries_are_listed() -> None:
    """Goal: opening does not list a whole shard of markers. Method: look at what was asked."""
    store, tail = a_long_feed()
    journal, _ = a_journal(store)
    listed: list[tuple[str, str]] = []
    real = store.list_objects

    def list_objects(
        prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        listed.append((prefix, after))
        return real(prefix, after, limit)

    store.list_objects = list_objects  # type: ignore[method-assign]
    write_checkpoint(journal, journal.open().state)
    listed.clear()
    journal.open()
    assert (f"{LAYOUT.done}/0", LAYOUT.marker(tail)) in listed
