"""The output of a run: lines of text on a terminal, JSON lines elsewhere."""

import json
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

from penstock.cli.moving_line import CLEAR
from penstock.cli.output_streams import say
from penstock.feeds.run_events import Event, Tell

_COLOURS = {"warning": "\x1b[33m", "error": "\x1b[31m"}
_PLAIN = "\x1b[0m"
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
    colours = {} if environ.get("NO_COLOR") else _COLOURS

    def tell(event: Event) -> None:
        if feeds <= MANY or event.name not in _USUAL or event.level != "info":
            show(CLEAR + as_line(event, colours))

    return tell


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
