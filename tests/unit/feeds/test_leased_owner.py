"""Who owns a feed when instances are paused, cut off from the store, or cannot reach the source.

Goal: an instance that lives and beats is not fenced by another one that lost its lease, and one
that lost it goes back in line. Method: real feeds of several instances over one store, in both
forms of the lease; the clock is the test's.
"""

from collections.abc import Callable

import pytest

from penstock.api.source import SourceUnavailable
from penstock.api.store import Store
from penstock.errors import Fenced, OutcomeUnknown
from penstock.feeds.errors import LeaseLost
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.feed_turns import IN_LINE_S
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.feeds.running_feed import RunningFeed
from penstock.model.spec import FeedSpec, WindowSpec
from penstock.protocol.journal.beats import BEAT_S, STALE_S
from penstock.testing.fault_store import Died, Fault, FaultStore, What
from penstock.testing.list_source import ListCluster, ListSource
from penstock.testing.memory_store import Act, Answer, MemoryStore, ReplacingMemoryStore
from tests.helpers.clock import Clock
from tests.helpers.list_story import FEED, TOPIC, Story, events, places
from tests.helpers.turning import open_all, turn_all

PLAIN = FeedSpec(
    name="feed",
    topics=(TOPIC,),
    route=FEED.route,
    export_offsets="none",
    window=WindowSpec(every_s=2.0),
)


