"""Counting failures in a row, so that nobody waits for a store that is down once per file."""

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from penstock.errors import OutcomeUnknown, PenstockError, StoreUnavailable

T = TypeVar("T")

MANY_FAILURES = 3


class Breaker:
    """For many like acts, side by side: after some failures in a row the rest is left for later."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._failures = 0

    def guarded(self, act: Callable[[T], None], name: str) -> Callable[[T], None]:
        """The act; it fails at once, with nothing changed, when several before it had no answer."""

        def attempt(thing: T) -> None:
            if self.is_open:
                why = f"the {MANY_FAILURES} before it had no answer, so it was not asked"
                raise StoreUnavailable(name, str(thing), why)
            try:
                act(thing)
            except (StoreUnavailable, OutcomeUnknown):
                self._count()
                raise
            except PenstockError:
                self._forget()  # a foreign file, for one, is an answer
                raise
            self._forget()

        return attempt

    @property
    def is_open(self) -> bool:
        """True when the store is taken to be down."""
        return self._failures >= MANY_FAILURES

    def _count(self) -> None:
        """Count in the lock: of failures at the same moment none may be forgotten."""
        with self._lock:
            self._failures += 1

    def _forget(self) -> None:
        with self._lock:
            self._failures = 0
