"""Directed schedules of kinds that are seldom decided, and of contents outside their entries."""

from collections.abc import Callable

import msgspec

from penstock.care.command_entries import decide_for_command
from penstock.care.compact import RewriteOrder
from penstock.care.done_files import done_files
from penstock.errors import FeedHalted
from penstock.model.entries import AnyBody, Compact, ConsumedGroups, Generation
from penstock.model.manifest import Content, Input, groups_of
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.steps import REWRITE
from penstock.model.window import StageOrder
from penstock.protocol.feed_book.feed_journal import FeedFold
from penstock.protocol.publish.troubles import PublishPolicy
from penstock.testing.memory_store import Act
from tests.simulator.kafka import BAD, TOPIC, SimKafka, write_file
from tests.simulator.lane_schedules import (
    LANE_SCHEDULES,
    at,
    at_kind,
    kinds,
    lose_proof,
)
from tests.simulator.oracle import JOURNAL
from tests.simulator.outside_faults import MANIFESTS, PACKED, limits, place_of
from tests.simulator.programs import (
    FEED,
    Program,
    Room,
    _refusable,
    _rewrite,
    cleaner,
    compactor,
    corrector,
    owner,
    replayer,
)
from tests.simulator.rare_programs import dropper, gap_accepter, rebinder
from tests.simulator.scheduler import GOOD_REASONS
from tests.simulator.world import World

HALTING = (*GOOD_REASONS, FeedHalted)


def _world(*partitions: list[str]) -> World:
    fates = dict(enumerate(partitions or (["a", "a"], ["b", "b"])))
    return World(SimKafka(fates), good_reasons=HALTING)


def _delivered(*partitions: list[str]) -> World:
    world = _world(*partitions)
    world.run_alone("first", owner())
    return world


def _ends(world: World, name: str, program: Program, wanted: str) -> None:
    world.spawn(name, program)
    result = world.run(name)
    assert result.startswith(wanted), f"{name} ended with {result}, not with {wanted}"


# Gap, rebind, drop


def a_gap_is_accepted_while_a_window_is_about_to_be_decided() -> None:
    """The window was staged before its records expired; the gap comes first, so it is refused."""
    world = _world(["a"] * 4)
    world.spawn("owner", owner())
    world.run_until("owner", at_kind("window"))
    world.kafka.earliest[0] = 3
    _ends(world, "gaps", gap_accepter(), "gave up 1 ranges")
    world.run("owner")
    world.settle()
    story = world.oracle.story(world.shelf)
    assert story.skipped == {(0, 0), (0, 1), (0, 2)}
    assert story.live_rows == {(0, 3)}


def a_gap_halts_until_it_is_accepted_once() -> None:
    """Two operators accept it; the second finds nothing to accept, or is refused."""
    world = _world(["a"] * 4, ["b"])
    world.run_alone("first", owner(max_windows=1))
    world.kafka.earliest[0] = 3
    _ends(world, "halted", owner(), "GAP")
    world.spawn("one", gap_accepter())
    world.run_until("one", at_kind("gap"))
    _ends(world, "two", gap_accepter(), "gave up 1 ranges")
    world.run("one")
    assert kinds(world).count("gap") == 1
    world.settle()


def a_topic_is_made_again() -> None:
    """Nothing of the new one is read as if it were the old; offsets begin again after a rebind."""
    for when in (at("stage", ""), at_kind("window"), at("link", "")):
        world = _world(["a"] * 4, ["b"] * 2)
        world.spawn("old", owner())
        world.run_until("old", when)
        world.kafka.make_again({0: ["a", "b"], 1: ["b"]})
        _ends(world, "halted", owner(), "TOPIC_REPLACED")
        world.spawn("one", rebinder())
        world.run_until("one", at_kind("rebind"))
        _ends(world, "two", rebinder(), "decided")
        assert world.run("one").startswith("refused")
        world.run_alone("new", owner())
        world.run("old")
        world.settle()
        rows = world.oracle.story(world.shelf).live_rows
        assert rows >= {(100, 0), (100, 1), (101, 0)}, sorted(rows)


