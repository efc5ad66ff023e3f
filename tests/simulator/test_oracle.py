"""The oracle itself: it must be able to see what it looks for."""

import json
from collections.abc import Callable

import pytest

from tests.simulator.kafka import BAD, SimKafka
from tests.simulator.oracle import DATA, DONE, QUARANTINE, TAIL
from tests.simulator.programs import owner
from tests.simulator.story import Violation
from tests.simulator.world import World

Doctor = Callable[[World], None]


def _delivered() -> World:
    world = World(SimKafka({0: ["a", "b", BAD, "a"], 1: ["a", "a"]}))
    world.spawn("owner", owner())
    world.run("owner")
    world.oracle.check_end(world.shelf)
    return world


def _files(world: World) -> list[str]:
    return sorted(k for k in world.shelf.objects if k.startswith(DATA) and not k.startswith(TAIL))


def _remove_a_file(world: World) -> None:
    world.put(_files(world)[0], None, "removes")


def _lose_a_row(world: World) -> None:
    world.put(_files(world)[0], b"[]", "empties")


def _double_a_row(world: World) -> None:
    key = _files(world)[0]
    rows = json.loads(world.shelf.objects[key])
    world.put(key, json.dumps(rows + rows).encode(), "doubles the rows of")


def _copy_a_file(world: World) -> None:
    key = _files(world)[0]
    world.put(key.replace("0_events", "9_events"), world.shelf.objects[key], "copies")


def _swap_two_files(world: World) -> None:
    one, other = _files(world)[:2]
    data = world.shelf.objects[one]
    world.put(one, world.shelf.objects[other], "swaps")
    world.put(other, data, "swaps")


def _remove_the_quarantine(world: World) -> None:
    for key in [k for k in world.shelf.objects if k.startswith(QUARANTINE)]:
        world.put(key, None, "removes")


def _forge_a_marker(world: World) -> None:
    marker = json.dumps({"number": 1, "sha256": "0" * 64, "groups": []}).encode()
    world.put(f"{DONE}{1:020}.json", marker, "forges")


@pytest.mark.parametrize(
    ("doctor", "invariant"),
    [
        (_remove_a_file, "I6"),
        (_lose_a_row, "I7"),
        (_double_a_row, "I14"),
        (_copy_a_file, "I6"),
        (_swap_two_files, "I7"),
        (_remove_the_quarantine, "I6"),
        (_forge_a_marker, "I6"),
    ],
)
def test_a_doctored_lake_is_seen(doctor: Doctor, invariant: str) -> None:
    world = _delivered()
    doctor(world)
    with pytest.raises(Violation, match=invariant):
        world.oracle.check_end(world.shelf)


def test_a_record_that_was_never_read_is_seen() -> None:
    world = _delivered()
    world.kafka.partitions[1].append("a")
    world.kafka.latest[1] += 1
    with pytest.raises(Violation, match="I13"):
        world.oracle.check_end(world.shelf)
