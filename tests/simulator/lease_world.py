"""Instances that contend for one feed through the real lease: a clock, pauses, late threads.

Every instance has two threads, as a run has: a loop that owns the feed when it may, and a heart
that leaves beats. Each request of each is scheduled. Time passes only while nobody has anything to
do, so whoever is not paused is on time. Besides the invariants of `World`, which say that nothing
is lost or doubled whatever the lease does, it checks
    L1  while a holder lives and beats, nobody else takes its lease or claims, unless it was told
        to, or was paused between its last look at the lease and this request;
    L2  a lease that is lost is not beaten, with the same exception;
    L3  when faults stop, one instance holds the lease, owns the feed, and stays the owner.
"""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.api.source import SourceUnavailable
from penstock.errors import Fenced, OutcomeUnknown, PenstockError, StoreUnavailable
from penstock.feeds.errors import LeaseLost
from penstock.feeds.leased_owner import LeasedOwner
from penstock.model.layout import Layout
from penstock.model.process_id import Process
from penstock.model.window import Available
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.feed_lease import FeedLease, Note
from penstock.protocol.journal.beats import BEAT_S, STALE_S
from penstock.protocol.journal.lease import Contender
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.runtime.surroundings import Surroundings
from penstock.testing.memory_store import Act, Answer, MemoryStore, Shelf
from tests.simulator.kafka import SimKafka, SimSource
from tests.simulator.programs import FEED, LAKE, GivenRules, Program, Room, is_stopping
from tests.simulator.story import Violation
from tests.simulator.world import World

LEASE = f"{Layout(FEED).lease}/"
JOURNAL = f"{Layout(FEED).journal}/"
TURN_S = 2.0
POLL_S = 9.5
CALM_S = 90.0  # how long faults are over before the end is judged
FLAP_S = 45.0  # how long nobody has claimed by then
MANY = 10_000
SLEEP = "sleep"

Ask = Callable[[Act], Answer]
IsDead = Callable[[Process], bool]


@dataclass
class Instance:
    """One process that wants the feed, and what the world remembers of it."""

    name: str
    force: bool = False
    source_up_at: float = 0.0
    leased: LeasedOwner | None = None
    is_alive: bool = True
    is_forcing: bool = False
    beaten_at: float = -1.0

    @property
    def lease(self) -> int:
        """The number of the lease that it believes to hold; 0 for none."""
        return 0 if self.leased is None else self.leased.lease._mine


class LateSource(SimSource):
    """A source that cannot be reached at first."""

    def __init__(self, room: Room, store: MemoryStore, world: "LeaseWorld", me: Instance) -> None:
        super().__init__(room.kafka, store, room.around)
        self._world = world
        self._me = me

    def look(self) -> Available:
        """What there is, once it can be reached."""
        if self._world.now < self._me.source_up_at:
            raise SourceUnavailable("Kafka", "simulated")
        return super().look()


