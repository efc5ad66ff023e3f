"""Worlds in which inventory checkpoints are kept beside owners and commands, and get lost.

The oracle reads roots and shards as plain JSON, with none of the protocol's code. I16: a root names
only shards that are there, and together they hold exactly what the journal says is live up to its
entry. I17: no shard is removed that one of the newest three roots names.
"""

import json
import zlib
from base64 import b64decode
from typing import Any

from penstock.protocol.feed_book.inventory_writer import update_inventory
from penstock.testing.memory_store import Act, Shelf
from tests.simulator.chooser import Chooser, pick
from tests.simulator.exhaustive import Actor, Explorer, Found, SmallWorld
from tests.simulator.faulty_run import FaultyRun
from tests.simulator.kafka import BAD, SimKafka
from tests.simulator.oracle import Oracle
from tests.simulator.programs import (
    Program,
    Room,
    cleaner,
    compactor,
    owner,
    replayer,
    retirer,
    seeker,
)
from tests.simulator.random_runs import FATES
from tests.simulator.random_worlds import first_violation
from tests.simulator.story import Row, Story, Violation, tell
from tests.simulator.world import World

ROOTS = "_penstock/feed/inventory/roots/"
SHARDS = "_penstock/feed/inventory/shards/"
_KEPT = 3


def keeper(times: int = 1) -> Program:
    """Brings the inventory checkpoint up to date, beside whoever runs."""

    def run(room: Room) -> str:
        left = [update_inventory(room.journal(), room.around, every=1) for _ in range(times)]
        return f"roots {left}"

    return run


def keeping_owner(turns: int) -> Program:
    """An owner that leaves a root after each of its windows, as one would that is very eager."""

    def run(room: Room) -> str:
        for _ in range(turns):
            owner(max_records=1, max_windows=1)(room)
            keeper()(room)
        return "kept"

    return run


class InventoryOracle(Oracle):
    """As the oracle of all worlds, and it also judges every root and every removal of a shard."""

    def __init__(self, kafka: SimKafka) -> None:
        super().__init__(kafka)
        self.lost: set[str] = set()  # by a foreign hand

    def check_step(self, before: Shelf, act: Act, after: Shelf) -> None:
        """What one act may never do, and what must hold after it."""
        super().check_step(before, act, after)
        if before is after:
            return
        if act.name == "create" and act.key.startswith(ROOTS):
            self._check_root(after, act.key)
        if act.name == "delete" and act.key.startswith(SHARDS):
            self._check_unnamed(before, act.key)

    def _check_root(self, shelf: Shelf, key: str) -> None:
        root, refs = read_root(shelf, key)
        story = self._story_at(shelf, root["number"])
        if root["sha256"] != story.sha256:
            raise Violation("I16", f"{key} names another entry")
        files: dict[str, Any] = {}
        records: set[Row] = set()
        for ref in refs:
            if _shard_key(ref) in self.lost:
                return  # nothing can be said about it, and readers fold it again
            found = read_shard(shelf, ref)
            if found is None and self._comes_late(shelf, key):
                return
            if found is None:
                raise Violation("I16", f"{key} names {_shard_key(ref)}, which is not there")
            files |= {file["final"]: file for file in found["files"]}
            records |= set(_rows(found["records"]))
        live = {name for name in story.files if name not in story.consumed}
        if set(files) != live:
            raise Violation("I16", f"{key} has {sorted(set(files) ^ live)} wrong")
        if records != story.quarantined:
            raise Violation("I16", f"{key} has the records {sorted(records ^ story.quarantined)}")
        for name, file in files.items():
            fact = story.files[name]
            seen = (file["number"], file["dataset"], file["evidence"]["count"])
            if seen != (fact.number, fact.dataset, len(fact.rows)):
                raise Violation("I16", f"{key} says of {name}: {seen}")

    def _comes_late(self, shelf: Shelf, key: str) -> bool:
        """Whether a root is older than all that are kept when it is created: seed 32003840.

        Its keeper slept between its shards and this root, so others have removed its shards
        meanwhile. Nobody begins at such a root, whoever reads it folds again what is not there,
        and the next keeper removes it.
        """
        return (
            len([each for each in shelf.objects if each.startswith(ROOTS) and each > key]) >= _KEPT
        )

    def _story_at(self, shelf: Shelf, number: int) -> Story:
        story = Story()
        for each in range(number + 1):
            raw = self.entry_of(shelf, each)
            assert raw is not None, "a root was left of it"
            story = tell(story, raw, self.kafka, shelf.objects)
        return story

    def _check_unnamed(self, shelf: Shelf, key: str) -> None:
        for root in [each for each in sorted(shelf.objects) if each.startswith(ROOTS)][-_KEPT:]:
            if key in map(_shard_key, read_root(shelf, root)[1]):
                raise Violation("I17", f"{key} was removed, and {root} names it")


