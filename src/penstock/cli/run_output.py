"""The output of a run: lines of text on a terminal, JSON lines elsewhere."""

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

from penstock.cli.moving_line import CLEAR
from penstock.cli.output_streams import say
from penstock.feeds.run_events import Event, Fact, Tell
from penstock.feeds.runner import Runner

_COLOURS = {"warning": "\x1b[33m", "error": "\x1b[31m"}
_PLAIN = "\x1b[0m"
_SAME_CONFLICT = ("dataset", "path", "wanted", "cause")


def teller(environ: Mapping[str, str], stream: TextIO | None = None) -> Tell:
    """A function that prints events, as text or as JSON. A failure to print is ignored."""
    out = sys.stderr if stream is None else stream
    if not out.isatty():
        return lambda event: say(as_json(event, datetime.now(UTC)), out)
    colours = {} if environ.get("NO_COLOR") else _COLOURS
    return _Terminal(out, colours)


class _Terminal:
    """Prints lines for a person. A field that does not fit its column is told once, not per window.

    Every window of a topic with such a field has the event again; a person has read it, and the
    lines about windows would be lost between them.
    """

    def __init__(self, out: TextIO, colours: Mapping[str, str]) -> None:
        self._out = out
        self._colours = colours
        self._told: set[tuple[Fact, ...]] = set()

    def __call__(self, event: Event) -> None:
        if event.name == "conflict":
            what = (event.feed, *(event.facts.get(fact) for fact in _SAME_CONFLICT))
            if what in self._told:
                return
            self._told.add(what)
        say(CLEAR + as_line(event, self._colours), self._out)


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


def stop_event(runner: Runner | None, tick: float, grace_s: float) -> Event:
    """What is told once when a run is asked to stop: what it finishes first, if anything."""
    working = [] if runner is None else runner.feeds_at_work()
    doing = next((feed for feed in working if runner and feed.name == runner.turn), None)
    if doing is None:
        return Event("", "stopping", "stopping: no window is being worked on")
    sentence = (
        f"stopping: finishing the window first ({doing.doing(tick)}); "
        f"after {grace_s:.0f} s it is abandoned, and the next run reads it again"
    )
    return Event(doing.name, "stopping", sentence, {"grace_s": grace_s})


def abandon_event(feed: str, grace_s: float) -> Event:
    """What is told when the time to finish is over."""
    sentence = (
        f"stopping: {grace_s:.0f} s are over, the window is abandoned; "
        "nothing of it is visible, and the next run reads it again"
    )
    return Event(feed, "abandoned", sentence, {"grace_s": grace_s}, "warning")
