"""A feed of 100,000 windows of 200 files, on a store that takes 40 ms for each request.

Goal: what a start and a command need does not grow with the years. Method: count the time of
requests, of which some go on at a time.
"""

from dataclasses import replace

import pytest

from penstock.care.seek import unpark
from penstock.errors import EntryRefused
from penstock.model.names import FileName
from penstock.model.record_position import Position
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.feed_book.shard_names import of_dataset, of_quarantine
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.runtime.surroundings import Surroundings
from penstock.status.where_file import where_file
from penstock.status.where_record import RecordSearch
from tests.helpers.far_store import FarStore
from tests.helpers.large_feeds import A_DAY, BEHIND_ROOT, FILES, WINDOWS, LargeFeed, day_of
from tests.simulator.kafka import TOPIC, SimKafka, SimSource
from tests.simulator.programs import surroundings

OPEN_S, LIST_S = 3.0, 10.0


@pytest.fixture(scope="module")
def built() -> LargeFeed:
    return LargeFeed(FarStore())


@pytest.fixture
def feed(built: LargeFeed) -> LargeFeed:
    """The same feed for every test, with a store of its own."""
    store = FarStore()
    store.shelf = built.store.shelf
    found = object.__new__(LargeFeed)
    found.__dict__ = {**built.__dict__, "store": store}
    return found


def far(feed: LargeFeed) -> tuple[FarStore, Surroundings]:
    assert isinstance(feed.store, FarStore)
    return feed.store, replace(surroundings("far"), do_all=feed.store.side_by_side)


def test_it_is_opened_claimed_and_recovered_within_three_seconds(feed: LargeFeed) -> None:
    store, around = far(feed)
    owner = Owner(
        feed.journal(around),
        SimSource(SimKafka({0: []}), store, around),
        around,
        OwnerSpec("two", WindowPolicy(10), files="parquet"),
    )
    owner.take_over()
    owner.recover()
    assert (owner.epoch, owner.fold.state.number, owner.fold.state.undone) == (2, WINDOWS + 1, {})
    assert store.seconds < OPEN_S, dict(store.requests)


def test_the_files_of_one_day_and_dataset_are_found_without_the_others(feed: LargeFeed) -> None:
    store, around = far(feed)
    fold = feed.journal(around).open_partial(of_dataset("kind7", "2026-02-03"))
    assert fold.inventory is not None
    assert len(fold.inventory.files_of("kind7", "2026-02-03")) == A_DAY
    assert store.seconds < LIST_S, dict(store.requests)


def test_the_files_of_today_have_what_came_after_the_root(feed: LargeFeed) -> None:
    store, around = far(feed)
    today = day_of(WINDOWS)
    fold = feed.journal(around).open_partial(of_dataset("kind7", today))
    assert fold.inventory is not None
    found = fold.inventory.files_of("kind7", today)
    assert max(live.number for live in found.values()) == WINDOWS
    assert len(found) == WINDOWS % A_DAY + 1
    assert len(found) > BEHIND_ROOT
    assert store.seconds < LIST_S, dict(store.requests)


def test_the_quarantine_is_opened_without_the_files_of_datasets(feed: LargeFeed) -> None:
    store, around = far(feed)
    fold = feed.journal(around).open_partial(of_quarantine)
    assert fold.inventory is not None
    assert sum(map(len, fold.inventory.records.values())) == 5_000
    assert len(fold.inventory.quarantine) == 1
    assert store.seconds < LIST_S, dict(store.requests)


def test_what_consumes_nothing_needs_no_inventory(feed: LargeFeed) -> None:
    """Goal: `unpark` folds plainly. Method: count what it asks for before it is refused."""
    store, around = far(feed)
    with pytest.raises(EntryRefused, match="is not parked"):
        unpark(feed.journal(around), around, "kind7", "me")
    assert store.seconds < OPEN_S, dict(store.requests)
    assert store.requests["read"] < 2 * (BEHIND_ROOT + FILES)


def test_a_record_is_found_among_the_files_of_an_old_window(feed: LargeFeed) -> None:
    """Goal: `where` takes seconds. Method: all 200 files of its window cover the offset."""
    store, around = far(feed)
    store.made = feed.made
    journal = feed.journal(around)
    state = journal.open().state
    search = EntrySearch(journal, state.number, around.do_all)
    position = Position(TOPIC, 0, feed.offset_in(31_415, 199))
    [found] = RecordSearch(journal, state, search).find(position)
    assert found.fate == "delivered"
    assert [(each.dataset, each.row) for each in found.rows] == [("kind199", 0)]
    assert store.seconds < LIST_S, dict(store.requests)


def test_the_ranges_of_an_old_file_are_found_by_its_name(feed: LargeFeed) -> None:
    store, around = far(feed)
    store.made = feed.made
    journal = feed.journal(around)
    state = journal.open().state
    search = EntrySearch(journal, state.number, around.do_all)
    name = FileName(0, TOPIC, 0, 10_000, 11_000, "1-10", "zstd.parquet")
    found = where_file(journal, state, search, f"feed/kind7/day={day_of(10)}/{name}")
    assert found is not None
    assert (found.state, found.delivered_by.entry) == ("live", 10)
    assert [(each.start, each.end) for each in found.ranges] == [(10_000, 11_000)]
    assert store.seconds < LIST_S, dict(store.requests)