def a_topic_is_made_again_while_an_operator_hesitates() -> None:
    """What he saw is older than what another one has accepted; the feed is not bound to it."""
    world = _world(["a"] * 4, ["b"] * 2)
    world.run_alone("old", owner())
    world.kafka.make_again({0: ["a"]})
    world.spawn("slow", rebinder())
    world.run_until("slow", at("read", "journal"))
    world.run_until("slow", at("list", "checkpoints"))  # it has seen the topic, and folds again
    world.kafka.make_again({0: ["a", "b"]})
    _ends(world, "quick", rebinder(), "decided")
    assert world.run("slow").startswith("refused")
    world.run_alone("new", owner())
    world.settle()
    assert world.oracle.story(world.shelf).topic_id == world.kafka.topic_id


def quarantined_records_are_dropped_beside_a_replay() -> None:
    """Each record is given up or delivered, whoever comes first."""
    for first, second in ((dropper(), replayer("a")), (replayer("a"), dropper())):
        world = _delivered(["a", BAD, "a"], [BAD])
        world.spawn("second", second)
        world.run_until("second", lambda act: act.name == "create" and act.key.startswith(JOURNAL))
        _ends(world, "first", first, "decided")
        assert world.run("second").startswith("refused")
        world.settle()
        assert not world.oracle.story(world.shelf).quarantined


def corrected_bytes_outlive_every_cleaning() -> None:
    """Their author dies before the entry, or after it: an entry that names them keeps them."""
    for answered in (False, True):
        world = _delivered(["a", BAD, "a"], [BAD])
        world.spawn("dead", corrector("a"))
        world.run_until("dead", at_kind("replay"))
        assert any("/corrections/" in key for key in world.shelf.objects)
        if answered:
            world.go("dead")
        world.crash("dead")
        world.run_alone("next", owner())
        world.run_alone("cleaner", cleaner())
        left = {key for key in world.shelf.objects if "/corrections/" in key}
        assert left == set(world.oracle.story(world.shelf).corrected)
        assert len(left) == answered
        world.settle()


# Generations


def generator(dataset: str) -> Program:
    """Delivers all rows of a dataset again, in place of its live files."""

    def run(room: Room) -> str:
        journal = room.journal()

        def build(fold: FeedFold, window: str) -> AnyBody:
            assert fold.inventory is not None
            inputs = tuple(Input(dataset, final) for final in done_files(fold, dataset))
            ranges = tuple(
                OffsetRange(TOPIC, place.topic_id, place.partition, 0, end)
                for place, end in sorted(fold.state.watermarks().items())
                if any(fate == dataset for fate in room.kafka.partitions[place.partition][:end])
            )
            order = StageOrder(FEED, window, journal.layout.staging, ranges)
            files = tuple(
                write_file(room.store, room.around, order, dataset, each, _offsets(room, each))
                for each in ranges
            )
            content = Content(files=files, inputs=inputs)
            body = Generation(
                window=window,
                groups=groups_of(content, REWRITE),
                content=content,
                consumes=fold.inventory.groups_of(inputs),
                generation=1,
                ranges=ranges,
            )
            return journal.with_content(body, content)

        def _offsets(room: Room, covered: OffsetRange) -> list[int]:
            return [offset for offset, fate in room.kafka.records(covered) if fate == dataset]

        return _refusable(lambda: decide_for_command(journal, room.around, build))

    return run


