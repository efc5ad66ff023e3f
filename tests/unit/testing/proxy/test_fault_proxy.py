"""The proxy passes on what it is not told to break, and breaks what it is told to."""

import http.client
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import (
    CONFLICT,
    ERROR_INSIDE_200,
    EXPIRED_TOKEN,
    INTERNAL_ERROR,
    SLOW_DOWN,
    Answer,
    Delay,
    DropReply,
    DropRequest,
    Hold,
    IgnoreHeader,
    Late,
    Rule,
    Stall,
    Truncate,
)
from tests.unit.testing.proxy.echo_server import CHUNKED, MISSING, REFUSES, UNTIL_END, Echo
from tests.unit.testing.proxy.echo_server import echo_server as running_echo

TIMEOUT_S = 30.0
LOST = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


@pytest.fixture
def echo() -> Iterator[Echo]:
    with running_echo() as echo:
        yield echo


@pytest.fixture
def proxy(echo: Echo) -> Iterator[FaultProxy]:
    with FaultProxy(echo.url) as proxy:
        yield proxy


def connect(proxy: FaultProxy, timeout_s: float = TIMEOUT_S) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(proxy.url.removeprefix("http://"), timeout=timeout_s)


def ask(
    proxy: FaultProxy,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, bytes]:
    """One request on a connection of its own."""
    connection = connect(proxy)
    try:
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def wait_for_bodies(echo: Echo, bodies: list[bytes]) -> None:
    """Until these have arrived: where the client did not wait for that."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while [each.body for each in echo.sent] != bodies:
        assert time.monotonic() < deadline_s, echo.lines
        time.sleep(0.01)


def test_a_request_and_its_reply_pass_unchanged(proxy: FaultProxy, echo: Echo) -> None:
    content = bytes(range(256)) * 5000
    path = "/bucket/a%20b%2Fc+d/%C3%A9//x?uploads=&prefix=a%2Fb&x-id=Put%20It"
    headers = {"Host": "odd.example:9", "X-Amz-Meta-Window": " 1-2", "Authorization": "AWS4 x/y"}
    assert ask(proxy, "PUT", path, content, headers) == (200, echo.content)
    [sent] = echo.sent
    assert sent.line == f"PUT {path} HTTP/1.1"
    assert sent.headers["Host"] == "odd.example:9"
    assert sent.headers["Authorization"] == "AWS4 x/y"
    assert sent.body == content


def test_one_connection_serves_many_requests(proxy: FaultProxy, echo: Echo) -> None:
    connection = connect(proxy)
    connection.connect()
    assert connection.sock is not None
    port = connection.sock.getsockname()[1]
    for number in range(20):
        connection.request("PUT", f"/b/{number}", b"x" * number)
        assert connection.getresponse().read() == echo.content
        connection.request("HEAD", f"/b/{number}")
        assert connection.getresponse().read() == b""
    assert connection.sock.getsockname()[1] == port
    connection.close()
    assert len(echo.sent) == 40


def test_bodies_in_chunks_pass_in_both_directions(proxy: FaultProxy, echo: Echo) -> None:
    connection = connect(proxy)
    pieces = [b"abc", b"d" * 100_000, b"e"]
    connection.request("PUT", f"{CHUNKED}/x", iter(pieces), encode_chunked=True, headers={
        "Transfer-Encoding": "chunked"
    })  # fmt: skip
    assert connection.getresponse().read() == echo.content
    connection.request("GET", f"{CHUNKED}/x")
    assert connection.getresponse().read() == echo.content
    connection.close()
    assert echo.sent[0].body == b"".join(pieces)


def test_a_reply_without_a_length_ends_with_the_connection(proxy: FaultProxy, echo: Echo) -> None:
    assert ask(proxy, "GET", UNTIL_END) == (200, echo.content)


def test_a_client_that_asks_first_is_told_to_send_its_body(proxy: FaultProxy, echo: Echo) -> None:
    with socket.create_connection(("127.0.0.1", int(proxy.url.rpartition(":")[2]))) as client:
        client.settimeout(TIMEOUT_S)
        client.sendall(b"PUT /b/k HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"body")
        assert client.recv(12) == b"HTTP/1.1 200"
    assert echo.sent[0].body == b"body"
    assert "Expect" not in echo.sent[0].headers


def test_a_client_that_asks_first_gets_an_error_without_sending_its_body(
    proxy: FaultProxy, echo: Echo
) -> None:
    proxy.rules.add(Rule(SLOW_DOWN, "PutObject"))
    with socket.create_connection(("127.0.0.1", int(proxy.url.rpartition(":")[2]))) as client:
        client.settimeout(TIMEOUT_S)
        client.sendall(b"PUT /b/k HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        reply = b""
        while piece := client.recv(65536):
            reply += piece
    assert reply.startswith(b"HTTP/1.1 503 ")
    assert b"Connection: close" in reply
    assert echo.sent == []


def test_a_reply_that_comes_before_the_body_was_read_arrives(proxy: FaultProxy) -> None:
    status, content = ask(proxy, "PUT", f"{REFUSES}/x", b"x" * 5_000_000)
    assert (status, content) == (403, b"refused")


def test_a_store_that_is_down_is_a_lost_connection(echo: Echo) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        taken.close()
        with FaultProxy(url) as proxy, pytest.raises(LOST):
            ask(proxy, "GET", "/b/k")
        assert "ConnectionRefusedError" in proxy.troubles[0]


def test_a_dropped_request_never_arrives(proxy: FaultProxy, echo: Echo) -> None:
    proxy.rules.add(Rule(DropRequest(), "PutObject", "k"))
    with pytest.raises(LOST):
        ask(proxy, "PUT", "/b/k", b"data")
    assert echo.sent == []
    assert ask(proxy, "PUT", "/b/k", b"data")[0] == 200
    assert [(each.forwarded, each.status, each.act) for each in proxy.requests()] == [
        (False, None, "DropRequest"),
        (True, 200, ""),
    ]


def test_a_dropped_reply_was_performed(proxy: FaultProxy, echo: Echo) -> None:
    proxy.rules.add(Rule(DropReply(), "PutObject", "k"))
    with pytest.raises(LOST):
        ask(proxy, "PUT", "/b/k", b"data")
    assert [each.body for each in echo.sent] == [b"data"]


@pytest.mark.parametrize("path", ["/b/k", f"{CHUNKED}/k"])
def test_a_truncated_reply_ends_early(proxy: FaultProxy, path: str) -> None:
    proxy.rules.add(Rule(Truncate(2500), "GetObject"))
    with pytest.raises(http.client.IncompleteRead) as found:
        ask(proxy, "GET", path)
    assert 0 < len(found.value.partial) <= 2500


@pytest.mark.parametrize("body_bytes", [None, 10])
def test_a_stalled_reply_never_ends(proxy: FaultProxy, echo: Echo, body_bytes: int | None) -> None:
    proxy.rules.add(Rule(Stall(body_bytes), "PutObject"))
    connection = connect(proxy, 0.3)
    connection.request("PUT", "/b/k", b"data")
    with pytest.raises(TimeoutError):
        connection.getresponse().read()
    connection.close()
    wait_for_bodies(echo, [b"data"])
    assert ask(proxy, "PUT", "/b/k", b"data")[0] == 200


@pytest.mark.parametrize(
    ("answer", "status"),
    [(CONFLICT, 409), (INTERNAL_ERROR, 500), (SLOW_DOWN, 503), (ERROR_INSIDE_200, 200)],
)
def test_an_answer_is_an_error_of_s3(
    proxy: FaultProxy, echo: Echo, answer: Answer, status: int
) -> None:
    proxy.rules.add(Rule(answer, times=2))
    connection = connect(proxy)
    for _ in range(2):
        connection.request("PUT", "/b/k<&>", b"data")
        reply = connection.getresponse()
        assert reply.status == status
        assert f"<Code>{answer.code}</Code>" in reply.read().decode()
    assert echo.sent == []
    connection.request("PUT", "/b/k", b"data")
    assert connection.getresponse().status == 200
    connection.close()


def test_an_error_can_come_after_the_request_was_performed(proxy: FaultProxy, echo: Echo) -> None:
    proxy.rules.add(Rule(Answer(500, "InternalError", performed=True), "PutObject"))
    assert ask(proxy, "PUT", "/b/k", b"data")[0] == 500
    assert [each.body for each in echo.sent] == [b"data"]


def test_an_answer_to_head_has_no_body(proxy: FaultProxy) -> None:
    proxy.rules.add(Rule(SLOW_DOWN, "HeadObject"))
    connection = connect(proxy)
    connection.request("HEAD", "/b/k")
    reply = connection.getresponse()
    assert (reply.status, reply.read()) == (503, b"")
    connection.request("GET", "/b/k")
    assert connection.getresponse().status == 200
    connection.close()


def test_a_delayed_request_takes_longer(proxy: FaultProxy) -> None:
    proxy.rules.add(Rule(Delay(0.2), "GetObject"))
    began_s = time.monotonic()
    assert ask(proxy, "GET", "/b/k")[0] == 200
    assert time.monotonic() - began_s >= 0.2
    proxy.slow_down(0.2)
    began_s = time.monotonic()
    assert ask(proxy, "HEAD", "/b/k")[0] == 200
    assert time.monotonic() - began_s >= 0.2


def test_a_held_request_waits_for_its_release(proxy: FaultProxy, echo: Echo) -> None:
    proxy.rules.add(Rule(Hold("old"), "PutObject", "k"))
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(ask, proxy, "PUT", "/b/k", b"old")
        proxy.waiting.wait_for("old")
        assert ask(proxy, "PUT", "/b/k", b"new")[0] == 200
        assert [each.body for each in echo.sent] == [b"new"]
        assert proxy.release("old") == []
        assert held.result(TIMEOUT_S)[0] == 200
    assert [each.body for each in echo.sent] == [b"new", b"old"]


def test_a_held_request_arrives_although_its_client_gave_up(proxy: FaultProxy, echo: Echo) -> None:
    proxy.rules.add(Rule(Hold("old"), "PutObject", "k"))
    connection = connect(proxy, 0.2)
    connection.request("PUT", "/b/k", b"old")
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()
    proxy.waiting.wait_for("old")
    assert echo.sent == []
    proxy.release("old")
    wait_for_bodies(echo, [b"old"])


def test_a_late_request_is_lost_for_its_client_and_arrives_at_the_release(
    proxy: FaultProxy, echo: Echo
) -> None:
    large = b"x" * 20_000_000
    proxy.rules.add(Rule(Late("old"), "PutObject", "k"))
    with pytest.raises(LOST):
        ask(proxy, "PUT", "/b/k", large)
    assert echo.sent == []
    assert ask(proxy, "PUT", "/b/k", b"new")[0] == 200
    assert proxy.release("old") == [200]
    assert proxy.release("old") == []
    assert [each.body for each in echo.sent] == [b"new", large]


def test_a_header_can_be_kept_from_the_store(proxy: FaultProxy, echo: Echo) -> None:
    proxy.rules.add(Rule(IgnoreHeader("if-none-match"), "PutObject"))
    for _ in range(2):
        ask(proxy, "PUT", "/b/k", b"data", {"If-None-Match": "*", "X-Other": "1"})
    assert ["If-None-Match" in each.headers for each in echo.sent] == [False, True]
    assert [each.headers["X-Other"] for each in echo.sent] == ["1", "1"]


def test_a_rule_hits_from_the_nth_on_so_many_times(proxy: FaultProxy) -> None:
    proxy.rules.add(Rule(SLOW_DOWN, "PutObject", nth=2, times=2), Rule(CONFLICT, "PutObject", "z"))
    statuses = [ask(proxy, "PUT", f"/b/{number}", b"")[0] for number in range(5)]
    assert statuses == [200, 503, 503, 200, 200]
    assert proxy.rules.unmet() == [Rule(CONFLICT, "PutObject", "z")]
    proxy.rules.clear()
    proxy.rules.add(Rule(EXPIRED_TOKEN, token="old", times=None))
    with_token = [
        ask(proxy, "GET", "/b/k", headers={"X-Amz-Security-Token": token})[0]
        for token in ("old", "new", "old")
    ]
    assert with_token == [400, 200, 400]


@pytest.mark.parametrize(
    ("method", "target", "headers", "operation"),
    [
        ("PUT", "/b/k", {}, "PutObject"),
        ("PUT", "/b/k", {"x-amz-copy-source": "/b/x"}, "CopyObject"),
        ("PUT", "/b/k?partNumber=1&uploadId=u", {}, "UploadPart"),
        ("POST", "/b/k?uploads", {}, "CreateMultipartUpload"),
        ("POST", "/b/k?uploadId=u", {}, "CompleteMultipartUpload"),
        ("DELETE", "/b/k?uploadId=u", {}, "AbortMultipartUpload"),
        ("GET", "/b/k?uploadId=u", {}, "ListParts"),
        ("GET", "/b?uploads&prefix=a", {}, "ListMultipartUploads"),
        ("GET", "/b?list-type=2&prefix=a%2F", {}, "ListObjectsV2"),
        ("GET", "/b/k", {}, "GetObject"),
        ("HEAD", "/b/k", {}, "HeadObject"),
        ("DELETE", "/b/k", {}, "DeleteObject"),
        ("POST", "/b?delete", {}, "DeleteObjects"),
        ("GET", "/b/?lifecycle", {}, "GetBucketLifecycleConfiguration"),
        ("HEAD", "/b", {}, "HeadBucket"),
        ("GET", "/", {}, "ListBuckets"),
    ],
)
def test_operations_are_told_apart_and_counted(
    proxy: FaultProxy, method: str, target: str, headers: dict[str, str], operation: str
) -> None:
    ask(proxy, method, target, b"12345" if method in ("PUT", "POST") else None, headers)
    [record] = proxy.requests()
    assert record.operation == operation
    assert proxy.records.count() == {operation: 1}
    assert record.request_bytes == (5 if method in ("PUT", "POST") else 0)
    proxy.records.clear()
    assert proxy.requests() == []


def test_a_rule_can_ask_for_words_of_the_query_and_for_a_method(
    proxy: FaultProxy, echo: Echo
) -> None:
    proxy.rules.add(Rule(CONFLICT, query=("uploadId",), method="POST", times=None))
    assert ask(proxy, "POST", "/b/k?uploads", b"")[0] == 200
    assert ask(proxy, "GET", "/b/k?uploadId=1")[0] == 200
    assert ask(proxy, "POST", "/b/k?uploadId=1", b"")[0] == 409


def test_a_stop_ends_what_waits(echo: Echo) -> None:
    with ThreadPoolExecutor(2) as pool:
        with FaultProxy(
            echo.url, [Rule(Hold(), "GetObject"), Rule(Stall(), "HeadObject")]
        ) as proxy:
            waiting = [pool.submit(ask, proxy, method, "/b/k") for method in ("GET", "HEAD")]
            proxy.waiting.wait_for("held")
        for each in waiting:  # the second may come when nobody listens any more
            with pytest.raises((*LOST, ConnectionRefusedError)):
                each.result(TIMEOUT_S)


def test_what_is_held_never_arrives_when_the_proxy_stops(echo: Echo) -> None:
    """Also when its sender is dead: what nobody released must not happen beside a recovery."""
    with FaultProxy(echo.url, [Rule(Hold(), "PutObject")]) as proxy:
        connection = connect(proxy, TIMEOUT_S)
        connection.request("PUT", "/b/k", b"old")
        proxy.waiting.wait_for("held")
        connection.close()
    assert echo.sent == []


def test_many_clients_are_served_at_once(proxy: FaultProxy, echo: Echo) -> None:
    def put(number: int) -> int:
        return ask(proxy, "PUT", f"/b/{number}", f"{number}".encode() * 1000)[0]

    with ThreadPoolExecutor(32) as pool:
        assert set(pool.map(put, range(300))) == {200}
    assert sorted(each.line for each in echo.sent) == sorted(
        f"PUT /b/{number} HTTP/1.1" for number in range(300)
    )


def test_a_missing_object_is_still_a_reply(proxy: FaultProxy) -> None:
    assert ask(proxy, "GET", f"{MISSING}/k") == (404, b"nothing")