def read_root(shelf: Shelf, key: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A root and the shards that it lists."""
    root = json.loads(shelf.objects[key])
    packed = root.get("packed")
    return root, root["shards"] if packed is None else json.loads(_plain(packed))


def read_shard(shelf: Shelf, ref: dict[str, Any]) -> dict[str, Any] | None:
    """The content of a shard; None when it is gone."""
    raw = shelf.objects.get(_shard_key(ref))
    if raw is None:
        return None
    found = json.loads(raw)
    content = found["content"] if found["packed"] is None else json.loads(_plain(found["packed"]))
    return {"files": [], "records": [], **content}


def _plain(packed: str) -> bytes:
    return zlib.decompress(b64decode(packed))


def _shard_key(ref: dict[str, Any]) -> str:
    return f"{SHARDS}{ref['number']:020}-{ref['sha256']}.json"


def _rows(records: list[dict[str, Any]]) -> list[Row]:
    return [
        (part["partition"], offset)
        for part in records
        for start, end in part["offsets"]["runs"]
        for offset in range(start, end)
    ]


class InventoryWorld(World):
    """A world whose oracle also judges inventory checkpoints."""

    def __post_init__(self) -> None:
        self.inventory_oracle = InventoryOracle(self.kafka)
        self.oracle = self.inventory_oracle

    def lose(self, key: str, instead: bytes | None = None) -> None:
        """A foreign hand removes or replaces an object of a checkpoint; nobody may suffer."""
        self.inventory_oracle.lost.add(key)
        self.shelf = self.shelf.with_object(key, instead)
        self.record.append(f"somebody: loses {key}")

    def kept(self, prefix: str) -> list[str]:
        """The objects of checkpoints below a prefix."""
        return sorted(key for key in self.shelf.objects if key.startswith(prefix))

    def run_new(self, name: str, program: Program) -> str:
        """Let a new process run to its end, alone; its result."""
        self.run_alone(name, program)
        ended = self.processes[name].ended
        return "" if ended is None else ended.result


class InventoryRun:
    """One random world with keepers and commands that consume; now and then an object is lost."""

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser
        partitions = {
            partition: [pick(chooser, FATES) for _ in range(2 + chooser.index(4))]
            for partition in range(1 + chooser.index(2))
        }
        self.world = InventoryWorld(SimKafka(partitions), atomic_publish=chooser.index(3) == 0)
        self.turns = FaultyRun(chooser, self.world, self._new_owner, self._lose_something)
        self.turns.commands += [_command(chooser) for _ in range(2 + chooser.index(6))]

    def run(self) -> None:
        """Run until everybody has ended; at last a root is left that must be right, too."""
        self.turns.run()
        self.world.run_alone("keeper", keeper())
        self.world.run_alone("compact", compactor("a"))
        self.world.settle()

    def _new_owner(self) -> Program:
        if self._chooser.index(2):
            return keeping_owner(6)
        return owner(checkpoint_every=2 + self._chooser.index(3) * 49)

    def _lose_something(self) -> None:
        keys = self.world.kept(SHARDS) + self.world.kept(ROOTS)
        if keys and self._chooser.index(25) == 0:
            self.world.lose(pick(self._chooser, keys))


def _command(chooser: Chooser) -> tuple[str, Program]:
    options: list[tuple[str, Program]] = [
        *[("keeper", keeper(2))] * 6,
        ("compact", compactor("a")),
        ("compact", compactor("b")),
        ("replay", replayer("a")),
        ("replay", replayer("b")),
        ("retire", retirer("b")),
        ("seek", seeker(0, 1)),
        ("clean", cleaner()),
    ]
    return pick(chooser, options)


def first_inventory_violation(schedules: int, seed: int = 0) -> str:
    """The first random world that breaks an invariant, as `seed N: why`; empty for none."""
    return first_violation(InventoryRun, schedules, seed)


def small_inventory_worlds() -> tuple[SmallWorld, ...]:
    """Every schedule of an owner, a keeper and a command, with crashes of the keeper."""
    kafka = SimKafka({0: ["a", "a", BAD]})
    return (
        SmallWorld(
            "an owner, a keeper that dies, a compaction",
            kafka,
            (
                Actor("owner", owner(max_records=1), crashes=0),
                Actor("keeper", keeper(2)),
                Actor("compact", compactor("a"), crashes=0),
            ),
            switches=1,
            delays=0,
        ),
        SmallWorld(
            "an owner, two keepers, a delay",
            kafka,
            (
                Actor("owner", owner(max_records=2), crashes=0),
                Actor("keeper", keeper(), crashes=0),
                Actor("other", keeper(), crashes=0),
            ),
            switches=1,
            delays=1,
        ),
    )


def explore_inventory(world: SmallWorld) -> Found:
    """Explore a world with the oracle of checkpoints."""
    explorer = Explorer(world)
    explorer._oracle = InventoryOracle(world.kafka)
    return explorer.run()
