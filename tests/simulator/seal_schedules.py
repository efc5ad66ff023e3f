"""Directed schedules of sealing: sleepers whose numbers were sealed, and deaths at every step.

With the rules that they show to be needed.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from penstock.errors import Fenced, PenstockError
from penstock.model.envelope import Seal
from penstock.protocol.journal import sealing
from penstock.protocol.journal.entry_reader import EntryReader
from penstock.protocol.journal.journal import Journal
from penstock.protocol.journal.segments import Segments
from penstock.testing.memory_store import Act
from tests.simulator.kafka import BAD, SimKafka
from tests.simulator.mutations import Catch, Mutation
from tests.simulator.oracle import JOURNAL, SEGMENTS
from tests.simulator.programs import Program, compactor, owner, replayer
from tests.simulator.seal_worlds import SealWorld, first_seal_violation, sealer, upkeep

Schedule = Callable[[], None]


def at_kind(kind: str) -> Callable[[Act], bool]:
    """Just before an entry of a kind is created."""
    word = f'"kind":"{kind}"'.encode()
    return lambda act: act.name == "create" and act.key.startswith(JOURNAL) and word in act.data


def at_segment(act: Act) -> bool:
    """Just before a segment is created."""
    return act.name == "create" and act.key.startswith(SEGMENTS)


def at_look(act: Act) -> bool:
    """Just before somebody looks whether more was sealed."""
    return act.name == "head" and act.key.startswith(SEGMENTS)


def at_delete(act: Act) -> bool:
    """Just before an original goes."""
    return act.name == "delete" and act.key.startswith(JOURNAL)


def _delivered(*fates: str) -> SealWorld:
    """A feed that has delivered these records, one in each window."""
    world = SealWorld(SimKafka({0: list(fates)}))
    world.run_alone("first", owner(max_records=1))
    return world


def _more(world: SealWorld, *fates: str) -> None:
    world.kafka.partitions[0] += fates
    world.kafka.latest[0] += len(fates)


def _seal_all(world: SealWorld, beyond: int) -> None:
    """A new owner comes, and all that it finds is sealed; `beyond` is sealed for sure."""
    world.run_alone("newer", owner(max_records=1))
    for _ in range(3):
        world.run_alone("upkeep", upkeep(50))
    assert world.sealed_to >= beyond, (world.sealed_to, beyond)


def _number_at(world: SealWorld, name: str) -> int:
    act = world.processes[name].pending
    assert act is not None
    return int(act.key[len(JOURNAL) :][:20])


def _asleep(world: SealWorld, program: Program, when: Callable[[Act], bool]) -> int:
    """A process that stops before it creates an entry; the number of that entry."""
    world.spawn("asleep", program)
    world.run_until("asleep", when)
    return _number_at(world, "asleep")


def z8_an_owner_wakes_after_its_number_was_sealed() -> None:
    """The number is free again, and its window is not decided all the same."""
    world = _delivered("a", "b")
    _more(world, "a", "b", "a")
    number = _asleep(world, owner(max_records=1), at_kind("window"))
    _seal_all(world, number)
    world.run("asleep")
    ended = world.processes["asleep"].ended
    assert ended is not None
    assert isinstance(ended.error, Fenced), ended
    assert world.seal_oracle.strays == 1
    world.settle()


def z8_a_claimer_wakes_after_its_number_was_sealed() -> None:
    """It becomes the owner after all the others, not among them."""
    world = _delivered("a", "b")
    _more(world, "a", "b")
    number = _asleep(world, owner(max_records=1), at_kind("claim"))
    _seal_all(world, number)
    world.run("asleep")
    assert world.seal_oracle.strays == 1
    assert world.oracle.story(world.shelf).epoch == 3, "each claim has its own epoch"
    world.settle()


def z8_a_command_wakes_after_its_number_was_sealed() -> None:
    """It is judged again at the end of the journal; what it wanted may be gone by then."""
    world = _delivered("a", "a", BAD)
    number = _asleep(world, compactor("a"), at_kind("compact"))
    world.run_alone("faster", compactor("a"))
    _more(world, "a", "b")
    _seal_all(world, number)
    world.run("asleep")
    assert world.seal_oracle.strays == 1
    world.run_alone("replay", replayer("b"))
    world.settle()


def z8_a_recovery_wakes_after_what_it_recovers_was_sealed() -> None:
    """It was to finish a window; others have, and sealed it with its marker."""
    world = _delivered("a")
    _more(world, "b")
    world.spawn("dead", owner(max_records=1))
    world.run_until("dead", lambda act: act.name == "link" or act.key.startswith("feed/_tail"))
    world.run_until("dead", at_kind("window"))
    world.go("dead")
    world.crash("dead")
    world.spawn("asleep", owner(max_records=1))
    world.run_until("asleep", lambda act: act.name in ("link", "complete"))
    _more(world, "a")
    _seal_all(world, 5)
    world.run("asleep")
    world.settle()


def z8_a_look_comes_late() -> None:
    """An entry is created in time, and sealed before its author looks: it counts."""
    world = _delivered("a")
    _more(world, "a")
    _asleep(world, owner(max_records=1), at_kind("window"))
    world.go("asleep")
    world.run_until("asleep", at_look)
    _seal_all(world, 5)
    world.run("asleep")
    assert world.seal_oracle.strays == 0
    world.settle()


def z8_a_decision_lands_after_its_number_was_sealed() -> None:
    """Its author is dead, and whoever reads afterwards passes over it."""
    world = _delivered("a", "b")
    _more(world, "a", "b")
    number = _asleep(world, owner(max_records=1), at_kind("window"))
    world.delay("asleep")
    world.crash("asleep")
    _seal_all(world, number)
    world.deliver()
    assert world.seal_oracle.strays == 1
    _more(world, "a")
    world.run_alone("next", owner(max_records=1))
    world.run_alone("compact", compactor("a"))
    world.run_alone("upkeep", upkeep(50))
    world.settle()


def a_reader_is_overtaken_by_a_seal() -> None:
    """Stopped at each of its requests, it reads on in the segment, and meets no stray."""
    for steps in range(1, 200):
        world = _delivered("a", "b")
        _more(world, "a", "b")
        number = _asleep(world, owner(max_records=1), at_kind("window"))
        reader = world.spawn("reader", compactor("a"))
        for _ in range(steps):
            if reader.is_alive:
                world.go("reader")
        is_over = not reader.is_alive
        _seal_all(world, number)
        world.delay("asleep")
        world.crash("asleep")
        world.deliver()
        if not is_over:
            world.run("reader")
        world.settle()
        if is_over:
            return
    raise AssertionError("a reader does less than that")


def c18_upkeep_dies_anywhere() -> None:
    """Whatever it leaves, owners and commands go on, and the next upkeep finishes it."""
    for steps in range(1, 300):
        world = _delivered("a", BAD, "a")
        world.run_alone("before", upkeep(2))
        process = world.spawn("dead", sealer(50))
        for _ in range(steps):
            if process.is_alive:
                world.go("dead")
        is_over = not process.is_alive
        world.crash("dead")
        _more(world, "a")
        world.run_alone("owner", owner(max_records=1))
        world.run_alone("compact", compactor("a"))
        for _ in range(2):
            world.run_alone("upkeep", upkeep(50))
        assert world.sealed_to > 6
        left = [k for k in world.shelf.objects if k.startswith(JOURNAL)]
        assert min(left) == f"{JOURNAL}{world.sealed_to + 1:020}.json", left
        world.settle()
        if is_over:
            return
    raise AssertionError("upkeep does less than that")


def c18_upkeep_sleeps_anywhere() -> None:
    """Another owner and its upkeep go on; what the sleeper does when it wakes does no harm."""
    for steps in range(1, 300):
        world = _delivered("a", BAD, "a")
        world.run_alone("before", upkeep(2))
        process = world.spawn("asleep", sealer(2))
        for _ in range(steps):
            if process.is_alive:
                world.go("asleep")
        is_over = not process.is_alive
        _more(world, "a")
        _seal_all(world, 6)
        if not is_over:
            world.run("asleep")
        world.settle()
        if is_over:
            return
    raise AssertionError("upkeep does less than that")


def two_rounds_of_one_owner_race() -> None:
    """Only one segment begins with an entry, and only one seal names it."""
    for when in (at_segment, at_kind("seal"), at_delete):
        world = _delivered("a", "b", "a")
        world.run_alone("checkpoints", upkeep(1))
        world.spawn("asleep", sealer(3))
        world.run_until("asleep", when)
        world.run_alone("other", sealer(2))
        world.run("asleep")
        world.settle()


def what_is_not_done_is_not_sealed() -> None:
    """A window that cannot be published stays where its marker is awaited."""
    world = _delivered("a")
    _more(world, "b", "a", "a")
    world.broken = lambda act: act.name in ("link", "complete") and "/b/" in act.other
    world.run_alone("owner", owner(max_records=1))
    for _ in range(2):
        world.run_alone("upkeep", upkeep(50))
    story = world.oracle.story(world.shelf)
    stuck = next(number for number, parts in story.parts.items() if "b@files" in parts)
    assert world.sealed_to == stuck - 1
    world.settle()
    for _ in range(2):
        world.run_alone("upkeep", upkeep(50))
    assert world.sealed_to > stuck
    world.settle()


SEAL_SCHEDULES: tuple[Schedule, ...] = (
    z8_an_owner_wakes_after_its_number_was_sealed,
    z8_a_claimer_wakes_after_its_number_was_sealed,
    z8_a_command_wakes_after_its_number_was_sealed,
    z8_a_recovery_wakes_after_what_it_recovers_was_sealed,
    z8_a_look_comes_late,
    z8_a_decision_lands_after_its_number_was_sealed,
    a_reader_is_overtaken_by_a_seal,
    c18_upkeep_dies_anywhere,
    c18_upkeep_sleeps_anywhere,
    two_rounds_of_one_owner_race,
    what_is_not_done_is_not_sealed,
)


def _originals_first(segments: Segments, number: int) -> bytes:
    """As `entry`, where what lies under a sealed number is believed."""
    return segments.original(number) or segments.covering(number).entry(number)


def _delete_early(journal: Any, fold: Any, policy: Any, now_s: float) -> Any:
    """As `_segment_for`; what is packed is deleted at once."""
    found = _segment_for(journal, fold, policy, now_s)
    if found is not None:
        key = journal.layout.segment(found.first)
        sealing.delete_originals(journal, Seal(found.first, found.last, key, found.sha256))
    return found


def _to_the_tail(_journal: Any, fold: Any) -> int:
    """As `sealable_to`, whatever the checkpoints say."""
    return int(min([fold.state.number, *(each.number for each in fold.state.waiting())])) - 1


def _below_checkpoints(journal: Any, fold: Any) -> int:
    """As `sealable_to`, whatever is not done."""
    return int(min(fold.checkpoint, journal.long_checkpoint())) - 1


_segment_for = sealing._segment_for
_packed = sealing.pack_entries


def _without_markers(*asked: Any) -> Any:
    """As `pack_entries`; markers are left out."""
    return [type(each)(each.entry) for each in _packed(*asked)]


def _patch(where: object, name: str, new: object) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: patch.object(where, name, new)


SEAL_MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "seal: an append counts only above the newest seal",
        _patch(Journal, "_counts", lambda *_: True),
    ),
    Mutation(
        "seal: originals go after the seal is decided",
        _patch(sealing, "_segment_for", _delete_early),
    ),
    Mutation(
        "seal: only below the newest checkpoints",
        _patch(sealing, "sealable_to", _to_the_tail),
    ),
    Mutation(
        "seal: only what is done",
        _patch(sealing, "sealable_to", _below_checkpoints),
    ),
    Mutation(
        "seal: a fold passes over originals below the seal",
        _patch(Segments, "entry", _originals_first),
    ),
    Mutation(
        "seal: readers look after they have read",
        _patch(EntryReader, "_originals_after", EntryReader._created_after),
    ),
    Mutation(
        "seal: markers are sealed with their entries",
        _patch(sealing, "pack_entries", _without_markers),
    ),
)


def catch_seal(mutation: Mutation, seeds: int = 300) -> Catch:
    """Run the directed schedules, then random ones, until something breaks."""
    with mutation.switch_off():
        for tried, schedule in enumerate(SEAL_SCHEDULES, 1):
            try:
                schedule()
            except (AssertionError, PenstockError) as error:
                return Catch(mutation.rule, schedule.__name__, str(error), tried)
        why = first_seal_violation(seeds)
    by, _, what = why.partition(": ")
    return Catch(mutation.rule, by, what or "nothing noticed", seeds)
