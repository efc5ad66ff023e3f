"""The last line of a run on a terminal, which is updated every second: who works, who waits.

It never takes more than the width of the terminal: a line that wraps cannot be written over.
"""

import os
import threading
from collections.abc import Callable, Sequence
from typing import TextIO

from penstock.cli.output_streams import say
from penstock.feeds.runner import Runner
from penstock.model.plural import number_of

CLEAR = "\r\x1b[2K"
USUAL_COLUMNS = 80
_CUT = "..."
_LEAST = 20  # characters that are left of a sentence; with fewer, what stands behind it goes


class Ticker:
    """Shows what the feeds of a runner do, on a terminal only; and what is done `beside` them."""

    def __init__(
        self,
        runner: Runner,
        tick: Callable[[], float],
        stream: TextIO,
        beside: Callable[[], str] = lambda: "",
    ) -> None:
        self._runner = runner
        self._beside = beside
        self._tick = tick
        self._stream = stream
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-ticker", daemon=True)

    def __enter__(self) -> "Ticker":
        if self._stream.isatty():
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
            say(CLEAR, self._stream, end="")

    def _run(self) -> None:
        while not self._stop.wait(1.0):
            columns = columns_of(self._stream)
            line = line_of(self._runner, self._tick(), columns, self._beside())
            say(CLEAR + line, self._stream, end="")


def columns_of(stream: TextIO) -> int:
    """The width of a terminal."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL_COLUMNS
    except (OSError, ValueError):
        return USUAL_COLUMNS


def line_of(runner: Runner, tick: float, columns: int, beside: str = "") -> str:
    """What a runner does, in one line."""
    if not runner.has_begun:
        return fitted(["starting Spark"], beside, columns)
    owned = runner.feeds_at_work()
    working = [feed for feed in owned if feed.name == runner.turn]
    waiting = len(owned) - len(working)
    if working:
        told = [f"{feed.name}: {feed.doing(tick)}" for feed in working]
        others = number_of(waiting, "other feed") + " waiting" if waiting else ""
        return fitted(told, "; ".join(filter(None, (others, beside))), columns)
    if len(owned) == 1:
        return fitted([f"{owned[0].name}: waiting for records"], beside, columns)
    if owned:
        return fitted([f"{number_of(len(owned), 'feed')} waiting for records"], beside, columns)
    return fitted([runner.why_none_is_owned()], beside, columns)


def fitted(told: Sequence[str], behind: str, columns: int) -> str:
    """As many sentences as fit, how many do not, and what stands behind them; cut, if needed.

    The last column stays free: some terminals wrap when it is written.
    """
    most = max(columns - 1, len(_CUT))
    for shown in range(len(told), 0, -1):
        left = len(told) - shown
        more = [f"{left} more at work"] if left else []
        line = "; ".join([*told[:shown], *more, *([behind] if behind else [])])
        if len(line) <= most:
            return line
    end = f"; {behind}" if behind else ""
    if most - len(end) < _LEAST:
        return _cut(line, most)
    return _cut(line.removesuffix(end), most - len(end)) + end


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else line[: most - len(_CUT)] + _CUT
