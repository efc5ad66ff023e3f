"""An HTTP proxy in front of an object store, in threads of this process.

    with FaultProxy(store_url, [Rule(DropReply(), "PutObject", "lake/journal/*")]) as proxy:
        ...a client with proxy.url as its endpoint...
    assert proxy.rules.unmet() == []

Why not something ready: toxiproxy and its kin work on connections and do not see requests, so they
cannot lose the reply to one `CompleteMultipartUpload`. mitmproxy sees requests, but it brings
dozens of packages, and it writes heads again, which can break signatures. What is needed is small:
heads are read, bodies are passed on as they come, one thread serves one connection. The server of
the standard library decodes heads and cannot end a connection inside a reply.

It speaks HTTP/1.1 to both sides, with kept connections, chunks and `Expect: 100-continue`. The host
name and the path go on byte for byte, so a signature stays valid. No TLS, and no bucket in the host
name: clients use path style.
"""

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from penstock.testing.proxy.http_messages import BrokenMessage, close_at_once
from penstock.testing.proxy.proxy_connection import ProxyConnection, ProxyState
from penstock.testing.proxy.proxy_records import Record, Records
from penstock.testing.proxy.proxy_rules import Rule, RuleBook
from penstock.testing.proxy.s3_policy import Policy
from penstock.testing.proxy.upstream import Upstream
from penstock.testing.proxy.waiting_requests import WaitingRequests
from penstock.testing.servers import LOOPBACK

_BACKLOG = 256
_JOIN_S = 10.0
_MOST_TROUBLES = 100


class FaultProxy:
    """The proxy. Rules, policy and latency may be changed while it runs, by any thread."""

    def __init__(
        self,
        upstream: str,
        rules: Iterable[Rule] = (),
        *,
        policy: Policy | None = None,
        latency_s: float = 0.0,
    ) -> None:
        self._state = ProxyState(
            Upstream(upstream, self._watch),
            RuleBook(rules),
            Records(),
            WaitingRequests(),
            policy,
            latency_s,
        )
        self.troubles: deque[str] = deque(maxlen=_MOST_TROUBLES)  # why connections ended early
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._listener = socket.create_server((LOOPBACK, 0), backlog=_BACKLOG)
        self._port = int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        """What clients take as their endpoint."""
        return f"http://{LOOPBACK}:{self._port}"

    @property
    def rules(self) -> RuleBook:
        """The rules, to add to and to ask which never hit."""
        return self._state.rules

    @property
    def records(self) -> Records:
        """What has passed, to count."""
        return self._state.records

    @property
    def waiting(self) -> WaitingRequests:
        """The requests that a `Hold` or a `Late` keeps back."""
        return self._state.waiting

    def enforce(self, policy: Policy | None) -> None:
        """Allow what this policy allows, from the next request on; None allows all."""
        self._state.policy = policy

    def slow_down(self, latency_s: float) -> None:
        """Let every request from now on wait so long first."""
        self._state.latency_s = latency_s

    def release(self, name: str) -> list[int]:
        """Let requests go on that were kept back; see `WaitingRequests.release`."""
        return self.waiting.release(name)

    def requests(self) -> list[Record]:
        """Every request so far."""
        return self.records.all()

    def start(self) -> None:
        """Begin to accept."""
        self._spawn(self._accept)

    def stop(self) -> None:
        """End every connection and every thread. Safe to repeat. Late requests never arrive."""
        self._state.stopping.set()
        self.waiting.end()
        close_at_once(self._listener)
        with self._lock:
            connections, threads = list(self._open), list(self._threads)
        for connection in connections:
            close_at_once(connection)
        for thread in threads:
            thread.join(_JOIN_S)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _spawn(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="fault-proxy", daemon=True)
        with self._lock:
            self._threads = {each for each in self._threads if each.is_alive()} | {thread}
            thread.start()

    def _watch(self, connection: socket.socket) -> None:
        """Remember a connection, so that `stop` ends it."""
        with self._lock:
            self._open = {each for each in self._open if each.fileno() >= 0} | {connection}
        if self._state.stopping.is_set():
            close_at_once(connection)

    def _accept(self) -> None:
        while not self._state.stopping.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # it was closed by `stop`
            self._watch(client)
            self._spawn(lambda client=client: self._serve(client))  # type: ignore[misc]

    def _serve(self, client: socket.socket) -> None:
        """One connection, until client or proxy ends it."""
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with client.makefile("rb") as stream:
                connection = ProxyConnection(self._state, client, stream)
                while connection.serve_next():
                    continue
        except (OSError, BrokenMessage) as error:
            self.troubles.append(f"{type(error).__name__}: {error}")
        finally:
            close_at_once(client)
