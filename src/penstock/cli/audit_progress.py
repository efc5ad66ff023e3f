"""The progress of an audit, or of what works like one: one line on a terminal, none in a pipe."""

from collections.abc import Callable
from typing import TextIO

from penstock.cli.output_streams import say

PATIENCE_S = 1.0  # no progress is shown before this time


class Ticker:
    """Shows the progress of a command, on a terminal only, and not in the first moments."""

    def __init__(self, out: TextIO, clock: Callable[[], float], command: str = "audit") -> None:
        self._command = command
        self._out = out
        self._clock = clock
        self._shows = out.isatty()
        self._next_s = clock() + PATIENCE_S
        self._shown = False

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show one step, at most a few times per second."""
        if not self._shows or self._clock() < self._next_s:
            return
        self._next_s = self._clock() + 0.2
        self._shown = True
        say(f"\r\x1b[K{self._command}: {what} {done} of {total}", self._out, end="")

    def close(self) -> None:
        """Leave the terminal on a clean line."""
        if self._shown:
            say("\r\x1b[K", self._out, end="")
            self._shown = False
