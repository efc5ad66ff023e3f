"""Removing what dead runs have staged, beside the loop: after each claim, and once an hour.

It is a thread of its own, so that no window waits for it and none that is delivered can fail by it.
What is removed is decided elsewhere; repeating it is always safe.
"""

import queue
import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from penstock.errors import PenstockError
from penstock.feeds.run_events import Event, Tell
from penstock.model.plural import number_of

EVERY_S = 3600.0
END_S = 10.0  # how long the end of a run waits; what is left is removed by the next


class Cleanable(Protocol):
    """A feed that is owned."""

    @property
    def name(self) -> str:
        """Which feed it is."""
        ...

    def clean(self) -> int:
        """Remove what dead runs have staged; returns how many files. Any thread."""
        ...


class Cleaner:
    """Cleans until stopped. What fails is told, and tried again within the hour."""

    def __init__(
        self,
        feeds: Callable[[], Iterable[Cleanable]],
        tell: Tell,
        every_s: float = EVERY_S,
    ) -> None:
        self._feeds = feeds
        self._tell = tell
        self._every_s = every_s
        self._asked: queue.SimpleQueue[Cleanable | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="penstock-cleaner", daemon=True)

    def __enter__(self) -> "Cleaner":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Finish what was asked for, if that is soon."""
        self._asked.put(None)
        self._thread.join(END_S)

    def soon(self, feed: Cleanable) -> None:
        """Clean a feed that was just claimed: its former owner is fenced now. Any thread."""
        self._asked.put(feed)

    def _run(self) -> None:
        while True:
            try:
                asked = self._asked.get(timeout=self._every_s)
            except queue.Empty:
                for feed in self._feeds():
                    self._clean(feed)
                continue
            if asked is None:
                return
            self._clean(asked)

    def _clean(self, feed: Cleanable) -> None:
        try:
            removed = feed.clean()
        except PenstockError as error:
            sentence = f"what dead runs have staged could not be removed yet: {error}"
            self._tell(Event(feed.name, "clean_failed", sentence, {"code": error.code}, "warning"))
            return
        if removed:
            files = number_of(removed, "staged file")
            sentence = f"{files} of dead runs removed"
            self._tell(Event(feed.name, "cleaned", sentence, {"files": removed}))
