"""The output of a run: lines of text on a terminal, JSON lines elsewhere."""

import json
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TextIO

from penstock.cli.output_streams import say
from penstock.feeds.run_events import Event, Tell
from penstock.feeds.runner import Runner

_COLOURS = {"warning": "\x1b[33m", "error": "\x1b[31m"}
_PLAIN = "\x1b[0m"
_CLEAR = "\r\x1b[2K"


def teller(environ: Mapping[str, str], stream: TextIO | None = None) -> Tell:
    """A function that prints events, as text or as JSON. A failure to print is ignored."""
    out = sys.stderr if stream is None else stream
    if not out.isatty():
        return lambda event: say(as_json(event, datetime.now(UTC)), out)
    colours = {} if environ.get("NO_COLOR") else _COLOURS
    return lambda event: say(_CLEAR + as_line(event, colours), out)


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
    return f"{begin}{event.feed}: {event.sentence}{_PLAIN if begin else ''}"


class Ticker:
    """The last line on a terminal, updated every second: what each feed is doing."""

    def __init__(self, runner: Runner, tick: Callable[[], float], stream: TextIO) -> None:
        self._runner = runner
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
            say(_CLEAR, self._stream, end="")

    def _otherwise(self) -> str:
        return "waiting" if self._runner.has_begun else "starting Spark"

    def _run(self) -> None:
        while not self._stop.wait(1.0):
            doing = [
                f"{feed.name}: {feed.doing(self._tick())}" for feed in self._runner.feeds_at_work()
            ]
            say(_CLEAR + ("  ".join(doing) or self._otherwise())[:150], self._stream, end="")
