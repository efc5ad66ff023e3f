"""Worlds in which old entries are sealed beside owners, commands and sleepers.

The oracle reads segments as plain JSON, with none of the protocol's code. What a segment covers is
the journal there; what else lies under its numbers counts for nothing.
    S1  seals follow each other without a hole (`rare_kinds.py`);
    S2  a segment holds the entries of its numbers, byte for byte, and their markers;
    S3  an entry or a marker goes only when a decided seal names, by its hash, the segment with it;
    S4  a seal lies below the newest checkpoints, and below everything that is not proven done;
    S5  a segment is never changed or removed;
    S6  at the end every way to fold gives the same, also without any checkpoint.
"""

import hashlib
import json
import zlib
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.model.layout import Layout
from penstock.protocol.feed_book.inventory_writer import update_inventory
from penstock.protocol.journal.checkpoints import write_checkpoint
from penstock.protocol.journal.sealing import SealPolicy, seal_old
from penstock.testing.memory_store import Act, MemoryStore, Shelf
from tests.simulator.chooser import Chooser, pick
from tests.simulator.exhaustive import Actor, Explorer, Found, SmallWorld
from tests.simulator.faulty_run import FaultyRun
from tests.simulator.inventory_worlds import ROOTS, InventoryOracle
from tests.simulator.kafka import SimKafka
from tests.simulator.oracle import DONE, JOURNAL, SEGMENTS, consumed_parts
from tests.simulator.programs import (
    FEED,
    Program,
    Room,
    cleaner,
    compactor,
    owner,
    replayer,
    retirer,
    seeker,
    surroundings,
)
from tests.simulator.random_runs import FATES
from tests.simulator.random_worlds import first_violation
from tests.simulator.story import Story, Violation
from tests.simulator.world import World

CHECKPOINTS = f"{Layout(FEED).checkpoints}/"


def sealer(most: int = 4) -> Program:
    """One round of sealing for whoever owns the feed when it begins."""

    def run(room: Room) -> str:
        epoch = room.journal().open().state.epoch
        policy, now_s = SealPolicy(0.0, most), room.around.now()
        seal = seal_old(room.journal(), policy, epoch, now_s, thorough=True)
        return "nothing" if seal is None else f"sealed {seal.first} to {seal.last}"

    return run


def upkeep(most: int = 4) -> Program:
    """What is done beside an owner: a checkpoint, an inventory root, a round of sealing."""

    def run(room: Room) -> str:
        journal = room.journal()
        state = journal.open().state
        if state.is_new:
            return "nothing"
        write_checkpoint(journal, state)
        update_inventory(room.journal(), room.around, every=1)
        return sealer(most)(room)

    return run


def sealing_owner(turns: int, most: int = 3) -> Program:
    """An owner that does its upkeep after each window, as one would that is very eager."""

    def run(room: Room) -> str:
        for _ in range(turns):
            owner(max_records=1, max_windows=1)(room)
            upkeep(most)(room)
        return "sealed"

    return run


@dataclass(frozen=True)
class RawSegment:
    """A segment as the oracle reads it."""

    first: int
    last: int
    sha256: str
    entries: tuple[bytes, ...]
    markers: tuple[tuple[str, bytes], ...]  # with the keys that they had


def raw_segment(raw: bytes) -> RawSegment:
    """A segment as plain JSON."""
    found = json.loads(raw)
    if found["hash"] != hashlib.sha256(raw[raw.index(b",") :]).hexdigest():
        raise Violation("S5", "a segment has a wrong hash")
    entries = json.loads(zlib.decompress(b64decode(found["packed"])))
    markers = []
    for number, each in enumerate(entries, found["first"]):
        if each.get("marker") is not None:
            markers.append((f"{DONE}{number:020}.json", each["marker"].encode()))
        for part, text in each.get("parts", {}).items():
            markers.append((f"{DONE}{number:020}/{part}.json", text.encode()))
    texts = tuple(each["entry"].encode() for each in entries)
    return RawSegment(found["first"], found["last"], found["hash"], texts, tuple(markers))


