"""A process of the simulator: real code in a greenlet, stopped before every request it makes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

from penstock.api.store import Store
from penstock.errors import PenstockError
from penstock.testing.memory_store import Act, Answer, MemoryStore
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import Program, Room, surroundings

Ask = Callable[[Act], Answer]
StoreFor = Callable[[Ask], Store]  # the store of a process whose requests go this way


@dataclass(frozen=True)
class Ended:
    """How a process came to its end by itself."""

    result: str
    error: PenstockError | None = None


class Process:
    """Runs a program up to its next request; `resume` gives the answer and runs on."""

    def __init__(
        self,
        name: str,
        program: Program,
        kafka: SimKafka,
        *,
        atomic_publish: bool = False,
        store_for: StoreFor | None = None,
    ) -> None:
        self.name = name
        self.ended: Ended | None = None
        self.pending: Act | None = None
        self._killed = False
        made = store_for(self._ask) if store_for is not None else None
        store = made or MemoryStore(self._ask, atomic_publish=atomic_publish)
        self._room = Room(name, store, surroundings(name), kafka)
        self._program = program
        self._greenlet = greenlet(self._run)
        self._take(self._greenlet.switch())

    @property
    def is_alive(self) -> bool:
        """True while it waits for an answer."""
        return self.pending is not None

    def resume(self, answer: Answer | PenstockError) -> None:
        """Answer the pending request, or fail it, and run to the next one."""
        self.pending = None
        self._take(self._greenlet.switch(answer))

    def kill(self) -> None:
        """kill -9: not one more request, whatever the code would like to tidy up."""
        self.pending = None
        self._killed = True
        if not self._greenlet.dead:
            self._greenlet.throw(GreenletExit)

    def _take(self, came: Any) -> None:
        if isinstance(came, Act):
            self.pending = came
        elif isinstance(came, Ended):
            self.ended = came

    def _run(self) -> Ended | None:
        try:
            return Ended(self._program(self._room))
        except PenstockError as error:
            return Ended(f"{error.code}", error)
        except GreenletExit:
            return None

    def _ask(self, act: Act) -> Answer:
        if self._killed:
            raise GreenletExit
        hub = getcurrent().parent
        if hub is None:
            raise RuntimeError("a process can only ask from inside its greenlet")
        answer = hub.switch(act)
        if isinstance(answer, PenstockError):
            raise answer
        return answer  # type: ignore[no-any-return]
