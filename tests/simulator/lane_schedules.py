"""Directed schedules of lanes: lost markers, parked datasets, owed deletions, and their order.

Each raises `AssertionError` (a `Violation` is one) when the protocol does not survive it.
"""

import json
from dataclasses import replace
from itertools import count

from penstock.protocol.loop.file_planning import FilePolicy
from penstock.protocol.publish.finisher import Finisher
from penstock.protocol.publish.ownership import Ownership
from penstock.protocol.publish.troubles import PublishPolicy, Trouble, Troubles
from penstock.testing.memory_store import Act
from tests.simulator.kafka import BAD, SimKafka, SimSource
from tests.simulator.oracle import DONE, JOURNAL
from tests.simulator.outside_faults import CHECKPOINTS, place_of
from tests.simulator.programs import (
    GATHERED,
    Program,
    Room,
    compactor,
    owner,
    replayer,
    retirer,
)
from tests.simulator.scheduler import When
from tests.simulator.world import World, unparker

NEVER_AGAIN = PublishPolicy(tries=2, retry_after_s=1e9, retry_most_s=1e9)
QUICKLY = PublishPolicy(tries=2, retry_after_s=0.0)


def _world(*partitions: list[str]) -> World:
    return World(SimKafka(dict(enumerate(partitions or (["a", "a"], ["b", "b"])))))


def _delivered(*partitions: list[str]) -> World:
    world = _world(*partitions)
    world.run_alone("first", owner())
    return world


def _decides(world: World, name: str, program: Program) -> None:
    world.spawn(name, program)
    result = world.run(name)
    assert result == "decided", result


def kinds(world: World) -> list[str]:
    """The kinds of all entries, in their order."""
    entries = sorted(key for key in world.shelf.objects if key.startswith(JOURNAL))
    return [json.loads(world.shelf.objects[key])["body"]["kind"] for key in entries]


def _parked(world: World) -> frozenset[str]:
    return world.oracle.story(world.shelf).parked


def _files(world: World, dataset: str) -> list[str]:
    return sorted(key for key in world.shelf.objects if key.startswith(f"feed/{dataset}/"))


def _entries_of(world: World, *kinds_wanted: str) -> list[int]:
    return [number for number, kind in enumerate(kinds(world)) if kind in kinds_wanted]


def lose_proof(world: World, *numbers: int) -> None:
    """The markers of these entries go, and every checkpoint."""
    names = tuple(f"{DONE}{number:020}" for number in numbers)
    for key in [k for k in world.shelf.objects if k.startswith((CHECKPOINTS, *names))]:
        world.lose(key)


def _noted(asked: list[Act], act: Act, hits: When) -> bool:
    """Note what is asked of a broken place."""
    if hits(act):
        asked.append(act)
    return hits(act)


def at(name: str, word: str) -> When:
    """About to do something to an object."""
    return lambda act: act.name == name and word in (act.other or act.key)


def at_kind(kind: str) -> When:
    """About to decide an entry of a kind."""
    said = f'"kind":"{kind}"'.encode()
    return lambda act: act.name == "create" and act.key.startswith(JOURNAL) and said in act.data


# What was consumed was done


def lost_marker_and_a_compaction() -> None:
    """A marker of an input goes after the compaction: its rows are not delivered again."""
    for number in _entries_of(_delivered(), "window"):
        world = _delivered()
        _decides(world, "compact", compactor("a"))
        lose_proof(world, number)
        world.run_alone("new", owner())
        assert "replace" not in kinds(world)
        world.settle()


def lost_marker_and_a_retirement() -> None:
    """Erased rows stay erased."""
    world = _delivered()
    _decides(world, "retire", retirer("a"))
    lose_proof(world, *_entries_of(world, "window"))
    world.run_alone("new", owner())
    assert _files(world, "a") == []
    world.settle()


def all_markers_lost_after_several_compactions() -> None:
    """Also those of compactions whose outputs were consumed in their turn."""
    world = _world(["a"] * 6, ["b"] * 6)
    for name in ("one", "two", "three"):
        world.run_alone(name, owner(max_windows=2))
        _decides(world, f"compact {name}", compactor("a"))
    lose_proof(world, *range(100))
    world.run_alone("new", owner())
    assert "replace" not in kinds(world)
    world.settle()