class SealOracle(InventoryOracle):
    """As the oracle of all worlds; it reads what is sealed out of the segments."""

    def __init__(self, kafka: SimKafka) -> None:
        super().__init__(kafka)
        self._segments: dict[bytes, RawSegment] = {}
        self.strays = 0  # creates that found a number free whose entry is sealed

    def segments(self, shelf: Shelf) -> list[RawSegment]:
        """All segments, in order."""
        keys = sorted(key for key in shelf.objects if key.startswith(SEGMENTS))
        found = []
        for raw in (shelf.objects[key] for key in keys):
            if raw not in self._segments:
                self._segments[raw] = raw_segment(raw)
            found.append(self._segments[raw])
        return found

    def entry_of(self, shelf: Shelf, number: int) -> bytes | None:
        """From its segment, if one has it."""
        for segment in self.segments(shelf):
            if segment.first <= number <= segment.last:
                return segment.entries[number - segment.first]
        return super().entry_of(shelf, number)

    def markers_of(self, shelf: Shelf) -> Iterator[tuple[str, bytes]]:
        """Those in segments too."""
        yield from super().markers_of(shelf)
        for segment in self.segments(shelf):
            yield from segment.markers

    def check_count(self, shelf: Shelf, story: Story) -> None:
        """I1 of what lies after the segments; below, strangers may lie."""
        covered = max((segment.last for segment in self.segments(shelf)), default=-1)
        after = [key for key in shelf.objects if key.startswith(JOURNAL) and _number(key) > covered]
        if len(after) != story.number - covered:
            raise Violation("I1", f"{len(after)} entries after {covered}, up to {story.number}")

    def check_removed(self, before: Shelf, key: str) -> None:
        """S3: what goes is in the segment of a decided seal, or was never the journal's."""
        number, story = _number(key), self.story(before)
        holder = next((s for s in self.segments(before) if s.first <= number <= s.last), None)
        if holder is None or number > story.sealed_to:
            raise Violation("S3", f"{key} was deleted, and no decided seal covers it")
        if story.seals.get(holder.first) != holder.sha256:
            raise Violation("S3", f"{key} was deleted, and its seal names another segment")
        if key.startswith(DONE):
            marker = json.loads(before.objects[key])
            parts = {(marker["number"], part) for part in marker["groups"]}
            left = self._done_parts(before.with_object(key, None), story) | consumed_parts(story)
            if not parts <= left:
                raise Violation("S3", f"{key} was deleted, and nothing else proves {parts - left}")

    def check_step(self, before: Shelf, act: Act, after: Shelf) -> None:
        """What one act may never do, and what must hold after it."""
        if before is not after and act.key.startswith(SEGMENTS):
            if act.name != "create":
                raise Violation("S5", f"{act}")
            self._check_segment(before, raw_segment(act.data))
        is_seal = act.name == "create" and b'"kind":"seal"' in act.data
        sealed_to = self.story(before).sealed_to if is_seal else -1
        super().check_step(before, act, after)
        if act.name == "create" and act.key.startswith(JOURNAL) and before is not after:
            self.strays += self.story(before).number == self.story(after).number
        if is_seal and self.story(after).sealed_to > sealed_to:
            self._check_seal(after, self.story(after))

    def _check_root(self, shelf: Shelf, key: str) -> None:
        """Not one that comes so late that newer ones are kept, and its shards are gone with it."""
        if key in sorted(each for each in shelf.objects if each.startswith(ROOTS))[-3:]:
            super()._check_root(shelf, key)

    def _check_segment(self, before: Shelf, segment: RawSegment) -> None:
        """S2."""
        for number, raw in enumerate(segment.entries, segment.first):
            if self.entry_of(before, number) != raw:
                raise Violation("S2", f"the segment of {segment.first} has {number} wrong")
        wanted = dict(super().markers_of(before))
        if any(wanted.get(key) != raw for key, raw in segment.markers):
            raise Violation("S2", f"the segment of {segment.first} has wrong markers")

    def _check_seal(self, shelf: Shelf, story: Story) -> None:
        """S4, and that the segment which is named is there."""
        for room in (CHECKPOINTS, ROOTS):
            newest = max((_number(k) for k in shelf.objects if k.startswith(room)), default=-1)
            if newest <= story.sealed_to:
                raise Violation("S4", f"sealed up to {story.sealed_to}, {room} up to {newest}")
        if story.sealed_to not in [segment.last for segment in self.segments(shelf)]:
            raise Violation("S3", "a seal names a segment that is not there")
        proven = self._done_parts(shelf, story) | consumed_parts(story)
        for number, parts in story.parts.items():
            if number <= story.sealed_to and {(number, part) for part in parts} - proven:
                raise Violation("S4", f"entry {number} is sealed and not done")


