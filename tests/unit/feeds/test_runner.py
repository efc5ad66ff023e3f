"""The wheel that turns all feeds: what it says at their end, and how it stops."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from penstock.api.source import ReadFailed
from penstock.cli.commands import run
from penstock.cli.options import run_options
from penstock.datapath.driver.stager import HOLD_S, Hold
from penstock.errors import PenstockError, StagedSetWrong
from penstock.feeds import cleaning, heartbeat
from penstock.feeds import runner as runner_module
from penstock.feeds.cleaning import Job
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.halted_watch import HaltedWatch
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.feeds.running_feed import RunningFeed
from penstock.feeds.sharing import FeedRequests
from penstock.feeds.slots import FeedSlot, Slots, slot_of_its_own
from penstock.model.exit_codes import worst
from penstock.model.spec import FeedSpec, RunLimits, WindowSpec
from penstock.model.window import StageOrder
from penstock.ports.registry.errors import (
    RegistryDown,
    RegistryRefused,
    RegistryTrouble,
    RegistryWrong,
)
from penstock.protocol.publish.troubles import Trouble as PartTrouble
from penstock.testing.list_source import ListCluster, ListSource
from penstock.testing.memory_store import MemoryStore
from tests.helpers.clock import Clock
from tests.helpers.turning import turn_all
from tests.simulator.kafka import TOPIC

WHY = "the registry is down"


class FakeFeed:
    """A feed that does at each turn what the test says; True: it delivered a window."""

    def __init__(self, name: str, *turns: Callable[[], bool]) -> None:
        self.name = name
        self.feed = FeedSpec(name=name, export_offsets="none")
        self.state = an_owned_feed(Clock(), name).state
        self.turns = list(turns)
        self.is_closed = False
        self.holds_lease = True
        self.is_held_back = False
        self.halts: list[PenstockError] = []
        self.troubles: dict[str, PartTrouble] = {}
        self.slot = slot_of_its_own(self.feed, lambda: 0.0)
        self.requests = FeedRequests(MemoryStore(), "lease", "me")
        self.most_records = None
        self.phase = ""

    def run_window(self) -> bool:
        return self.turns.pop(0)()

    def try_start(self, *, force: bool) -> None:
        self.turns.pop(0)()

    def rest_s(self, _feeds: int) -> float:
        return 1.0

    def failing(self) -> dict[str, PartTrouble]:
        return self.troubles

    def unread_partitions(self) -> dict[tuple[str, int], str]:
        return {}

    def missing_topics(self) -> tuple[str, ...]:
        return ()

    def topic_events(self) -> tuple[Event, ...]:
        return ()

    def due_jobs(self) -> tuple[Job, ...]:
        return ()

    def record_halt(self, error: PenstockError) -> None:
        self.halts.append(error)

    def halted_watch(self, *, refused: bool) -> HaltedWatch:
        return an_owned_feed(Clock()).halted_watch(refused=refused)

    def forget_halt(self) -> None:
        return None

    def lag_records(self) -> int:
        return 0

    def conflicts(self) -> list[Event]:
        return []

    def notices(self) -> list[str]:
        return []

    def close(self) -> None:
        self.is_closed = True


def some_tools(clock: Clock) -> FeedTools:
    """One partition that has records."""
    cluster = ListCluster()
    cluster.create_topic(TOPIC)
    cluster.append(TOPIC, 0, *[b"{}"] * 5)
    return FeedTools(lambda feed: ListSource(feed, cluster), MemoryStore(), clock.around())


def an_owned_feed(clock: Clock, name: str = "events") -> RunningFeed:
    """A real feed that `--once` runs."""
    feed = FeedSpec(name=name, topics=(TOPIC,), export_offsets="none")
    found = RunningFeed(feed, some_tools(clock), once=True)
    found.open()
    assert found.try_start() is None
    return found


def hold(feed: RunningFeed, clock: Clock) -> None:
    """As the stager does when a registry that is down leaves records without a schema."""
    feed._intake._stager._holds[TOPIC, 0] = Hold(WHY, HOLD_S, clock.tick_s + HOLD_S)


class Wheel:
    """A runner over feeds that are owned already, and what it said."""

    def __init__(
        self, clock: Clock, *feeds: object, once: bool = False, waiting: tuple[object, ...] = ()
    ) -> None:
        self.said: list[Event] = []
        self.is_stopping = False
        every = cast(Any, [*feeds, *waiting])
        self.runner = Runner(
            tuple(FeedSpec(name=feed.name) for feed in every),
            some_tools(clock),
            self.said.append,
            lambda: self.is_stopping,
            RunSpec(once=once),
        )
        assert self.runner._ready.is_ready() or self.runner._ready.wait(10.0)
        for turns, feed in zip(self.runner.turns, every, strict=True):
            turns.feed = feed
            turns.stage = "in line" if feed in waiting else "owned"

    def turn_all(self) -> None:
        turn_all(self.runner)

    def stop(self) -> bool:
        """A signal comes in the middle of a window, which is then delivered."""
        self.is_stopping = True
        return True

    def names(self) -> list[tuple[str, str]]:
        return [(event.feed, event.name) for event in self.said]

    def code(self) -> int:
        return worst(error.exit_code for error in self.runner.failures.values())


def test_a_partition_that_was_held_at_the_last_look_stays_unread_when_its_hold_runs_out() -> None:
    clock = Clock()
    feed = an_owned_feed(clock)
    hold(feed, clock)
    assert not feed.run_window()
    clock.passes(2 * HOLD_S)
    assert feed.unread_partitions() == {(TOPIC, 0): WHY}
    feed._intake.look()
    assert feed.unread_partitions() == {}


def test_once_does_not_say_done_over_a_held_partition_although_another_feed_takes_long() -> None:
    clock = Clock()
    held = an_owned_feed(clock)
    hold(held, clock)

    def long_window() -> bool:
        clock.passes(10 * HOLD_S)
        return True

    wheel = Wheel(clock, held, FakeFeed("other", long_window, lambda: False), once=True)
    wheel.turn_all()
    wheel.turn_all()
    assert wheel.names() == [("events", "stopped"), ("other", "window"), ("other", "done")]
    assert wheel.runner.failures["events"].code == "PARTITIONS_UNREAD"
    assert wheel.code() == 1


def test_once_waits_for_a_dataset_that_fails_until_it_is_visible_or_parked() -> None:
    """Goal: `--once` does not end with something decided and not visible, and says so."""

    def fails() -> bool:
        feed.troubles = {"a@files": PartTrouble(1, clock.tick_s + 15.0, "no space")}
        return True

    def ends() -> bool:
        return False

    def works_again() -> bool:
        feed.troubles = {}
        return False

    clock = Clock()
    feed = FakeFeed("events", fails, ends, works_again)
    wheel = Wheel(clock, feed, once=True)
    for _ in range(3):
        wheel.turn_all()
    assert [name for _, name in wheel.names()] == ["publish_failed", "window", "done"]
    assert "trying again in 15 s: no space" in wheel.said[0].sentence


def test_a_dataset_that_stops_is_told_once_and_again_when_it_was_let_go_in_between() -> None:
    """Its event is not that of a feed that ends, which goes by `stopped` and has a code."""

    def stops_in(window: str) -> bool:
        feed.state.parked["a"], feed.state.stopped = f"records came in window {window}", ["a"]
        return True

    def ends() -> bool:
        return False

    feed = FakeFeed("events", lambda: stops_in("1-1"), ends, lambda: stops_in("1-3"), ends)
    wheel = Wheel(Clock(), feed, once=True)
    feed.is_held_back = True  # more is to come
    for _ in range(3):
        wheel.turn_all()
    feed.is_held_back = False
    told = [event for event in wheel.said if event.name == "dataset_stopped"]
    assert [event.facts for event in told] == [{"dataset": "a"}] * 2
    assert "a is stopped, decided and not visible: records came in window 1-3" in told[1].sentence
    wheel.turn_all()
    assert wheel.names()[-1] == ("events", "halted")
    assert (wheel.runner.failures["events"].code, wheel.code()) == ("SCHEMAS_INCOMPATIBLE", 5)


@pytest.mark.parametrize(
    ("every_s", "feeds", "idle_s"),
    [
        (60.0, 1, 1.0),
        (60.0, 7, 1.0),
        (60.0, 50, 50 / 7),
        (60.0, 500, 9.0),
        (24.0, 50, 4.0),
        (5.0, 50, 1.0),
        (0.5, 50, 0.5),
        (0.0, 1, 0.05),
    ],
)
def test_an_idle_feed_looks_seldom_and_what_waits_is_read_when_it_is_due(
    every_s: float, feeds: int, idle_s: float
) -> None:
    """Goal: fifty idle feeds cost little, and no window waits for the next look."""
    clock = Clock()
    spec = FeedSpec(
        name="events", topics=(TOPIC,), export_offsets="none", window=WindowSpec(every_s=every_s)
    )
    tools = some_tools(clock)
    feed = RunningFeed(spec, tools, once=False)
    feed.open()
    assert feed.try_start() is None
    assert feed.run_window()
    assert not feed.run_window()
    assert feed.rest_s(feeds) == pytest.approx(idle_s)
    cluster = cast(Any, feed._source)._cluster
    cluster.append(TOPIC, 0, b"{}")
    if every_s:
        assert not feed.run_window()
        assert feed.rest_s(feeds) == pytest.approx(idle_s)
        clock.passes(every_s - 0.3)
        assert feed.rest_s(feeds) == pytest.approx(0.3)


def test_a_feed_in_trouble_waits_for_its_pause_and_not_for_a_slot() -> None:
    """It has kept its place in line; a slot that is free then would make it run in circles."""

    def no_slot() -> bool:
        assert not feed.slot.try_take()
        return False

    def fail() -> bool:
        raise ReadFailed("1-1", "the broker is gone")

    clock = Clock()
    feed = FakeFeed("one", no_slot, fail)
    slots = Slots(RunLimits(parallel=1), lambda: clock.tick_s)
    feed.slot = FeedSlot(slots, feed.feed, lambda: clock.tick_s)
    other = FeedSlot(slots, FeedSpec(name="other"), lambda: clock.tick_s)
    assert other.try_take()
    wheel = Wheel(clock, feed)
    [turns] = wheel.runner.turns
    turns.turn()
    waits = [turns.waits_for_slot]
    turns.turn()
    assert wheel.names() == [("one", "trouble")]
    other.release()
    assert [*waits, turns.waits_for_slot] == [True, False]
    assert turns.turn() == pytest.approx(1.0)


TROUBLES = [
    RegistryDown("http://r", "it answered 503"),
    RegistryRefused("http://r", 401),
    RegistryWrong("http://r", "its answer is not a schema"),
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=["down", "refused", "wrong"])
def test_trouble_with_the_registry_is_waited_out(trouble: RegistryTrouble) -> None:
    """Whatever answers in its place, a proxy or a login page: it may pass by itself."""

    def fail() -> bool:
        raise trouble

    clock = Clock()
    feed = FakeFeed("one", fail, fail, fail, fail, lambda: True)
    wheel = Wheel(clock, feed)
    for _ in range(5):
        wheel.turn_all()
        clock.passes(100.0)
    assert wheel.names() == [("one", "trouble")] * 4 + [("one", "window")]
    assert wheel.said[0].facts["code"] == trouble.code
    assert not feed.is_closed


def stage_wrong() -> bool:
    raise StagedSetWrong("1-1", "a row is missing")


def test_a_window_that_was_staged_wrong_is_staged_again() -> None:
    clock = Clock()
    feed = FakeFeed("one", *[stage_wrong] * 4, lambda: True)
    wheel = Wheel(clock, feed)
    for _ in range(5):
        wheel.turn_all()
        clock.passes(100.0)
    assert wheel.names() == [("one", "trouble")] * 4 + [("one", "window")]
    assert not feed.is_closed


@pytest.mark.parametrize(("once", "tries"), [(False, 5), (True, 3)])
def test_a_window_that_is_staged_wrong_again_and_again_ends_its_feed(
    once: bool, tries: int
) -> None:
    clock = Clock()
    feed = FakeFeed("one", *[stage_wrong] * tries)
    wheel = Wheel(clock, feed, once=once)
    for _ in range(tries):
        wheel.turn_all()
        clock.passes(100.0)
    assert wheel.names() == [("one", "trouble")] * (tries - 1) + [("one", "stopped")]
    assert feed.is_closed
    assert wheel.runner.failures["one"].code == "STAGED_SET_WRONG"


@pytest.mark.parametrize("trouble", TROUBLES, ids=["down", "refused", "wrong"])
def test_once_ends_with_a_code_when_the_registry_left_something_unread(
    trouble: RegistryTrouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first window fails and its partition is held; then there is nothing more to read."""
    clock = Clock()
    feed = an_owned_feed(clock)
    windows = iter([True])

    def stage(order: StageOrder) -> None:
        next(windows)
        report = MagicMock(named=["7"])
        report.evidence.range = order.ranges[0]
        feed._intake._stager._hold([report], trouble)
        raise trouble

    monkeypatch.setattr(feed._intake, "stage", stage)
    wheel = Wheel(clock, feed, once=True)
    while wheel.runner.turns[0].stage != "ended":
        wheel.turn_all()
    assert wheel.names() == [("events", "trouble"), ("events", "stopped")]
    assert wheel.runner.failures["events"].code == "PARTITIONS_UNREAD"
    assert trouble.code in str(wheel.runner.failures["events"])
    assert wheel.code() == 1


