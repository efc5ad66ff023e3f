"""Tells what is waited for when Kafka is slow or dead, soon and once. Driver only.

Kafka's client tries for a minute before it gives up, in silence. So a thread tries to connect to
the servers as soon as they are named, and a call that takes long is told too. After an answer, the
next silence is told again.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

AFTER_S = 4.0  # longer than a first answer takes on a busy machine, and soon enough for a person
LIMIT = "default.api.timeout.ms"
USUAL_LIMIT_MS = 60_000  # of Kafka's client

Tell = Callable[[str], None]


class ToldWaiting:
    """What one client waits for. Any thread may begin it; calls come from one thread."""

    def __init__(self, options: Mapping[str, str], tell: Tell, after_s: float = AFTER_S) -> None:
        self._servers = options.get("bootstrap.servers", "")
        given = options.get(LIMIT, "")
        self._limit_s = (int(given) if given.isdigit() else USUAL_LIMIT_MS) / 1000
        self._tell = tell
        self._after_s = after_s
        self._lock = threading.Lock()
        self._is_told = False
        self._has_answered = False

    def begin(self, meanwhile: str = "") -> None:
        """Try to connect, on a thread of its own, and tell it if no server accepts.

        `meanwhile` says what comes before the client itself is asked.
        """

        def look() -> None:
            why = unreached(self._servers, self._after_s)
            if why:
                gives_up = f"Kafka's client gives up {self._limit_s:.0f} s after it is asked"
                self._say(f"{why}; {meanwhile}{gives_up}")

        threading.Thread(target=look, name="penstock-reach", daemon=True).start()

    @contextlib.contextmanager
    def answer(self) -> Iterator[None]:
        """Around a call that asks Kafka: told if it takes long."""
        ends = datetime.fromtimestamp(time.time() + self._limit_s).astimezone()
        told = f"it has until {ends:%H:%M:%S}, {self._limit_s:.0f} s in all"
        timer = threading.Timer(self._after_s, self._say, [f"no answer yet; {told}"])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
        with self._lock:
            self._is_told, self._has_answered = False, True

    def _say(self, what: str) -> None:
        with self._lock:
            if self._is_told or (self._has_answered and what.startswith("no server")):
                return
            self._is_told = True
        self._tell(f"waiting for Kafka at {self._servers}: {what}")


def unreached(servers: str, limit_s: float) -> str:
    """Why no server accepts a connection; empty if one does, or if the list cannot be read."""
    places = server_places(servers)
    if not places:
        return ""
    deadline = time.monotonic() + limit_s
    why = ""
    for host, port in places:
        left_s = max(deadline - time.monotonic(), 0.1)
        try:
            with socket.create_connection((host, port), timeout=left_s):
                return ""
        except OSError as error:
            why = error.strerror or str(error) or type(error).__name__
    return f"no server accepts a connection ({why})"


def server_places(servers: str) -> list[tuple[str, int]]:
    """Host and port of every server of a list; those that cannot be read are left out."""
    return [place for each in servers.split(",") if (place := _place(each)) is not None]


def _place(server: str) -> tuple[str, int] | None:
    """Host and port of `host:9092`, `[::1]:9092` or `SASL_SSL://host:9092`."""
    host, _, port = server.strip().rpartition("/")[2].rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdigit() else None
