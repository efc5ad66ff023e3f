"""Several instances share the feeds of a lake by `feeds_at_most`; some come and go under load."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from random import SystemRandom

import msgspec
import pytest

from penstock.feeds import runner as runner_module
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.feed_turns import IN_LINE_S, REQUEST_S
from penstock.feeds.heartbeat import Heart
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.feeds.sharing import FeedRequests, FeedShares, WantedFeed
from penstock.model.process_id import Process
from penstock.model.spec import FeedSpec, RunLimits, WindowSpec
from penstock.ports.store.list_keys import list_keys
from penstock.runtime.surroundings import Surroundings
from penstock.runtime.this_process import this_process
from penstock.testing.list_source import BEGAN_MS, ListCluster, ListSource
from penstock.testing.memory_store import MemoryStore, ReplacingMemoryStore
from tests.helpers.list_story import FEED, TOPIC, Story, events, places

LIMIT_S = 60.0
FASTER = 20.0  # how much faster than the real one the clock of these runs goes


def wanted(owned: int) -> WantedFeed:
    return WantedFeed("other", this_process(), owned)


def test_an_instance_claims_no_more_feeds_than_it_may() -> None:
    shares = FeedShares(2)
    assert [shares.may_claim(name) for name in ("a", "b", "c", "a")] == [True, True, False, True]
    shares.let_go("a")
    assert shares.may_claim("c")
    assert all(FeedShares(None).may_claim(str(n)) for n in range(100))


def test_who_has_room_asks_for_its_share_and_no_more() -> None:
    shares = FeedShares(5)
    for number in range(6):
        assert shares.may_claim(f"f{number}")
        shares.seen(f"f{number}", "another")
    asked = [shares.to_ask(f"f{number}", 0.0) for number in range(6)]
    assert asked == [0, 1, 2, None, None, None]
    assert shares.to_ask("f0", 1.0) is None
    assert FeedShares(None).to_ask("f0", 0.0) is None


def test_a_feed_is_given_up_only_to_who_has_fewer_and_never_more_than_the_surplus() -> None:
    shares = FeedShares(9)
    for number in range(6):
        assert shares.may_claim(f"f{number}")
    given = [shares.gives_up(f"f{number}", wanted(number)) for number in range(6)]
    assert given == [True, True, True, False, False, False]
    assert not shares.gives_up("f0", wanted(0))
    alone = FeedShares(None)
    assert alone.may_claim("f0")
    assert not alone.gives_up("f0", wanted(-5))


def test_a_request_is_answered_once_and_that_of_the_dead_is_not() -> None:
    store = MemoryStore()
    asking, owner = FeedRequests(store, "lease", "b"), FeedRequests(store, "lease", "a")
    assert owner.take() is None
    asking.ask(3)
    found = owner.take()
    assert found is not None
    assert (found.owner, found.owned) == ("b", 3)
    assert owner.take() is None
    asking.ask(3)
    asking.withdraw()
    asking.withdraw()
    assert owner.take() is None
    host = this_process().host
    dead = WantedFeed("dead", Process(host, 2**22 + 1), 0)
    store.create("lease/wanted.json", msgspec.json.encode(dead))
    assert owner.take() is None
    store.create("lease/wanted.json", b"{}")
    assert owner.take() is None
    assert store.read("lease/wanted.json") is None


def until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


class Instance:
    """A `penstock run` on threads of this process, until it is told to stop."""

    def __init__(
        self,
        world: "World",
        name: str,
        at_most: int | None,
        wait_until_ready: Callable[[], object] = lambda: None,
    ) -> None:
        self.said: list[Event] = []
        self.stop = threading.Event()
        self.code: int | None = None
        tools = FeedTools(
            lambda feed: ListSource(feed, world.cluster),
            world.store,
            QUICK,
            instance=name,
            wait_until_ready=wait_until_ready,
        )
        spec = RunSpec(limits=RunLimits(feeds_at_most=at_most))
        self.runner = Runner(world.feeds, tools, self.said.append, self.stop.is_set, spec)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.code = self.runner.run()

    def owned(self) -> set[str]:
        return {feed.name for feed in self.runner.feeds_at_work()}

    def end(self) -> None:
        self.stop.set()
        self.thread.join(LIMIT_S)
        assert self.code == 0, self.runner.failures


QUICK = Surroundings(
    lambda: BEGAN_MS / 1_000 + 3_600.0,
    lambda rest_s: time.sleep(rest_s / FASTER),
    SystemRandom(),
    tick=lambda: time.monotonic() * FASTER,
)


class World:
    """A lake, a topic into which records come all the time, and feeds that all read it."""

    def __init__(self, store: MemoryStore, feeds: int) -> None:
        self.store = store
        self.cluster = ListCluster()
        self.cluster.create_topic(TOPIC)
        every = WindowSpec(every_s=5.0, max_records=1_000)
        self.feeds = tuple(feed_named(f"f{n}", every) for n in range(feeds))
        self.produced = 0
        self.is_over = threading.Event()
        self.producer = threading.Thread(target=self._produce, daemon=True)

    def _produce(self) -> None:
        while not self.is_over.wait(0.02):
            self.cluster.append(TOPIC, 0, *events("click", 3))
            self.produced += 3

    def end_producing(self) -> None:
        self.is_over.set()
        self.producer.join(LIMIT_S)

    def story(self) -> Story:
        story = Story()
        story.store = self.store
        return story

    def watermark(self, instance: Instance, name: str) -> int:
        for feed in instance.runner.feeds_at_work():
            if feed.name == name:
                return sum(feed.state.watermarks().values())
        return -1


def feed_named(name: str, window: WindowSpec) -> FeedSpec:
    return msgspec.structs.replace(FEED, name=name, window=window, export_offsets="none")


@pytest.fixture(autouse=True)
def _quick_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "Heart", partial(Heart, every_s=0.1))


@pytest.mark.parametrize("store", [MemoryStore, ReplacingMemoryStore])
def test_a_second_instance_gets_its_share_and_when_it_stops_the_first_takes_it_back(
    store: type[MemoryStore],
) -> None:
    world = World(store(), feeds=6)
    first = Instance(world, "first", 6)
    until(lambda: len(first.owned()) == 6, "the first to own all")
    second = Instance(world, "second", 6)
    until(lambda: len(second.owned()) == 3 == len(first.owned()), "three for each")
    assert first.owned().isdisjoint(second.owned())
    assert sum(event.name == "handed_over" for event in first.said) == 3
    third = Instance(world, "third", 1)
    until(lambda: len(third.owned()) == 1, "one for the third, which may have no more")
    second.end()
    until(lambda: len(first.owned()) == 5, "the first to take over what the second had")
    assert len(third.owned()) == 1
    first.end()
    time.sleep(0.5)
    assert len(third.owned()) == 1
    third.end()


def test_an_instance_asks_for_no_feed_before_its_spark_is_up() -> None:
    """A feed that is handed over to who cannot read yet would stand still meanwhile."""
    world = World(MemoryStore(), feeds=4)
    first = Instance(world, "first", 4)
    until(lambda: len(first.owned()) == 4, "the first to own all")
    is_up = threading.Event()
    second = Instance(world, "second", 4, lambda: is_up.wait(LIMIT_S))
    until(lambda: len(second.said) == 4, "the second to wait for each")
    looks_s = (IN_LINE_S + REQUEST_S) / FASTER
    time.sleep(3 * looks_s)  # so often it would have asked, and been answered
    assert len(first.owned()) == 4
    is_up.set()
    until(lambda: len(second.owned()) == 2 == len(first.owned()), "two for each")
    first.end()
    second.end()


def test_without_feeds_at_most_a_second_instance_waits() -> None:
    world = World(MemoryStore(), feeds=3)
    first = Instance(world, "first", None)
    until(lambda: len(first.owned()) == 3, "the first to own all")
    second = Instance(world, "second", None)
    until(lambda: [e.name for e in second.said] == ["waiting"] * 3, "the second to wait")
    time.sleep(0.5)
    assert second.owned() == set()
    first.end()
    until(lambda: len(second.owned()) == 3, "the second to follow")
    second.end()


def test_sc_s21_instances_come_and_go_ten_times_under_load_exact_and_with_few_files() -> None:
    """Oracle: the positions of all rows, read by pyarrow; every offset once in every feed."""
    world = World(ReplacingMemoryStore(), feeds=4)
    world.producer.start()
    alive = [Instance(world, "i0", 3)]
    every = list(alive)
    began = QUICK.tick()
    changes = 0
    while changes < 10:
        changes += 1
        if len(alive) < 3 and changes % 2:
            alive.append(Instance(world, f"i{changes}", 3))
            every.append(alive[-1])
        else:
            alive.pop(0).end()
        until(partial(has_moved, world, alive, world.produced), "progress")
    alive.append(Instance(world, "last", 4))
    every.append(alive[-1])
    world.end_producing()
    until(lambda: moved_past(world, alive, world.produced - 1) == 4, "the end")
    for each in alive:
        each.end()
    story = world.story()
    for feed in world.feeds:
        assert story.rows(feed.name) == places(0, *range(world.produced)), feed.name
        files = [key for key in list_keys(world.store, feed.name) if key.endswith(".parquet")]
        windows = Counter(key.rpartition("_")[2] for key in files)
        assert set(windows.values()) == {1}  # all records are of one day
        most = (QUICK.tick() - began) / feed.window.every_s + claims(every, feed.name)
        assert len(windows) <= most + 1, feed.name
    names = Counter(event.name for each in every for event in each.said)
    assert not names["halted"] + names["stopped"]


def has_moved(world: World, alive: list[Instance], offset: int) -> bool:
    """Whether three of the four feeds, which one instance may have, have gone on."""
    return moved_past(world, alive, offset) >= 3


def claims(instances: list[Instance], feed: str) -> int:
    """How often a feed was claimed: what is there then is read at once."""
    told = [(event.feed, event.name) for each in instances for event in each.said]
    return told.count((feed, "claimed"))


def moved_past(world: World, alive: list[Instance], offset: int) -> int:
    """How many feeds some instance has delivered beyond an offset."""
    return sum(
        any(world.watermark(each, feed.name) > offset for each in alive) for feed in world.feeds
    )