@pytest.mark.parametrize("once", [False, True])
def test_after_a_signal_no_other_feed_begins_a_window(once: bool) -> None:
    clock = Clock()
    feeds = [FakeFeed(name) for name in ("one", "two", "three")]
    wheel = Wheel(clock, *feeds, once=once)
    feeds[0].turns = [lambda: True]
    feeds[1].turns = [wheel.stop]
    wheel.turn_all()
    assert wheel.names() == [("one", "window"), ("two", "window")]
    assert clock.tick_s == 100.0


def test_after_a_signal_no_feed_is_claimed() -> None:
    first, second = FakeFeed("one"), FakeFeed("two")
    wheel = Wheel(Clock(), waiting=(first, second))

    def stop_and_fail() -> bool:
        wheel.stop()
        raise ReadFailed("at the watermarks", "cancelled")

    first.turns = [stop_and_fail]
    wheel.turn_all()
    assert wheel.names() == []
    assert wheel.runner.feeds_at_work() == []


def test_a_window_that_was_abandoned_at_a_signal_is_not_said_to_be_done() -> None:
    feed = FakeFeed("one")
    wheel = Wheel(Clock(), feed, once=True)

    def stop_and_fail() -> bool:
        wheel.stop()
        raise ReadFailed("1-1", "cancelled")

    feed.turns = [stop_and_fail]
    wheel.turn_all()
    assert wheel.names() == []


