"""Steps processes over one shelf, an act at a time, with faults; another class judges the steps."""

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.api.store import Store
from penstock.errors import EntryRefused, Fenced, OutcomeUnknown, PenstockError, StoreUnavailable
from penstock.testing.memory_store import Act, Answer, MemoryStore, Shelf
from tests.simulator.kafka import SimKafka
from tests.simulator.process import Ask, Process
from tests.simulator.programs import Program
from tests.simulator.story import Violation

When = Callable[[Act], bool]
MAX_STEPS = 5_000
GOOD_REASONS = (Fenced, OutcomeUnknown, StoreUnavailable, EntryRefused)


@dataclass
class Scheduler:
    """Steps processes one act at a time; keeps a readable record of what happened."""

    kafka: SimKafka
    atomic_publish: bool = False
    shelf: Shelf = field(default_factory=lambda: Shelf.empty())
    processes: dict[str, Process] = field(default_factory=dict)
    in_flight: list[tuple[str, Act]] = field(default_factory=list)
    record: list[str] = field(default_factory=list)
    damaged: bool = False
    broken: When = lambda _act: False  # what fails whoever asks for it, as long as this says so
    good_reasons: tuple[type[PenstockError], ...] = GOOD_REASONS

    def store_for(self, ask: Ask) -> Store:
        """The store of a process whose requests go through `ask`."""
        return MemoryStore(ask, atomic_publish=self.atomic_publish)

    def check_step(self, before: Shelf, act: Act, after: Shelf) -> None:
        """Judge one act; raises `Violation`."""
        raise NotImplementedError

    def settle(self) -> None:
        """Faults are over: finish everything, and judge the end."""
        raise NotImplementedError

    def end_faults(self) -> None:
        """Nobody runs any more, and what is in flight lands."""
        self.broken = lambda _act: False
        for process in self.processes.values():
            process.kill()
        while self.in_flight:
            self.deliver()

    def spawn(self, name: str, program: Program) -> Process:
        """Start a process; it stops before its first request."""
        process = Process(name, program, self.kafka, store_for=self.store_for)
        self.processes[name] = process
        self.record.append(f"{name} starts")
        return process

    def go(self, name: str) -> None:
        """Perform the pending act and give the answer."""
        process, act = self._pending(name)
        if self.broken(act):
            self.fail(name)
            return
        answer = self._perform(name, act)
        process.resume(answer)
        self._note_end(process)

    def fail(self, name: str) -> None:
        """The act does not happen and the process gets an error."""
        process, act = self._pending(name)
        self.record.append(f"{name} {act}  [fails]")
        process.resume(_error(act))
        self._note_end(process)

    def lose_reply(self, name: str) -> None:
        """The act happens and the process gets an error."""
        process, act = self._pending(name)
        self._perform(name, act, "  [reply lost]")
        process.resume(_error(act))
        self._note_end(process)

    def delay(self, name: str) -> None:
        """The act is on its way, the process gets an error, and it lands whenever it lands."""
        process, act = self._pending(name)
        self.in_flight.append((name, act))
        self.record.append(f"{name} {act}  [delayed]")
        process.resume(_error(act))
        self._note_end(process)

    def deliver(self, index: int = 0) -> None:
        """A delayed act lands now."""
        name, act = self.in_flight.pop(index)
        self._perform(name, act, "  [lands late]")

    def crash(self, name: str) -> None:
        """kill -9."""
        self.processes[name].kill()
        self.record.append(f"{name} is killed")

    def run_until(self, name: str, when: When) -> None:
        """Let one process run until it is about to do something; it must come to that."""
        for _ in range(MAX_STEPS):
            process = self.processes[name]
            if process.pending is None:
                raise AssertionError(f"{name} ended ({process.ended}) before the awaited act")
            if when(process.pending):
                return
            self.go(name)
        raise AssertionError(f"{name} did not come to the awaited act")

    def run(self, name: str) -> str:
        """Let one process run to its end; returns its result."""
        for _ in range(MAX_STEPS):
            process = self.processes[name]
            if process.ended is not None:
                return process.ended.result
            self.go(name)
        raise Violation("I13", f"{name} does not come to an end")

    def put(self, key: str, data: bytes | None, note: str) -> None:
        """A foreign hand changes an object; the oracle is not asked."""
        self.damaged = True
        self.shelf = self.shelf.with_object(key, data)
        self.record.append(f"somebody: {note} {key}")

    def run_alone(self, name: str, program: Program) -> None:
        """Let one process run to its end while nobody else does; it must succeed."""
        self.spawn(name, program)
        self.run(name)
        ended = self.processes[name].ended
        if ended is not None and ended.error is not None:
            raise Violation("I13", f"{name} alone failed: {ended.error}") from ended.error

    def _pending(self, name: str) -> tuple[Process, Act]:
        process = self.processes[name]
        if process.pending is None:
            raise AssertionError(f"{name} is not waiting")
        return process, process.pending

    def _perform(self, name: str, act: Act, note: str = "") -> Answer:
        answer, after = self.shelf.perform(act)
        said = f" = {answer}" if isinstance(answer, bool) or answer is None else ""
        self.record.append(f"{name} {act}{said}{note}")
        before, self.shelf = self.shelf, after
        self.check_step(before, act, after)
        return answer

    def _note_end(self, process: Process) -> None:
        if process.ended is not None:
            self.record.append(f"{process.name} ends: {process.ended.result}")
            if not self.damaged:
                check_ended(process, self.good_reasons)


def check_ended(
    process: Process, good_reasons: tuple[type[PenstockError], ...] = GOOD_REASONS
) -> None:
    """In an undamaged world there are few good reasons to give up."""
    error = process.ended.error if process.ended is not None else None
    if error is not None and not isinstance(error, good_reasons):
        raise Violation("I11", f"{process.name} gave up without a cause: {error}") from error


def _error(act: Act) -> PenstockError:
    if act.is_read:
        return StoreUnavailable(act.name, act.key, "simulated")
    return OutcomeUnknown(act.name, act.key, "simulated")
