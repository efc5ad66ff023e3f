"""Directed schedules of compaction: other values, deaths beside a live owner, and late sleepers."""

from penstock.protocol.feed_book import rules
from tests.simulator.kafka import SimKafka
from tests.simulator.lane_mutations import Switch, _nothing, _patch
from tests.simulator.lane_schedules import at, at_kind, kinds
from tests.simulator.programs import directory_compactor, owner, retirer
from tests.simulator.world import World

ACTS = (
    at_kind("compact"),
    at("link", "feed/a/"),
    at("unlink", ""),
    at("delete", "feed/a/"),
    at("create", "/done/"),
    at("create", "@delete"),
)


def _delivered(*partitions: list[str]) -> World:
    """Two windows of records, which are there."""
    world = World(SimKafka(dict(enumerate(partitions or (["a", "a", "b"], ["a"])))))
    for name in ("first", "second"):
        world.run_alone(name, owner(max_windows=1))
    return world


def _more(world: World, *fates: str) -> None:
    world.kafka.partitions[0] += fates
    world.kafka.latest[0] = len(world.kafka.partitions[0])


def _files(world: World) -> list[str]:
    return [key for key in world.shelf.objects if key.startswith("feed/a/")]


def a_compaction_with_another_value_is_refused() -> None:
    """A row with another value has the same position: only the sums tell. Nothing is left of it."""
    world = _delivered()
    world.spawn("compact", directory_compactor("a", has_flaw=True))
    refused = world.run("compact")
    world.settle()
    assert refused.startswith("refused: the values"), refused
    assert "compact" not in kinds(world)
    assert not world.shelf.staged


def a_live_owner_finishes_a_compaction_that_dies() -> None:
    """It dies anywhere; the owner goes on in its epoch, sees the entry, and finishes it."""
    for when in ACTS:
        for arrives in (False, True):
            world = _delivered()
            _more(world, "b")
            world.spawn("owner", owner())
            world.run_until("owner", at_kind("window"))
            world.spawn("compact", directory_compactor("a"))
            world.run_until("compact", when)
            if arrives:
                world.lose_reply("compact")
            world.crash("compact")
            _more(world, "a")
            world.run("owner")
            decided = when is not ACTS[0] or arrives
            assert kinds(world).count("compact") == decided
            assert len(_files(world)) == (2 if decided else 3), "the owner's window has a file"
            world.settle()


def a_compaction_wakes_after_a_second_one_and_a_retirement() -> None:
    """Of what it decided long ago nothing comes back, and what it planned is refused."""
    for when in ACTS:
        for is_sent in (False, True):
            world = _delivered()
            world.spawn("sleeper", directory_compactor("a"))
            world.run_until("sleeper", when)
            if is_sent:
                world.delay("sleeper")
            _more(world, "a")
            world.run_alone("next", owner())
            world.run_alone("second", directory_compactor("a"))
            world.run_alone("retirement", retirer("a"))
            assert _files(world) == []
            world.run("sleeper")
            assert _files(world) == []
            world.settle()


COMPACTION_SCHEDULES = (
    a_compaction_with_another_value_is_refused,
    a_live_owner_finishes_a_compaction_that_dies,
    a_compaction_wakes_after_a_second_one_and_a_retirement,
)

COMPACTION_RULES: dict[str, Switch] = {
    "a compaction keeps every value": _patch(rules, "values_objection", _nothing),
}