def a_sibling_is_derived_while_the_other_is_consumed() -> None:
    """The files of b are lost with the marker; those of a were compacted and are left alone."""
    world = _delivered()
    _decides(world, "compact", compactor("a"))
    [number, _] = _entries_of(world, "window")
    [lost] = [key for key in _files(world, "b") if key.endswith("_1-1.rows")]
    lose_proof(world, number)
    world.lose(lost)
    world.run_alone("new", owner())
    assert kinds(world).count("replace") == 1
    assert world.oracle.story(world.shelf).replaced == {lost}
    world.settle()


def a_marker_is_lost_under_an_owner_that_slept() -> None:
    """It looks for its files after they were consumed, and no marker tells that."""
    for command in (compactor("a"), retirer("a")):
        for when in (at("link", "feed/a/"), at("unlink", "")):
            world = _world()
            world.spawn("old", owner())
            world.run_until("old", when)
            world.run_alone("new", owner())
            _decides(world, "command", command)
            lose_proof(world, *_entries_of(world, "window"))
            world.run("old")
            world.settle()


def a_file_is_derived_again_while_another_process_opens() -> None:
    """It sees the marker of the entry before it folds the entry that replaced its files."""
    world = _world(["a", "a"])
    world.spawn("first", owner(max_windows=1))
    world.run_until("first", at("link", "feed/a/"))
    for key in sorted(world.shelf.staged):
        world.lose(key)
    world.spawn("second", owner())
    world.run_until("second", lambda act: act.name == "read" and act.key.startswith(DONE))
    world.run("first")
    assert kinds(world)[-1] == "replace"
    world.run("second")
    world.settle()


def an_owner_dies_while_it_derives_again() -> None:
    """Before the entry that replaces, after it, or before it shows the file; the next goes on."""
    for when in (at("stage", "1-1"), at_kind("replace"), at("link", "feed/a/")):
        for answered in (False, True):
            world = _world(["a", "a"], ["b"])
            world.spawn("first", owner(max_windows=1))
            world.run_until("first", at("link", "feed/a/"))
            for key in sorted(world.shelf.staged):
                world.lose(key)
            world.crash("first")
            world.spawn("dies", owner())
            world.run_until("dies", at_kind("claim"))
            world.run_until("dies", when)
            if answered:
                world.go("dies")
            world.crash("dies")
            world.run_alone("next", owner())
            world.settle()
            assert world.oracle.story(world.shelf).replaced


def a_group_is_derived_again_by_an_owner_that_gathers_otherwise() -> None:
    """Files over several partitions come back as they were, whatever the next owner would plan.

    Only groups with a lost file are read. The first owner has one core and cuts its files; the
    next ones have more cores, or give every partition its own files.
    """
    cut = FilePolicy("auto", 1_200)
    others = (
        owner(max_records=6, gathering=FilePolicy("partition")),
        owner(max_records=6, gathering=GATHERED, cores=8),
        owner(max_records=6, gathering=FilePolicy("auto", 700), cores=None),
    )
    for other in others:
        world = _world(["a", "b", BAD], ["a", "a", "b"])
        world.spawn("first", owner(max_records=6, max_windows=1, gathering=cut))
        world.run_until("first", at("link", "feed/"))
        for key in sorted(world.shelf.staged):
            world.lose(key)
        world.crash("first")
        world.run_alone("next", other)
        world.settle()
        story = world.oracle.story(world.shelf)
        assert story.replaced
        assert sum(len(fact.rows) for fact in story.files.values()) == 6
        names = {final.rpartition("/")[2] for final in story.files}
        assert names == {
            "0_events_0_0-2_1-1.rows",
            "0_events_0..1_g0_1-1.rows",
            "0_events_1_1-3_1-1.rows",
        }


def a_file_is_consumed_while_it_is_derived_again() -> None:
    """A compaction has read it before it was lost: the rows are there, and nothing is replaced."""
    world = _delivered()
    world.spawn("compact", compactor("a"))
    world.run_until("compact", at_kind("compact"))
    [number, _] = _entries_of(world, "window")
    lose_proof(world, number)
    [lost] = [key for key in _files(world, "a") if key.endswith("_1-1.rows")]
    world.lose(lost)
    _derive_without_a_claim(world, number)  # a claim would fence the compaction
    world.run_until("derive", at_kind("replace"))
    assert world.run("compact") == "decided"
    assert world.run("derive") == "done"
    assert "replace" not in kinds(world)
    world.settle()