def a_generation_takes_the_place_of_windows() -> None:
    """Wherever it dies, with and without markers of what it consumed, each row is there once."""
    dies: tuple[Callable[[Act], bool], ...] = (
        at_kind("generation"),
        at("link", "feed/a/"),
        at("create", "/done/"),
        at("delete", "feed/a/"),
        at("create", "@delete"),
    )
    for when in dies:
        for lost in (False, True):
            world = _delivered(["a", "b", "a"], ["a", "a"])
            world.spawn("generation", generator("a"))
            world.run_until("generation", when)
            world.crash("generation")
            if lost:
                lose_proof(world, *range(100))
            world.run_alone("next", owner())
            assert "replace" not in kinds(world)
            world.settle()


def a_generation_beside_a_compaction() -> None:
    """The second one names files that are not live any more, and is refused."""
    for first, second in ((compactor("a"), generator("a")), (generator("a"), compactor("a"))):
        world = _delivered(["a", "a"], ["a"])
        world.spawn("second", second)
        world.run_until("second", lambda act: act.name == "create" and act.key.startswith(JOURNAL))
        _ends(world, "first", first, "decided")
        assert world.run("second").startswith("refused")
        world.settle()


# What consumption names


def overclaimer(dataset: str, other: str) -> Program:
    """A compaction with an error: it also names the groups of another dataset as consumed."""

    def run(room: Room) -> str:
        journal = room.journal()

        def build(fold: FeedFold, window: str) -> AnyBody:
            assert fold.inventory is not None
            finals = done_files(fold, dataset)
            order = RewriteOrder(dataset, window, journal.layout.staging, finals)
            taken = tuple(Input(dataset, final) for final in finals)
            content = Content(files=(_rewrite(room, order)[1],), inputs=taken)
            named = fold.inventory.groups_of(taken)
            wrong = ConsumedGroups(other, OffsetSet.of(sorted(fold.state.undone)))
            body = Compact(window=window, groups=groups_of(content, REWRITE), content=content)
            return msgspec.structs.replace(body, consumes=(*named, wrong))

        return _refusable(lambda: decide_for_command(journal, room.around, build))

    return run


def a_compaction_that_names_what_it_does_not_consume() -> None:
    """If it were believed, files that wait to be published would count as done."""
    world = _world(["a"] * 4, ["b"] * 4)
    world.broken = place_of("b", "files")
    world.spawn("owner", owner(publish=PublishPolicy(tries=2, retry_after_s=0.0)))
    world.run("owner")
    _ends(world, "wrong", overclaimer("a", "b"), "refused: it names other groups")
    world.settle()


# Contents outside their entries


def every_lane_schedule_with_manifests_and_packed() -> None:
    """Consumption and deriving again do not depend on where a content lies, and how."""
    for where in (MANIFESTS, PACKED):
        with limits(frozenset({where})):
            for schedule in LANE_SCHEDULES:
                schedule()


def a_manifest_without_an_entry_is_never_missed() -> None:
    """Its author dies before the entry, or after it; a cleaner runs meanwhile."""
    with limits(frozenset({MANIFESTS})):
        for answered in (False, True):
            for kind, program in (("window", owner()), ("compact", compactor("a"))):
                world = _world() if kind == "window" else _delivered()
                world.spawn("dead", program)
                world.run_until("dead", at_kind(kind))
                assert any("/manifests/" in key for key in world.shelf.objects)
                if answered:
                    world.go("dead")
                world.crash("dead")
                world.run_alone("cleaner", cleaner())
                world.run_alone("next", owner())
                world.run_alone("cleaner", cleaner())
                world.settle()


KIND_SCHEDULES = (
    a_gap_is_accepted_while_a_window_is_about_to_be_decided,
    a_gap_halts_until_it_is_accepted_once,
    a_topic_is_made_again,
    a_topic_is_made_again_while_an_operator_hesitates,
    quarantined_records_are_dropped_beside_a_replay,
    corrected_bytes_outlive_every_cleaning,
    a_generation_takes_the_place_of_windows,
    a_generation_beside_a_compaction,
    a_compaction_that_names_what_it_does_not_consume,
    every_lane_schedule_with_manifests_and_packed,
    a_manifest_without_an_entry_is_never_missed,
)