@pytest.fixture
def signals() -> Iterator[None]:
    """The handlers of this process, put back afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("ends", [True, False])
def test_a_process_that_does_not_end_after_a_signal_is_ended(
    ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal: whatever the main thread waits for, the process ends in time; and only then."""
    monkeypatch.setattr(run, "END_S", 0.05 if not ends else 60.0)
    monkeypatch.setattr(run, "LAST_S", 0.0)
    over, is_ended = threading.Event(), threading.Event()
    is_stopping = run.stop_on_signals(over, is_ended.set)
    assert not is_stopping()
    os.kill(os.getpid(), signal.SIGTERM)
    assert is_stopping()
    if ends:
        over.set()
    else:
        assert is_ended.wait(10.0)
    for thread in threading.enumerate():
        if thread.name == "penstock-stop":
            thread.join(10.0)
            assert not thread.is_alive()
    assert is_ended.is_set() is not ends


@pytest.mark.parametrize(("failed", "code"), [(False, 1), (True, 5)])
def test_the_last_resort_is_no_success_and_does_not_hide_that_a_feed_has_halted(
    failed: bool, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    monkeypatch.setattr(run, "leave", left.append)
    session = SimpleNamespace(kill=lambda: None)
    failures = {"feed": SimpleNamespace(exit_code=5)} if failed else {}
    run._end_now(session, lambda _event: None, failures)  # type: ignore[arg-type]
    assert left == [code]


TWO_SIGNALS = """
import os, signal, threading
from penstock.cli.commands.run import stop_on_signals

def ended(*signals):
    child = os.fork()
    if child == 0:
        stop_on_signals(threading.Event(), lambda: os._exit(0))
        for number in signals:
            os.kill(os.getpid(), number)
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

print(ended(2, 2), ended(15, 2), ended(2, 15))
"""


def test_a_second_signal_of_either_kind_ends_the_process_at_once() -> None:
    """Goal: SIGTERM after Ctrl-C is not the first signal once more. Method: a process for each."""
    ran = subprocess.run(
        [sys.executable, "-c", TWO_SIGNALS], check=True, capture_output=True, text=True
    )
    assert ran.stdout.split() == ["-2", "-2", "-15"]


def test_the_help_and_the_runner_agree_on_the_time_that_windows_have() -> None:
    assert run_options.GRACE_S == runner_module.FINISH_S
    beside_s = heartbeat.END_S + cleaning.HURRIED_S
    assert runner_module.STOP_S + beside_s + run.SPARK_STOP_S + run.LAST_S <= run_options.END_S
