"""The client of a process: made when it is first needed, never before a fork, and made again when
its credentials are not accepted any more."""

import os
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

C = TypeVar("C")


class ClientOfProcess(Generic[C]):
    """Hands out one client per process. Safe to share between threads, and to be forked.

    `can_renew` is True when other credentials may be found: those of the settings never change.
    """

    def __init__(self, make: Callable[[], C], *, can_renew: bool) -> None:
        self._make = make
        self.can_renew = can_renew
        self._lock = Lock()
        self._process = 0
        self._client: C | None = None

    def current(self) -> C:
        """The client of this process."""
        if self._process != os.getpid():
            # A lock that another thread held at the moment of a fork would never be released.
            self._lock, self._client, self._process = Lock(), None, os.getpid()
        with self._lock:
            if self._client is None:
                self._client = self._make()
            return self._client

    def renew(self, stale: C) -> None:
        """Let credentials be looked for again, unless another thread has done so.

        The next request makes the client: only there a failure knows what was asked.
        """
        with self._lock:
            if self._client is stale:
                self._client = None
