"""The store behind the proxy: one connection for each request.

A connection that is kept can be closed by the store at any moment, and then nobody knows whether
the request arrived. The proxy loses replies only by script, so it never keeps one.
"""

import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import BinaryIO, Self
from urllib.parse import urlsplit

from penstock.testing.proxy.http_messages import (
    BrokenMessage,
    Head,
    close_at_once,
    read_head,
    reply_body,
    status_of,
)
from penstock.testing.proxy.proxied_request import ProxiedRequest

_TIMEOUT_S = 120.0
# Closed by a reset after the whole reply, so that no port is left waiting for stray packets.
_NO_LINGER = struct.pack("ii", 1, 0)


class Upstream:
    """Where requests are forwarded to."""

    def __init__(self, url: str, watch: Callable[[socket.socket], None]) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname is None:
            raise ValueError(f"the proxy forwards to http://host:port, not to {url!r}")
        self._address = parts.hostname, parts.port or 80
        self._watch = watch

    def forward(self, request: ProxiedRequest, body: Iterable[bytes]) -> "Reply":
        """Send a request as it came, and return the reply with its body still to be read."""
        connection = socket.create_connection(self._address, _TIMEOUT_S)
        self._watch(connection)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _send(connection, request, iter(body))
            return _received(connection, request)
        except BaseException:
            close_at_once(connection)
            raise


class Reply:
    """A reply of the store. A context: its connection ends with it."""

    def __init__(
        self, connection: socket.socket, stream: BinaryIO, head: Head, method: str
    ) -> None:
        self._connection = connection
        self._stream = stream
        self.head = head
        self._method = method

    @property
    def status(self) -> int:
        """The store's own status."""
        return status_of(self.head)

    def body(self) -> Iterator[bytes]:
        """The pieces of the body, once."""
        return reply_body(self.head, self._method, self._stream)

    def read_all(self) -> None:
        """Read what is left, so that the store is done with this request."""
        for _ in self.body():
            continue

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()
        close_at_once(self._connection)


def _send(connection: socket.socket, request: ProxiedRequest, body: Iterator[bytes]) -> None:
    """Send head and body. The proxy itself has told the client to continue."""
    try:
        connection.sendall(request.head.without("Expect").to_bytes())
        for piece in body:
            connection.sendall(piece)
    except (BrokenPipeError, ConnectionResetError):
        for _ in body:  # the store has answered without reading all; the client sends it all
            continue


def _received(connection: socket.socket, request: ProxiedRequest) -> Reply:
    stream = connection.makefile("rb")
    head = read_head(stream)
    while head is not None and status_of(head) < 200:
        head = read_head(stream)
    if head is None:
        stream.close()
        raise BrokenMessage("the store ended the connection without a reply")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    return Reply(connection, stream, head, request.method)
