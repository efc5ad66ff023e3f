"""A relay in front of a name node, which holds or loses single requests of its clients.

    with HdfsRelay(server.port) as relay:
        relay.rules.append(RelayRule("rename2", ".parquet", "hold"))
        ...a client of relay.authority...
        relay.wait_for_hit()
        relay.release()

Requests of Hadoop have their length before them, and the name of the method and all paths in plain
text, as long as nothing is encrypted. Data nodes are not relayed. One rule is met by a request at
most; what is said about it is that of all connections together, in the order of arrival.
"""

import contextlib
import random
import socket
import struct
from dataclasses import dataclass
from threading import Condition, Thread
from types import TracebackType
from typing import Literal, Self, assert_never

from penstock.testing.servers import LOOPBACK, free_ports

_HEADER_BYTES = 7  # `hrpc`, version, service class, authentication
_WAIT_S = 240.0

Act = Literal["hold", "lose-reply", "lose-request", "stall"]


@dataclass
class RelayRule:
    """What happens to requests of a method whose bytes contain a text: from the `nth` on.

    `hold` keeps the request until `release`, also when its sender is dead by then. `lose-reply`
    hands it on, and ends the connection when it is answered. `lose-request` ends the connection.
    `stall` hands it on, and nothing comes back on its connection any more, which stays open.
    """

    method: str
    about: str = ""
    act: Act = "hold"
    nth: int = 1
    times: int = 1
    seen: int = 0
    hits: int = 0

    def meets(self, frame: bytes) -> bool:
        """Count a request; whether it is hit."""
        if self.method.encode() not in frame or self.about.encode() not in frame:
            return False
        self.seen += 1
        if self.seen < self.nth or self.hits >= self.times:
            return False
        self.hits += 1
        return True


class HdfsRelay:
    """Listens on a port of its own. Rules may be added and taken away while it runs."""

    def __init__(self, port: int) -> None:
        self._name_node = port
        [self._port] = free_ports(1, random.Random())  # noqa: S311 -- not a secret
        self._listener = socket.create_server((LOOPBACK, self._port))
        self._changed = Condition()
        self._held = 0
        self._arrived = 0
        self._lost_replies = 0
        self._last_hit = b""
        self._is_released = False
        self._is_open = True
        self.rules: list[RelayRule] = []

    @property
    def authority(self) -> str:
        """Host and port for clients."""
        return f"{LOOPBACK}:{self._port}"

    @property
    def hits(self) -> int:
        """How many requests were held or lost."""
        return sum(rule.hits for rule in self.rules)

    @property
    def held(self) -> int:
        """How many requests were held so far."""
        return self._held

    @property
    def lost_replies(self) -> int:
        """How many requests were answered, and their replies not handed on."""
        return self._lost_replies

    @property
    def last_hit(self) -> bytes:
        """The bytes of the last request that was held or lost."""
        return self._last_hit

    def wait_for_held(self, timeout_s: float = _WAIT_S) -> None:
        """Until a request is held. Raises `TimeoutError`."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._held > 0, timeout_s):
                raise TimeoutError("no request was held")

    def release(self) -> None:
        """Hand on what is held, and hold nothing more; returns when the name node has got it."""
        self.let_go()
        with self._changed:
            if not self._changed.wait_for(lambda: self._arrived >= self._held, _WAIT_S):
                raise TimeoutError("what was held did not arrive")

    def let_go(self) -> None:
        """Hand on what is held, whether or not the name node is there to get it."""
        with self._changed:
            self._is_released = True
            self._changed.notify_all()

    def __enter__(self) -> Self:
        Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._changed:
            self._is_open = False
            self._changed.notify_all()
        self._listener.close()

    def _accept(self) -> None:
        while self._is_open:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            try:
                server = socket.create_connection((LOOPBACK, self._name_node), timeout=5.0)
            except OSError:
                client.close()  # as a name node that is down does
                continue
            server.settimeout(None)
            line = _Line(self, client, server)
            Thread(target=line.carry_requests, daemon=True).start()
            Thread(target=line.carry_replies, daemon=True).start()

    def act_for(self, frame: bytes) -> Act | None:
        """What to do with a request; None to hand it on."""
        with self._changed:
            for rule in self.rules:
                if rule.meets(frame) and not (rule.act == "hold" and self._is_released):
                    self._last_hit = frame
                    return rule.act
        return None

    def keep(self) -> bool:
        """Wait until what is held may go on; False when the relay ends before."""
        with self._changed:
            self._held += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_released or not self._is_open)
            return self._is_released

    def has_lost_a_reply(self) -> None:
        """A reply was not handed on."""
        with self._changed:
            self._lost_replies += 1

    def has_arrived(self) -> None:
        """What was held was handed on, and answered."""
        with self._changed:
            self._arrived += 1
            self._changed.notify_all()


class _Line:
    """One connection of a client, and the one to the name node for it."""

    def __init__(self, relay: HdfsRelay, client: socket.socket, server: socket.socket) -> None:
        self._relay = relay
        self._client = client
        self._server = server
        self._loses_replies = False
        self._stalls = False
        self._was_held = False

    def carry_requests(self) -> None:
        """From the client to the name node, request by request."""
        try:
            self._server.sendall(_exactly(self._client, _HEADER_BYTES))
            while True:
                length = _exactly(self._client, 4)
                frame = _exactly(self._client, struct.unpack(">I", length)[0])
                act = self._relay.act_for(frame)
                if not self._lets_pass(act):
                    break
                self._server.sendall(length + frame)
        except OSError:
            if self._was_held:
                return  # the sender is dead; what it has sent is still answered
        self._end()

    def _lets_pass(self, act: Act | None) -> bool:
        """Do what a rule says about a request; whether it is sent on."""
        match act:
            case None:
                return True
            case "lose-request":
                return False
            case "lose-reply":
                self._loses_replies = True
                return True
            case "stall":
                self._stalls = True
                return True
            case "hold":
                # Only from now on is a reply one to what was held, and not to what went before.
                self._was_held = self._relay.keep()
                return self._was_held
            case _ as never:
                assert_never(never)

    def carry_replies(self) -> None:
        """From the name node to the client."""
        try:
            while piece := self._server.recv(1 << 16):
                if self._was_held:
                    self._was_held = False
                    self._relay.has_arrived()
                if self._loses_replies or self._stalls:
                    self._relay.has_lost_a_reply()
                if self._loses_replies:
                    break
                if self._stalls:
                    continue
                self._client.sendall(piece)
        except OSError:
            self._end()
        self._end()

    def _end(self) -> None:
        for each in (self._client, self._server):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _exactly(source: socket.socket, length: int) -> bytes:
    """So many bytes; raises `ConnectionError` at the end of the stream."""
    found = b""
    while len(found) < length:
        piece = source.recv(length - len(found))
        if not piece:
            raise ConnectionError("the other side has ended")
        found += piece
    return found
