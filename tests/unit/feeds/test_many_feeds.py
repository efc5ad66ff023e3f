"""Many feeds in one run, each on its thread: one that hangs, is silent or raises harms no other.

Method: real runs with real threads over a store in memory; every feed has a cluster of its own,
whose looks and reads do what the test says.
"""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from random import SystemRandom

import msgspec
import pytest

from penstock.api.source import ReadFailed, ReadRequest, SourceUnavailable, Task
from penstock.api.store import Store
from penstock.feeds import runner as runner_module
from penstock.feeds import running_feed
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.spec import FeedSpec, RunLimits, WindowSpec
from penstock.model.window import Available
from penstock.ports.store.list_keys import list_keys
from penstock.runtime.surroundings import Surroundings
from penstock.testing.list_source import BEGAN_MS, ListCluster, ListSource
from penstock.testing.memory_store import Act, Answer, MemoryStore
from tests.helpers.list_story import FEED, TOPIC, Story, events, places

LIMIT_S = 20.0
RECORDS = 5
QUICK = Surroundings(
    lambda: BEGAN_MS / 1_000 + 60.0, lambda rest_s: time.sleep(min(rest_s, 0.02)), SystemRandom()
)


class Scripted(ListSource):
    """A source that asks the test before every look and read, and whose reads can be ended."""

    def __init__(self, feed: FeedSpec, world: "World") -> None:
        super().__init__(feed, world.cluster)
        self.name = feed.name
        self.world = world
        self.is_cancelled = threading.Event()

    def look(self) -> Available:
        self.world.on_look.get(self.name, lambda: None)()
        return super().look()

    def read(self, request: ReadRequest, task: Task) -> list[bytes]:
        self.is_cancelled.clear()
        with self.world.reading(self.name):
            act = self.world.on_read.get(self.name)
            if act is not None:
                act(self)
            return super().read(request, task)

    def cancel_read(self, name: str) -> None:
        self.world.cancelled[self.name] += 1
        self.is_cancelled.set()


class World:
    """A lake, one topic that every feed reads, and runs whose sources follow a script."""

    def __init__(self, store: Store | None = None) -> None:
        self.cluster = ListCluster()
        self.cluster.create_topic(TOPIC)
        self.cluster.append(TOPIC, 0, *events("click", RECORDS))
        self.store = store or MemoryStore()
        self.on_look: dict[str, Callable[[], object]] = {}
        self.on_read: dict[str, Callable[[Scripted], object]] = {}
        self.cancelled: Counter[str] = Counter()
        self.order: list[str] = []
        self.most_at_once = 0
        self.said: list[Event] = []
        self.is_stopping = threading.Event()
        self._lock = threading.Lock()
        self._reading: set[str] = set()

    def reading(self, name: str) -> "World._Read":
        return World._Read(self, name)

    class _Read:
        def __init__(self, world: "World", name: str) -> None:
            self.world, self.name = world, name

        def __enter__(self) -> None:
            with self.world._lock:
                self.world.order.append(self.name)
                self.world._reading.add(self.name)
                self.world.most_at_once = max(self.world.most_at_once, len(self.world._reading))

        def __exit__(self, *_: object) -> None:
            with self.world._lock:
                self.world._reading.discard(self.name)

    def runner(
        self, *feeds: FeedSpec, once: bool = True, limits: RunLimits | None = None
    ) -> Runner:
        tools = FeedTools(
            lambda feed: Scripted(feed, self),
            self.store,
            QUICK,
        )
        spec = RunSpec(once=once, limits=limits or RunLimits())
        return Runner(feeds, tools, self.said.append, self.is_stopping.is_set, spec)

    def delivered(self, name: str) -> Counter[tuple[int, int]]:
        story = Story()
        story.store = self.store
        return story.rows(name)

    def told(self, name: str) -> list[str]:
        return [event.name for event in self.said if event.feed == name]


def a_feed(name: str, **changes: object) -> FeedSpec:
    return msgspec.structs.replace(FEED, name=name, **changes)


ALL = places(0, *range(RECORDS))


def hang(source: Scripted) -> None:
    """Until the read is cancelled."""
    if source.is_cancelled.wait(LIMIT_S):
        raise ReadFailed("of a test", "the job was cancelled")


