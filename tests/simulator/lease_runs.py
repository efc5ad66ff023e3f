"""Random and directed runs of instances that contend for one lease."""

from collections.abc import Callable

from penstock.model.layout import Layout
from penstock.testing.memory_store import Act, MemoryStore, ReplacingMemoryStore
from tests.simulator.chooser import Chooser, RandomChooser, pick
from tests.simulator.lease_world import JOURNAL, LEASE, Instance, LeaseWorld, a_lease_world
from tests.simulator.programs import FEED, owner
from tests.simulator.story import Violation

FORMS: tuple[type[MemoryStore], ...] = (MemoryStore, ReplacingMemoryStore)
VERDICTS = ("go",) * 30 + ("fail", "lose", "delay", "crash", "pause", "pause", "stop", "stop")
CHECKPOINTS = Layout(FEED).checkpoints
CLAIM, WINDOW = b'"kind":"claim"', b'"kind":"window"'
PAUSES_S = (4.0, 12.0, 17.0, 40.0)
STEPS = 500

Run = Callable[[type[MemoryStore]], None]


def run_randomly(chooser: Chooser, form: type[MemoryStore]) -> LeaseWorld:
    """Two or three instances, a few faults, then calm; raises `Violation`."""
    world = a_lease_world(form)
    names = ["a", "b", "c"][: 2 + chooser.index(2)]
    budget = 2 + chooser.index(6)
    for _ in range(STEPS):
        if names and (not world.instances or chooser.index(25) == 0):
            late_s = pick(chooser, (0.0, 0.0, 30.0))
            is_forcing = len(world.instances) == 2 and chooser.index(3) == 0
            world.start(names.pop(0), force=is_forcing, source_up_at=world.now + late_s)
        ready = world.ready()
        if not ready:
            world.let_time_pass()
            continue
        if world.in_flight and chooser.index(5) == 0:
            world.deliver(chooser.index(len(world.in_flight)))
            continue
        verdict = pick(chooser, VERDICTS) if budget else "go"
        budget -= verdict != "go"
        act(world, chooser, pick(chooser, ready), verdict)
    world.settle()
    return world


def act(world: LeaseWorld, chooser: Chooser, name: str, verdict: str) -> None:
    """Do to a thread what was chosen: let it go on, hold it, fail its request, end it."""
    pending = world.processes[name].pending
    is_asking = pending is not None and not world.is_sleeping(name)
    if verdict == "pause":  # this thread alone
        world.pause(pick(chooser, PAUSES_S), name)
    elif verdict == "stop":  # the whole instance, as by SIGSTOP
        world.pause(pick(chooser, PAUSES_S), *world.threads(name))
    elif verdict == "crash":
        world.crash(name)
    elif verdict == "fail" and is_asking:
        world.fail(name)
    elif verdict == "lose" and is_asking:
        world.lose_reply(name)
    elif verdict == "delay" and is_asking and pending is not None and not pending.is_read:
        world.delay(name)
    else:
        world.go(name)


