"""Faults from outside do happen in random worlds, and the oracle remembers what they took."""

import json

import pytest

from tests.simulator.chooser import RandomChooser
from tests.simulator.kafka import SimKafka
from tests.simulator.lane_schedules import lose_proof
from tests.simulator.oracle import DONE, JOURNAL
from tests.simulator.outside_faults import CHECKPOINTS, STAGING, faults_of
from tests.simulator.programs import compactor, owner
from tests.simulator.random_runs import RandomRun, fates_of
from tests.simulator.story import Violation
from tests.simulator.world import World


def test_the_random_schedules_reach_every_kind_and_every_loss() -> None:
    """Goal: the schedules are not idle. Method: look for each in what was recorded and decided."""
    kinds: set[str] = set()
    said = []
    for seed in range(400):
        run = RandomRun(RandomChooser(seed), fates_of(seed), faults_of(seed))
        run.run()
        said += run.world.record
        for key, raw in run.world.shelf.objects.items():
            if key.startswith(JOURNAL):
                body = json.loads(raw)["body"]
                kinds |= {
                    body["kind"],
                    *(each for each in ("manifest", "packed") if body.get(each)),
                }
    wanted = {"gap", "drop", "rebind", "replace", "park", "unpark", "compact", "retire", "replay"}
    assert kinds >= {*wanted, "manifest", "packed"}
    seen = "\n".join(said)
    words = (f"loses {DONE}", f"loses {CHECKPOINTS}", f"loses {STAGING}", f"restores {DONE}")
    assert [word for word in words if f"somebody: {word}" not in seen] == []


def _compacted() -> World:
    world = World(SimKafka({0: ["a", "a"], 1: ["b", "b"]}))
    world.run_alone("owner", owner())
    world.run_alone("compact", compactor("a"))
    lose_proof(world, *range(100))
    return world


def test_a_file_whose_marker_was_lost_is_still_missed() -> None:
    world = _compacted()
    [final, _] = [key for key in world.shelf.objects if key.startswith("feed/b/")]
    world.shelf = world.shelf.with_object(final, None)
    with pytest.raises(Violation, match="I6"):
        world.oracle.check(world.shelf)


def test_an_input_that_comes_back_is_seen_although_the_deletion_lost_its_marker() -> None:
    world = _compacted()
    story = world.oracle.story(world.shelf)
    final = min(story.consumed)
    raw = json.dumps(sorted(map(list, story.files[final].rows))).encode()
    world.shelf = world.shelf.with_object(final, raw)
    with pytest.raises(Violation, match="I14"):
        world.oracle.check(world.shelf)


def test_a_marker_out_of_order_is_seen() -> None:
    world = World(SimKafka({0: ["a", "a"], 1: ["b", "b"]}))
    world.run_alone("owner", owner())
    first = min(key for key in world.shelf.objects if key.startswith(DONE))
    world.shelf = world.shelf.with_object(first, None)
    with pytest.raises(Violation, match="I19"):
        world.oracle.check(world.shelf)
