"""Random worlds: two or three owners, commands beside them, faults, and a source that grows."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.protocol.publish.troubles import PublishPolicy
from tests.simulator.chooser import Chooser, ListChooser, RandomChooser, pick, shrink
from tests.simulator.faulty_run import FaultyRun
from tests.simulator.kafka import BAD, FILTERED, MARKER, MISFIT, STOPPING, SimKafka
from tests.simulator.outside_faults import (
    BROKEN,
    SOURCE,
    Faults,
    faults_of,
    happenings,
    limits,
)
from tests.simulator.programs import (
    AT_ONCE_AGAIN,
    Program,
    cleaner,
    compactor,
    finalizer,
    late_tidying_owner,
    owner,
    replayer,
    retirer,
    seeker,
)
from tests.simulator.rare_programs import dropper, gap_accepter, rebinder
from tests.simulator.story import Violation
from tests.simulator.world import World, unparker

REGRESSIONS = Path(__file__).parent / "regressions"
FATES = ("a", "a", "a", "b", "b", BAD, FILTERED, MARKER)
WITH_MISFITS = (*FATES, MISFIT)
COMPACTIONS: tuple[tuple[str, Program], ...] = (
    ("compact", compactor("a")),
    ("compact", compactor("b")),
    ("compact", compactor("a", most=2)),
    ("compact", compactor("b", most=2)),
)
QUICKLY_PARKED = PublishPolicy(tries=2, retry_after_s=0.0)


@dataclass(frozen=True)
class Failure:
    """A schedule that broke an invariant."""

    seed: int | None
    error: str
    choices: list[int]
    record: list[str]
    fates: tuple[str, ...] = FATES
    faults: Faults = frozenset()


class RandomRun:
    """One world from one chooser."""

    def __init__(
        self,
        chooser: Chooser,
        fates: tuple[str, ...] = FATES,
        faults: Faults = frozenset(),
    ) -> None:
        self._chooser = chooser
        self._faults = faults
        kafka = _kafka(chooser, fates, longest=5 if not faults else 9)
        self.world = World(kafka, atomic_publish=chooser.index(3) == 0)
        self.turns = FaultyRun(chooser, self.world, self._new_owner, self._grow)
        count = chooser.index(4)
        if faults:  # losses matter when files were consumed: more commands, and not too early
            count += 3
            self.turns.steps, self.turns.commands_from = 1_200, 60 + chooser.index(150)
        self.turns.commands += [_command(chooser, fates, faults) for _ in range(count)]
        self._happen = happenings(faults, chooser, self.world)

    def run(self) -> None:
        """Run until everybody has ended, then let the dust settle and check the end."""
        with limits(self._faults):
            self.turns.run()

    def _new_owner(self) -> Program:
        how = self._chooser.index(3)
        publish = QUICKLY_PARKED if BROKEN in self._faults else AT_ONCE_AGAIN
        if how == 1:
            return late_tidying_owner(publish=publish)
        return owner(checkpoint_every=2 if how == 0 else 100, publish=publish)

    def _grow(self) -> None:
        for happen in self._happen:
            happen()
        kafka = self.world.kafka
        short = [p for p, end in kafka.latest.items() if end < len(kafka.partitions[p])]
        if short and self._chooser.index(10) == 0:
            kafka.latest[pick(self._chooser, short)] += 1


def _kafka(chooser: Chooser, possible: tuple[str, ...], longest: int) -> SimKafka:
    partitions = {
        partition: [pick(chooser, possible) for _ in range(chooser.index(longest))]
        for partition in range(1 + chooser.index(3))
    }
    latest = {p: chooser.index(len(fates) + 1) for p, fates in partitions.items()}
    return SimKafka(partitions, latest)


def _command(chooser: Chooser, fates: tuple[str, ...], faults: Faults) -> tuple[str, Program]:
    if faults and chooser.index(2):
        return pick(chooser, COMPACTIONS)
    options: list[tuple[str, Program]] = [
        ("clean", cleaner()),
        ("compact", compactor("a")),
        ("compact", compactor("b")),
        ("replay", replayer("a")),
        ("replay", replayer("b")),
        ("retire", retirer("b")),
        ("seek", seeker(0, 1 + chooser.index(3))),
        ("clean", cleaner()),
    ]
    if MISFIT in fates:
        options += [("accept", unparker(STOPPING))] * 2
    if BROKEN in faults:
        options += [("retire", retirer("a", most=1)), ("retire", retirer("b", most=1))]
        options += [("unpark", unparker("a")), ("unpark", unparker("b"))]
    if faults:
        options += [("finalize", finalizer())] * 3
    if SOURCE in faults:
        options += [("gaps", gap_accepter()), ("rebind", rebinder())]
        options += [("drop", dropper())] * 6
    return pick(chooser, options)


def run_choices(
    chooser: Chooser, fates: tuple[str, ...] = FATES, faults: Faults = frozenset()
) -> Failure | None:
    """Run one world; a broken invariant comes back as a value."""
    run = RandomRun(chooser, fates, faults)
    try:
        run.run()
    except Violation as error:
        found = (list(chooser.taken), list(run.world.record))
        return Failure(None, str(error), *found, fates, faults)
    return None


def fates_of(seed: int) -> tuple[str, ...]:
    """What the records of a seed may meet; every other world has some that stop a dataset."""
    return WITH_MISFITS if seed % 2 else FATES


def run_seed(seed: int) -> Failure | None:
    """Run the world of one seed; a failure is shrunk."""
    fates, faults = fates_of(seed), faults_of(seed)
    failure = run_choices(RandomChooser(seed), fates, faults)
    if failure is None:
        return None
    invariant = failure.error.split(":")[0]

    def still_fails(choices: list[int]) -> bool:
        again = run_choices(ListChooser(choices), fates, faults)
        return again is not None and again.error.startswith(invariant)

    shorter = run_choices(ListChooser(shrink(failure.choices, still_fails)), fates, faults)
    found = shorter or failure
    return replace(found, seed=seed)


def keep(failure: Failure) -> Path:
    """Keep a failing schedule as a regression that the tests run from now on."""
    REGRESSIONS.mkdir(exist_ok=True)
    path = REGRESSIONS / f"seed-{failure.seed}.json"
    found = {name: getattr(failure, name) for name in ("seed", "error", "choices", "fates")}
    path.write_text(json.dumps(found | {"faults": sorted(failure.faults)}))
    return path


def kept() -> Iterator[tuple[str, list[int], tuple[str, ...], Faults]]:
    """Every regression: its name, its choices, what its records could meet, and the faults."""
    for path in sorted(REGRESSIONS.glob("*.json")):
        found = json.loads(path.read_text())
        fates, faults = tuple(found.get("fates", FATES)), frozenset(found.get("faults", ()))
        yield path.stem, found["choices"], fates, faults


def _run_block(block: tuple[int, int]) -> tuple[int, Failure | None]:
    for seed in range(*block):
        failure = run_seed(seed)
        if failure is not None:
            return seed - block[0] + 1, failure
    return block[1] - block[0], None


def simulate(schedules: int, seed: int = 0, workers: int = 2) -> int:
    """Run many schedules, print how many and how fast; 1 when one of them failed."""
    began = time.monotonic()
    size = 250
    blocks = [(at, min(at + size, seed + schedules)) for at in range(seed, seed + schedules, size)]
    ran = 0
    rate = "0 schedules"
    with _spread(workers) as spread:
        for count, failure in spread(_run_block, blocks):
            ran += count
            rate = f"{ran} schedules, {ran / (time.monotonic() - began):.0f} per second"
            if sys.stdout.isatty():
                print(f"\r{rate}", end="", flush=True)
            if failure is not None:
                return _report(failure)
    print(f"\r{rate}, from seed {seed}: no invariant broken")
    return 0


@contextmanager
def _spread(workers: int) -> Iterator[Callable[..., Iterable[tuple[int, Failure | None]]]]:
    """A `map` over processes, or over none."""
    if workers == 0:
        yield map
        return
    pool = ProcessPoolExecutor(workers)
    try:
        yield pool.map
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _report(failure: Failure) -> int:
    path = keep(failure)
    print(f"\rseed {failure.seed} breaks {failure.error}\n")
    print("\n".join(f"{at:4} {line}" for at, line in enumerate(failure.record)))
    print(f"\nkept as {path.name}; run it again with: make simulate N=1 SEED={failure.seed}")
    return 1
