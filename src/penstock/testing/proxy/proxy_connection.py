"""One client's connection: each request is looked at, kept, forwarded or answered by the rules."""

import select
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO, assert_never

from penstock.testing.proxy.gcs_operations import UNNAMED
from penstock.testing.proxy.http_messages import (
    close_at_once,
    ends_connection,
    read_head,
    request_body,
)
from penstock.testing.proxy.proxied_request import ProxiedRequest
from penstock.testing.proxy.proxy_records import Note, Records
from penstock.testing.proxy.proxy_rules import (
    ACCESS_DENIED,
    Act,
    Answer,
    Delay,
    DropReply,
    DropRequest,
    Hold,
    IgnoreHeader,
    IgnoreParameter,
    Late,
    RuleBook,
    Stall,
    Truncate,
)
from penstock.testing.proxy.s3_errors import error_reply, keys_to_delete, partly_denied_reply
from penstock.testing.proxy.s3_policy import Policy, deletion_wishes, wish_of
from penstock.testing.proxy.upstream import Reply, Upstream
from penstock.testing.proxy.waiting_requests import KeptBody, WaitingRequests

_POLL_S = 0.05
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass
class ProxyState:
    """What all connections of a proxy share."""

    upstream: Upstream
    rules: RuleBook
    records: Records
    waiting: WaitingRequests
    policy: Policy | None = None
    latency_s: float = 0.0
    stopping: threading.Event = field(default_factory=threading.Event)


class ProxyConnection:
    """Serves the requests of one connection, one after another."""

    def __init__(self, state: ProxyState, client: socket.socket, stream: BinaryIO) -> None:
        self._state = state
        self._client = client
        self._stream = stream

    def serve_next(self) -> bool:
        """Serve one request; False when no other can follow. Raises when the client has gone."""
        head = read_head(self._stream)
        if head is None:
            return False
        request = ProxiedRequest.of(head)
        exchange = _Exchange(self._state, self._client, self._stream, request)
        self._state.stopping.wait(self._state.latency_s)
        return exchange.run()


