"""Time that passes when a test says so."""

import dataclasses

from penstock.runtime.surroundings import Surroundings
from tests.simulator.programs import surroundings


class Clock:
    """Time that passes when told to, or when somebody sleeps."""

    def __init__(self) -> None:
        self.tick_s = 100.0

    def passes(self, seconds: float) -> None:
        """Let time go by."""
        self.tick_s += seconds

    def around(self) -> Surroundings:
        """Surroundings of a process that lives by this clock."""
        return dataclasses.replace(surroundings("run"), sleep=self.passes, tick=lambda: self.tick_s)
