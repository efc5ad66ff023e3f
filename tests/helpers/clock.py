"""Time that passes when a test says so."""

import dataclasses

from penstock.runtime.surroundings import Surroundings
from tests.simulator.programs import surroundings


class Clock:
    """Time that passes when told to, or when somebody sleeps."""

    def __init__(self) -> None:
        self.tick_s = 100.0
        self._processes = 0

    def passes(self, seconds: float) -> None:
        """Let time go by."""
        self.tick_s += seconds

    def around(self) -> Surroundings:
        """Surroundings of another process that lives by this clock."""
        self._processes += 1
        plain = surroundings(f"process {self._processes}")
        return dataclasses.replace(plain, sleep=self.passes, tick=lambda: self.tick_s)
