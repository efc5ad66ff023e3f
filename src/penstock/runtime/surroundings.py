"""What the protocol takes from the world around it; never reached for, always handed in."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Self

AT_ONCE = 16  # acts of a store mostly wait: for a disk to sync, for an answer from afar

Acts = Sequence[Callable[[], None]]


def one_by_one(acts: Acts) -> None:
    """Do them in their order, on this thread."""
    for act in acts:
        act()


def side_by_side(acts: Acts) -> None:
    """Do them on several threads. All are tried; then the first error, in their order, is raised.

    For acts that do not depend on each other and may be repeated.
    """
    if len(acts) < 2:
        one_by_one(acts)
        return
    with ThreadPoolExecutor(min(AT_ONCE, len(acts)), "penstock-act") as threads:
        begun = [threads.submit(act) for act in acts]
    for each in begun:
        each.result()


class Beside:
    """Does acts side by side while its user goes on; the next ones wait for those before them.

    Leaving it waits for all. What an act raises comes out of the next `do`, or then.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, "penstock-beside")
        self._begun: list[Future[None]] = []

    def do(self, acts: Acts) -> None:
        """Begin with these as soon as the last ones are done."""
        self._wait()
        self._begun = [self._threads.submit(act) for act in acts]

    def _wait(self) -> None:
        """Wait for all of them, then raise the first error in their order."""
        begun, self._begun = self._begun, []
        wait(begun)
        for each in begun:
            each.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._wait()
        finally:
            self._threads.shutdown()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Clock, sleep and randomness. No decision depends on the clock; it only dates entries.

    `tick` never goes back and means nothing between processes; it is for pacing and waiting.
    `do_all` does independent acts, one by one or side by side.
    """

    now: Callable[[], float]
    sleep: Callable[[float], None]
    random: Random
    tick: Callable[[], float] = time.monotonic
    do_all: Callable[[Acts], None] = one_by_one

    def timestamp(self) -> str:
        """The time as it stands in entries, in UTC."""
        return datetime.fromtimestamp(self.now(), UTC).isoformat(timespec="milliseconds")

    def nonce(self) -> str:
        """A word that nobody else will ever use."""
        return f"{self.random.getrandbits(128):032x}"
