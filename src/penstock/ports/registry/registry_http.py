"""How a registry is asked over HTTP: one connection per question, bounded in time and size.

A redirect is followed nowhere, since it could carry the password along, and the proxies of the
environment are not for us. The time limit is for the whole exchange, whatever part of an answer
comes slowly; only the look-up of a host's name has the limits of the system instead.
"""

import base64
import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from penstock.model.spec import RegistrySpec
from penstock.ports.registry.errors import RegistryDown

MOST_BYTES = 8 * 1024 * 1024  # of one answer
_PART_BYTES = 64 * 1024
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"

Fetch = Callable[[str], tuple[int, bytes]]


class AnswerTooLong(Exception):
    """An answer that was not read to its end."""

    def __init__(self, status: int) -> None:
        super().__init__(f"its answer is longer than {MOST_BYTES:,} bytes")
        self.status = status


def http_fetch(spec: RegistrySpec) -> Fetch:
    """How to ask a registry, with what the configuration says about it.

    What it returns gives a status and a body. It raises `RegistryDown`, and `AnswerTooLong`.
    """
    context = ssl.create_default_context(cafile=spec.ca or None)
    headers = {"Accept": _ACCEPT, "User-Agent": "penstock", "Connection": "close"}
    if spec.token:
        headers["Authorization"] = f"Bearer {spec.token}"
    elif spec.user:
        pair = base64.b64encode(f"{spec.user}:{spec.password}".encode()).decode()
        headers["Authorization"] = f"Basic {pair}"

    def fetch(url: str) -> tuple[int, bytes]:
        with _Deadline(spec.timeout_s) as deadline:
            try:
                found = _exchange(url, headers, context, deadline)
            except (OSError, http.client.HTTPException) as error:
                why = _LATE if deadline.is_over else str(error) or type(error).__name__
                raise RegistryDown(spec.url, why) from error
            except ValueError:  # its words would repeat the header, and so the secret
                raise RegistryDown(spec.url, "no request can have such characters") from None
            if deadline.is_over:  # what was cut off can look whole
                raise RegistryDown(spec.url, _LATE)
            return found

    return fetch


_LATE = "its answer took too long"


def _exchange(
    url: str, headers: dict[str, str], context: ssl.SSLContext, deadline: "_Deadline"
) -> tuple[int, bytes]:
    """One question and its answer."""
    parts = urlsplit(url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    connection = (
        _SecureLine(parts.netloc, timeout=deadline.after_s, context=context)
        if parts.scheme.lower() == "https"
        else _Line(parts.netloc, timeout=deadline.after_s)
    )
    connection.deadline = deadline
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers)
        with connection.getresponse() as reply:
            return reply.status, _bounded(reply)


def _bounded(reply: http.client.HTTPResponse) -> bytes:
    """The whole body, unless it is too long."""
    wanted = reply.length
    body = bytearray()
    while wanted is None or len(body) < wanted:
        part = reply.read1(_PART_BYTES)
        if not part:
            break
        body += part
        if len(body) > MOST_BYTES:
            raise AnswerTooLong(reply.status)
    if len(body) < (wanted or 0):
        raise ConnectionError("its answer was cut short")
    if wanted is None and not body and reply.status == 200:
        # Python takes a head that was cut off for one without headers, and without a body.
        raise ConnectionError("its answer was cut short")
    return bytes(body)


class _Deadline:
    """Ends a connection when its time is over, whatever is waited for at that moment."""

    def __init__(self, after_s: float) -> None:
        self.after_s = after_s
        self.is_over = False
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._timer = threading.Timer(after_s, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        """The time begins."""
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is to be ended any more."""
        self._timer.cancel()
        with self._lock:
            if self._line is not None:
                self._line.close()
                self._line = None

    def watch(self, line: socket.socket) -> None:
        """End this connection, too, when the time is over.

        A duplicate is kept, since the socket itself changes hands when a secure connection begins.
        """
        with self._lock:
            self._line = line.dup()
            if self.is_over:
                self._shut()

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            self._shut()

    def _shut(self) -> None:
        if self._line is not None:
            with contextlib.suppress(OSError):
                self._line.shutdown(socket.SHUT_RDWR)


class _Line(http.client.HTTPConnection):
    """A connection that ends with its deadline."""

    deadline: _Deadline

    def connect(self) -> None:
        """Connect, and be watched from then on."""
        super().connect()
        self.deadline.watch(self.sock)


class _SecureLine(http.client.HTTPSConnection, _Line):
    """The same over TLS, watched before the handshake: its parents connect before it."""
