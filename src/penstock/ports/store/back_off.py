"""Trying a request again with growing pauses, for stores whose services are busy at times.

Pure: the clock, the sleep and the randomness are arguments. Only for requests that may be repeated:
reads, and writes that are conditional or have an identity, so that a repeat finds what an earlier
try of ours has done. What is still unanswered after the last try is *unknown* for a write.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from penstock.model.value import Value

T = TypeVar("T")


class BackOff(Value, frozen=True):
    """How often and how long a request is tried.

    Each pause is between half and all of twice the last one, so that many clients that were
    refused together do not come back together. No try begins after `within_s`.
    """

    tries: int = 8
    first_pause_s: float = 0.1
    longest_pause_s: float = 5.0
    within_s: float = 30.0

    def pauses_s(self, random: Callable[[], float]) -> Iterator[float]:
        """The pauses between the tries. `random` gives numbers in [0, 1)."""
        whole_s = self.first_pause_s
        for _ in range(self.tries - 1):
            yield whole_s * (0.5 + 0.5 * random())
            whole_s = min(2 * whole_s, self.longest_pause_s)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What passes time: a clock that only goes forward, a sleep, and random numbers in [0, 1)."""

    tick: Callable[[], float]
    sleep: Callable[[float], None]
    random: Callable[[], float]


def try_again(
    act: Callable[[bool], T],
    may_pass: Callable[[Exception], bool],
    policy: BackOff,
    waiting: Waiting,
) -> T:
    """Do it, and again as long as its error may pass; raises the last error.

    `act` is told whether an earlier try went without an answer: then something that is there may
    be its own work. An error that may not pass is raised at once, and after it nothing is tried.
    """
    until = waiting.tick() + policy.within_s
    is_repeat = False
    for pause_s in policy.pauses_s(waiting.random):
        try:
            return act(is_repeat)
        except Exception as error:
            if not may_pass(error) or waiting.tick() + pause_s > until:
                raise
        waiting.sleep(pause_s)
        is_repeat = True
    return act(is_repeat)
