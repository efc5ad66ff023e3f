"""A store that counts requests by kind and adds a latency to each: what a lake far away costs."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import BinaryIO, TypeVar

from penstock.api.store import ListedObject, StagedWriter, Store
from penstock.model.outcome import Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.runtime.surroundings import AT_ONCE, Acts

T = TypeVar("T")

LATENCY_S = 0.040
PAGE = 1_000  # keys in one answer to a listing
# Completing an upload is not believed until the final name was looked at.
PUBLISH_REQUESTS = 2
# The staged source, then the final name.
LOOK_REQUESTS = 2
# Opening an upload, and its one part.
STAGE_REQUESTS = 2


@dataclass(frozen=True, slots=True)
class Cost:
    """Requests by kind, and how long they took one after another."""

    requests: dict[str, int]
    seconds: float

    @property
    def total(self) -> int:
        """All requests."""
        return sum(self.requests.values())


class CostStore:
    """A store around any other, as if every request took 40 ms.

    The time is added up on a clock of its own, and with `sleep` it passes for real, too. Calls
    that follow each other add up. Of `publish_all` and `delete_all`, which object stores do side by
    side, `AT_ONCE` pass at a time: n files take ceil(n / AT_ONCE) rounds of what one takes. What a
    caller does side by side by itself is counted in the same way if it is given `side_by_side` in
    place of threads. A publish is two requests (complete, then look), a look is two, a listing is
    one per thousand keys, a staged file is two; give tasks the inner store, unless theirs count.
    """

    def __init__(
        self,
        inner: Store,
        latency_s: float = LATENCY_S,
        sleep: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self._inner = inner
        self._latency_s = latency_s
        self._sleep = sleep
        self._requests: Counter[str] = Counter()
        self._seconds = 0.0
        self._lock = Lock()

    @property
    def kind(self) -> str:
        """That of the inner store."""
        return self._inner.kind

    @property
    def longest_key_bytes(self) -> int:
        """That of the inner store."""
        return self._inner.longest_key_bytes

    def uri(self, key: str) -> str:
        """No request."""
        return self._inner.uri(key)

    @property
    def seconds(self) -> float:
        """How long all requests since the last `take` have taken."""
        return self._seconds

    def take(self) -> Cost:
        """What was asked since the last time, and begin again."""
        with self._lock:
            cost = Cost(dict(self._requests), self._seconds)
            self._requests.clear()
            self._seconds = 0.0
        return cost

    def side_by_side(self, acts: Acts) -> None:
        """For `Surroundings.do_all`: acts in order, counted as if `AT_ONCE` were done at a time."""
        for start in range(0, len(acts), AT_ONCE):
            began, longest = self._seconds, 0.0
            for act in acts[start : start + AT_ONCE]:
                self._seconds = began
                try:
                    act()
                finally:
                    longest = max(longest, self._seconds - began)
                    self._seconds = began + longest

    def create(self, key: str, data: bytes) -> bool:
        """One request."""
        self._count("create")
        return self._inner.create(key, data)

    def read(self, key: str) -> bytes | None:
        """One request."""
        self._count("read")
        return self._inner.read(key)

    def open_read(self, key: str) -> BinaryIO | None:
        """One request; what is read from it later is not counted."""
        self._count("read")
        return self._inner.open_read(key)

    def head(self, key: str) -> int | None:
        """One request."""
        self._count("head")
        return self._inner.head(key)

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        """One request for each thousand keys, when they are needed."""
        self._count("list")
        return self._paged(self._inner.list_objects(prefix, after, limit))

    def open_staged(self, final: str, spot: StagingSpot) -> StagedWriter:
        """Two requests, whatever is written."""
        self._count("stage", STAGE_REQUESTS)
        return self._inner.open_staged(final, spot)

    def look(self, handle: StagedHandle) -> Sighting:
        """Two requests."""
        self._count("look", LOOK_REQUESTS)
        return self._inner.look(handle)

    def publish(self, handle: StagedHandle) -> None:
        """Two requests."""
        self._count("publish", PUBLISH_REQUESTS)
        self._inner.publish(handle)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """Two requests for each, many at a time."""
        self._count("publish", PUBLISH_REQUESTS, len(handles))
        return self._inner.publish_all(handles)

    def list_staged(self, staging: str, data_prefixes: Sequence[str]) -> list[StagedRef]:
        """One request for each thousand."""
        self._count("list")
        return list(self._paged(self._inner.list_staged(staging, data_prefixes)))

    def discard(self, ref: StagedRef) -> None:
        """One request."""
        self._count("discard")
        self._inner.discard(ref)

    def delete(self, key: str) -> None:
        """One request."""
        self._count("delete")
        self._inner.delete(key)

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """One request for each, 16 at a time."""
        self._count("delete", 1, len(keys))
        return self._inner.delete_all(keys)

    def sweep(self) -> int:
        """Not counted: object stores have nothing to sweep."""
        return self._inner.sweep()

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Not counted: once per start."""
        self._inner.probe(scratch, for_journal=for_journal)

    def _count(self, kind: str, requests: int = 1, times: int = 1) -> None:
        seconds = math.ceil(times / AT_ONCE) * requests * self._latency_s
        with self._lock:
            if times:
                self._requests[kind] += requests * times
            self._seconds += seconds
        self._sleep(seconds)

    def _paged(self, listed: Iterable[T]) -> Iterator[T]:
        """Counts every page after the first, which was counted when it was asked for."""
        for number, each in enumerate(listed):
            if number and number % PAGE == 0:
                self._count("list")
            yield each
