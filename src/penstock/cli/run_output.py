"""The output of a run: lines of text on a terminal, JSON lines elsewhere."""

import json
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TextIO

from penstock.cli.moving_line import CLEAR
from penstock.cli.output_streams import say
from penstock.feeds.run_events import Event, Fact, Tell

_COLOURS = {"warning": "\x1b[33m", "error": "\x1b[31m"}
_PLAIN = "\x1b[0m"
_SAME_CONFLICT = ("dataset", "path", "wanted", "cause")
MANY = 8  # feeds; with more, a terminal shows what is usual in the moving line only
_USUAL = frozenset({"claimed", "window", "cleaned", "waiting", "done"})


def teller(environ: Mapping[str, str], stream: TextIO | None = None, feeds: int = 1) -> Tell:
    """A function that prints events, as text or as JSON. A failure to print is ignored.

    Any thread. On a terminal, `MANY` feeds print only what is not usual, so that it stays on the
    screen; the moving line counts the rest.
    """
    out = sys.stderr if stream is None else stream
    one_by_one = threading.Lock()  # lines of several feeds do not run into each other

    def show(text: str) -> None:
        with one_by_one:
            say(text, out)

    if not out.isatty():
        return lambda event: show(as_json(event, datetime.now(UTC)))
    return _Terminal(show, {} if environ.get("NO_COLOR") else _COLOURS, are_many=feeds > MANY)


class _Terminal:
    """Prints lines for a person. A field that does not fit its column is told once, not per window.

    Every window of a topic with such a field has the event again; a person has read it, and the
    lines about windows would be lost between them.
    """

    def __init__(
        self, show: Callable[[str], None], colours: Mapping[str, str], *, are_many: bool
    ) -> None:
        self._show = show
        self._colours = colours
        self._are_many = are_many
        self._told: set[tuple[Fact, ...]] = set()

    def __call__(self, event: Event) -> None:
        if self._are_many and event.name in _USUAL and event.level == "info":
            return
        if event.name == "conflict":
            what = (event.feed, *(event.facts.get(fact) for fact in _SAME_CONFLICT))
            if what in self._told:
                return
            self._told.add(what)
        self._show(CLEAR + as_line(event, self._colours))


def as_json(event: Event, at: datetime) -> str:
    """One event as a JSON line."""
    line = {
        "at": at.isoformat(timespec="milliseconds"),
        "level": event.level,
        "feed": event.feed,
        "event": event.name,
        "message": event.sentence,
    }
    return json.dumps({**line, **event.facts})


def as_line(event: Event, colours: Mapping[str, str]) -> str:
    """One event as a line of text."""
    begin = colours.get(event.level, "")
    about = f"{event.feed}: " if event.feed else ""
    return f"{begin}{about}{event.sentence}{_PLAIN if begin else ''}"
