"""One random run: owners and commands start; requests fail, get lost, come late; crashes."""

from collections.abc import Callable

from tests.simulator.chooser import Chooser, pick
from tests.simulator.programs import Program
from tests.simulator.scheduler import Scheduler

VERDICTS = ("go",) * 40 + ("fail", "lose", "lose", "delay", "delay", "crash", "sleep")
STEPS = 400


class FaultyRun:
    """Starts and steps the processes of a world, as a chooser says."""

    def __init__(
        self,
        chooser: Chooser,
        world: Scheduler,
        new_owner: Callable[[], Program],
        grow: Callable[[], None] = lambda: None,
    ) -> None:
        self._chooser = chooser
        self._world = world
        self._new_owner = new_owner
        self._grow = grow  # called before each step
        self._budget = 3 + chooser.index(5)
        self._starts = 2 + chooser.index(2)
        self.commands: list[tuple[str, Program]] = []  # started from the last on
        self._started = 0
        self._asleep: set[str] = set()
        self.steps = STEPS
        self.commands_from = 0  # the step from which on commands start, unless nobody else does
        self._step_now = 0

    def run(self) -> None:
        """Run until everybody has ended, then let the dust settle and check the end."""
        current = ""
        for step in range(self.steps):
            self._step_now = step
            waiting = [n for n, p in self._world.processes.items() if p.is_alive]
            if self._is_time_to_start(waiting):
                if not self._start_somebody():
                    break
                continue
            if current not in waiting or self._chooser.index(4) == 0:
                awake = [name for name in waiting if name not in self._asleep]
                current = pick(self._chooser, awake or waiting)
            self._step(current)
        self._world.settle()

    def _is_time_to_start(self, waiting: list[str]) -> bool:
        """Somebody starts when nobody is awake, and now and then in between."""
        if all(name in self._asleep for name in waiting):
            return self._can_start() or not waiting
        if self._starts == 0 and self._step_now < self.commands_from:
            return False
        return self._can_start() and self._chooser.index(12) == 0

    def _can_start(self) -> bool:
        return self._starts > 0 or bool(self.commands)

    def _start_somebody(self) -> bool:
        if not self._can_start():
            return False
        self._started += 1
        is_early = self._step_now < self.commands_from and self._starts > 0
        if self.commands and not is_early and (self._starts == 0 or self._chooser.index(2) == 0):
            kind, program = self.commands.pop()
            self._world.spawn(f"{kind}{self._started}", program)
        else:
            self._starts -= 1
            self._world.spawn(f"owner{self._started}", self._new_owner())
        return True

    def _step(self, name: str) -> None:
        self._grow()
        if self._world.in_flight and self._chooser.index(5) == 0:
            self._world.deliver(self._chooser.index(len(self._world.in_flight)))
            return
        verdict = pick(self._chooser, VERDICTS) if self._budget > 0 else "go"
        if verdict == "go":
            self._world.go(name)
            return
        self._budget -= 1
        if verdict == "crash":
            self._world.crash(name)
            if name.startswith("owner"):
                self._starts += 1
        elif verdict == "sleep":
            self._asleep.add(name)  # a SIGSTOP: it goes on when everybody else has ended
        elif verdict == "fail":
            self._world.fail(name)
        elif verdict == "lose":
            self._world.lose_reply(name)
        else:
            self._delay(name)

    def _delay(self, name: str) -> None:
        pending = self._world.processes[name].pending
        if pending is not None and not pending.is_read:
            self._world.delay(name)
        else:
            self._world.fail(name)
