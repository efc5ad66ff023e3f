"""Facts are read once for many who ask, off their threads, and a lake that fails is told."""

import threading

import msgspec
import pytest

from penstock.errors import PenstockError, StoreUnavailable
from penstock.runtime.run_figures import RunFigures
from penstock.serve.facts_keeper import MAX_AGE_S, OLD_S, FactsKeeper
from penstock.serve.feed_facts import FeedFacts
from penstock.serve.feed_reader import FeedReader
from penstock.serve.health import health_of
from tests.helpers.journals import WatchedStore
from tests.helpers.list_story import FEED, TOPIC, Story, events
from tests.helpers.served_story import reader_of


@pytest.fixture
def story() -> Story:
    found = Story()
    found.cluster.append(TOPIC, 0, *events("click", 4))
    assert found.run_once() == 0
    return found


class Counted:
    """Readings of a lake, which fail or wait as a test says."""

    def __init__(self) -> None:
        self.count = 0
        self.error: Exception | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def __call__(self) -> None:
        self.count += 1
        assert self.may_go_on.wait(60)
        if self.error is not None:
            raise self.error


def test_many_who_ask_share_one_reading_until_it_is_old(story: Story) -> None:
    lake = Counted()
    keeper = FactsKeeper([reader_of(story)], lake, story.clock.around())
    for _ in range(5):
        assert keeper.facts().feed("feed") is not None
    assert lake.count == 1
    story.clock.passes(MAX_AGE_S + 1)
    keeper.facts()
    assert lake.count == 2
    keeper.facts(max_age_s=-1.0)
    assert lake.count == 3


def test_who_asks_while_the_lake_is_slow_gets_what_was_there_before(story: Story) -> None:
    lake = Counted()
    keeper = FactsKeeper([reader_of(story)], lake, story.clock.around())
    first = keeper.facts()
    lake.may_go_on.clear()
    story.clock.passes(MAX_AGE_S + 1)
    for _ in range(3):
        assert keeper.facts(wait_s=0.05) == first
    assert lake.count == 2, "nobody starts a second reading while one hangs"
    story.clock.passes(OLD_S)
    late = keeper.facts(wait_s=0.05)
    assert late.lake.startswith("The lake has not answered for 30 s")
    assert not health_of(late).ready
    assert late.feeds == first.feeds
    lake.may_go_on.set()
    assert keeper.facts(wait_s=20.0).lake == ""


@pytest.mark.parametrize("error", [StoreUnavailable("read", "x", "it is down"), OSError("gone")])
def test_a_lake_that_fails_is_told_and_figures_of_the_process_go_on(
    story: Story, error: Exception
) -> None:
    lake, figures = Counted(), RunFigures()
    keeper = FactsKeeper([reader_of(story)], lake, story.clock.around(), figures)
    keeper.facts()
    lake.error = error
    figures.of("feed").publish_tried("click", has_failed=True)
    story.clock.passes(MAX_AGE_S + 1)
    found = keeper.facts()
    assert type(error).__name__ in found.lake or "it is down" in found.lake
    (feed,) = found.feeds
    assert feed.live is not None
    assert feed.live.failures == {"click": 1}
    assert health_of(found).why == found.lake


class Failing(FeedReader):
    """A feed whose journal cannot be read."""

    def __init__(self, error: Exception) -> None:
        super().__init__(FEED, lambda _name: Story().journal(), lambda _used: None, "")
        self._error = error

    def read(self, now_s: float, live: object = None) -> FeedFacts:
        raise self._error


@pytest.mark.parametrize("error", [PenstockError("It is damaged.", ""), ValueError("odd")])
def test_a_feed_that_cannot_be_read_takes_no_other_with_it(story: Story, error: Exception) -> None:
    good = reader_of(story)
    bad = Failing(error)
    bad.feed = msgspec.structs.replace(FEED, name="bad")
    found = FactsKeeper([bad, good], lambda: None, story.clock.around()).facts()
    assert found.feed("feed") is not None
    assert list(found.unreadable) == ["bad"]
    assert health_of(found).feeds == {"feed": "stopped", "bad": "unreadable"}


def test_readiness_is_about_owners_that_are_alive(story: Story) -> None:
    keeper = FactsKeeper([reader_of(story)], lambda: None, story.clock.around())
    found = health_of(keeper.facts())
    assert (found.ready, found.feeds) == (False, {"feed": "stopped"})
    assert "No feed has an owner" in found.why


def test_a_reader_folds_only_what_came_since_and_again_after_an_error(story: Story) -> None:
    reader = reader_of(story)
    assert reader.read(story.clock.now()).status.windows == 1
    assert reader._folded is not None
    fold = reader._folded[1]
    story.cluster.append(TOPIC, 0, *events("click", 2))
    assert story.run_once() == 0
    assert reader.read(story.clock.now()).status.windows == 2
    assert reader._folded[1] is fold
    assert [each.body.counts.read for each in reader.windows(5)] == [2, 4]
    key = story.journal().layout.entry(fold.state.number + 1)
    story.store.create(key, b"not an entry")
    with pytest.raises(PenstockError):
        reader.read(story.clock.now())
    story.store.delete(key)
    assert reader.read(story.clock.now()).status.windows == 2


def test_looking_again_costs_a_few_requests_however_long_the_journal_is() -> None:
    """Goal: fifty feeds can be scraped often. Method: count what a second look asks for."""
    story, store = Story(), WatchedStore()
    story.store = store
    reader = reader_of(story)
    asked = []
    for _ in range(3):
        for _ in range(8):
            story.cluster.append(TOPIC, 0, *events("click", 8))
        assert story.run_once() == 0
        reader.read(story.clock.now())
        before = len(store.acts)
        reader.read(story.clock.now())
        asked.append(len(store.acts) - before)
    assert asked[0] == asked[-1]
    assert asked[-1] <= 8, store.acts[-asked[-1] :]