def _derive_without_a_claim(world: World, number: int) -> None:
    """What the owner does that holds the feed: it comes to the entry while it recovers."""

    def run(room: Room) -> str:
        journal = room.journal()
        fold = journal.open()
        assert number in fold.state.undone
        stage = SimSource(room.kafka, room.store, room.around).stage
        mine = Ownership(room.name, Troubles(QUICKLY), stage)
        Finisher(journal, fold, room.around, fold.state.epoch, mine).finish_all()
        return "done"

    world.spawn("derive", run)


# What fails is parked, and holds nothing else back


def unknown_outcomes_of_one_dataset_park_it() -> None:
    """The feed goes on with the others, under the same claim."""
    world = _world(["a"] * 6, ["b"] * 6)
    world.broken = place_of("b", "files")
    world.spawn("owner", owner(publish=QUICKLY))
    world.run("owner")
    assert kinds(world).count("claim") == 1
    assert _parked(world) == {"b@files"}
    assert len(_files(world, "a")) == 6
    world.broken = lambda _act: False
    world.run_alone("next", owner())
    assert _parked(world) == frozenset(), "an owner lets go what works again"
    assert len(_files(world, "b")) == 6
    world.settle()


def a_parked_dataset_is_left_alone_until_it_is_let_go() -> None:
    """Nothing is asked of it while it rests; a person lets it go, and the owner shows it."""
    world = _world(["a"] * 6, ["b"] * 6)
    hits = place_of("b", "files")
    world.broken = hits
    world.spawn("owner", owner(publish=PublishPolicy(tries=1, retry_after_s=1e9, retry_most_s=1e9)))
    world.run_until("owner", at_kind("park"))
    world.go("owner")
    world.run_until("owner", at("stage", ""))
    asked: list[Act] = []
    world.broken = lambda act: _noted(asked, act, hits)
    world.run_until("owner", lambda act: act.key.startswith(DONE) and act.name == "create")
    world.run_until("owner", at("stage", ""))
    assert not asked, "a parked dataset was worked on"
    world.broken = lambda _act: False
    world.run_alone("person", unparker("b"))
    world.run("owner")
    assert len(_files(world, "b")) == 6
    assert kinds(world).count("claim") == 1
    world.settle()


def a_command_leaves_a_parked_dataset_alone() -> None:
    """A replay into a dataset that is parked is decided, and waits with the others."""
    world = _world(["a", BAD, "a"], ["b", "b", "b"])
    hits = place_of("b", "files")
    world.broken = hits
    world.spawn("owner", owner(publish=QUICKLY))
    world.run("owner")
    assert _parked(world) == {"b@files"}
    asked: list[Act] = []
    world.broken = lambda act: _noted(asked, act, hits)
    _decides(world, "replay", replayer("b"))
    assert not asked, "a parked dataset was worked on"
    assert _files(world, "b") == []
    world.settle()


def a_parked_dataset_beside_a_compaction() -> None:
    """Others are compacted and retired meanwhile; what is parked cannot be consumed."""
    for then in (compactor("a"), retirer("a")):
        world = _world(["a"] * 4, ["b"] * 4)
        world.broken = place_of("b", "files")
        world.spawn("owner", owner(publish=QUICKLY))
        world.run("owner")
        assert _parked(world) == {"b@files"}
        _decides(world, "command", then)
        world.spawn("other", compactor("b"))
        assert world.run("other").startswith("refused")
        world.settle()


def store_wide_failure_parks_nothing() -> None:
    """Nothing can be published at all: the owner waits for the store."""
    world = _world(["a"] * 4, ["b"] * 4)
    world.broken = lambda act: act.name in ("link", "complete")
    for name in ("one", "two", "three"):
        world.spawn(name, owner(publish=QUICKLY))
        result = world.run(name)
        assert result == "STORE_UNAVAILABLE", result
    assert "park" not in kinds(world)
    world.settle()


def deletions_of_one_dataset_fail() -> None:
    """They are owed, then parked; windows and other compactions go on; an owner lets them go."""
    world = _delivered(["a"] * 4, ["b"] * 4)
    world.broken = place_of("a", "delete")
    _decides(world, "compact", compactor("a"))
    _decides(world, "other", compactor("b"))
    world.kafka.partitions[1] += ["b", "b"]
    world.kafka.latest[1] += 2
    world.spawn("owner", owner(publish=QUICKLY, checkpoint_every=2))
    world.run("owner")
    assert _parked(world) == {"a@delete"}
    assert len(_files(world, "a")) == 5
    assert len(_files(world, "b")) == 2
    world.broken = lambda _act: False
    world.run_alone("next", owner())
    assert _parked(world) == frozenset()
    assert len(_files(world, "a")) == 1
    world.settle()


