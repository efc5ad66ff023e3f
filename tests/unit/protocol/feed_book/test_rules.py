"""Each rule of the journal: what it lets pass, and what it refuses with which words."""

from dataclasses import dataclass
from typing import Any

import pytest

from penstock.model.entries import (
    AnyBody,
    Bind,
    Compact,
    Drop,
    Gap,
    Generation,
    Park,
    PartitionStart,
    Rebind,
    Replace,
    Replay,
    Retire,
    Seek,
    Start,
    Unpark,
)
from penstock.model.envelope import Claim
from penstock.model.manifest import Content
from penstock.model.ranges import OffsetRange
from penstock.protocol.feed_book.rules import done_objection
from penstock.protocol.feed_book.state import FeedState
from tests.helpers.journals import BEGINNING, a_window, begins, covered, told, why_not
from tests.simulator.kafka import CLUSTER, TOPIC, TOPIC_ID


@dataclass(frozen=True)
class Case:
    """After `before`, `body` is refused with `why`, or accepted when there is no `why`."""

    name: str
    body: AnyBody
    why: str | None
    before: tuple[AnyBody, ...] = ()


def a_seek(to_offset: int, from_offset: int = 0, partition: int = 0) -> Seek:
    return Seek(TOPIC, TOPIC_ID, partition, from_offset, to_offset, "me", "test")


def a_gap(start: int, end: int, partition: int = 0) -> Gap:
    return Gap(covered(start, end, partition), "me", "test")


def a_rebind(old: str = TOPIC_ID, new: str = "id-2", starts: str = "id-2") -> Rebind:
    return Rebind(TOPIC, old, new, (PartitionStart(TOPIC, starts, 0, 0),), "me", "test")


def empty(kind: Any, window: str, **fields: Any) -> AnyBody:
    body: AnyBody = kind(window=window, groups=(), content=Content(), **fields)
    return body


OTHER_TOPIC = OffsetRange("other", "id-other", 0, 0, 1)
DELIVERED = (a_window(covered(0, 3)),)
PARKED = (*DELIVERED, Park("a", 3, "test"))

CASES = [
    Case("a window at the watermark", a_window(covered(0, 3)), None),
    Case("windows of two partitions", a_window(covered(0, 3), covered(5, 6, 1)), None),
    Case("a window after a window", a_window(covered(3, 4), window="1-2"), None, DELIVERED),
    Case("a window that skips", a_window(covered(1, 3)), "does not start at the watermark 0"),
    Case(
        "a window that repeats",
        a_window(covered(2, 4), window="1-2"),
        "does not start at the watermark 3",
        DELIVERED,
    ),
    Case("a range twice", a_window(covered(0, 1), covered(0, 1)), "named twice"),
    Case("an empty range", a_window(covered(0, 0)), "is empty"),
    Case("an unknown partition", a_window(covered(0, 1, 7)), "has no start"),
    Case("an unknown topic", a_window(OTHER_TOPIC), "has no start"),
    Case(
        "a replaced topic",
        a_window(covered(0, 1)),
        "a topic that was replaced",
        (a_rebind(),),
    ),
    Case("a window of a dead epoch", a_window(covered(0, 1), window="0-1"), "staged as 0-1"),
    Case("a window of a coming epoch", a_window(covered(0, 1), window="2-1"), "staged as 2-1"),
    Case("a new partition", Start((begins(2, 0),)), None),
    Case("a partition that started", Start((begins(0, 0),)), "has started already"),
    Case("a start twice in one", Start((begins(2, 0), begins(2, 0))), "has started already"),
    Case(
        "a topic under another id",
        Start((PartitionStart(TOPIC, "id-2", 0, 0),)),
        "needs a rebind",
    ),
    Case("a gap at the watermark", a_gap(0, 4), None),
    Case("a gap of another partition", a_gap(5, 6, 1), None),
    Case("a gap further on", a_gap(1, 4), "does not start at the watermark 0"),
    Case("a gap over delivered offsets", a_gap(0, 2), "watermark 3", DELIVERED),
    Case("an empty gap", a_gap(0, 0), "does not start at the watermark"),
    Case("a gap of an unknown partition", a_gap(0, 1, 7), "has no start"),
    Case("a seek forward", a_seek(9), None),
    Case("a seek from elsewhere", a_seek(9, 1), "the watermark of events/0 is 0, not 1"),
    Case("a seek of an unknown partition", a_seek(9, 0, 7), "has no start"),
    Case("a seek back over skipped offsets", a_seek(2, 9), None, (a_seek(9),)),
    Case("a seek back over a gap", a_seek(0, 4), None, (a_gap(0, 4),)),
    Case("a seek back to where it started", a_seek(0, 5, 1), None),
    Case("a seek below zero", a_seek(-1), "needs a new generation"),
    Case("a seek back to the floor", a_seek(3, 9), None, (*DELIVERED, a_seek(9, 3))),
    Case(
        "a seek back over delivered offsets",
        a_seek(2, 3),
        "was delivered up to 3; going back over delivered offsets needs a new generation",
        DELIVERED,
    ),
    Case(
        "a seek back over a skip that lies between delivered offsets",
        a_seek(4, 7),
        "was delivered up to 7",
        (*DELIVERED, a_seek(6, 3), a_window(covered(6, 7), window="1-2")),
    ),
    Case("a rebind", a_rebind(), None),
    Case("a rebind of another life", a_rebind(old="id-9"), "is not bound to id-9"),
    Case("a rebind to the same life", a_rebind(new=TOPIC_ID, starts=TOPIC_ID), "was read before"),
    Case("a rebind back", a_rebind("id-2", TOPIC_ID, TOPIC_ID), "was read before", (a_rebind(),)),
    Case("a rebind that starts another topic", a_rebind(starts="id-3"), "another topic id"),
    Case("a park", Park("a", 3, "test"), None, DELIVERED),
    Case("a second park", Park("a", 3, "test"), "is parked already", PARKED),
    Case("an unpark", Unpark("a", "me"), None, PARKED),
    Case("an unpark of what is not parked", Unpark("b", "me"), "is not parked", PARKED),
    Case("a replacement", empty(Replace, "1-1", number=3), None, DELIVERED),
    Case("a replacement of what was done since", empty(Replace, "1-1", number=2), None, DELIVERED),
    Case("a replacement of nothing", empty(Replace, "1-1", number=9), "not decided yet", DELIVERED),
    Case("a replacement of another", empty(Replace, "1-2", number=3), "is window 1-1", DELIVERED),
    Case("a compaction", empty(Compact, "1-x1"), None),
    Case("a retirement", empty(Retire, "1-x1", author="me", reason="test"), None),
    Case("a replay", empty(Replay, "1-x1", author="me"), None),
    Case("a generation", empty(Generation, "1-x1", generation=1, ranges=()), None),
    Case("a drop", Drop(content=Content(), author="me", reason="test"), None),
    Case("a stale compaction", empty(Compact, "0-x1"), "staged as 0-x1"),
    Case("a stale retirement", empty(Retire, "0-x1", author="me", reason="test"), "staged as"),
    Case("a stale replay", empty(Replay, "2-x1", author="me"), "the epoch is 1 now"),
    Case("a stale generation", empty(Generation, "0-1", generation=1, ranges=()), "staged as"),
    Case("a second binding", Bind(CLUSTER), "must bind the feed"),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name.replace(" ", "-") for case in CASES])
