"""A claim asks whether it may right before each request that may write it."""

import pytest

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.testing.fault_store import Fault, FaultStore, What
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import LAYOUT, WatchedStore, a_room, a_window, begun, covered
from tests.simulator.kafka import CLUSTER

ENTRIES = "_penstock/feed/journal/*"


def looks_and_tries(store: WatchedStore, journal: FeedJournal, fold: FeedFold) -> list[list[int]]:
    """Before which requests a claim asks if it may, and which ones could write it."""
    looks: list[int] = []
    journal.claim(fold, "me", lambda: looks.append(len(store.acts)))
    acts = enumerate(store.acts)
    tries = [at for at, act in acts if act.name == "create" and b'"owner":"me"' in act.data]
    return [looks, tries]


def test_the_first_claim_of_a_feed_looks_after_the_place_of_the_journal_was_asked() -> None:
    store = WatchedStore()
    journal = a_room(store=store).journal()
    fold = journal.open()
    journal.bind(fold, CLUSTER, "parquet")
    looks, tries = looks_and_tries(store, journal, fold)
    assert looks == tries
    assert len(tries) == 1
    assert store.acts[tries[0] - 1].key == LAYOUT.journal_place


def test_a_claim_that_was_overtaken_looks_again_after_it_has_folded() -> None:
    store = WatchedStore()
    journal, fold = begun(store)
    journal.append(journal.open(), a_window(covered(0, 3)), 1)
    looks, tries = looks_and_tries(store, journal, fold)
    assert looks == tries
    assert len(tries) == 2
    assert fold.state.number == 4


def test_a_claim_that_had_no_answer_looks_again_after_its_pause() -> None:
    store = WatchedStore()
    begun(store)
    faulty = FaultStore(store, [Fault("create", What.FAIL_AFTER, ENTRIES)])
    journal = a_room(store=faulty).journal()
    looks, tries = looks_and_tries(store, journal, journal.open())
    assert looks == tries
    assert len(tries) == 2


def test_what_is_not_known_of_a_claim_stays_unknown_when_the_look_fails() -> None:
    """The first try may land yet, so a look without an answer must not sound like nothing done."""
    store = MemoryStore()
    begun(store)
    faulty = FaultStore(store, [Fault("create", What.DELAY, ENTRIES)])
    journal = a_room(store=faulty).journal()
    looks = iter([None])

    def look() -> None:
        if next(looks, "no answer") is not None:
            raise StoreUnavailable("read", "lease", "simulated")

    with pytest.raises(OutcomeUnknown):
        journal.claim(journal.open(), "me", look)
    faulty.deliver()
    assert journal.open().state.owner == "me"
