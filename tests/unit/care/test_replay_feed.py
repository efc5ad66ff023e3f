"""Replaying the quarantine of a feed: each record once, and the journal folded once.

Method: a feed whose records are a list in memory refuses some; then its configuration is mended.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec
import pytest

from penstock.care.replay import live_records
from penstock.care.replay_feed import Replayed, ReplayRequest, ReplayTools, replay_feed
from penstock.datapath.schemas.learning import Learning
from penstock.model.entries import Replay
from penstock.model.spec import FeedSpec, TimeSpec
from penstock.runtime.parallel import ParallelMap, in_this_process
from tests.helpers.journals import WatchedStore
from tests.helpers.list_story import FEED, TOPIC, TORN, Story, events, places

T = TypeVar("T")
R = TypeVar("R")

STRICT = msgspec.structs.replace(FEED, time=TimeSpec(field="at", unit="s"))
MENDED = msgspec.structs.replace(FEED, time=TimeSpec(field="at", unit="s", missing="kafka"))


class RefusedStory(Story):
    """A feed that has refused records without a time, and one that nothing can mend."""

    def __init__(self) -> None:
        super().__init__()
        self.store = self.watched = WatchedStore()
        timed = json.dumps({"type": "click", "n": 7, "at": 1_799_999_000}).encode()
        self.cluster.append(TOPIC, 0, timed, *events("click", 3), TORN)
        self.cluster.append(TOPIC, 1, *events("order", 2))  # a type that was never delivered
        assert self.run_once(STRICT) == 0

    def replay(self, parallel: ParallelMap = in_this_process, feed: FeedSpec = MENDED) -> Replayed:
        """As `penstock errors replay` does, with the mended configuration."""
        journal = self.journal()

        @contextmanager
        def open_parallel() -> Iterator[ParallelMap]:
            yield parallel

        def open_learning() -> Learning:
            return Learning(self.store, journal.layout, feed, None)

        tools = ReplayTools(feed, self.clock.around(), open_learning, open_parallel)
        return replay_feed(journal, journal.open(deep=True), ReplayRequest("ann"), tools)

    def left(self) -> int:
        """How many records are still in the quarantine."""
        records = live_records(self.journal().open(deep=True))
        return sum(len(each.offsets) for each in records)


@pytest.fixture
def story() -> RefusedStory:
    return RefusedStory()


def test_what_is_whole_now_is_delivered_once_and_the_rest_says_why_it_stays(
    story: RefusedStory,
) -> None:
    assert story.delivered() == places(0, 0)
    assert story.left() == 6
    done = story.replay()
    assert (done.tried, done.delivered, dict(done.stays)) == (6, 5, {"NOT_JSON": 1})
    assert story.delivered() == places(0, 0, 1, 2, 3) + places(1, 0, 1)
    assert story.left() == 1
    assert story.journal().open().state.left_quarantine == 5
    again = story.replay()
    assert (again.tried, again.delivered, again.entries) == (1, 0, [])
    assert again.refused is not None
    assert len(story.entries(Replay)) == 1


def test_records_with_an_unreadable_time_are_delivered_with_a_policy_for_them(
    story: RefusedStory,
) -> None:
    words = ["yesterday", "", True, {"s": 1}]
    story.cluster.append(
        TOPIC, 1, *[json.dumps({"type": "click", "at": word}).encode() for word in words]
    )
    assert story.run_once(STRICT) == 0
    assert story.replay().stays["TIME_UNREADABLE"] == 4
    unreadable = msgspec.structs.replace(MENDED.time, unreadable="2020-01-01")
    done = story.replay(feed=msgspec.structs.replace(MENDED, time=unreadable))
    assert (done.delivered, dict(done.stays)) == (4, {"NOT_JSON": 1})
    assert places(1, 2, 3, 4, 5) <= story.delivered()


def test_a_replay_folds_the_journal_once_from_its_beginning(story: RefusedStory) -> None:
    before = len(story.watched.acts)
    story.replay()
    acts = [(act.name, act.key) for act in story.watched.acts[before:]]
    assert acts.count(("read", story.journal().layout.entry(0))) == 1


def test_an_owner_that_claims_meanwhile_makes_it_stage_again_and_nothing_is_doubled(
    story: RefusedStory,
) -> None:
    stagings: list[int] = []

    def claimed_meanwhile(
        what: str, work: Callable[[T], R], items: Sequence[T], weight: Callable[[T], int]
    ) -> list[R]:
        done = in_this_process(what, work, items, weight)
        if not stagings:
            assert story.run_once(MENDED) == 0
        stagings.append(len(items))
        return done

    done = story.replay(claimed_meanwhile)
    assert done.delivered == 5
    assert len(stagings) > 1
    assert story.delivered() == places(0, 0, 1, 2, 3) + places(1, 0, 1)
    assert list(story.store.list_staged("_penstock/feed/staging", ())) == []


def test_nothing_is_opened_when_no_record_is_meant(story: RefusedStory) -> None:
    def never() -> None:
        raise AssertionError("there is no work")

    journal = story.journal()
    tools = ReplayTools(MENDED, story.clock.around(), never, never)  # type: ignore[arg-type]
    request = ReplayRequest("ann", datasets=frozenset({"refund"}))
    done = replay_feed(journal, journal.open(deep=True), request, tools)
    assert done.is_untried
    assert story.left() == 6
