"""A journal with another book: formats, folds, the first kind and the lease are handed in too."""

from dataclasses import replace

import msgspec
import pytest

from penstock.errors import EntryNewer, EntryRefused
from penstock.model.envelope import Claim
from penstock.model.process_id import Process
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.journal.beats import Beat
from penstock.protocol.journal.book import Book, JsonObject
from penstock.protocol.journal.checkpoints import newest_checkpoint, write_checkpoint
from penstock.protocol.journal.journal import Journal
from penstock.protocol.journal.lease import Contender, Lease, newest_beat
from penstock.protocol.journal.sealing import SealPolicy, seal_old
from penstock.testing.memory_store import MemoryStore
from tests.simulator.programs import surroundings
from tests.simulator.tally_book import (
    TALLY_BOOK,
    Add,
    Counted,
    Open,
    TakeBack,
    TallyBody,
    TallyState,
)
from tests.simulator.tally_world import LAYOUT, TallyFold, TallyJournal, post_all

TallyBook = Book[TallyState, TallyBody, Counted]


def in_cents(entry: JsonObject) -> JsonObject:
    """From amounts in euros, format 1, to amounts in cents."""
    body = entry["body"]
    assert isinstance(body, dict)
    cents: JsonObject = {
        name: amount * 100
        for name, amount in body.items()
        if name in ("amount", "limit") and isinstance(amount, int)
    }
    return {**entry, "body": {**body, **cents}}


NEXT_BOOK: TallyBook = replace(TALLY_BOOK, format=2, upgrades={1: in_cents}, fold=2)


def a_journal(store: MemoryStore, book: TallyBook = TALLY_BOOK) -> TallyJournal:
    return Journal(book, store, LAYOUT, "lake-1", surroundings("test"))


def begun(journal: TallyJournal) -> tuple[TallyFold, int]:
    fold = journal.open()
    journal.begin(fold, Open(50))
    return fold, journal.claim(fold, "one")


def test_entries_of_an_older_format_are_upgraded_by_the_book() -> None:
    """The checkpoint is of an older fold; it is completed, and keeps what it proves done."""
    store = MemoryStore()
    older = a_journal(store)
    fold, epoch = begun(older)
    older.append(fold, Add("a", 3), epoch)
    post_all(older, fold)
    older.append(fold, Add("b", 4), epoch)
    write_checkpoint(older, fold.state)
    newer = a_journal(store, NEXT_BOOK)
    found = newest_checkpoint(newer, list_keys(store, LAYOUT.checkpoints))
    assert found is not None
    assert found.state is None
    state = newer.open().state
    assert (state.total, state.limit, sorted(state.undone)) == (700, 5000, [3])


def test_the_journal_of_any_book_is_sealed_and_an_old_format_is_read_out_of_it() -> None:
    """Goal: sealing knows no feed. Method: the tally, whose long part has no checkpoints."""
    store = MemoryStore()
    journal = a_journal(store)
    fold, epoch = begun(journal)
    asleep = journal.open()
    for token in "abcd":
        journal.append(fold, Add(token, 1), epoch)
    post_all(journal, fold)
    write_checkpoint(journal, fold.state)
    done = seal_old(a_journal(store), SealPolicy(0.0), epoch, surroundings("now").now())
    assert done is not None
    assert (done.first, done.last) == (0, 4)
    assert list_keys(store, LAYOUT.journal) == [LAYOUT.entry(5), LAYOUT.entry(6)]
    sealed = a_journal(store).append(asleep, Add("late", 2), epoch)
    assert sealed.number == 7, "its number was free, and sealed"
    deep = a_journal(store).open(deep=True)
    assert (deep.state.total, deep.inventory) == (6, {2: 1, 3: 1, 4: 1, 5: 1, 7: 2})
    assert a_journal(store, NEXT_BOOK).open().state.total == 600


def test_an_entry_of_a_newer_format_says_upgrade() -> None:
    store = MemoryStore()
    begun(a_journal(store, NEXT_BOOK))
    with pytest.raises(EntryNewer, match="format 2; this version knows up to 1"):
        a_journal(store).open()


@pytest.mark.parametrize("body", [Claim("one"), Add("a", 1)])
def test_only_the_first_kind_of_the_book_binds(body: TallyBody | Claim) -> None:
    journal = a_journal(MemoryStore())
    with pytest.raises(EntryRefused, match="must bind the tally"):
        journal.append(journal.open(), body, epoch=int(isinstance(body, Claim)))


def test_what_consumes_needs_the_long_part_of_the_state() -> None:
    journal = a_journal(MemoryStore())
    fold, epoch = begun(journal)
    journal.append(fold, Add("a", 3), epoch)
    with pytest.raises(ValueError, match="deep fold"):
        journal.append(fold, TakeBack(2, 3), epoch)


def test_a_book_without_a_long_part_is_folded_deep_as_well() -> None:
    store = MemoryStore()
    begun(a_journal(store))
    fold = a_journal(store, replace(TALLY_BOOK, long=None)).open(deep=True)
    assert (fold.state.number, fold.inventory) == (1, None)


def test_a_lease_may_have_beats_that_say_nothing_else() -> None:
    store, beats = MemoryStore(), msgspec.json.Decoder(Beat)
    me = Contender("me", Process("host", 1), lambda _process: False)
    lease = Lease(store, LAYOUT.lease, me, surroundings("me"), beats)
    assert lease.try_take() is None
    lease.leave_beat(lambda beat: beat)
    lease.let_go(lambda beat: beat)
    newest = newest_beat(store, LAYOUT.lease, beats)
    assert newest is not None
    assert (newest.owner, newest.beat, newest.released) == ("me", 2, True)