def test_20_feeds_4_slots_one_hangs_one_is_silent_one_raises_the_others_are_delivered() -> None:
    """Order as promised, and the exit status and messages name those that failed."""
    world = World()
    everybody_waits = threading.Event()
    healthy = [a_feed(f"f{n:02}", priority=n % 5) for n in range(17)]
    first = [a_feed(f"first{n}", priority=9) for n in range(3)]
    hanging = a_feed("hangs", priority=9, timeout_s=0.3)
    silent, raising = a_feed("silent", priority=9), a_feed("raises", priority=9)

    def no_answer() -> None:
        time.sleep(0.5)
        raise SourceUnavailable("The broker", "no answer")

    world.on_read["hangs"] = hang
    world.on_look["silent"] = no_answer
    world.on_look["raises"] = lambda: {}["a mistake in a plug-in"]  # type: ignore[index]
    for feed in first:
        world.on_read[feed.name] = lambda _source: everybody_waits.wait(LIMIT_S)
    runner = world.runner(*healthy, *first, hanging, silent, raising)

    def let_go() -> None:
        wanted = {feed.name for feed in healthy}
        until(lambda: wanted <= runner._slots._waiting.keys() | set(world.order))
        everybody_waits.set()

    threading.Thread(target=let_go, daemon=True).start()
    # The four with the highest priority begin; the others come when the first of these are at work.
    for feed in healthy:
        world.on_look[feed.name] = lambda: until(lambda: len(world.order) >= 4)
    code = runner.run()
    codes = {name: error.code for name, error in runner.failures.items()}
    assert codes == {
        "hangs": "WINDOWS_TIMED_OUT",
        "silent": "SOURCE_UNAVAILABLE",
        "raises": "FEED_FAILED",
    }, runner.failures
    assert code == 5
    for feed in (*healthy, *first):
        assert world.delivered(feed.name) == ALL, feed.name
        assert world.told(feed.name)[-1] == "done"
    assert world.most_at_once == 4
    order = [name for name in dict.fromkeys(world.order) if name[1:].isdigit()]
    ranks = [int(name[1:]) % 5 for name in order]
    assert_nearly_sorted(ranks, slots=4)
    [last] = [event.sentence for event in world.said if event.name == "failed_feeds"]
    assert last == (
        "3 of 23 feeds have ended by an error: hangs (WINDOWS_TIMED_OUT), raises (FEED_FAILED), "
        "silent (SOURCE_UNAVAILABLE)"
    )
    assert "a mistake in a plug-in" in str(runner.failures["raises"])


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.005)


def assert_nearly_sorted(ranks: list[int], slots: int) -> None:
    """Higher ones first; feeds that were given slots together begin in any order."""
    wanted = sorted(ranks, reverse=True)
    for at, rank in enumerate(ranks):
        assert rank in wanted[max(at - slots, 0) : at + slots + 1], ranks


def test_one_slot_is_used_in_the_promised_order() -> None:
    """Method: all others wait before the first one ends."""
    world = World()
    feeds = [a_feed(name, priority=rank) for name, rank in (("low", 1), ("high", 9), ("mid", 5))]
    begin = a_feed("begin", priority=9)
    world.on_read["begin"] = lambda _source: until(
        lambda: {feed.name for feed in feeds} <= runner._slots._present
    )
    for feed in feeds:
        world.on_look[feed.name] = lambda: until(lambda: "begin" in world.order)
    runner = world.runner(begin, *feeds, limits=RunLimits(parallel=1))
    assert runner.run() == 0
    assert list(dict.fromkeys(world.order)) == ["begin", "high", "mid", "low"]


def test_a_pool_with_one_slot_lets_one_of_its_feeds_read_at_a_time() -> None:
    world = World()
    at_once: list[int] = []

    def note(_source: Scripted) -> None:
        at_once.append(sum(name.startswith("bulk") for name in world._reading))
        time.sleep(0.02)

    bulk = [a_feed(f"bulk{n}", pool="bulk") for n in range(5)]
    for feed in bulk:
        world.on_read[feed.name] = note
    runner = world.runner(*bulk, a_feed("other"), limits=RunLimits(pools={"bulk": 1}))
    assert runner.run() == 0
    assert set(at_once) == {1}
    assert all(world.delivered(feed.name) == ALL for feed in bulk)


def test_a_window_that_takes_too_long_is_tried_with_half_of_it_and_grows_again() -> None:
    """Goal: `timeout` ends the read and nothing else. Method: reads of many records hang."""
    world = World()
    world.cluster.append(TOPIC, 0, *events("click", 5_000 - RECORDS))
    sizes: list[int] = []

    class Sized(Scripted):
        def read(self, request: ReadRequest, task: Task) -> list[bytes]:
            self.is_cancelled.clear()
            sizes.append(sum(map(len, request.ranges)))
            if sizes[-1] > 2_000:
                hang(self)
            return ListSource.read(self, request, task)

    feed = a_feed("slow", timeout_s=0.3, window=WindowSpec(max_records=100_000))
    tools = FeedTools(
        lambda spec: Sized(spec, world),
        world.store,
        QUICK,
    )
    runner = Runner((feed,), tools, world.said.append, lambda: False, RunSpec(once=True))
    assert runner.run() == 0
    each_window = [size for size, _ in itertools.groupby(sizes)]  # a new type is read twice
    assert each_window == [5_000, 2_500, 1_250, 2_500, 1_250, 2_500, 1_250]
    assert world.delivered("slow") == places(0, *range(5_000))
    assert world.told("slow").count("timed_out") >= 2
    assert world.cancelled["slow"] >= 2
    timed_out = next(event for event in world.said if event.name == "timed_out")
    assert "trying again with at most 2,500 records" in timed_out.sentence