def run_for(world: LeaseWorld, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
    """Let everybody who is not paused go on, for so long, or until something has happened."""
    end = world.now + seconds
    while not until():
        ready = world.ready()
        if ready:
            world.go(ready[0])
        elif world.now >= end:
            return
        else:
            world.let_time_pass()


def about_to(
    world: LeaseWorld, name: str, kind: str, key: str, said: bytes = b""
) -> Callable[[], bool]:
    """Whether a thread is about to make such a request."""

    def is_it() -> bool:
        pending = world.processes[name].pending
        if pending is None or pending.name != kind:
            return False
        return pending.key.startswith(key) and said in pending.data

    return is_it


def first_beat(world: LeaseWorld, name: str) -> Callable[[], bool]:
    """Whether a thread is about to begin a lease, in either form."""

    def is_it() -> bool:
        pending: Act | None = world.processes[name].pending
        begins = pending is not None and pending.name in ("create", "replace")
        return begins and pending is not None and pending.key.startswith(LEASE)

    return is_it


def lost_while_the_source_is_down(form: type[MemoryStore]) -> None:
    """A holds a lease and cannot claim yet; its beats stop; B owns the feed; the source is back."""
    world = a_lease_world(form)
    world.start("a", source_up_at=140.0)
    run_for(world, 5)
    world.start("b")
    world.pause(60.0, "a.heart")
    run_for(world, 60)
    world.settle()


def paused_right_before_the_claim(form: type[MemoryStore]) -> None:
    """A has looked and wants to claim; it is stopped there until B owns the feed."""
    world = a_lease_world(form)
    world.start("a")
    run_for(world, 5, about_to(world, "a", "create", Layout(FEED).entry(1)))
    world.start("b")
    world.pause(28.0, "a", "a.heart")
    run_for(world, 60)
    world.settle()


def take_by_force_while_paused(world: LeaseWorld, name: str) -> None:
    """C is told to take over, and does not claim yet; meanwhile somebody is paused."""
    if not world.is_sleeping(name):
        world.pause(4.0, name)
    world.start("c", force=True)
    run_for(world, 0.0, about_to(world, "c", "list", CHECKPOINTS))
    world.pause(11.0, "c")
    run_for(world, 60)
    world.settle()


def paused_before_the_lake_names_the_journal(form: type[MemoryStore]) -> None:
    """Seed 32000981: A has a new feed to claim, and asks first where its journal lies."""
    world = a_lease_world(form)
    world.start("a")
    run_for(world, 5, about_to(world, "a", "read", Layout(FEED).journal_place))
    take_by_force_while_paused(world, "a")


def overtaken_by_an_older_owner(form: type[MemoryStore]) -> None:
    """B lost the lease and decides once more, right before A claims; A folds that, and is paused.

    It is stopped once before each request of that fold.
    """
    for after in range(1, 5):
        world = a_lease_world(form)
        world.start("b")
        run_for(world, 60, about_to(world, "b", "create", JOURNAL, WINDOW))
        world.start("a")
        world.pause(40.0, "b", "b.heart")
        run_for(world, 39, about_to(world, "a", "create", JOURNAL, CLAIM))
        world.paused.pop("b")
        world.go("b")
        world.pause(60.0, "b")
        for _ in range(after):
            world.go("a")
        take_by_force_while_paused(world, "a")


def a_claim_is_not_answered(form: type[MemoryStore]) -> None:
    """A waits a moment before it asks again, and C takes the lease in that moment."""
    world = a_lease_world(form)
    world.start("a")
    run_for(world, 5, about_to(world, "a", "create", JOURNAL, CLAIM))
    world.fail("a")
    run_for(world, 0.4, lambda: world.is_sleeping("a"))
    take_by_force_while_paused(world, "a")


def unknown_outcome_after_the_lease_was_lost(form: type[MemoryStore]) -> None:
    """A is cut off in the middle of a decision; B owns the feed when A hears again."""
    world = a_lease_world(form)
    world.start("a")
    run_for(world, 12)
    world.start("b")
    run_for(world, 60, about_to(world, "a", "create", JOURNAL))
    world.pause(60.0, "a.heart")
    world.pause(24.0, "a")
    run_for(world, 22)
    world.paused.pop("a")
    for _ in range(3):  # nothing that it asks is answered, nor when it asks again after a pause
        while not world.is_sleeping("a"):
            world.fail("a")
        run_for(world, 5, lambda: not world.is_sleeping("a"))
    run_for(world, 60)
    world.settle()


def paused_between_the_lease_and_the_claim(form: type[MemoryStore]) -> None:
    """A has the lease and folds the journal; it is stopped there until B owns the feed."""
    world = a_lease_world(form)
    world.start("a")
    run_for(world, 5, about_to(world, "a", "list", CHECKPOINTS))
    world.start("b")
    world.pause(27.0, "a", "a.heart")
    run_for(world, 60)
    world.settle()


def a_contender_comes_late(form: type[MemoryStore]) -> None:
    """C judges A to be silent and sleeps before it begins its lease; A beats again meanwhile."""
    world = a_lease_world(form)
    world.start("a")
    run_for(world, 12)
    world.start("c")
    world.pause(25.0, "a.heart")
    run_for(world, 24, first_beat(world, "c"))
    world.pause(32.5, "c")  # it does not wake up in the moment of a beat
    run_for(world, 60)
    world.settle()


def a_contender_dies_before_it_can_step_back(form: type[MemoryStore]) -> None:
    """C has begun a lease beside A, which lives, and dies before its second look; B comes."""
    world = a_lease_world(form)
    world.start("a")
    run_for(world, 12)
    world.start("c")
    world.pause(25.0, "a.heart")
    run_for(world, 24, first_beat(world, "c"))
    world.pause(32.5, "c")
    run_for(world, 31)
    while "c" in world.paused:
        world.let_time_pass()
        run_all_but(world, "c")
    world.go("c")
    world.crash("c")
    run_for(world, 3)
    world.start("b")
    run_for(world, 60)
    world.settle()


def run_all_but(world: LeaseWorld, name: str) -> None:
    """Let everybody else do what is to be done now."""
    while others := [each for each in world.ready() if each != name]:
        world.go(others[0])


def fenced_by_one_without_a_lease(form: type[MemoryStore]) -> None:
    """An older version claims without a look at the lease: A waits, and does not claim it back."""
    world = a_lease_world(form)
    world.start("a")
    run_for(world, 20)
    world.instances["rude"] = Instance("rude", is_forcing=True)
    world.run_alone("rude", owner())
    world.instances["rude"].is_alive = False
    run_for(world, 14)
    if world.claimed_by != "rude":
        raise Violation("L1", f"{world.claimed_by} claims back at once")
    run_for(world, 60)
    world.settle()


def a_contender_pauses_when_it_has_looked(form: type[MemoryStore]) -> None:
    """The same, with its sleep between its second look and what follows."""
    for after in range(1, 5):
        world = a_lease_world(form)
        world.start("a")
        run_for(world, 12)
        world.start("c")
        world.pause(25.0, "a.heart")
        run_for(world, 24, first_beat(world, "c"))
        for _ in range(after):
            if not world.is_sleeping("c"):
                world.go("c")
        world.pause(30.0, "c")
        run_for(world, 60)
        world.settle()


def a_paused_owner_goes_on(form: type[MemoryStore]) -> None:
    """A is stopped for a minute; B follows; A goes on, and waits."""
    world = a_lease_world(form)
    world.start("a")
    run_for(world, 20)
    world.start("b")
    world.pause(60.0, "a", "a.heart")
    run_for(world, 100)
    world.settle()


def two_are_told_to_take_over(form: type[MemoryStore]) -> None:
    """Each takes the feed once, and then the first waits."""
    world = a_lease_world(form)
    world.start("a", force=True)
    run_for(world, 20)
    world.start("b", force=True)
    run_for(world, 60)
    world.settle()


DIRECTED: tuple[Run, ...] = (
    lost_while_the_source_is_down,
    paused_between_the_lease_and_the_claim,
    paused_right_before_the_claim,
    unknown_outcome_after_the_lease_was_lost,
    a_contender_comes_late,
    a_contender_pauses_when_it_has_looked,
    a_contender_dies_before_it_can_step_back,
    a_paused_owner_goes_on,
    fenced_by_one_without_a_lease,
    two_are_told_to_take_over,
    paused_before_the_lake_names_the_journal,
    overtaken_by_an_older_owner,
    a_claim_is_not_answered,
)


def first_lease_violation(seeds: int, first: int = 0) -> str:
    """What breaks first in the directed runs and so many random ones; nothing when all is well."""
    for form in FORMS:
        for run in DIRECTED:
            try:
                run(form)
            except Violation as error:
                return f"{run.__name__}, {form.__name__}: {error}"
    for seed in range(first, first + seeds):
        form = FORMS[seed % len(FORMS)]
        try:
            run_randomly(RandomChooser(seed), form)
        except Violation as error:
            return f"seed {seed}, {form.__name__}: {error}"
    return ""