def what_is_compacted_again_still_owes_its_deletions() -> None:
    """A compaction is consumed before it could delete: its inputs go all the same."""
    world = _delivered(["a"] * 4, ["b"] * 2)
    world.broken = place_of("a", "delete")
    _decides(world, "one", compactor("a"))
    world.kafka.partitions[0] += ["a", "a"]
    world.kafka.latest[0] += 2
    world.spawn("owner", owner(publish=QUICKLY))
    world.run("owner")
    _decides(world, "two", compactor("a"))
    assert len(_files(world, "a")) > 2
    world.settle()
    assert len(_files(world, "a")) == 1


def an_owed_deletion_survives_checkpoints() -> None:
    """The compaction dies before it deletes; owners leave checkpoints; the files go all the same.

    Once the next owner sees it before the checkpoint, once it cannot delete until after it.
    """
    for fails in (False, True):
        world = _delivered(["a"] * 4, ["b"] * 2)
        world.spawn("compact", compactor("a"))
        world.run_until("compact", at("delete", "feed/a/"))
        world.crash("compact")
        world.broken = place_of("a", "delete") if fails else world.broken
        world.kafka.partitions[1] += ["b", "b"]
        world.kafka.latest[1] += 2
        world.spawn("next", owner(checkpoint_every=1, max_records=1, publish=NEVER_AGAIN))
        world.run("next")
        world.settle()


def a_sleeping_command_with_an_owed_deletion() -> None:
    """It wakes when others have deleted, compacted again, and deleted those files too."""
    for when in (at("delete", "feed/a/"), at("create", "@delete")):
        world = _delivered(["a"] * 4, ["b"] * 2)
        world.spawn("sleeper", compactor("a"))
        world.run_until("sleeper", when)
        world.kafka.partitions[0] += ["a", "a"]
        world.kafka.latest[0] += 2
        world.run_alone("next", owner())
        _decides(world, "again", compactor("a"))
        world.run("sleeper")
        assert len(_files(world, "a")) == 1
        world.settle()


def an_old_owner_wakes_in_the_delete_lane() -> None:
    """It finishes a deletion that others finished; more compactions came since. Nothing harms."""
    for lost in (False, True):
        for sent in (False, True):
            world = _delivered(["a"] * 4, ["b"] * 2)
            world.spawn("dead", compactor("a"))
            world.run_until("dead", at("delete", "feed/a/"))
            world.crash("dead")
            world.spawn("old", owner())
            world.run_until("old", at("delete", "feed/a/"))
            if sent:
                world.delay("old")
            world.kafka.partitions[0] += ["a", "a"]
            world.kafka.latest[0] += 2
            world.run_alone("new", owner())
            _decides(world, "again", compactor("a"))
            if lost:
                lose_proof(world, *range(100))
            world.run("old")
            world.settle()


def a_deletion_waits_for_the_files_that_take_the_place() -> None:
    """The output of a compaction cannot be shown yet: its inputs stay."""
    world = _delivered(["a"] * 4, ["b"] * 2)
    inputs = _files(world, "a")
    world.broken = place_of("a", "files")
    world.spawn("compact", compactor("a"))
    world.run("compact")
    world.spawn("owner", owner(publish=QUICKLY))
    world.run("owner")
    assert _files(world, "a") == inputs, "inputs went before their successor showed"
    assert _parked(world) == {"a@files"}
    world.settle()


def a_parked_deletion_waits_for_the_files_that_take_the_place() -> None:
    """A retirement cannot delete and is parked; an older compaction is not visible yet.

    Deleting works again before publishing does: the inputs of the compaction stay.
    """
    world = _delivered(["a"] * 6)
    files = _files(world, "a")
    fails = (place_of("a", "files"), place_of("a", "delete"))
    world.broken = lambda act: any(each(act) for each in fails)
    world.spawn("compact", compactor("a", most=2))
    world.run("compact")
    _decides(world, "retire", retirer("a", most=1))
    assert kinds(world)[-2:] == ["compact", "retire"]
    world.spawn("owner", owner(publish=QUICKLY))
    world.run("owner")
    for name in ("one", "two"):
        world.spawn(name, owner(publish=QUICKLY))
        world.run(name)
    assert _parked(world) == {"a@files", "a@delete"}
    world.broken = fails[0]
    world.spawn("next", owner(publish=QUICKLY))
    world.run("next")
    assert set(files[:2]) <= set(_files(world, "a")), "inputs went before their successor showed"
    world.settle()
    assert len(_files(world, "a")) == len(files) - 2


