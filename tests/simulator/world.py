"""A world: one shelf, some processes, a source, and an oracle that watches every step."""

from dataclasses import dataclass

from penstock.care.seek import unpark
from penstock.testing.memory_store import Act, Shelf
from tests.simulator.oracle import Oracle
from tests.simulator.programs import Program, Room, owner, surroundings
from tests.simulator.rare_programs import gap_accepter, rebinder
from tests.simulator.scheduler import Scheduler
from tests.simulator.story import PERSON, Violation


@dataclass
class World(Scheduler):
    """Processes of one feed, and the oracle that judges each step."""

    def __post_init__(self) -> None:
        self.oracle = Oracle(self.kafka)

    def check_step(self, before: Shelf, act: Act, after: Shelf) -> None:
        """What one act may never do, and what must hold after it."""
        self.oracle.check_step(before, act, after)

    def lose(self, key: str) -> None:
        """A foreign hand takes an object or a staged file away; the oracle remembers its proof."""
        self.oracle.remember(self.shelf, key)
        if key in self.shelf.staged:
            self.shelf = self.shelf.with_staged(key, None)
        self.shelf = self.shelf.with_object(key, None)
        self.record.append(f"somebody: loses {key}")

    def restore(self, key: str, copy: bytes) -> None:
        """A foreign hand puts an older copy back, over whatever lies there now."""
        self.oracle.remember(self.shelf, key)
        self.shelf = self.shelf.with_object(key, copy)
        self.record.append(f"somebody: restores {key}")

    def settle(self) -> None:
        """Faults are over: what is in flight lands, and a fresh owner finishes it all, twice."""
        self.end_faults()
        self._mend_source()
        self._let_all_go_on()
        self.run_alone("last", owner(max_windows=200))
        if self._let_all_go_on():  # it met records that stopped a dataset
            self.run_alone("last", owner(max_windows=200))
        self.oracle.check_end(self.shelf)
        before = beyond_claims(self.shelf)
        self.run_alone("again", owner(max_windows=200))
        if beyond_claims(self.shelf) != before:
            raise Violation("I9", "recovering twice changed something")
        self.oracle.check_end(self.shelf)
        self._check_nothing_open()

    def _check_nothing_open(self) -> None:
        """I9: also to a process that opens the journal, nothing is undone, owed or parked."""
        store = self.store_for(lambda act: self.shelf.perform(act)[0])
        state = Room("reader", store, surroundings("reader"), self.kafka).journal().open().state
        if state.undone or state.owed or state.parked:
            raise Violation("I9", f"still open: {state.undone} {state.owed} {state.parked}")

    def _mend_source(self) -> None:
        """A person accepts what has expired, and a topic that was made again."""
        story = self.oracle.story(self.shelf)
        if story.topic_id not in ("", self.kafka.topic_id):
            self.run_alone("rebind", rebinder())
        if any(self.kafka.earliest.get(p, 0) > at for p, at in story.watermarks.items()):
            self.run_alone("gaps", gap_accepter())

    def _let_all_go_on(self) -> bool:
        """A person gives the word for every dataset that waits; False when none does."""
        parked = sorted({p.partition("@")[0] for p in self.oracle.story(self.shelf).parked})
        for dataset in parked:
            self.run_alone("unpark", unparker(dataset))
        return bool(parked)


def beyond_claims(shelf: Shelf) -> dict[str, bytes]:
    """Everything but the journal and its tail marks: an owner that finds nothing to do claims."""
    return {k: v for k, v in shelf.objects.items() if "/journal/" not in k and "/_tail/" not in k}


def unparker(dataset: str) -> Program:
    """A person's word that a parked dataset may go on."""

    def run(room: Room) -> str:
        unpark(room.journal(), room.around, dataset, PERSON, "simulated")
        return "unparked"

    return run