@dataclass
class LeaseWorld(World):
    """Instances of one feed, with a clock. `form` is the kind of store, and so of the lease."""

    form: type[MemoryStore] = MemoryStore
    now: float = 100.0
    steps: int = 0
    claimed_at: float = 100.0
    claimed_by: str = ""
    instances: dict[str, Instance] = field(default_factory=dict)
    due: dict[str, float] = field(default_factory=dict)
    paused: dict[str, float] = field(default_factory=dict)
    removed: dict[str, float] = field(default_factory=dict)
    acted: dict[str, int] = field(default_factory=dict)  # the step of a thread's last request
    resumed: dict[str, int] = field(default_factory=dict)  # the step before its last pause ended
    is_late: bool = False
    acting: str = ""

    def start(self, name: str, *, force: bool = False, source_up_at: float = 0.0) -> Instance:
        """Start an instance with both its threads."""
        me = self.instances[name] = Instance(name, force, source_up_at)
        self.spawn(name, loop(self, me))
        self.spawn(f"{name}.heart", heart(me))
        return me

    def threads(self, name: str) -> list[str]:
        """The threads of the instance that a thread belongs to."""
        instance = name.partition(".")[0]
        return [each for each in (instance, f"{instance}.heart") if each in self.processes]

    def pause(self, seconds: float, *names: str) -> None:
        """Nothing of these threads happens for a while; what they have asked lands afterwards."""
        for name in names:
            self.paused[name] = self.now + seconds
            self.record.append(f"{name} is paused for {seconds:.0f} s")

    def crash(self, name: str) -> None:
        """kill -9, of all threads of an instance."""
        for each in self.threads(name):
            super().crash(each)
            self.due.pop(each, None)
            self.paused.pop(each, None)
            self.instances[name.partition(".")[0]].is_alive = False

    def ready(self) -> list[str]:
        """Whoever has something to do now."""
        for name in [each for each, until in self.paused.items() if until <= self.now]:
            del self.paused[name]
            self.resumed[name] = self.steps
        found = []
        for name, process in self.processes.items():
            act = process.pending
            if act is not None and act.name == SLEEP:
                self.due.setdefault(name, self.now + float(act.other))
            if act is not None and name not in self.paused and self.due.get(name, 0.0) <= self.now:
                found.append(name)
        return found

    def is_sleeping(self, name: str) -> bool:
        """Whether a thread has nothing to ask."""
        act = self.processes[name].pending
        return act is None or act.name == SLEEP

    def let_time_pass(self) -> None:
        """Nobody has anything to do: until somebody has. Records come meanwhile."""
        awake = [until for name, until in self.due.items() if name not in self.paused]
        self.now = min([*awake, *self.paused.values()], default=self.now + 1.0)
        for partition, fates in self.kafka.partitions.items():
            there = min(len(fates), 1 + int((self.now - 100.0) / 15.0))
            self.kafka.latest[partition] = max(self.kafka.latest[partition], there)

    def go(self, name: str) -> None:
        """One request, or the end of a sleep."""
        self.steps += 1
        process, act = self._pending(name)
        if act.name == SLEEP:
            self.due.pop(name, None)
            process.resume(True)
            return
        super().go(name)
        self.acted[name] = self.steps

    def _perform(self, name: str, act: Act, note: str = "") -> Answer:
        self.acting = name
        return super()._perform(name, act, note)

    def deliver(self, index: int = 0) -> None:
        """A delayed act lands now; its sender has long been told that nobody answered."""
        self.is_late = True
        try:
            super().deliver(index)
        finally:
            self.is_late = False

    def check_step(self, before: Shelf, act: Act, after: Shelf) -> None:
        """The lease first, so that what it did wrong is named; then everything else."""
        if before is not after:
            if act.key.startswith(LEASE):
                self._check_lease(before, act)
            elif act.key.startswith(JOURNAL) and b'"kind":"claim"' in act.data:
                self._check_claim(before, self.instances[json.loads(act.data)["body"]["owner"]])
        super().check_step(before, act, after)

    def _check_lease(self, before: Shelf, act: Act) -> None:
        if act.name == "delete":
            self.removed[act.key] = self.now
            me = self.instances[self.acting.partition(".")[0]]
            if json.loads(before.objects[act.key])["owner"] != me.name:
                self._check_others(before, me)
            return
        beat = json.loads(act.data)
        me = self.instances[beat["owner"]]
        if self.is_late:
            return
        me.beaten_at = self.now
        if act.name == "replace":
            seen = json.loads(before.objects[act.key])
            is_next = beat["lease"] == seen["lease"] + 1
            if is_next:
                self._check_others(before, me)
            elif (beat["lease"], me.name) != (seen["lease"], seen["owner"]):
                raise Violation("L2", f"{act.key} of {seen['owner']} is replaced by {me.name}")
        elif is_beat(act) and not self.was_paused(f"{me.name}.heart"):
            gone_at = self.removed.get(first_key(beat["lease"]), self.now)
            if gone_at < self.now and first_key(beat["lease"]) not in before.objects:
                raise Violation("L2", f"{me.name} beats lease {beat['lease']}, lost at {gone_at}")

    def _check_claim(self, shelf: Shelf, me: Instance) -> None:
        self.claimed_at, self.claimed_by = self.now, me.name
        self._check_others(shelf, me)

    def _check_others(self, shelf: Shelf, me: Instance) -> None:
        """L1: somebody takes a lease, or claims."""
        if self.is_late or me.is_forcing or self.was_paused(me.name):
            return
        for other in self.instances.values():
            silent_s = self.now - other.beaten_at
            if other is not me and 0 < silent_s < STALE_S and self.holds(other, shelf):
                raise Violation(
                    "L1", f"{me.name} takes over; {other.name} holds and beat {silent_s} s ago"
                )

    def was_paused(self, name: str) -> bool:
        """Whether a thread was paused between its last request and the one that it makes now.

        Before a claim the last request was the look at the lease: nothing may lie between them.
        """
        return self.resumed.get(name, -1) >= self.acted.get(name, -1) >= 0

    def holds(self, other: Instance, shelf: Shelf) -> bool:
        """Whether an instance lives and holds the lease, by its own word and by what lies there."""
        for key in (first_key(other.lease), f"{LEASE}current.json"):
            beat = json.loads(shelf.objects.get(key, b"{}"))
            if (beat.get("owner"), beat.get("lease")) == (other.name, other.lease):
                return other.is_alive and not beat["released"]
        return False

    def calm_down(self) -> None:
        """Faults are over for a while; then L3 is judged."""
        while self.in_flight:
            self.deliver()
        self.paused.clear()
        if not any(each.is_alive for each in self.instances.values()):
            self.start("late")
        until = self.now + CALM_S
        for _ in range(MANY):
            ready = self.ready()
            if ready:
                self.go(ready[0])
            elif self.now >= until:
                break
            else:
                self.let_time_pass()
        holders = [each.name for each in self.instances.values() if self.holds(each, self.shelf)]
        claiming = [each.name for each in self.instances.values() if each.lease and each.is_alive]
        if holders != [self.claimed_by] or claiming != holders:
            raise Violation("L3", f"{holders} hold, {claiming} believe to, {self.claimed_by} owns")
        if self.now - self.claimed_at < FLAP_S:
            raise Violation("L3", f"the feed was claimed again at {self.claimed_at}")

    def settle(self) -> None:
        """Judge the lease, then the data as in every world."""
        self.calm_down()
        for name in self.instances:
            self.crash(name)
        self.instances |= {name: Instance(name) for name in ("last", "again")}
        super().settle()


