"""Clock, sleep, randomness and threads for the protocol, always passed in as arguments."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Self

AT_ONCE = 32  # calls of a store mostly wait: for a disk to sync, or for the network
SYNCS_AT_ONCE = 16  # in each of many task processes, which share the disk or the network

Acts = Sequence[Callable[[], None]]


def one_by_one(acts: Acts) -> None:
    """Call them in order, on this thread."""
    for act in acts:
        act()


def side_by_side(acts: Acts) -> None:
    """Call them on several threads. All are tried; then the first error, in order, is raised.

    For calls that do not depend on each other and may be repeated.
    """
    if len(acts) < 2:
        one_by_one(acts)
        return
    with ThreadPoolExecutor(min(AT_ONCE, len(acts)), "penstock-act") as threads:
        begun = [threads.submit(act) for act in acts]
    for each in begun:
        each.result()


class Beside:
    """Runs calls in the background while the caller goes on; each batch waits for the one before.

    Leaving it waits for all. An error is raised by the next `do`, or when leaving.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(SYNCS_AT_ONCE, "penstock-beside")
        self._begun: list[Future[None]] = []

    def do(self, acts: Acts) -> None:
        """Start these calls when the previous ones are done."""
        self._wait()
        self._begun = [self._threads.submit(act) for act in acts]

    def _wait(self) -> None:
        """Wait for all calls, then raise the first error, in order."""
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
    `do_all` runs independent calls, one by one or in parallel.
    """

    now: Callable[[], float]
    sleep: Callable[[float], None]
    random: Random
    tick: Callable[[], float] = time.monotonic
    do_all: Callable[[Acts], None] = one_by_one

    def timestamp(self) -> str:
        """The time in the form of entries, in UTC."""
        return datetime.fromtimestamp(self.now(), UTC).isoformat(timespec="milliseconds")

    def nonce(self) -> str:
        """A random word that is unique."""
        return f"{self.random.getrandbits(128):032x}"
