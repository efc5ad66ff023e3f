"""The HTTP server on a thread of its own, so that no client can hold back who started it."""

import asyncio
import ipaddress
import logging
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from penstock.serve.errors import AddressRefused, TokenMissing
from penstock.serve.guard import LOOPBACK, Guard

MOST_CONNECTIONS = 100
HEAD_S = 10.0  # a client that has not sent a whole request by then is cut off
IDLE_S = 5
STOP_S = 2.0
HIGHEST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. Port 0 takes any free one."""

    host: str = "127.0.0.1"
    port: int = 8484


def is_loopback(host: str) -> bool:
    """True when only this machine can reach the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def allowed_hosts(host: str) -> frozenset[str] | None:
    """What a request may have in `Host`; None: anything, on an address that wants a token."""
    return LOOPBACK | {host.lower()} if is_loopback(host) else None


def listen(address: Address, token: str | None) -> socket.socket:
    """Take the port, before anything else is started. Raises `AddressRefused`, `TokenMissing`."""
    if token is None and not is_loopback(address.host):
        raise TokenMissing(address.host)
    if not 0 <= address.port <= HIGHEST_PORT:
        raise AddressRefused(address.host, address.port, f"ports end at {HIGHEST_PORT}")
    try:
        family, kind, _, _, place = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind)
    except (OSError, OverflowError, UnicodeError) as error:
        raise AddressRefused(address.host, address.port, _why(error)) from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(place)
        found.listen(MOST_CONNECTIONS)
    except (OSError, OverflowError) as error:
        found.close()
        raise AddressRefused(address.host, address.port, _why(error)) from error
    return found


def _why(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


class _ImpatientProtocol(H11Protocol):
    """HTTP with a limit on the time until a request is there."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(HEAD_S, self._cut_off_if_silent, transport)

    def _cut_off_if_silent(self, transport: asyncio.Transport) -> None:
        has_asked = getattr(self, "cycle", None) is not None  # its type denies that it may be None
        if not has_asked and not transport.is_closing():
            transport.close()


class HttpServer:
    """Serves from entering to leaving. Leaving takes at most `STOP_S`, whatever clients do.

    Signals are left to the process. If the server fails, `tell` gets a sentence, and that is all.
    """

    def __init__(self, app: Guard, listening: socket.socket, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._socket = listening
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        config = uvicorn.Config(
            app,
            http=_ImpatientProtocol,
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=IDLE_S,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=16_384,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="penstock-http", daemon=True)

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(STOP_S)
        self._socket.close()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except Exception as error:  # noqa: BLE001  whoever started it goes on without it
            self._tell(f"the server for metrics has ended: {type(error).__name__}: {error}")
