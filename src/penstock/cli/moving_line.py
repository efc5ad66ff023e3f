"""The last line of a run on a terminal, which is updated every second: who works, who waits.

It never takes more than the width of the terminal: a line that wraps cannot be written over.
"""

import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TextIO

from penstock.cli.output_streams import say
from penstock.feeds.live_states import Doing, LiveState
from penstock.feeds.runner import Runner
from penstock.model.plural import number_of

CLEAR = "\r\x1b[2K"
USUAL_COLUMNS = 80
_CUT = "..."
_FOR_RECORDS = "waiting"
_OTHERS: dict[Doing, str] = {
    "idle": _FOR_RECORDS,
    "waiting for a slot": "waiting for a slot",
    "in trouble": "in trouble",
    "in line": "of another instance",
    "halted": "halted",
    "stopped": "stopped",
    "stuck": "stuck",
}
_LEAST = 20  # characters that are left of a sentence; with fewer, what stands behind it goes


class Ticker:
    """Shows what the feeds of a runner do, on a terminal only; and what is done `beside` them."""

    def __init__(
        self,
        runner: Runner,
        stream: TextIO,
        beside: Callable[[], str] = lambda: "",
    ) -> None:
        self._runner = runner
        self._beside = beside
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
            line = line_of(self._runner, columns, self._beside())
            say(CLEAR + line, self._stream, end="")


def columns_of(stream: TextIO) -> int:
    """The width of a terminal."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL_COLUMNS
    except (OSError, ValueError):
        return USUAL_COLUMNS


def line_of(runner: Runner, columns: int, beside: str = "") -> str:
    """What the feeds of a runner do, in one line: who works, and how many do something else."""
    states = runner.live_states()
    if not runner.has_begun:
        return fitted(["starting Spark"], beside, columns)
    working = [f"{each.feed}: {each.sentence}" for each in states if each.doing == "working"]
    if working:
        return fitted(working, "; ".join(filter(None, (_others(states), beside))), columns)
    return fitted([_idle(states)], beside, columns)


def _others(states: Sequence[LiveState]) -> str:
    """How many feeds do not work, by what they do."""
    counts = Counter(_OTHERS[each.doing] for each in states if each.doing in _OTHERS)
    owned = counts.pop(_FOR_RECORDS, 0)
    first = [f"{number_of(owned, 'other feed')} {_FOR_RECORDS}"] if owned else []
    return "; ".join([*first, *(f"{count} {what}" for what, count in counts.items())])


def _idle(states: Sequence[LiveState]) -> str:
    """What is waited for while no feed works."""
    owned = [each for each in states if each.is_owned]
    if not owned:
        return _why_none_is_owned(states)
    who = owned[0].feed if len(owned) == 1 else number_of(len(owned), "feed")
    separator = ": " if len(owned) == 1 else " "
    rest = "; ".join(filter(None, [_others([each for each in states if not each.is_owned])]))
    troubled = sum(each.doing == "in trouble" for each in owned)
    if troubled == len(owned):
        said = f"{who}{separator}trying again after a failure"
    else:
        said = f"{who}{separator}{_FOR_RECORDS} for records"
        said += f"; {troubled} in trouble" if troubled else ""
    return f"{said}; {rest}" if rest else said


def _why_none_is_owned(states: Sequence[LiveState]) -> str:
    """What the feeds wait for as long as none of them is owned."""
    doing = {each.doing for each in states} - {"done", "stopped", "halted", "stuck"}
    if doing == {"in line"}:
        return "waiting for another owner"
    if "in trouble" in doing:
        return "trying again after a failure"
    return "asking for topics and offsets"


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