def test_a_restart_goes_on_with_the_size_that_timeouts_have_left() -> None:
    """Method: no window above 2,000 records ends. The first run stops after its second timeout."""
    world = World()
    world.cluster.append(TOPIC, 0, *events("click", 8_000 - RECORDS))
    sizes: list[int] = []

    class Sized(Scripted):
        def read(self, request: ReadRequest, task: Task) -> list[bytes]:
            self.is_cancelled.clear()
            sizes.append(sum(map(len, request.ranges)))
            if sizes[-1] > 2_000:
                hang(self)
            return ListSource.read(self, request, task)

    feed = a_feed("slow", timeout_s=0.3, window=WindowSpec(max_records=100_000))

    def run(is_stopping: Callable[[], bool]) -> int:
        tools = FeedTools(lambda spec: Sized(spec, world), world.store, QUICK)
        return Runner((feed,), tools, world.said.append, is_stopping, RunSpec(once=True)).run()

    assert run(lambda: world.told("slow").count("timed_out") == 2) == 0
    assert sizes == [8_000, 4_000]
    assert world.delivered("slow") == Counter()
    sizes.clear()
    assert run(lambda: False) == 0
    assert sizes[0] == 2_000
    assert world.delivered("slow") == places(0, *range(8_000))
    sizes.clear()
    world.cluster.append(TOPIC, 0, *events("click", 20_000))
    assert run(lambda: bool(sizes)) == 0
    assert sizes == [8_000], "windows grow again across restarts, too"


def test_three_timeouts_at_the_smallest_size_halt_the_feed_which_status_can_tell() -> None:
    world = World()
    world.on_read["stuck"] = hang
    runner = world.runner(a_feed("stuck", timeout_s=0.1), a_feed("fine"))
    assert runner.run() == 5
    assert world.order.count("stuck") == 3
    assert world.told("stuck")[-1] == "halted"
    assert world.delivered("fine") == ALL
    assert world.delivered("stuck") == Counter()
    assert list(list_keys(world.store, "_penstock/stuck/halted")) != []
    del world.on_read["stuck"]
    assert world.runner(a_feed("stuck", timeout_s=60.0)).run() == 0
    assert world.delivered("stuck") == ALL


def test_a_thread_that_does_not_come_back_is_given_up_and_its_feed_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The read cannot be cancelled: the run ends without it, and says so."""
    monkeypatch.setattr(running_feed, "GRACE_S", 0.2)
    monkeypatch.setattr(runner_module, "GRACE_S", 0.2)
    world = World()
    never = threading.Event()
    world.on_read["hangs"] = lambda _source: never.wait(LIMIT_S)
    runner = world.runner(
        a_feed("hangs", timeout_s=0.1), a_feed("fine"), limits=RunLimits(parallel=1)
    )
    assert runner.run() == 1
    assert world.delivered("fine") == ALL
    assert runner.failures["hangs"].code == "FEED_STUCK"
    assert runner.left_behind == ("hangs",)
    assert [state.doing for state in runner.live_states()] == ["stuck", "done"]
    never.set()


def test_a_thread_that_comes_back_after_all_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_feed, "GRACE_S", 0.2)
    monkeypatch.setattr(runner_module, "GRACE_S", 0.2)
    world = World()
    is_given_up = threading.Event()
    world.on_read["hangs"] = lambda _source: is_given_up.wait(LIMIT_S)
    runner = world.runner(a_feed("hangs", timeout_s=0.1), a_feed("other"), once=False)

    def watch() -> None:
        until(lambda: "stopped" in world.told("hangs"))
        is_given_up.set()
        until(lambda: "window" in world.told("hangs") and "came_back" in world.told("hangs"))
        world.is_stopping.set()

    threading.Thread(target=watch, daemon=True).start()
    assert runner.run() == 0
    assert world.delivered("hangs") == ALL
    assert runner.failures == {}


class HangingStore(MemoryStore):
    """A store that does not answer as long as a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_silent = threading.Event()
        self.answers = threading.Event()
        perform = self.ask

        def ask(act: Act) -> Answer:
            if self.is_silent.is_set():
                self.answers.wait(LIMIT_S)
            return perform(act)

        self.ask = ask