def test_an_entry_is_judged_by_the_state_before_it(case: Case) -> None:
    state = told(*BEGINNING, *case.before)
    why = why_not(state, case.body)
    if case.why is None:
        assert why is None
        told(case.body, state=state)  # what the rules accept, the fold can take
    else:
        assert why is not None
        assert case.why in why


def test_only_what_is_not_done_is_derived_again() -> None:
    """Goal: refused by its author's fold; a reader's may have seen the marker first."""
    state = told(*BEGINNING, *DELIVERED)
    body = empty(Replace, "1-1", number=3)
    assert isinstance(body, Replace)
    assert done_objection(state, body) is None
    state.undone.clear()
    assert done_objection(state, body) == "entry 3 is done"


def test_only_the_binding_comes_first() -> None:
    assert why_not(FeedState(), Bind(CLUSTER)) is None
    assert "must bind" in str(why_not(FeedState(), Claim("one")))


@pytest.mark.parametrize("number", [-1, 0, 2, 4, 100])
def test_numbers_have_no_holes_and_are_not_used_twice(number: int) -> None:
    state = told(*BEGINNING)
    why = why_not(state, a_window(covered(0, 1)), number=number)
    assert why == f"its number is {number} and the next one is 3"


@pytest.mark.parametrize("epoch", [-1, 0, 1, 3])
def test_a_claim_takes_the_next_epoch_and_no_other(epoch: int) -> None:
    state = told(*BEGINNING)
    assert "the journal is at 2" in str(why_not(state, Claim("two"), epoch=epoch))
    assert why_not(state, Claim("two"), epoch=2) is None


@pytest.mark.parametrize("epoch", [0, 1, 3])
def test_everything_else_is_decided_in_the_epoch_of_the_last_claim(epoch: int) -> None:
    state = told(*BEGINNING, Claim("two"))
    for body in (a_seek(9), Start((begins(2, 0),)), a_window(covered(0, 1), window="2-1")):
        assert why_not(state, body) is None
        assert f"it is of epoch {epoch}" in str(why_not(state, body, epoch=epoch))


def test_what_was_staged_before_a_claim_cannot_be_decided_after_it() -> None:
    """Goal: the cleaner may remove it. Method: a window of epoch 1 in the hands of owner 2."""
    state = told(*BEGINNING, Claim("two"))
    assert "staged as 1-1" in str(why_not(state, a_window(covered(0, 1), window="1-1")))
