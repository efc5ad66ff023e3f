"""When a window is cut: when it is full, or when what waits has waited long enough.

Where a rate is given, not before that much time has passed.
"""

from collections.abc import Callable


class Pace:
    """The pacing of one feed. Asked before every plan, with what waits and how much fits.

    What is there at the start goes at once, since nobody knows how long it has waited: all of it,
    also if it takes several windows. `eager`: always at once.
    """

    def __init__(self, every_s: float, tick: Callable[[], float], *, eager: bool = False) -> None:
        self._every_s = every_s
        self._tick = tick
        self._eager = eager
        self._waiting_since: float | None = -float("inf")
        self._in_line_since: float | None = -float("inf")  # as above, but a window ends its turn
        self._seen = 0  # records that waited when it was last asked

    @property
    def in_line_since(self) -> float:
        """Since when something waits for its turn, as a tick; the far future if nothing does."""
        return float("inf") if self._in_line_since is None else self._in_line_since

    def is_due(self, waiting: int, cap: int) -> bool:
        """True when a window should be cut now."""
        self._seen = waiting
        if not waiting:
            self._waiting_since = self._in_line_since = None
            return False
        now = self._tick()
        if self._in_line_since is None:
            self._in_line_since = now
        if self._waiting_since is None:
            self._waiting_since = now
        return self._eager or waiting >= cap or now - self._waiting_since >= self._every_s

    def delivered(self, records: int) -> None:
        """A window with so many records was cut and delivered.

        What did not fit into it has waited no less than before; what came since begins to wait.
        """
        self._in_line_since = None
        if records >= self._seen:
            self._waiting_since = None


class Rate:
    """Bounds records per second: what may be taken grows with time, up to that of one `every`.

    So a feed that catches up takes at most `per_s` records a second on average, after a first
    window of one `every`. None: no bound.
    """

    def __init__(self, per_s: float | None, every_s: float, tick: Callable[[], float]) -> None:
        self._per_s = per_s
        self._tick = tick
        self._most = float("inf") if per_s is None else max(per_s * every_s, 1.0)
        self._left = self._most
        self._seen = tick()

    def most(self, cap: int) -> int:
        """How many of `cap` records one window may take when enough time has passed."""
        return int(min(cap, self._most))

    def allowed(self, wanted: int) -> int:
        """How many of the wanted records may be taken now; 0: wait, until it is worth a window."""
        self._grow()
        worth = min(wanted, self.most(wanted))
        return int(min(wanted, self._left)) if self._left >= worth else 0

    def spend(self, records: int) -> None:
        """So many were taken; they may be more than were left, and are waited for then."""
        self._grow()
        self._left -= records

    def _grow(self) -> None:
        now = self._tick()
        if self._per_s is not None:
            self._left = min(self._left + (now - self._seen) * self._per_s, self._most)
        self._seen = now
