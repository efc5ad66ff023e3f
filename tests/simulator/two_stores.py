"""Worlds in which the journal has a store of its own, and each of the two stores fails alone.

One shelf holds both, because no key belongs to both: so the oracle of all worlds judges them. What
one store is asked under a key of the other lies apart, under `@lake/` or `@journal/`.
    J1  nothing is written into a store to which its key does not belong.
"""

from collections.abc import Callable

from penstock.api.store import ListedObject, Store
from penstock.model.layout import is_journal_key, is_journal_prefix
from penstock.ports.store.split_store import split_store
from penstock.testing.memory_store import Act, Answer, MemoryStore, Shelf
from tests.simulator.chooser import Chooser, pick
from tests.simulator.faulty_run import FaultyRun
from tests.simulator.kafka import SimKafka
from tests.simulator.process import Ask
from tests.simulator.programs import (
    Program,
    cleaner,
    compactor,
    corrector,
    late_tidying_owner,
    owner,
    replayer,
    retirer,
    seeker,
)
from tests.simulator.random_runs import FATES
from tests.simulator.random_worlds import first_violation
from tests.simulator.story import Violation
from tests.simulator.world import World

PLACE = "memory://journals"
LISTS = ("list", "list_staged")


def moved(ask: Ask, apart: Callable[[Act], str]) -> Ask:
    """Requests that `apart` names a place for go there, and the answers come back as asked for."""

    def asked(act: Act) -> Answer:
        place = apart(act)
        if not place:
            return ask(act)
        other = f"{place}{act.other}" if act.name in LISTS and act.other else act.other
        answer = ask(act._replace(key=f"{place}{act.key}", other=other))
        if act.name != "list" or not isinstance(answer, tuple):
            return answer
        listed = (each for each in answer if isinstance(each, ListedObject))
        return tuple(ListedObject(each.key.removeprefix(place), each.size_bytes) for each in listed)

    return asked


def lies_with_journal(act: Act) -> bool | None:
    """Whether a request is about what lies with the journal; None: about both."""
    return is_journal_prefix(act.key) if act.name in LISTS else is_journal_key(act.key)


def of_lake(act: Act) -> bool:
    """Requests to the lake's store."""
    return act.key.startswith("@lake/") or (act.key[:1] != "@" and not lies_with_journal(act))


def of_journal(act: Act) -> bool:
    """Requests to the journal's store."""
    return act.key.startswith("@journal/") or lies_with_journal(act) is True


class TwoStoreWorld(World):
    """A world whose processes have a journal elsewhere."""

    def store_for(self, ask: Ask) -> Store:
        """Both stores as one."""
        lake = moved(ask, lambda act: "@lake/" if lies_with_journal(act) else "")
        journal = moved(ask, lambda act: "@journal/" if lies_with_journal(act) is False else "")
        return split_store(
            MemoryStore(lake, atomic_publish=self.atomic_publish), MemoryStore(journal), PLACE
        )

    def check_step(self, before: Shelf, act: Act, after: Shelf) -> None:
        """J1, and what holds in every world."""
        if act.key.startswith("@") and not act.is_read:
            raise Violation("J1", f"{act} is asked of the wrong store")
        super().check_step(before, act, after)


class TwoStoreRun:
    """One random world: the lake, the journal, or one after the other do not answer for a while."""

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser
        partitions = {
            partition: [pick(chooser, FATES) for _ in range(2 + chooser.index(5))]
            for partition in range(1 + chooser.index(2))
        }
        self.world = TwoStoreWorld(SimKafka(partitions), atomic_publish=chooser.index(3) == 0)
        self.turns = FaultyRun(chooser, self.world, self._new_owner, self._step)
        self.turns.steps = 900
        self.turns.commands += [_command(chooser) for _ in range(2 + chooser.index(6))]
        self._now = 0
        downs = [(pick(chooser, (of_lake, of_journal)), chooser.index(250)) for _ in range(2)]
        lengths = [1 + chooser.index(40) for _ in downs]
        self.world.broken = lambda act: any(
            begins <= self._now < begins + length and hits(act)
            for (hits, begins), length in zip(downs, lengths, strict=True)
        )

    def run(self) -> None:
        """Run until everybody has ended, then let the dust settle and check the end."""
        self.turns.run()

    def _step(self) -> None:
        self._now += 1

    def _new_owner(self) -> Program:
        if self._chooser.index(3) == 0:
            return late_tidying_owner()
        return owner(max_records=1 + self._chooser.index(2), checkpoint_every=2)


def _command(chooser: Chooser) -> tuple[str, Program]:
    options: list[tuple[str, Program]] = [
        *[("clean", cleaner())] * 2,
        ("compact", compactor("a")),
        ("compact", compactor("b")),
        ("replay", replayer("a")),
        ("fixed", corrector("b")),
        ("retire", retirer("b")),
        ("seek", seeker(0, 1)),
    ]
    return pick(chooser, options)


def first_two_store_violation(schedules: int, seed: int = 0) -> str:
    """The first random world that breaks an invariant, as `random seed N: why`; empty for none."""
    return first_violation(TwoStoreRun, schedules, seed)
