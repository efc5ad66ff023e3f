"""Slots: who gets one, who keeps its place, and that a feed that is away keeps nobody waiting."""

import threading
import time
from collections.abc import Callable

import pytest

from penstock.api.source import ReadFailed
from penstock.feeds.next_feeds import WaitingFeed, next_feeds
from penstock.feeds.slots import GRANT_S, FeedSlot, Slots, slot_of_its_own
from penstock.model.spec import FeedSpec, RunLimits, WindowSpec
from tests.helpers.clock import Clock

LIMIT_S = 20.0


def a_slot(slots: Slots, clock: Clock, name: str, **changes: object) -> FeedSlot:
    return FeedSlot(slots, FeedSpec(name=name, **changes), lambda: clock.tick_s)  # type: ignore[arg-type]


def in_thread(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def test_higher_priority_first_then_who_took_longest_then_who_waits_longest() -> None:
    queue = [
        WaitingFeed("late", 9.0),
        WaitingFeed("early", 1.0),
        WaitingFeed("slow", 5.0, last_s=30.0),
        WaitingFeed("urgent", 9.0, priority=9),
    ]
    one = RunLimits(parallel=1)
    assert next_feeds(queue, {}, RunLimits(parallel=9), 10.0) == ("urgent", "slow", "early", "late")
    assert next_feeds(queue, {}, one, 10.0) == ("urgent",)
    assert next_feeds(queue, {"other": ""}, one, 10.0) == ()
    impatient = WaitingFeed("impatient", 6.0, every_s=1.0, priority=0)
    assert next_feeds([*queue, impatient], {}, one, 10.0) == ("impatient",)


def test_a_full_pool_is_passed_over() -> None:
    limits = RunLimits(parallel=3, pools={"bulk": 1})
    queue = [WaitingFeed(name, 0.0, priority=9, pool="bulk") for name in ("a", "b")]
    queue.append(WaitingFeed("c", 0.0))
    assert next_feeds(queue, {}, limits, 1.0) == ("a", "c")
    assert next_feeds(queue, {"a": "bulk"}, limits, 1.0) == ("c",)


def test_a_slot_is_taken_once_and_given_back() -> None:
    clock = Clock()
    slots = Slots(RunLimits(parallel=1), lambda: clock.tick_s)
    first, second = a_slot(slots, clock, "first"), a_slot(slots, clock, "second")
    assert first.try_take()
    assert first.try_take()
    assert not second.try_take()
    assert second.is_waited_for
    assert not first.is_waited_for
    first.release()
    assert second.try_take()
    second.leave()
    with first.held():
        assert not second.try_take()
    assert second.try_take()


def test_the_place_in_line_is_kept_through_many_turns() -> None:
    """The one that has waited longer than three `every` comes first, although it came back late."""
    clock = Clock()
    slots = Slots(RunLimits(parallel=1), lambda: clock.tick_s)
    quick = WindowSpec(every_s=5.0)
    holder = a_slot(slots, clock, "holder")
    patient = a_slot(slots, clock, "patient", priority=0, window=quick)
    urgent = a_slot(slots, clock, "urgent", priority=9)
    assert holder.try_take()
    for _ in range(4):
        assert not patient.try_take()
        clock.passes(5.0)
    assert not urgent.try_take()
    taken: list[str] = []
    both = threading.Barrier(3)

    def take(slot: FeedSlot, name: str) -> None:
        both.wait(LIMIT_S)
        assert slot.wait(LIMIT_S)
        assert slot.try_take()
        taken.append(name)
        slot.release()

    threads = [
        in_thread(lambda: take(urgent, "urgent")),
        in_thread(lambda: take(patient, "patient")),
    ]
    both.wait(LIMIT_S)
    while slots._present != {"urgent", "patient"}:
        time.sleep(0.001)
    holder.release()
    for thread in threads:
        thread.join(LIMIT_S)
    assert taken == ["patient", "urgent"]


def test_a_feed_whose_thread_is_elsewhere_keeps_nobody_waiting() -> None:
    clock = Clock()
    slots = Slots(RunLimits(parallel=1), lambda: clock.tick_s)
    holder, away, here = (a_slot(slots, clock, name) for name in ("holder", "away", "here"))
    assert holder.try_take()
    assert not away.try_take()
    clock.passes(1_000.0)
    holder.release()
    assert here.try_take()


def test_a_slot_that_is_given_and_not_used_goes_to_others_after_a_while() -> None:
    """Between being given a slot and reading, a feed looks at its source, which may hang."""
    clock = Clock()
    slots = Slots(RunLimits(parallel=1), lambda: clock.tick_s)
    holder, hanging, other = (a_slot(slots, clock, name) for name in ("holder", "hanging", "other"))
    assert holder.try_take()
    assert not hanging.try_take()
    holder.release()
    assert hanging.wait(0.0)
    assert not other.try_take()
    clock.passes(GRANT_S)
    assert other.try_take()
    assert not hanging.try_take()
    other.release()
    assert hanging.try_take()


def test_who_waits_for_a_slot_ends_when_the_run_stops() -> None:
    clock = Clock()
    slots = Slots(RunLimits(parallel=1), lambda: clock.tick_s)
    stopping: list[bool] = []
    moved: list[bool] = []
    assert a_slot(slots, clock, "holder").try_take()
    waiting = FeedSlot(slots, FeedSpec(name="w"), lambda: clock.tick_s, lambda: bool(stopping))
    waiting.moved = lambda: stopping.append(True) if moved else moved.append(True)
    with pytest.raises(ReadFailed, match="no slot was free"), waiting.held():
        raise AssertionError("it has no slot")
    assert not waiting.is_waited_for


def test_a_feed_that_runs_alone_always_has_its_slot() -> None:
    slot = slot_of_its_own(FeedSpec(name="alone"), lambda: 0.0)
    assert slot.try_take()
    with slot.held():
        assert not slot.is_waited_for