class Place:
    """A lake and a cluster that several instances share."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.clock = Clock()
        self.cluster = ListCluster()
        self.cluster.create_topic(TOPIC)

    def tools(self, store: Store | None = None, cluster: ListCluster | None = None) -> FeedTools:
        """What an instance is given; perhaps with a store or a cluster of its own."""
        whole = self.cluster if cluster is None else cluster
        return FeedTools(
            lambda feed: ListSource(feed, whole), store or self.store, self.clock.around()
        )

    def feed(self, store: Store | None = None, cluster: ListCluster | None = None) -> RunningFeed:
        """The feed as an instance of its own opens it."""
        found = RunningFeed(PLAIN, self.tools(store, cluster), once=False)
        found.open()
        return found

    def pass_beating(self, seconds: float, *feeds: RunningFeed) -> None:
        """Let time go by while these instances leave their beats."""
        for _ in range(int(seconds / BEAT_S)):
            self.clock.passes(BEAT_S)
            for feed in feeds:
                feed.beat()


@pytest.fixture(params=[MemoryStore, ReplacingMemoryStore], ids=["numbered", "replaced"])
def place(request: pytest.FixtureRequest) -> Place:
    return Place(request.param())


def down(cluster: ListCluster) -> ListCluster:
    """The same cluster, out of reach."""
    apart = ListCluster(cluster.cluster_id)
    apart.create_topic(TOPIC)
    apart.is_down = True
    return apart


def test_a_lease_is_beaten_while_its_feed_waits_for_the_source(place: Place) -> None:
    """Kafka is down when the first instance starts a new feed; a second one keeps waiting."""
    first, second = place.feed(cluster=down(place.cluster)), place.feed()
    with pytest.raises(SourceUnavailable):
        first.try_start()
    assert first.holds_lease
    for _ in range(10):
        place.pass_beating(BEAT_S, first)
        assert second.try_start() is not None
    first._source._cluster.is_down = False  # type: ignore[attr-defined]
    assert first.try_start() is None
    assert first.owner.epoch == 1


def test_who_lost_the_lease_before_it_could_claim_waits_for_the_one_that_has_it(
    place: Place,
) -> None:
    """The first was paused while Kafka was down; the second owns the feed now, and beats."""
    apart = down(place.cluster)
    first, second = place.feed(cluster=apart), place.feed()
    with pytest.raises(SourceUnavailable):
        first.try_start()
    assert second.try_start() is not None
    place.clock.passes(STALE_S + 1)
    assert second.try_start() is None
    assert not second.run_window()
    second.beat()
    apart.is_down = False
    holder = first.try_start()
    assert holder is not None
    assert not second.run_window()
    assert second.state.epoch == second.owner.epoch == 1


def test_the_lease_is_looked_at_after_the_source_was_asked_and_before_the_claim(
    place: Place,
) -> None:
    """A new feed asks its source first, which may take long; meanwhile another took the lease."""
    first, second = place.feed(), place.feed()
    look = first._intake.look

    def slow_look() -> object:
        found = look()
        assert second.try_start() is not None
        place.clock.passes(STALE_S)
        assert second.try_start() is None
        return found

    first._intake.look = slow_look  # type: ignore[method-assign, assignment]
    with pytest.raises(LeaseLost):
        first.try_start()
    assert not first.holds_lease
    assert not second.run_window()
    assert second.state.epoch == 1


def test_starting_over_after_an_unknown_outcome_looks_at_the_lease_first(place: Place) -> None:
    first, second = place.feed(), place.feed()
    assert first.try_start() is None
    assert second.try_start() is not None
    place.clock.passes(STALE_S)  # the first is cut off, and its decision has no answer
    assert second.try_start() is None
    with pytest.raises(LeaseLost):
        first.start_over()
    assert not second.run_window()
    assert second.state.epoch == second.owner.epoch == 2
    first.step_back()
    assert first.try_start() is not None


def test_who_still_has_the_lease_starts_over(place: Place) -> None:
    first = place.feed()
    assert first.try_start() is None
    first.start_over()
    assert first.owner.epoch == 2
    assert not first.run_window()


def test_a_forced_take_over_is_forced_once(place: Place) -> None:
    """Two instances with --take-over do not take the feed from each other for ever."""
    first, second = place.feed(), place.feed()
    assert first.try_start(force=True) is None
    assert second.try_start(force=True) is None
    with pytest.raises(Fenced):
        first.run_window()
    first.step_back()
    assert first.try_start(force=True) is not None
    assert not second.run_window()


class Instance:
    """A `penstock run` that goes on turn by turn, with what it said."""

    def __init__(
        self, place: Place, spec: RunSpec | None = None, *, store: Store | None = None
    ) -> None:
        self.said: list[Event] = []
        self.place = place
        self.runner = Runner(
            (PLAIN,), place.tools(store), self.said.append, lambda: False, spec or RunSpec()
        )
        open_all(self.runner)

    @property
    def feed(self) -> RunningFeed:
        (turns,) = self.runner.turns
        assert turns.feed is not None
        return turns.feed

    def turn(self) -> None:
        """Once round; time passes only here."""
        turn_all(self.runner)

    def names(self) -> list[str]:
        return [event.name for event in self.said]


def test_a_fenced_feed_goes_back_in_line_and_follows_later(place: Place) -> None:
    first, second = Instance(place), Instance(place, RunSpec(take_over=True))
    first.turn()
    second.turn()
    place.clock.passes(10)
    first.turn()
    first.turn()
    assert first.names() == ["claimed", "back_in_line", "waiting"]
    assert first.said[1].facts["code"] in ("FENCED", "LEASE_LOST")
    place.cluster.append(TOPIC, 0, *events("click", 3))
    for _ in range(4):
        second.turn()
    assert second.names() == ["claimed", "window"]
    for _ in range(20):  # the second lives; neither takes the feed from the other
        place.pass_beating(BEAT_S, second.feed)
        first.turn()
        second.turn()
    assert first.names() == ["claimed", "back_in_line", "waiting"]
    second.feed.close()
    place.clock.passes(IN_LINE_S)
    first.turn()
    assert first.names()[3:] == ["claimed"]
    assert first.feed.owner.epoch == 3
    place.cluster.append(TOPIC, 0, *events("click", 3))
    for _ in range(4):
        first.turn()
    assert first.names()[4:] == ["window"]
    assert first.runner.failures == {}


@pytest.mark.parametrize("spec", [RunSpec(once=True), RunSpec(wait=False)])
def test_a_fenced_feed_ends_with_75_when_it_is_not_to_wait(place: Place, spec: RunSpec) -> None:
    first = Instance(place, spec)
    first.turn()
    other = place.feed()
    assert other.try_start(force=True) is None
    place.clock.passes(10)
    first.turn()
    (error,) = first.runner.failures.values()
    assert isinstance(error, Fenced)
    assert error.exit_code == 75
    assert other.holds_lease


@pytest.mark.parametrize("spec", [RunSpec(once=True), RunSpec(wait=False), RunSpec()])
def test_a_lease_that_a_beat_found_lost_ends_the_turns_of_its_feed(
    place: Place, spec: RunSpec
) -> None:
    first = Instance(place, spec)
    first.turn()
    other = place.feed()
    assert other._leased.lease.try_take(force=True) is None  # taken, and not claimed yet
    first.feed.beat()
    place.cluster.append(TOPIC, 0, *events("click", 3))
    first.turn()
    if spec == RunSpec():
        assert first.names() == ["claimed", "back_in_line"]
    else:
        assert first.runner.failures["feed"].code == "LEASE_LOST"
        assert first.runner.failures["feed"].exit_code == 75
    assert first.names()[-1] != "window"


def test_an_unknown_outcome_of_one_that_lost_its_lease_leads_back_into_the_line(
    place: Place,
) -> None:
    first = Instance(place)
    first.turn()
    second = Instance(place)
    second.turn()

    def fail() -> bool:
        raise OutcomeUnknown("create", "journal/1", "cut off")

    first.feed.run_window = fail  # type: ignore[method-assign]
    first.turn()
    place.clock.passes(STALE_S)
    second.turn()
    assert second.names() == ["waiting", "claimed"]
    first.turn()
    assert first.names() == ["claimed", "trouble", "back_in_line"]
    place.clock.passes(10)
    second.feed.beat()
    second.turn()
    first.turn()
    assert second.names() == ["waiting", "claimed"]
    assert first.names()[3:] == ["waiting"]


def killed_before_publishing(place: Place) -> None:
    """A window is decided, and its owner dies before anything of it is visible."""
    dying = FaultStore(place.store, [Fault("publish", What.DIE_BEFORE)])
    feed = place.feed(dying)
    assert feed.try_start() is None
    with pytest.raises(Died):
        feed.run_window()
    place.clock.passes(2 * STALE_S)


@pytest.mark.parametrize("once", [False, True])
def test_what_is_decided_becomes_visible_while_the_source_is_down(once: bool) -> None:
    story = Story()
    place = Place(MemoryStore())
    place.cluster.append(TOPIC, 0, *events("click", 3))
    story.store, story.cluster = place.store, place.cluster
    killed_before_publishing(place)
    assert story.delivered() == places(0)
    place.cluster.is_down = True
    asked: list[str] = []
    tools = place.tools()
    wait = Runner(
        (PLAIN,),
        FeedTools(
            tools.open_source,
            tools.store,
            tools.around,
            wait_until_ready=lambda: asked.append(f"Spark, with {sum(story.delivered().values())}"),
        ),
        lambda event: asked.append(event.name),
        is_over(asked),
        RunSpec(once=once, take_over=True),
    )
    assert wait.run() == (1 if once else 0)
    assert asked[:3] == ["claimed", "Spark, with 3", "stopped" if once else "trouble"]
    assert story.delivered() == places(0, 0, 1, 2)
    place.cluster.is_down = False
    assert story.run_once() == 0
    assert story.delivered() == places(0, 0, 1, 2)


def is_over(said: list[str]) -> Callable[[], bool]:
    """Stop a run once it has told of its first trouble."""
    return lambda: "trouble" in said


def test_recovery_that_needs_the_source_is_left_to_the_first_window() -> None:
    """The staged files are lost: they are derived again, once the source may be asked."""
    story = Story()
    place = Place(MemoryStore())
    place.cluster.append(TOPIC, 0, *events("click", 3))
    story.store, story.cluster = place.store, place.cluster
    killed_before_publishing(place)
    for ref in place.store.list_staged("_penstock/feed/staging", ()):
        place.store.discard(ref)
    feed = place.feed()
    reads = len(place.cluster.reads)
    assert feed.try_start(force=True) is None
    assert (len(place.cluster.reads), story.delivered()) == (reads, places(0))
    feed.run_window()
    assert story.delivered() == places(0, 0, 1, 2)


def count_requests(store: MemoryStore) -> list[str]:
    """Every request from now on."""
    asked: list[str] = []
    perform = store.ask

    def count(act: Act) -> Answer:
        asked.append(f"{act.name} {act.key}")
        return perform(act)

    store.ask = count
    return asked


def test_an_idle_feed_asks_little_of_its_store(place: Place) -> None:
    """0.3 requests a second where the lease is one object; no listing at all."""
    place.cluster.append(TOPIC, 0, *events("click", 3))
    instance = Instance(place)
    for _ in range(30):
        instance.turn()
    asked = count_requests(place.store)
    began_s, beat_s = place.clock.tick_s, place.clock.tick_s
    while place.clock.tick_s - began_s < 600:
        instance.turn()
        if place.clock.tick_s - beat_s >= BEAT_S:
            beat_s = place.clock.tick_s
            instance.feed.beat()
    assert [line for line in asked if line.startswith("list")] == []
    rate = 0.3 if isinstance(place.store, ReplacingMemoryStore) else 0.7
    most = rate * (place.clock.tick_s - began_s) + 1  # ten minutes can begin and end with a poll
    assert len(asked) <= most


def test_what_a_command_decides_is_taken_up_within_ten_seconds(place: Place) -> None:
    instance = Instance(place)
    for _ in range(7):
        instance.turn()
    other = place.feed()
    other._leased.lease.try_take(force=True)
    other.owner.take_over()  # any entry will do; this one is noticed by an event
    decided_s = place.clock.tick_s
    while "back_in_line" not in instance.names():
        instance.turn()
    assert place.clock.tick_s - decided_s <= 10.0


def test_a_window_that_is_due_does_not_wait_for_the_next_poll(place: Place) -> None:
    instance = Instance(place)
    for _ in range(3):
        instance.turn()
    place.cluster.append(TOPIC, 0, *events("click", 3))
    came_s = place.clock.tick_s
    while "window" not in instance.names():
        instance.turn()
    assert place.clock.tick_s - came_s <= PLAIN.window.every_s + 2.0


def test_who_waits_in_line_looks_every_two_seconds(place: Place) -> None:
    first, second = Instance(place), Instance(place)
    first.turn()
    second.turn()
    asked = count_requests(place.store)
    began_s = place.clock.tick_s
    while place.clock.tick_s - began_s < 10:
        second.turn()
    assert len(asked) <= 2 * 6
