"""Time that passes when a test says so."""

import dataclasses

from penstock.runtime.surroundings import Surroundings
from tests.simulator.programs import surroundings

BEGAN_S = 1_799_999_900.0


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
        return dataclasses.replace(plain, now=self.now, sleep=self.passes, tick=lambda: self.tick_s)

    def now(self) -> float:
        """The wall clock, which goes as fast."""
        return BEGAN_S + self.tick_s