def an_older_part_that_fails_blocks_the_marker_of_a_later_one() -> None:
    """Files of one dataset are marked in journal order, whichever could be shown first."""
    world = _world(["a"] * 4, ["b"] * 4)
    world.broken = lambda act: place_of("a", "files")(act) and "_1-1.rows" in act.other
    world.spawn("owner", owner(publish=PublishPolicy(tries=50, retry_after_s=0.0)))
    world.run("owner")
    numbers = _entries_of(world, "window")
    marked = {
        (json.loads(raw)["number"], part)
        for key, raw in world.shelf.objects.items()
        if key.startswith(DONE)
        for part in json.loads(raw)["groups"]
    }
    assert not any((number, "a@files") in marked for number in numbers)
    assert all((number, "b@files") in marked for number in numbers)
    assert len(_files(world, "a")) == 3, "later ones can be seen all the same"
    world.settle()


def a_rest_ends_while_entries_are_looked_through() -> None:
    """What still rested in an older entry is not marked in a later one."""
    world = _world(["a"] * 4)
    world.broken = place_of("a", "files")
    world.spawn("first", owner(publish=PublishPolicy(tries=50, retry_after_s=0.0)))
    world.run("first")
    assert len(_entries_of(world, "window")) > 1
    world.broken = lambda _act: False

    def run(room: Room) -> str:
        ticks = count(1)
        around = replace(room.around, tick=lambda: float(next(ticks)))
        troubles = Troubles(QUICKLY, {"a@files": Trouble(1, 2.5, "it failed before")})
        fold = room.journal().open()
        mine = Ownership(room.name, troubles)
        Finisher(room.journal(), fold, around, fold.state.epoch, mine).finish_all()
        return "done"

    world.spawn("looks", run)
    assert world.run("looks") == "done"
    world.settle()


def two_datasets_fail_and_the_third_goes_on() -> None:
    """They were seen to fail while another one worked: that is not trouble of the whole store."""
    world = _world(["a"] * 4, ["b"] * 4, ["c"] * 4)
    hits = (place_of("a", "files"), place_of("b", "files"))
    world.broken = lambda act: any(each(act) for each in hits)
    world.spawn("owner", owner(max_records=3, publish=QUICKLY))
    world.run("owner")
    assert len(_files(world, "c")) == 4, "the third waits for the others"
    assert _parked(world) == {"a@files", "b@files"}
    world.settle()


LANE_SCHEDULES = (
    lost_marker_and_a_compaction,
    lost_marker_and_a_retirement,
    all_markers_lost_after_several_compactions,
    a_sibling_is_derived_while_the_other_is_consumed,
    a_marker_is_lost_under_an_owner_that_slept,
    a_file_is_derived_again_while_another_process_opens,
    an_owner_dies_while_it_derives_again,
    a_group_is_derived_again_by_an_owner_that_gathers_otherwise,
    a_file_is_consumed_while_it_is_derived_again,
    unknown_outcomes_of_one_dataset_park_it,
    a_parked_dataset_is_left_alone_until_it_is_let_go,
    a_command_leaves_a_parked_dataset_alone,
    a_parked_dataset_beside_a_compaction,
    store_wide_failure_parks_nothing,
    deletions_of_one_dataset_fail,
    what_is_compacted_again_still_owes_its_deletions,
    an_owed_deletion_survives_checkpoints,
    a_sleeping_command_with_an_owed_deletion,
    an_old_owner_wakes_in_the_delete_lane,
    a_deletion_waits_for_the_files_that_take_the_place,
    a_parked_deletion_waits_for_the_files_that_take_the_place,
    an_older_part_that_fails_blocks_the_marker_of_a_later_one,
    a_rest_ends_while_entries_are_looked_through,
    two_datasets_fail_and_the_third_goes_on,
)
