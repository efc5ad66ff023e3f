"""The heart of a run: a thread that leaves a sign of life for every feed that is owned."""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from penstock.errors import PenstockError
from penstock.protocol.journal.lease import BEAT_S


class Beating(Protocol):
    """A feed that may be owned."""

    @property
    def name(self) -> str:
        """Which feed it is."""
        ...

    def beat(self) -> None:
        """Leave a sign of life, if there is reason to."""
        ...


class Heart:
    """Beats until stopped. A beat that fails is told and not repeated: the next one follows."""

    def __init__(
        self,
        feeds: Callable[[], Iterable[Beating]],
        trouble: Callable[[Beating, PenstockError], None],
        every_s: float = BEAT_S,
    ) -> None:
        self._feeds = feeds
        self._trouble = trouble
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-heart", daemon=True)

    def __enter__(self) -> "Heart":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=self._every_s)

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            for feed in self._feeds():
                try:
                    feed.beat()
                except PenstockError as error:
                    with suppress(Exception):  # a listener that fails must not stop the beats
                        self._trouble(feed, error)