def _number(key: str) -> int:
    """The number in a key, wherever it stands."""
    return next(int(part[:20]) for part in key.split("/") if part[:20].isdigit() and len(part) > 19)


class SealWorld(World):
    """A world whose oracle knows seals."""

    def __post_init__(self) -> None:
        self.seal_oracle = SealOracle(self.kafka)
        self.oracle = self.seal_oracle

    def settle(self) -> None:
        """As everywhere; and S6."""
        super().settle()
        check_folds(self)

    @property
    def sealed_to(self) -> int:
        """The last entry that a decided seal covers."""
        return self.oracle.story(self.shelf).sealed_to


def check_folds(world: World) -> None:
    """S6: from checkpoints, from entry 0, and with all checkpoints lost, nothing is open."""
    story = world.oracle.story(world.shelf)
    lost = world.shelf
    for key in [k for k in lost.objects if k.startswith((CHECKPOINTS, ROOTS))]:
        lost = lost.with_object(key, None)
    for shelf in (world.shelf, lost):
        store = MemoryStore()
        store.shelf = shelf
        room = Room("reader", store, surroundings("reader"), world.kafka)
        for fold in (room.journal().open(deep=True), room.journal().open_from_first()):
            state, inventory = fold.state, fold.inventory
            if (state.number, state.sha256) != (story.number, story.sha256):
                raise Violation("S6", f"a fold ends at {state.number}, not at {story.number}")
            if state.undone or state.owed:
                raise Violation("S6", f"a fold finds undone: {state.undone} {state.owed}")
            live = {name for name in story.files if name not in story.consumed}
            if inventory is None or set(inventory.files) != live:
                raise Violation("S6", "a fold has other live files")


class SealRun:
    """One random world with owners that sleep, seals, and commands."""

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser
        partitions = {
            partition: [pick(chooser, FATES) for _ in range(3 + chooser.index(5))]
            for partition in range(1 + chooser.index(2))
        }
        self.world = SealWorld(SimKafka(partitions), atomic_publish=chooser.index(3) == 0)
        self.turns = FaultyRun(chooser, self.world, self._new_owner)
        self.turns.steps = 900
        self.turns.commands += [_command(chooser) for _ in range(3 + chooser.index(7))]

    def run(self) -> None:
        """Run until everybody has ended; then seal what is left, and look again."""
        self.turns.run()
        for _ in range(2):
            self.world.run_alone("upkeep", upkeep(50))
        self.world.settle()

    def _new_owner(self) -> Program:
        if self._chooser.index(2):
            return sealing_owner(4, 1 + self._chooser.index(4))
        return owner(max_records=1, checkpoint_every=2 + self._chooser.index(3) * 49)


def _command(chooser: Chooser) -> tuple[str, Program]:
    options: list[tuple[str, Program]] = [
        *[("upkeep", upkeep(1 + chooser.index(6)))] * 6,
        *[("sealer", sealer(1 + chooser.index(4)))] * 2,
        ("compact", compactor("a")),
        ("compact", compactor("b")),
        ("replay", replayer("a")),
        ("retire", retirer("b")),
        ("seek", seeker(0, 1)),
        ("clean", cleaner()),
    ]
    return pick(chooser, options)


def first_seal_violation(schedules: int, seed: int = 0) -> str:
    """The first random world that breaks an invariant, as `seed N: why`; empty for none."""
    return first_violation(SealRun, schedules, seed)


def small_seal_worlds() -> tuple[SmallWorld, ...]:
    """Every schedule of an old owner, an eager one that seals, and the sealing of another."""
    kafka = SimKafka({0: ["a", "a"]})
    return (
        SmallWorld(
            "an owner, one that seals and dies",
            kafka,
            (
                Actor("old", owner(max_records=1), crashes=0),
                Actor("new", sealing_owner(2, 5)),
            ),
            switches=1,
            delays=0,
            seals=True,
        ),
    )


def explore_seals(world: SmallWorld) -> Found:
    """Explore a world with the oracle of seals."""
    explorer = Explorer(world)
    explorer._oracle = SealOracle(world.kafka)
    return explorer.run()