def loop(world: LeaseWorld, me: Instance) -> Program:
    """What a run does with one feed: owns it when it may, starts over, steps back."""

    def run(room: Room) -> str:
        store = form_of(world, room)
        around = timed(world, room)
        lease = FeedLease(
            store, Layout(FEED), Contender(me.name, Process(me.name, 1), dead_in(world)), around
        )

        def new_owner() -> Owner:
            spec = OwnerSpec(owner=me.name, policy=WindowPolicy(2), files="parquet", poll_s=POLL_S)
            journal = FeedJournal(store, Layout(FEED), LAKE, around)
            rules = GivenRules(stopping=is_stopping)
            return Owner(journal, LateSource(room, store, world, me), around, spec, rules)

        me.leased = LeasedOwner(FEED, lease, new_owner)
        turn = Turn(me, me.leased)
        for _ in range(MANY):
            turn.take()
            around.sleep(TURN_S)
        return "turned for long enough"

    return run


@dataclass
class Turn:
    """The turns of one loop, as the runner has them."""

    me: Instance
    leased: LeasedOwner
    is_owner: bool = False
    must_start_over: bool = False

    def take(self) -> None:
        """One turn. Whatever fails is tried again at a later one."""
        try:
            self._take()
        except (Fenced, LeaseLost):
            self.leased.step_back()
            self.is_owner = self.must_start_over = False
        except OutcomeUnknown:
            self.must_start_over = self.is_owner
        except (StoreUnavailable, SourceUnavailable):
            return

    def _take(self) -> None:
        if not self.is_owner:
            self.me.is_forcing = self.me.force and not self.leased._has_held
            self.is_owner = self.leased.try_start(force=self.me.force) is None
            self.me.is_forcing = False
            return
        if not self.leased.lease.is_mine:
            raise LeaseLost(FEED)
        if self.must_start_over:
            self.leased.start_over()
            self.must_start_over = False
        self.leased.owner.run_window()


def heart(me: Instance) -> Program:
    """The beats of one instance."""

    def run(room: Room) -> str:
        for _ in range(MANY):
            ask_of(room)(Act(SLEEP, me.name, other=str(BEAT_S)))
            if me.leased is not None:
                beat_once(me.leased)
        return "beat for long enough"

    return run


def beat_once(leased: LeasedOwner) -> None:
    """A beat that fails is not repeated: the next one follows."""
    try:
        leased.lease.beat(Note())
    except PenstockError:
        return


def ask_of(room: Room) -> Ask:
    """How the process of a room asks the world."""
    if not isinstance(room.store, MemoryStore):
        raise TypeError("only the store in memory asks the world")
    return room.store.ask


def form_of(world: LeaseWorld, room: Room) -> MemoryStore:
    """The store of this world, for one process."""
    return world.form(ask_of(room))


def timed(world: LeaseWorld, room: Room) -> Surroundings:
    """Surroundings that live by the world's clock."""
    ask = ask_of(room)

    def sleep(seconds: float) -> None:
        ask(Act(SLEEP, room.name, other=str(seconds)))

    return dataclasses.replace(room.around, tick=lambda: world.now, sleep=sleep)


def dead_in(world: LeaseWorld) -> IsDead:
    """Whether a process is certainly dead; all are on one host."""
    return lambda process: (
        process.host in world.instances and (not world.instances[process.host].is_alive)
    )


def is_beat(act: Act) -> bool:
    """Whether an act adds a beat to a row of them; the first one and the last are none."""
    if act.name != "create" or act.key.endswith("current.json"):
        return False
    beat = json.loads(act.data)
    return bool(beat["beat"]) and not beat["released"]


def first_key(lease: int) -> str:
    """Where beat 0 of a numbered lease lies."""
    return f"{LEASE}{lease:010}-{0:012}.json"


def a_lease_world(form: type[MemoryStore]) -> LeaseWorld:
    """An empty lake, and records that come one after another."""
    kafka = SimKafka({0: ["a", "b"] * 6, 1: ["b"] * 8}, {0: 1, 1: 1})
    return LeaseWorld(kafka, form=form)
