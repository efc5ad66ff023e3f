"""When to ask again for what was not there: after pauses that grow, counted in windows."""

from dataclasses import dataclass

_DOUBLINGS = 6  # the longest pause is of 64 windows
MOST_REMEMBERED = 2_000


@dataclass(slots=True)
class Pause:
    """How often in a row there was no use in asking, and from which window on to try again."""

    times: int = 0
    until: int = 0

    def grow(self, window: int) -> None:
        """It was of no use again: leave it for this window, then for two, for four, and so on."""
        self.until = window + 2 ** min(self.times, _DOUBLINGS)
        self.times += 1

    def is_over(self, window: int) -> bool:
        """Whether to ask."""
        return window >= self.until


class NamesNotFound:
    """Names for which nothing was found. Records may name anything, so their number is bounded."""

    def __init__(self) -> None:
        self._pauses: dict[str, Pause] = {}

    def __contains__(self, key: str) -> bool:
        """Whether a name is remembered."""
        return key in self._pauses

    def add(self, key: str, window: int) -> None:
        """There was nothing in this window; the names that came first are forgotten first."""
        pause = self._pauses.pop(key, None) or Pause()
        pause.grow(window)
        self._pauses[key] = pause
        while len(self._pauses) > MOST_REMEMBERED:
            del self._pauses[next(iter(self._pauses))]

    def remove(self, key: str) -> None:
        """It is there now."""
        self._pauses.pop(key, None)

    def is_due(self, key: str, window: int) -> bool:
        """Whether to ask again for a name that is remembered."""
        pause = self._pauses.get(key)
        return pause is not None and pause.is_over(window)
