"""What a port speaks is found out with a bare socket, and only a clear answer counts."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from penstock.ports.source.errors import ProtocolWrong
from penstock.ports.source.kafka.listener_probe import check_plain, check_spoken
from penstock.testing.certificates import Authority

ALERT = bytes([0x15, 3, 3, 0, 2, 2, 80])
VERSIONS_ANSWER = (30).to_bytes(4) + (7).to_bytes(4) + bytes(26)
VERSIONS, METADATA = 18, 3
Answer = Callable[[socket.socket], None]


@contextmanager
def listening(answer: Answer) -> Iterator[str]:
    """A server that answers each connection in its own way; its address."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def serve() -> None:
            while True:
                try:
                    link, _ = server.accept()
                except OSError:
                    return
                with closing(link):
                    link.settimeout(5)
                    try:
                        answer(link)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        host, port = server.getsockname()
        yield f"{host}:{port}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def plain_broker(*, wants_login: bool = False) -> Answer:
    """Answers as a broker without TLS; with a login, only what it answers to all."""

    def answer(link: socket.socket) -> None:
        head = link.recv(1000)
        if len(head) < 6 or head[0] != 0:
            return  # not a request: brokers close the connection
        if int.from_bytes(head[4:6]) == VERSIONS or not wants_login:
            link.sendall(VERSIONS_ANSWER)

    return answer


def tls_broker(tls: ssl.SSLContext, behind: Answer, *, alerts: bool) -> Answer:
    """Answers as a broker with TLS; without it, by an alert, or by closing."""

    def answer(link: socket.socket) -> None:
        first = link.recv(1, socket.MSG_PEEK)
        if first != b"\x16":
            link.recv(1000)
            if alerts:
                link.sendall(ALERT)
            return
        with tls.wrap_socket(link, server_side=True) as secured:
            behind(secured)

    return answer


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    chain = Authority(tmp_path, "ca").sign("broker", "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return context


def options(server: str, protocol: str = "") -> dict[str, str]:
    return {"bootstrap.servers": server, **({"security.protocol": protocol} if protocol else {})}


@pytest.mark.parametrize("alerts", [True, False])
@pytest.mark.parametrize("protocol", ["", "PLAINTEXT", "SASL_PLAINTEXT"])
def test_a_plain_client_is_kept_from_a_port_with_tls(
    tls: ssl.SSLContext, protocol: str, alerts: bool
) -> None:
    with listening(tls_broker(tls, plain_broker(), alerts=alerts)) as server:
        for check in (check_plain, check_spoken):
            with pytest.raises(ProtocolWrong, match=r"speaks TLS, and `security.protocol` is"):
                check(options(server, protocol), limit_s=5)


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_a_client_with_tls_is_told_of_a_port_without_it(protocol: str) -> None:
    with listening(plain_broker()) as server:
        check_plain(options(server, protocol), limit_s=5)  # asks nothing
        with pytest.raises(ProtocolWrong, match=f"does not speak TLS.* is {protocol}"):
            check_spoken(options(server, protocol), limit_s=5)


@pytest.mark.parametrize("has_tls", [True, False])
def test_a_client_without_a_login_is_told_of_a_port_that_wants_one(
    tls: ssl.SSLContext, has_tls: bool
) -> None:
    behind = plain_broker(wants_login=True)
    port = tls_broker(tls, behind, alerts=True) if has_tls else behind
    protocols = ("SSL", "SASL_SSL") if has_tls else ("PLAINTEXT", "SASL_PLAINTEXT")
    with listening(port) as server:
        with pytest.raises(ProtocolWrong, match="wants a login"):
            check_spoken(options(server, protocols[0]), limit_s=5)
        check_spoken(options(server, protocols[1]), limit_s=5)


def test_what_fits_and_what_does_not_answer_is_no_finding(tls: ssl.SSLContext) -> None:
    with listening(plain_broker()) as server:
        check_plain(options(server), limit_s=5)
        check_spoken(options(server), limit_s=5)
    with listening(tls_broker(tls, plain_broker(), alerts=True)) as server:
        check_spoken(options(server, "SSL"), limit_s=5)
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        host, port = silent.getsockname()
        check_plain(options(f"{host}:{port}"), limit_s=0.2)
        check_spoken(options(f"{host}:{port}", "SSL"), limit_s=0.2)
    check_plain(options("127.0.0.1:1, nonsense"), limit_s=0.2)
    check_spoken(options("127.0.0.1:1"), limit_s=0.2)


def test_the_next_server_is_asked_when_one_does_not_answer(tls: ssl.SSLContext) -> None:
    port = tls_broker(tls, plain_broker(), alerts=True)
    with listening(port) as server, pytest.raises(ProtocolWrong):
        check_plain(options(f"127.0.0.1:1,{server}"), limit_s=5)
