"""When a window is cut: when it is full, or when what waits has waited long enough."""

from collections.abc import Callable


class Pace:
    """The pacing of one feed. Asked before every plan, with what waits and how much fits.

    What is there at the start goes at once, since nobody knows how long it has waited. `eager`:
    always at once.
    """

    def __init__(self, every_s: float, tick: Callable[[], float], *, eager: bool = False) -> None:
        self._every_s = every_s
        self._tick = tick
        self._eager = eager
        self._waiting_since: float | None = -float("inf")

    def is_due(self, waiting: int, cap: int) -> bool:
        """True when a window should be cut now."""
        if not waiting:
            self._waiting_since = None
            return False
        now = self._tick()
        if self._waiting_since is None:
            self._waiting_since = now
        return self._eager or waiting >= cap or now - self._waiting_since >= self._every_s

    def delivered(self) -> None:
        """A window was cut and delivered; what is left came after it, or did not fit into it."""
        self._waiting_since = None
