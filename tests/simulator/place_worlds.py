"""Worlds whose processes disagree about where the journal lies: first starts, and moved journals.

Each process has a configuration: `journal:` names a place, or nothing, which is the lake. What lies
with the journal of a place lies under `@PLACE/`; the lake's own under `@lake/`.
    J2  at most one place has more than entry 0: only one journal ever decides anything.
    J3  no row is visible twice.
    J4  when faults stop, whoever has the configuration that the lake names delivers everything, and
        all others are refused; unless a first start in the lake and one elsewhere have met.
"""

import json
from collections import Counter
from dataclasses import dataclass

from penstock.api.store import Store
from penstock.model.layout import Layout
from penstock.ports.store.split_store import split_store
from penstock.protocol.journal.errors import JournalElsewhere
from penstock.testing.memory_store import Act, MemoryStore, Shelf
from tests.simulator.chooser import Chooser, pick
from tests.simulator.faulty_run import FaultyRun
from tests.simulator.kafka import SimKafka
from tests.simulator.oracle import DATA, JOURNAL, TAIL
from tests.simulator.process import Ask
from tests.simulator.programs import FEED, Program, owner
from tests.simulator.random_worlds import first_violation
from tests.simulator.scheduler import GOOD_REASONS, Scheduler
from tests.simulator.story import Violation
from tests.simulator.two_stores import lies_with_journal, moved

LAKE = ""
PLACES = ("east", "west", LAKE)
NAME = Layout(FEED).journal_place


def home(place: str) -> str:
    """Where on the shelf the journals of a place lie."""
    return f"@{place or 'lake'}/"


def entries_at(shelf: Shelf, place: str) -> int:
    """How many entries the journal of a place has."""
    return sum(1 for key in shelf.objects if key.startswith(f"{home(place)}{JOURNAL}"))


@dataclass
class PlaceWorld(Scheduler):
    """Processes over one lake; `configured` is the place that the next one is told."""

    configured: str = LAKE

    def __post_init__(self) -> None:
        self.good_reasons = (*GOOD_REASONS, JournalElsewhere)

    def store_for(self, ask: Ask) -> Store:
        """The store by the configuration of now."""
        place = self.configured
        lake = MemoryStore(moved(ask, lambda act: home(LAKE) if lies_with_journal(act) else ""))
        if place == LAKE:
            return lake
        journal = MemoryStore(moved(ask, lambda _act: home(place)))
        return split_store(lake, journal, place)

    def start(self, name: str, place: str, program: Program | None = None) -> None:
        """Start a process with a configuration."""
        self.configured = place
        self.record.append(f"journal: {place or '-'}")
        self.spawn(name, program or owner())

    def check_step(self, before: Shelf, _act: Act, after: Shelf) -> None:
        """J2 and J3."""
        if before is after:
            return
        used = [place for place in PLACES if entries_at(after, place) > 1]
        if len(used) > 1:
            raise Violation("J2", f"journals are in use at {used}")
        most = self.visible(after).most_common(1)
        if most and most[0][1] > 1:
            raise Violation("J3", f"{most[0][0]} shows twice")

    def visible(self, shelf: Shelf) -> Counter[tuple[int, int]]:
        """The rows of all data files."""
        keys = [k for k in shelf.objects if k.startswith(DATA) and not k.startswith(TAIL)]
        return Counter((p, o) for key in keys for p, o in json.loads(shelf.objects[key]))

    def settle(self) -> None:
        """J4."""
        self.end_faults()
        named = self.shelf.objects.get(NAME)
        place = json.loads(named)["place"] if named is not None else LAKE
        if named is not None and entries_at(self.shelf, LAKE):
            return  # both have met, before either went on: an operator decides
        if named is None and not entries_at(self.shelf, LAKE):
            return  # nobody came so far
        for each in sorted(PLACES, key=lambda each: each == place):
            self.start(f"last {each}", each)
            result = self.run(f"last {each}")
            if result.startswith("JOURNAL_") == (each == place):
                raise Violation("J4", f"{each or 'the lake'} ends with {result}, {place} is named")
        wanted = {(p, o) for p, ends in self.kafka.latest.items() for o in range(ends)}
        if set(self.visible(self.shelf)) != wanted:
            raise Violation("J4", f"{wanted} were to be delivered")


class PlaceRun:
    """One random world: first starts with different configurations, crashes, lost requests."""

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser
        self.world = PlaceWorld(SimKafka({0: ["a", "b", "a"]}))
        self.turns = FaultyRun(chooser, self.world, self._new_owner)

    def run(self) -> None:
        """Run until everybody has ended, then check the end."""
        self.turns.run()

    def _new_owner(self) -> Program:
        self.world.configured = pick(self._chooser, PLACES)
        self.world.record.append(f"journal: {self.world.configured or '-'}")
        return owner(max_records=1)


def first_place_violation(schedules: int, seed: int = 0) -> str:
    """The first random world that breaks an invariant, as `random seed N: why`; empty for none."""
    return first_violation(PlaceRun, schedules, seed)
