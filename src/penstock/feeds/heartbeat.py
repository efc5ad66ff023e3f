"""The heart of a run: leaves a sign of life for every feed whose lease is held.

Each feed has a thread of its own, so that one whose store does not answer makes no other one late.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from penstock.protocol.journal.beats import BEAT_S

SPREAD = 16  # so many groups of feeds beat one after the other, not all at the same moment
END_S = 5.0  # how long the end of a run waits for beats that are on their way, all in all


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
    """Beats until stopped, for all feeds that there are when it begins, started or not.

    A beat that fails is told, whatever the error, and not repeated: the next one follows.
    """

    def __init__(
        self,
        feeds: Callable[[], Iterable[Beating]],
        trouble: Callable[[Beating, Exception], None],
        every_s: float = BEAT_S,
    ) -> None:
        self._feeds = feeds
        self._trouble = trouble
        self._every_s = every_s
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "Heart":
        for index, feed in enumerate(self._feeds()):
            first_s = self._every_s * (index % SPREAD + 1) / SPREAD
            thread = threading.Thread(
                target=self._run, args=(feed, first_s), name="penstock-heart", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(END_S / len(self._threads))

    def _run(self, feed: Beating, first_s: float) -> None:
        pause_s = first_s
        while not self._stop.wait(pause_s):
            pause_s = self._every_s
            try:
                feed.beat()
            except Exception as error:  # noqa: BLE001  no error of any kind may end the beats
                with suppress(Exception):  # nor may a listener that fails
                    self._trouble(feed, error)
