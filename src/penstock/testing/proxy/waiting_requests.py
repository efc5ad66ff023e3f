"""Requests that a rule keeps back: held ones, whose client waits, and late ones, whose is gone."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition, Event
from typing import IO

from penstock.testing.proxy.http_messages import PIECE_BYTES

_IN_MEMORY_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Waiting:
    name: str
    go: Event = field(default_factory=Event)
    deliver: Callable[[], int] | None = None


class WaitingRequests:
    """The requests that wait for a `release`. Thread-safe."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting: list[_Waiting] = []
        self._is_over = False

    def hold(self, name: str) -> None:
        """Wait until released."""
        request = _Waiting(name)
        self._keep(request)
        request.go.wait()

    def keep_late(self, name: str, deliver: Callable[[], int]) -> None:
        """Keep a request whose sender is gone; `deliver` brings it to the store."""
        self._keep(_Waiting(name, deliver=deliver))

    def wait_for(self, name: str, count: int = 1, timeout_s: float = 60.0) -> None:
        """Return when so many requests wait under this name."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._named(name)) >= count, timeout_s):
                raise TimeoutError(
                    f"{len(self._named(name))} requests wait as {name!r}, not {count}"
                )

    def release(self, name: str) -> list[int]:
        """Let those go on that wait under this name; returns what the store says to late ones.

        A late request has arrived when this returns. The reply to a held one goes to its client.
        """
        with self._changed:
            found = self._named(name)
            self._waiting = [each for each in self._waiting if each not in found]
        for each in found:
            each.go.set()
        return [each.deliver() for each in found if each.deliver is not None]

    def end(self) -> None:
        """Let the held ones go; nothing waits from now on, and late ones never arrive."""
        with self._changed:
            self._is_over = True
            found, self._waiting = self._waiting, []
        for each in found:
            each.go.set()

    def _keep(self, request: _Waiting) -> None:
        with self._changed:
            if self._is_over:
                request.go.set()
                return
            self._waiting.append(request)
            self._changed.notify_all()

    def _named(self, name: str) -> list[_Waiting]:
        return [each for each in self._waiting if each.name == name]


class KeptBody:
    """The body of a request that waits: in memory, or in a file when it is large."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115
        for piece in pieces:
            self._file.write(piece)

    @contextmanager
    def pieces(self) -> Iterator[Iterator[bytes]]:
        """The pieces, once; the file is gone afterwards."""
        self._file.seek(0)
        with self._file:
            yield iter(lambda: self._file.read(PIECE_BYTES), b"")

    def beginning(self) -> bytes:
        """The first piece."""
        self._file.seek(0)
        return self._file.read(PIECE_BYTES)

    def all(self) -> bytes:
        """The whole of it, for a body that is small."""
        self._file.seek(0)
        return self._file.read()
