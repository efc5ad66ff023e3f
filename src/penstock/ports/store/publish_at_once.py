"""Publishing many files at once, for stores where each of them costs a few round trips."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from penstock.errors import ForeignFile, OutcomeUnknown, StagedGone, StoreUnavailable
from penstock.model.staged import StagedHandle

AT_ONCE = 16
MANY_FAILURES = 3  # in a row: then the store is down, and further files are left for later


def publish_side_by_side(
    publish: Callable[[StagedHandle], None], handles: Sequence[StagedHandle]
) -> set[str]:
    """Publish each on one of several threads; the final names of those that failed."""
    breaker = _Breaker()

    def attempt(handle: StagedHandle) -> str | None:
        if breaker.is_open:
            return handle.final
        try:
            publish(handle)
        except (ForeignFile, StagedGone):
            breaker.answered()
            return handle.final
        except (StoreUnavailable, OutcomeUnknown):
            breaker.failed()
            return handle.final
        breaker.answered()
        return None

    with ThreadPoolExecutor(AT_ONCE, "penstock-publish") as threads:
        return {final for final in threads.map(attempt, handles) if final is not None}


class _Breaker:
    """Counts failures in a row, so that nobody waits for a store that is down once per file."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._failures = 0

    @property
    def is_open(self) -> bool:
        return self._failures >= MANY_FAILURES

    def failed(self) -> None:
        with self._lock:
            self._failures += 1

    def answered(self) -> None:
        with self._lock:
            self._failures = 0
