"""What a port of a broker speaks: TLS or not, and whether it wants a login. Driver only.

Kafka's client says nothing but that time is over when it speaks TLS to a port without it, or no
login to a port that wants one. When it speaks plainly to a port with TLS, it takes the answer for
the length of a message, and asks for hundreds of megabytes of memory. So such a port is asked with
a bare socket: before a client is made that would not use TLS, and after one has got no answer.
"""

import socket
import ssl
import struct
import time
from collections.abc import Mapping
from contextlib import suppress

from penstock.ports.source.errors import ProtocolWrong
from penstock.ports.source.kafka.refusals import LOGINS, PROTOCOL, SERVERS
from penstock.ports.source.kafka.told_waiting import server_places

LIMIT_S = 3.0
MOST_SERVERS = 3  # of which one is asked after the other, until one answers

_VERSIONS, _METADATA = (18, 0), (3, 4)  # requests that every broker knows, with their versions
_NO_TOPICS = struct.pack(">i", 0) + b"\x00"
_CORRELATION = 7
_CLIENT = b"penstock"
_TLS_RECORDS = frozenset({0x15, 0x16})  # an alert, and a handshake
_TLS_MAJOR = 3


def check_plain(options: Mapping[str, str], limit_s: float = LIMIT_S) -> None:
    """Raise `ProtocolWrong` if we would speak plainly to a port that speaks TLS.

    Nothing is asked if our settings have TLS. A broker that does not answer is no finding.
    """
    if speaks_tls(options):
        return
    for host, port in server_places(options.get(SERVERS, ""))[:MOST_SERVERS]:
        with suppress(OSError):
            if _answers_with_tls(host, port, limit_s):
                raise _wrong(options, "speaks TLS")
            return


def check_spoken(options: Mapping[str, str], limit_s: float = LIMIT_S) -> None:
    """Raise `ProtocolWrong` if a port speaks something else than our settings say.

    For brokers that have given no answer: they log such a question as a failed connection.
    """
    for host, port in server_places(options.get(SERVERS, ""))[:MOST_SERVERS]:
        with suppress(OSError, ValueError):
            wanted = _mismatch(host, port, options, limit_s)
            if wanted:
                raise _wrong(options, wanted)
            return


def speaks_tls(options: Mapping[str, str]) -> bool:
    """Whether clients with these settings use TLS."""
    return options.get(PROTOCOL, "PLAINTEXT").upper().endswith("SSL")


def _wrong(options: Mapping[str, str], wanted: str) -> ProtocolWrong:
    return ProtocolWrong(options.get(SERVERS, ""), options.get(PROTOCOL, "PLAINTEXT"), wanted)


def _mismatch(host: str, port: int, options: Mapping[str, str], limit_s: float) -> str:
    """What the port does, if it is not what our settings say; empty if it is, or if unknown."""
    has_tls = _answers_with_tls(host, port, limit_s)
    if has_tls != speaks_tls(options):
        return "speaks TLS" if has_tls else "does not speak TLS"
    if options.get(PROTOCOL, "").upper() in LOGINS:
        return ""
    return "wants a login" if _wants_login(host, port, limit_s, has_tls=has_tls) else ""


def _answers_with_tls(host: str, port: int, limit_s: float) -> bool:
    """Whether the answer to a plain request is one of TLS. OSError if there is no answer."""
    with socket.create_connection((host, port), timeout=limit_s) as plain:
        first = _asked(plain, _VERSIONS, b"", limit_s)
    if first:
        return len(first) > 1 and first[0] in _TLS_RECORDS and first[1] == _TLS_MAJOR
    return _takes_handshake(host, port, limit_s)  # closed without a word, as some servers do


def _takes_handshake(host: str, port: int, limit_s: float) -> bool:
    with socket.create_connection((host, port), timeout=limit_s) as plain:
        try:
            with _unchecked().wrap_socket(plain, server_hostname=host):
                return True
        except ssl.SSLError as error:
            # An alert is an answer in TLS; anything else is none.
            return "alert" in str(error).lower()


def _wants_login(host: str, port: int, limit_s: float, *, has_tls: bool) -> bool:
    """Whether the port answers what it answers to all, and not what needs a login."""
    answers = []
    for request, body in ((_VERSIONS, b""), (_METADATA, _NO_TOPICS)):
        with socket.create_connection((host, port), timeout=limit_s) as plain:
            if not has_tls:
                answers.append(_asked(plain, request, body, limit_s))
                continue
            with _unchecked().wrap_socket(plain, server_hostname=host) as secured:
                answers.append(_asked(secured, request, body, limit_s))
    return bool(answers[0]) and not answers[1]


def _unchecked() -> ssl.SSLContext:
    """Checks nothing: no secret is sent, and nothing that comes back is believed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _asked(link: socket.socket, request: tuple[int, int], body: bytes, limit_s: float) -> bytes:
    """The first bytes of the answer to a request; empty if the broker ended the connection."""
    head = struct.pack(">hhih", *request, _CORRELATION, len(_CLIENT)) + _CLIENT
    deadline = time.monotonic() + limit_s
    found = b""
    try:
        link.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
        while len(found) < 8:
            link.settimeout(max(deadline - time.monotonic(), 0.1))
            more = link.recv(8 - len(found))
            if not more:
                break
            found += more
    except (ConnectionResetError, BrokenPipeError):
        return found
    return found