def test_a_stop_ends_in_time_although_a_store_and_a_broker_do_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goal: bounded joins. Method: count the waits, not the seconds."""
    monkeypatch.setattr(runner_module, "FINISH_S", 0.5)
    monkeypatch.setattr(runner_module, "STOP_S", 1.0)
    store = HangingStore()
    world = World(store)
    release = threading.Event()
    for name in ("broker", "reads"):
        world.on_look[name] = lambda: None
    runner = world.runner(a_feed("broker"), a_feed("reads"), a_feed("store"), once=False)
    world.on_read["reads"] = hang

    def stop() -> None:
        until(lambda: "window" in world.told("broker") and "window" in world.told("store"))
        until(lambda: "reads" in world._reading)
        world.on_look["broker"] = lambda: release.wait(LIMIT_S)
        time.sleep(0.1)
        store.is_silent.set()
        world.is_stopping.set()

    threading.Thread(target=stop, daemon=True).start()
    assert runner.run() == 0
    assert world.cancelled["reads"] >= 1
    assert "broker" in runner.left_behind
    names = [event.name for event in world.said]
    assert names.count("stopping") == 1
    assert "abandoned" in world.told("reads")
    assert "left_behind" in names
    release.set()
    store.answers.set()
    assert world.delivered("broker") == ALL


def test_a_stop_lets_windows_finish_that_are_quick() -> None:
    world = World()

    def slow(_source: Scripted) -> None:
        world.is_stopping.set()
        time.sleep(0.3)

    world.on_read["one"] = slow
    assert world.runner(a_feed("one"), once=False).run() == 0
    assert world.delivered("one") == ALL
    assert [event.name for event in world.said] == ["claimed", "stopping", "window"]
    assert world.cancelled == Counter()


def test_a_stop_waits_for_each_of_many_feeds() -> None:
    """Goal: many threads that end one after the other do not use up the time of the last."""
    world = World()
    feeds = [a_feed(f"f{n}") for n in range(40)]
    runner = world.runner(*feeds, once=False)

    def slow_close() -> None:
        time.sleep(0.5)

    def stop() -> None:
        until(lambda: all(state.windows == 1 for state in runner.live_states()))
        for turns in runner.turns[20:]:
            assert turns.feed is not None
            turns.feed._source.close = slow_close  # type: ignore[method-assign]
        world.is_stopping.set()

    threading.Thread(target=stop, daemon=True).start()
    assert runner.run() == 0
    assert runner.left_behind == ()
    assert "left_behind" not in [event.name for event in world.said]


def test_a_listener_that_fails_for_one_feed_ends_no_other() -> None:
    """Method: whoever prints the events of one feed raises, also when its end is told."""
    world = World()
    runner = world.runner(a_feed("unlucky"), a_feed("fine"))

    def fail(_event: Event) -> None:
        raise ValueError("nobody can print this")

    runner.turns[0].reports._tell = fail
    assert runner.run() == 1
    assert world.delivered("fine") == ALL
    assert runner.failures["unlucky"].code == "FEED_FAILED"
    [last] = [event.sentence for event in world.said if event.name == "failed_feeds"]
    assert last == "1 of 2 feeds has ended by an error: unlucky (FEED_FAILED)"


def test_feeds_open_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Method: no journal is folded before all are being opened."""
    everybody = threading.Barrier(10)
    fold = running_feed.RunningFeed.open

    def open_together(self: running_feed.RunningFeed) -> None:
        everybody.wait(LIMIT_S)
        fold(self)

    monkeypatch.setattr(running_feed.RunningFeed, "open", open_together)
    world = World()
    feeds = [a_feed(f"f{n}") for n in range(10)]
    assert world.runner(*feeds).run() == 0
    assert all(world.delivered(feed.name) == ALL for feed in feeds)


def test_the_live_states_tell_what_every_feed_does() -> None:
    world = World()
    seen: dict[str, str] = {}

    def look(_source: Scripted) -> None:
        until(lambda: runner._slots.waiting_since("second") is not None)
        seen.update({each.feed: each.doing for each in runner.live_states()})

    world.on_read["first"] = look
    world.on_look["second"] = lambda: until(lambda: "first" in world.order)
    runner = world.runner(a_feed("first"), a_feed("second"), limits=RunLimits(parallel=1))
    assert runner.run() == 0
    assert seen == {"first": "working", "second": "waiting for a slot"}
    for state in runner.live_states():
        assert (state.doing, state.windows, state.records, state.lag_records) == ("done", 1, 5, 0)
        assert state.last_window_s > 0
