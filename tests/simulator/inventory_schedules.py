"""Directed schedules of inventory checkpoints, and the rules that they show to be needed."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from penstock.errors import PenstockError
from penstock.ports.store.create_once import create_once
from penstock.protocol.feed_book import inventory_objects, inventory_reader, inventory_writer
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.inventory_objects import InventoryRoot, Shard, root_bytes
from penstock.protocol.feed_book.inventory_reader import InventoryRoots
from penstock.protocol.feed_book.inventory_writer import create_shards, shard_ref, write_root
from penstock.testing.memory_store import Act
from tests.simulator.inventory_worlds import (
    ROOTS,
    SHARDS,
    InventoryWorld,
    first_inventory_violation,
    keeper,
    read_root,
    read_shard,
)
from tests.simulator.kafka import BAD, SimKafka
from tests.simulator.mutations import Catch, Mutation
from tests.simulator.programs import compactor, owner, replayer

Schedule = Callable[[], None]


def at_root(act: Act) -> bool:
    """Just before a root is created."""
    return act.name == "create" and act.key.startswith(ROOTS)


def _delivered(*fates: str) -> InventoryWorld:
    """A feed that has delivered these records, one in each window."""
    world = InventoryWorld(SimKafka({0: list(fates)}))
    world.run_alone("owner", owner(max_records=1))
    return world


def _grown(world: InventoryWorld, count: int) -> None:
    """Roots of so many further records."""
    for _ in range(count):
        world.kafka.partitions[0].append("b")
        world.kafka.latest[0] += 1
        world.run_alone("owner", owner(max_records=1))
        world.run_alone("keeper", keeper())


def a_lost_shard_is_not_empty() -> None:
    """What was live when the root was left can still be consumed, and only once."""
    world = _delivered("a", "a", BAD)
    world.run_alone("keeper", keeper())
    for key in world.kept(SHARDS):
        world.lose(key)
    assert world.run_new("compact", compactor("a")) == "decided"
    assert world.run_new("replay", replayer("b")) == "decided"
    world.settle()


def all_roots_are_lost() -> None:
    """Shards without a root are no checkpoint."""
    world = _delivered("a", "a", BAD)
    world.run_alone("keeper", keeper())
    for key in world.kept(ROOTS):
        world.lose(key)
    assert world.run_new("compact", compactor("a")) == "decided"
    world.run_alone("keeper", keeper())
    world.settle()


def a_shard_is_restored_from_older_days() -> None:
    """It lies under the name of a newer one, and says that consumed files are live."""
    world = _delivered("a", "a")
    world.run_alone("keeper", keeper())
    older = {_name(world, key): world.shelf.objects[key] for key in world.kept(SHARDS)}
    assert world.run_new("compact", compactor("a")) == "decided"
    world.run_alone("keeper", keeper())
    for key in world.kept(SHARDS):
        if world.shelf.objects[key] != older[_name(world, key)]:
            world.lose(key, older[_name(world, key)])
    _grown(world, 1)
    assert "has 1 files" in world.run_new("again", compactor("a"))
    world.settle()


def _name(world: InventoryWorld, key: str) -> str:
    for root in world.kept(ROOTS):
        for ref in read_root(world.shelf, root)[1]:
            if ref["sha256"] in key and read_shard(world.shelf, ref) is not None:
                return str(ref["name"])
    raise AssertionError(f"no root names {key}")


def a_keeper_dies_before_its_root() -> None:
    """What it wrote means nothing; the next one starts where the last root is."""
    world = _delivered("a", "a", BAD)
    world.spawn("dead", keeper())
    world.run_until("dead", at_root)
    world.crash("dead")
    assert world.kept(SHARDS)
    assert not world.kept(ROOTS)
    assert world.run_new("compact", compactor("a")) == "decided"
    world.run_alone("keeper", keeper())
    world.settle()


def a_keeper_dies_anywhere() -> None:
    """Whatever is there then, the next commands and the next keeper are right."""
    for steps in range(1, 80):
        world = _delivered("a", "a", BAD)
        _grown(world, 3)
        world.kafka.partitions[0].append("a")
        world.kafka.latest[0] += 1
        world.run_alone("owner", owner(max_records=1))
        process = world.spawn("dead", keeper())
        for _ in range(steps):
            if process.is_alive:
                world.go("dead")
        is_over = not process.is_alive
        world.crash("dead")
        assert world.run_new("compact", compactor("a")) == "decided"
        assert world.run_new("replay", replayer("b")) == "decided"
        world.run_alone("keeper", keeper())
        world.settle()
        if is_over:
            return
    raise AssertionError("a keeper does less than that")


def a_keeper_sleeps_before_its_root() -> None:
    """Others leave roots and prune meanwhile; its root comes late and is good all the same."""
    world = _delivered("a", "a", BAD)
    _grown(world, 3)
    world.kafka.partitions[0].append("a")
    world.kafka.latest[0] += 1
    world.run_alone("owner", owner(max_records=1))
    world.spawn("asleep", keeper())
    world.run_until("asleep", at_root)
    _grown(world, 1)
    world.run("asleep")
    assert world.run_new("compact", compactor("a")) == "decided"
    world.settle()


def what_is_consumed_leaves_the_next_root() -> None:
    """A compaction and a replay are folded onto the shards that they touch."""
    world = _delivered("a", "a", BAD, "b")
    world.run_alone("keeper", keeper())
    assert world.run_new("compact", compactor("a")) == "decided"
    assert world.run_new("replay", replayer("b")) == "decided"
    world.run_alone("keeper", keeper())
    assert world.run_new("again", compactor("a")) != "decided"
    _grown(world, 5)
    world.settle()


INVENTORY_SCHEDULES: tuple[Schedule, ...] = (
    a_lost_shard_is_not_empty,
    all_roots_are_lost,
    a_shard_is_restored_from_older_days,
    a_keeper_dies_before_its_root,
    a_keeper_dies_anywhere,
    a_keeper_sleeps_before_its_root,
    what_is_consumed_leaves_the_next_root,
)


def _root_before_shards(journal: FeedJournal, around: Any, folded: Any, known: Any) -> Any:
    """As `write_root`, with all shards written after the root that names them."""
    shards = folded.long.shards(folded.long.changed | {ref.name for ref in known})
    refs = tuple(shard_ref(shard, folded.number)[0] for shard in shards)
    root = InventoryRoot(folded.number, folded.sha256, refs)
    create_once(journal.store, journal.layout.inventory_root(root.number), root_bytes(root))
    create_shards(journal, around, folded.number, shards)
    return root


def _changes_forgotten(journal: FeedJournal, around: Any, folded: Any, known: Any) -> Any:
    """As `write_root`, and shards that entries have touched are named as they were."""
    folded.long.changed = {name for name in folded.long.changed if not known}
    return write_root(journal, around, folded, known)


def _believed(key: str, raw: bytes, ref: Any) -> Shard | str:
    """A shard as it lies there, whatever the root says of it."""
    found = inventory_objects._unsealed(inventory_objects._shard_objects, key, raw)
    return found.content or "packed"


def _patch(where: object, name: str, new: object) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: patch.object(where, name, new)


INVENTORY_MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "inventory: a lost shard is folded again",
        _patch(InventoryRoots, "_folded_again", lambda *_: []),
    ),
    Mutation(
        "inventory: the root comes last",
        _patch(inventory_writer, "write_root", _root_before_shards),
    ),
    Mutation(
        "inventory: a shard has the hash that its root names",
        _patch(inventory_reader, "read_shard", _believed),
    ),
    Mutation(
        "inventory: what a kept root names is not pruned",
        _patch(inventory_writer, "named_shards", lambda *_: set()),
    ),
    Mutation(
        "inventory: shards of a root that is about to come are not pruned",
        _patch(inventory_writer, "is_shard_before", lambda *_: True),
    ),
    Mutation(
        "inventory: a shard is loaded before it is changed",
        _patch(Inventory, "need", lambda *_: None),
    ),
    Mutation(
        "inventory: every touched shard is written again",
        _patch(inventory_writer, "write_root", _changes_forgotten),
    ),
)


def catch_inventory(mutation: Mutation, seeds: int = 300) -> Catch:
    """Run the directed schedules, then random ones, until something breaks."""
    with mutation.switch_off():
        for tried, schedule in enumerate(INVENTORY_SCHEDULES, 1):
            try:
                schedule()
            except (AssertionError, PenstockError) as error:
                return Catch(mutation.rule, schedule.__name__, str(error), tried)
        why = first_inventory_violation(seeds)
    by, _, what = why.partition(": ")
    return Catch(mutation.rule, by, what or "nothing noticed", seeds)
