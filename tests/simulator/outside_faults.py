"""Faults that come from outside the processes: what is lost, restored, broken, or gone in Kafka.

A random run has some of them, by name; each is asked before every step whether it happens now.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from penstock.errors import DecidedDataLost, FeedHalted
from penstock.model import manifest as manifest_room
from penstock.model import packing
from penstock.testing.memory_store import Act
from tests.simulator.chooser import Chooser, pick
from tests.simulator.kafka import LIFE
from tests.simulator.oracle import DATA, DONE
from tests.simulator.scheduler import GOOD_REASONS, When
from tests.simulator.world import World

CHECKPOINTS = "_penstock/feed/checkpoints/"
STAGING = "_penstock/feed/staging/"

MARKERS = "markers"  # done markers and checkpoints are lost, and restored, also from older copies
STAGED = "staged"  # staged files of owners are lost
BROKEN = "broken"  # one dataset cannot be published, or deleted from, for a long while
SOURCE = "source"  # records expire unread, and the topic is made again
MANIFESTS = "manifests"  # contents lie outside their entries
PACKED = "packed"  # contents are packed inside their entries

LANES = ("files", "delete")

Faults = frozenset[str]
Happen = Callable[[], None]

# By turns, so that every kind is met alone and together with others.
COMBINATIONS: tuple[Faults, ...] = (
    frozenset(),
    frozenset({MARKERS}),
    frozenset({BROKEN}),
    frozenset({MARKERS, MANIFESTS}),
    frozenset({SOURCE}),
    frozenset({MARKERS, BROKEN, PACKED}),
    frozenset({STAGED, MARKERS}),
    frozenset({SOURCE, MARKERS, MANIFESTS, BROKEN}),
)


def faults_of(seed: int) -> Faults:
    """The outside faults in the world of a seed."""
    return COMBINATIONS[seed // 2 % len(COMBINATIONS)]


def happenings(faults: Faults, chooser: Chooser, world: World) -> list[Happen]:
    """What may happen before each step of a world with these faults."""
    kinds: dict[str, Callable[[Chooser, World], Happen]] = {
        MARKERS: lose_and_restore,
        STAGED: lose_staged,
        BROKEN: break_a_dataset,
        SOURCE: change_the_source,
    }
    return [make(chooser, world) for name, make in kinds.items() if name in faults]


@contextmanager
def limits(faults: Faults) -> Iterator[None]:
    """With manifests, no content is short enough for its entry; or none stays as it is."""
    with ExitStack() as stack:
        if PACKED in faults:
            stack.enter_context(patch.object(packing, "PACKED_FROM_BYTES", 0))
        if MANIFESTS in faults:
            stack.enter_context(patch.object(manifest_room, "INLINE_FILES", 0))
            stack.enter_context(patch.object(manifest_room, "INLINE_RUNS", 0))
        yield


def lose_and_restore(chooser: Chooser, world: World) -> Happen:
    """Markers and checkpoints go; a copy of either, however old, comes back."""
    copies: dict[str, list[bytes]] = {}
    left = [1 + chooser.index(4)]

    def happen() -> None:
        kept = [k for k in world.shelf.objects if k.startswith((DONE, CHECKPOINTS))]
        for key in kept:
            if world.shelf.objects[key] not in copies.setdefault(key, []):
                copies[key].append(world.shelf.objects[key])
        if not kept or left[0] == 0 or chooser.index(20):
            return
        left[0] -= 1
        what = chooser.index(4)
        if what == 0:  # a backup of everything but the newest
            for key in sorted(copies):
                world.restore(key, copies[key][0])
        elif what == 1:
            for key in kept:
                world.lose(key)
        else:
            for key in [each for each in kept if each.startswith(CHECKPOINTS)]:
                world.lose(key)
            if markers := sorted(key for key in kept if key.startswith(DONE)):
                world.lose(pick(chooser, markers))

    return happen


def lose_staged(chooser: Chooser, world: World) -> Happen:
    """A staged file goes that an owner has staged; what a command staged could not be derived."""
    world.good_reasons = (*GOOD_REASONS, DecidedDataLost)  # of commands: they leave it to owners
    left = [1 + chooser.index(2)]

    def happen() -> None:
        mine = sorted(k for k in world.shelf.staged if k.startswith(STAGING) and "-x" not in k)
        if mine and left[0] and not chooser.index(15):
            left[0] -= 1
            world.lose(pick(chooser, mine))

    return happen


def place_of(dataset: str, lane: str) -> When:
    """The requests that publish files of a dataset, or delete them."""
    prefix = f"{DATA}{dataset}/"

    def hits(act: Act) -> bool:
        if lane == "delete":
            return act.name == "delete" and act.key.startswith(prefix)
        return act.name in ("link", "complete") and act.other.startswith(prefix)

    return hits


def break_a_dataset(chooser: Chooser, world: World) -> Happen:
    """A lane of one dataset, or both, fail from some step on, until later steps or the end."""
    dataset, lanes = pick(chooser, "ab"), pick(chooser, (("files",), ("delete",), LANES))
    begins = chooser.index(120)
    step = [0]
    fails = [(place_of(dataset, lane), begins + 100 + chooser.index(600)) for lane in lanes]
    world.broken = lambda act: any(begins <= step[0] < ends and hits(act) for hits, ends in fails)

    def happen() -> None:
        step[0] += 1

    return happen


def change_the_source(chooser: Chooser, world: World) -> Happen:
    """Records expire, read or unread; once, perhaps, the topic is made again."""
    world.good_reasons = (*GOOD_REASONS, FeedHalted)  # it waits for an operator's decision
    kafka = world.kafka
    left = [1 + chooser.index(3)]

    def happen() -> None:
        if not left[0] or chooser.index(25):
            return
        left[0] -= 1
        if kafka.life == 0 and chooser.index(3) == 0:
            kafka.make_again({p: ["a", "b"] for p in range(1 + chooser.index(2))})
            world.record.append("somebody: makes the topic again")
            return
        now = sorted(p for p, end in kafka.latest.items() if p // LIFE == kafka.life and end)
        if now:
            partition = pick(chooser, now)
            at = kafka.earliest.get(partition, 0)
            kafka.earliest[partition] = min(at + 1 + chooser.index(2), kafka.latest[partition])
            world.record.append(f"Kafka: {partition} begins at {kafka.earliest[partition]}")

    return happen
