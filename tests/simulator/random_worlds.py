"""Random runs of a world, one after the other, until one breaks an invariant."""

from collections.abc import Callable
from typing import Protocol

from tests.simulator.chooser import RandomChooser
from tests.simulator.facts import Violation


class WorldRun(Protocol):
    """One run of a world; raises `Violation`."""

    def run(self) -> object: ...


def first_violation(
    world: Callable[[RandomChooser], WorldRun], schedules: int, seed: int = 0
) -> str:
    """The first random run that breaks an invariant, as `random seed N: why`; empty for none."""
    for each in range(seed, seed + schedules):
        run = world(RandomChooser(each))
        try:
            run.run()
        except Violation as error:
            return f"random seed {each}: {error}"
    return ""
