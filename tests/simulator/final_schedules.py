"""Directed schedules of completeness: finalizing beside owners and commands, and late rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from penstock.care import finalize as finalizing
from penstock.model.steps import deliver_late
from penstock.protocol.feed_book import late_rows as late_room
from penstock.protocol.feed_book import rules
from penstock.protocol.publish.mark_acts import MarkCompleteAct, MarkLateAct
from tests.simulator.kafka import BAD, SimKafka
from tests.simulator.lane_mutations import Switch
from tests.simulator.lane_schedules import at, at_kind, kinds
from tests.simulator.programs import compactor, finalizer, owner, replayer, retirer
from tests.simulator.world import World


def _world(*partitions: list[str], one_act: bool = False) -> World:
    fates = dict(enumerate(partitions or (["a", "a"], ["b", "b"])))
    return World(SimKafka(fates), atomic_publish=one_act)


def _delivered(*partitions: list[str]) -> World:
    world = _world(*partitions)
    world.run_alone("first", owner())
    return world


def _more(world: World, *fates: str) -> None:
    """Records that come after what was delivered."""
    world.kafka.partitions[0] += fates
    world.kafka.latest[0] = len(world.kafka.partitions[0])


def _late(world: World) -> int:
    return sum(sum(each.values()) for each in world.oracle.story(world.shelf).late.values())


def late_rows_come_after_the_mark() -> None:
    """Windows, a replay and compactions after a day was final; further late rows, too."""
    world = _delivered(["a", BAD], ["b"])
    world.run_alone("final", finalizer())
    for program in (replayer("a"), compactor("a")):
        world.run_alone("command", program)
    _more(world, "a", "b")
    world.run_alone("second", owner())
    _more(world, "b")
    world.run_alone("third", owner())
    world.settle()
    assert _late(world) == 4
    assert kinds(world).count("finalize") == 1


def a_day_becomes_final_beside_an_owner() -> None:
    """The owner stands anywhere; what it has decided holds its dataset back, and no other."""
    whens = (at("stage", ""), at_kind("window"), at("link", ""), at("create", "/done/"))
    for when in whens:
        world = _delivered()
        _more(world, "a", "b", "a")
        world.spawn("owner", owner(max_records=1))
        world.run_until("owner", when)
        world.run_alone("final", finalizer())
        world.run("owner")
        world.run_alone("final", finalizer())
        world.settle()


def a_window_is_decided_while_a_day_becomes_final() -> None:
    """Finalizing stands before its append; the window adds a directory, so it looks again."""
    world = _delivered(["a", "a"])
    _more(world, "b")
    world.spawn("second", owner())
    world.run_until("second", at_kind("window"))
    world.spawn("final", finalizer())
    world.run_until("final", at_kind("finalize"))
    world.run("second")
    world.run("final")
    world.settle()
    assert _late(world) == 0
    assert len(world.oracle.story(world.shelf).complete) == 2


def a_replay_is_staged_while_a_day_becomes_final() -> None:
    """Its rows are late by then: it stages again, and leaves the mark."""
    world = _delivered(["a", BAD])
    world.spawn("replay", replayer("a"))
    world.run_until("replay", at_kind("replay"))
    world.run_alone("final", finalizer())
    assert world.run("replay") == "decided"
    world.settle()
    assert _late(world) == 1


def finalizing_dies_anywhere() -> None:
    """At each of its requests, answered or not; the next owner makes the marks."""
    for answered in (False, True):
        for nth in range(1, 40):
            world = _delivered()
            world.spawn("final", finalizer())
            if not _comes_to(world, "final", nth):
                break
            if answered:
                world.go("final")
                if world.processes["final"].ended is not None:
                    break
            world.crash("final")
            _more(world, "a", "b")
            world.run_alone("second", owner())
            world.settle()


def a_finalizer_sleeps_anywhere() -> None:
    """It resumes after others have finalized, retired and delivered late rows."""
    for nth in range(1, 40):
        world = _delivered()
        world.spawn("sleeper", finalizer())
        if not _comes_to(world, "sleeper", nth):
            break
        world.run_alone("final", finalizer())
        world.run_alone("retire", retirer("b"))
        _more(world, "a", "b")
        world.run_alone("second", owner())
        world.run("sleeper")
        world.settle()


def late_rows_are_published_by_another_owner() -> None:
    """The first one dies between the entry, the mark, and each of the files."""
    for when in (at("create", "/_LATE"), at("link", ""), at("create", "/done/")):
        for answered in (False, True):
            world = _delivered()
            world.run_alone("final", finalizer())
            _more(world, "a", "b")
            world.spawn("dead", owner())
            world.run_until("dead", when)
            if answered:
                world.go("dead")
            world.crash("dead")
            world.run_alone("next", owner())
            world.settle()
            assert _late(world) == 2


def _comes_to(world: World, name: str, nth: int) -> bool:
    """Let a process run until it is about to make its nth request; False if it has none."""
    for _ in range(nth - 1):
        if world.processes[name].pending is not None:
            world.go(name)
    return world.processes[name].pending is not None


FINAL_SCHEDULES = (
    late_rows_come_after_the_mark,
    a_day_becomes_final_beside_an_owner,
    a_window_is_decided_while_a_day_becomes_final,
    a_replay_is_staged_while_a_day_becomes_final,
    finalizing_dies_anywhere,
    a_finalizer_sleeps_anywhere,
    late_rows_are_published_by_another_owner,
)


def _nothing(*_args: object, **_kwargs: object) -> None:
    return None


def _patch(owner: object, name: str, new: object) -> Switch:
    return lambda: patch.object(owner, name, new)


@contextmanager
def _undone_is_complete() -> Iterator[None]:
    """Days are declared complete whatever is decided and not visible yet."""
    with (
        patch.object(rules, "visible_objection", _nothing),
        patch.object(finalizing, "has_undone", lambda *_: False),
    ):
        yield


@contextmanager
def _taken_as_marked() -> Iterator[None]:
    """`_SUCCESS` counts as done although nothing was created."""
    with (
        patch.object(MarkCompleteAct, "is_done", lambda *_: True),
        patch.object(MarkCompleteAct, "do_many", lambda _, works: {w.key for w in works}),
    ):
        yield


@contextmanager
def _taken_as_late() -> Iterator[None]:
    """The same of `_LATE`."""
    with (
        patch.object(MarkLateAct, "is_done", lambda *_: True),
        patch.object(MarkLateAct, "do_many", lambda _, works: {w.key for w in works}),
    ):
        yield


def _marked_afterwards(days_before: str, hours_before: str) -> Any:
    return tuple(reversed(deliver_late(days_before, hours_before)))


FINAL_RULES: dict[str, Switch] = {
    "a day is complete only when all of it is visible": _undone_is_complete,
    "windows and replays know what is final": _patch(rules, "finalized_objection", _nothing),
    "what is declared complete is as of the entry before": _patch(
        rules, "finalize_objection", _nothing
    ),
    "the mark of late rows comes before their files": _patch(
        late_room, "deliver_late", _marked_afterwards
    ),
    "a day is marked before that counts as done": _taken_as_marked,
    "late rows are marked before that counts as done": _taken_as_late,
}
