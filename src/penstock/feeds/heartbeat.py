"""The heart of a run: leaves a sign of life for every feed whose lease is held.

Each feed has a thread of its own, so that one whose store does not answer makes no other one late.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from penstock.protocol.journal.beats import BEAT_S

SPREAD = 16  # so many groups of feeds beat one after the other, not all at the same moment
END_S = 1.0  # how long the end of a run waits for beats that are on their way, all in all


class Beating(Protocol):
    """A feed that may be owned."""

    @property
    def name(self) -> str:
        """Which feed it is."""
        ...

    def beat(self) -> None:
        """Leave a sign of life, if its lease is held and there is reason to."""
        ...


class Heart:
    """Beats until stopped, for every feed that it was given, started or not.

    A beat that fails is told, whatever the error, and not repeated: the next one follows.
    """

    def __init__(
        self,
        trouble: Callable[[Beating, Exception], None],
        every_s: float = BEAT_S,
        end_s: float = END_S,
    ) -> None:
        self._trouble = trouble
        self._every_s = every_s
        self._end_s = end_s
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads: dict[str, threading.Thread] = {}

    def __enter__(self) -> "Heart":
        return self

    def beat_for(self, feed: Beating) -> None:
        """Begin to beat for a feed, until the end, or until it is opened again. Any thread."""
        with self._lock:
            first_s = self._every_s * (len(self._threads) % SPREAD + 1) / SPREAD
            thread = threading.Thread(
                target=self._run, args=(feed, first_s), name="penstock-heart", daemon=True
            )
            self._threads[feed.name] = thread
        thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        with self._lock:
            threads = list(self._threads.values())
        for thread in threads:
            thread.join(self._end_s / len(threads))

    def _run(self, feed: Beating, first_s: float) -> None:
        pause_s = first_s
        while not self._stop.wait(pause_s) and self._is_newest(feed.name):
            pause_s = self._every_s
            try:
                feed.beat()
            except Exception as error:  # noqa: BLE001  no error of any kind may end the beats
                with suppress(Exception):  # nor may a listener that fails
                    self._trouble(feed, error)

    def _is_newest(self, feed: str) -> bool:
        """Whether this thread beats for a feed that was not opened again since."""
        with self._lock:
            return self._threads[feed] is threading.current_thread()
