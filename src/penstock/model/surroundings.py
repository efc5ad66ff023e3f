"""What the protocol takes from the world around it; never reached for, always handed in."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Clock, sleep and randomness. No decision depends on the clock; it only dates entries.

    `tick` never goes back and means nothing between processes; it is for pacing and waiting.
    """

    now: Callable[[], float]
    sleep: Callable[[float], None]
    random: Random
    tick: Callable[[], float] = time.monotonic

    def timestamp(self) -> str:
        """The time as it stands in entries, in UTC."""
        return datetime.fromtimestamp(self.now(), UTC).isoformat(timespec="milliseconds")

    def nonce(self) -> str:
        """A word that nobody else will ever use."""
        return f"{self.random.getrandbits(128):032x}"