class _Exchange:
    """One request and what becomes of it."""

    def __init__(
        self, state: ProxyState, client: socket.socket, stream: BinaryIO, request: ProxiedRequest
    ) -> None:
        self._state = state
        self._client = client
        self._stream = stream
        self._request = request
        self._note: Note = state.records.begin(request)
        self._kept: KeptBody | None = None
        # Read once: the policy may be replaced while this request is on its way.
        self._policy = state.policy

    def run(self) -> bool:
        """Do what the policy says, then what the rules say; False when the connection is over."""
        if self._request.is_gcs and self._request.operation in UNNAMED:
            self._read_name()
        if self._policy is not None and self._request.operation == "DeleteObjects":
            self._keep_body()
            denied = self._denied_deletions(self._policy)
            if denied is not None:
                return self._answer_bytes(denied, 200, "DeniedKeys")
        elif self._policy is not None and not self._policy.allows(wish_of(self._request)):
            return self._answer(ACCESS_DENIED, "Policy")
        act = self._state.rules.meet(self._request)
        if act is not None:
            self._note.write(act=type(act).__name__)
        return self._perform(act)

    def _read_name(self) -> None:
        """The name of a new object stands in the body alone, which is then kept."""
        self._request = self._request.with_name(self._keep_body().beginning())
        self._note.write(key=self._request.key)

    def _perform(self, act: Act | None) -> bool:
        match act:
            case None:
                return self._pass_on()
            case Answer(performed=False):
                return self._answer(act, "Answer")
            case Answer():
                self._forward_and_forget()
                return self._answer(act, "Answer")
            case DropRequest():
                self._keep_body()
                return self._cut()
            case DropReply():
                self._forward_and_forget()
                return self._cut()
            case Truncate() | Stall():
                return self._part_of_reply(act)
            case Delay():
                self._state.stopping.wait(act.seconds)
                return self._pass_on()
            case IgnoreHeader():
                head = self._request.head.without(act.name)
                self._request = replace(self._request, head=head)
                return self._pass_on()
            case IgnoreParameter():
                head = self._request.head.without_parameter(act.name)
                self._request = replace(self._request, head=head)
                return self._pass_on()
            case Hold():
                self._keep_body()
                self._state.waiting.hold(act.name)
                return self._pass_on()
            case Late():
                self._keep_body()
                self._state.waiting.keep_late(act.name, self._deliver)
                return self._cut()
            case _ as never:
                assert_never(never)

    def _pass_on(self) -> bool:
        with self._forward() as reply:
            if self._hides(reply):
                reply.read_all()
                return self._answer(ACCESS_DENIED, "Policy")
            self._note.write(status=reply.status)
            self._client.sendall(reply.head.to_bytes())
            for piece in reply.body():
                self._note.add_bytes(reply=len(piece))
                self._client.sendall(piece)
            return not ends_connection(self._request.head, reply.head, self._request.method)

    def _part_of_reply(self, act: Truncate | Stall) -> bool:
        with self._forward() as reply:
            if act.body_bytes is not None:
                self._client.sendall(reply.head.to_bytes())
                left = act.body_bytes
                for piece in reply.body():
                    self._client.sendall(piece[:left])
                    self._note.add_bytes(reply=min(left, len(piece)))
                    left -= min(left, len(piece))
            else:
                reply.read_all()
        if isinstance(act, Stall):
            self._await_end_of_client()
        return self._cut()

    def _forward_and_forget(self) -> int:
        with self._forward() as reply:
            reply.read_all()
            return reply.status

    def _deliver(self) -> int:
        """Bring a late request to the store, from the thread that releases it."""
        status = self._forward_and_forget()
        self._note.write(status=status)
        return status

    def _forward(self) -> Reply:
        if self._kept is None:
            reply = self._state.upstream.forward(self._request, self._body())
        else:
            with self._kept.pieces() as pieces:
                reply = self._state.upstream.forward(self._request, pieces)
        self._note.write(forwarded=True)
        return reply

    def _body(self) -> Iterator[bytes]:
        """The body as the client sends it. A client that asks whether it shall is told to."""
        if self._request.head.has_word("Expect", "100-continue"):
            self._client.sendall(_CONTINUE)
        for piece in request_body(self._request.head, self._stream):
            self._note.add_bytes(request=len(piece))
            yield piece

    def _keep_body(self) -> KeptBody:
        if self._kept is None:
            self._kept = KeptBody(self._body())
        return self._kept

    def _answer(self, answer: Answer, act: str) -> bool:
        """Send an error. A client that asks first gets it at once, without having sent a body."""
        expects = self._request.head.has_word("Expect", "100-continue")
        close = expects and self._kept is None and not self._note.record.forwarded
        if not close and not self._note.record.forwarded:
            self._keep_body()
        reply = error_reply(self._request, answer, close=close)
        return self._answer_bytes(reply, answer.status, act) and not close

    def _answer_bytes(self, reply: bytes, status: int, act: str) -> bool:
        self._note.write(status=status, act=act)
        self._client.sendall(reply)
        return not self._request.head.has_word("Connection", "close")

    def _denied_deletions(self, policy: Policy) -> bytes | None:
        """The reply to a deletion of many that are not all allowed."""
        if self._kept is None:
            return None
        keys = keys_to_delete(self._kept.all())
        wishes = deletion_wishes(self._request.bucket, keys)
        denied = {key for key, wish in zip(keys, wishes, strict=True) if not policy.allows(wish)}
        return partly_denied_reply(keys, denied) if denied else None

    def _hides(self, reply: Reply) -> bool:
        """Whether S3 would say 403 where this store says 404."""
        return (
            reply.status == 404
            and self._policy is not None
            and self._request.operation in ("GetObject", "HeadObject")
            and self._policy.hides_absence(self._request.bucket)
        )

    def _cut(self) -> bool:
        close_at_once(self._client)
        return False

    def _await_end_of_client(self) -> None:
        """Wait until the client gives up. What it sends meanwhile is not read."""
        while not self._state.stopping.is_set():
            readable, _, _ = select.select([self._client], [], [], _POLL_S)
            if readable and not self._client.recv(1, socket.MSG_PEEK):
                return
            self._state.stopping.wait(_POLL_S)
