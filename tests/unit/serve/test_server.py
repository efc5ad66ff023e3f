"""The HTTP server on a real socket: who may ask, what is answered, and that no client does harm."""

import contextlib
import threading
import time
from collections.abc import Iterator

import pytest
from starlette.routing import Route

from penstock.runtime.surroundings import Surroundings
from penstock.serve import server as server_module
from penstock.serve.app import application
from penstock.serve.errors import AddressRefused, TokenMissing
from penstock.serve.facts_keeper import FactsKeeper
from penstock.serve.feed_view import MetricOptions
from penstock.serve.server import STOP_S, Address, HttpServer, allowed_hosts, listen
from tests.helpers.http_asking import ask, dial
from tests.helpers.list_story import TOPIC, TORN, Story, events
from tests.helpers.served_story import reader_of

TOKEN = "a-token-of-some-length"
FREE = Address("127.0.0.1", 0)
SECRET = b'{"type": "click", "card": "4111-1111-1111-1111"'


@pytest.fixture(scope="module")
def story() -> Story:
    found = Story()
    found.cluster.append(TOPIC, 0, *events("click", 4), TORN, SECRET)
    assert found.run_once() == 0
    return found


def around() -> Surroundings:
    return Story().clock.around()


@contextlib.contextmanager
def serving(
    story: Story,
    token: str | None = None,
    hosts: frozenset[str] | None = allowed_hosts("127.0.0.1"),
) -> Iterator[str]:
    """A server over the story's lake; its address."""
    keeper = FactsKeeper([reader_of(story)], lambda: None, story.clock.around())
    app = application(keeper, MetricOptions(), token, hosts)
    told: list[str] = []
    with HttpServer(app, listen(FREE, token), told.append) as server:
        yield server.url
    assert told == []


def paths() -> list[str]:
    """Every route, with a feed that is there."""
    keeper = FactsKeeper([], lambda: None, around())
    routes = application(keeper, MetricOptions())._app.routes  # type: ignore[attr-defined]
    found = [each.path.replace("{feed}", "feed") for each in routes if isinstance(each, Route)]
    assert len(found) == 10
    return found


def test_every_route_answers_and_has_headers_that_keep_browsers_out(story: Story) -> None:
    with serving(story) as url:
        for path in paths():
            found = ask(url, path)
            assert found.status == (503 if path == "/readyz" else 200), path
            assert found.headers["x-content-type-options"] == "nosniff"
            assert found.headers["cache-control"] == "no-store"
            assert "default-src 'none'" in found.headers["content-security-policy"]
            assert "server" not in found.headers


def test_without_the_token_no_route_answers(story: Story) -> None:
    wrong = ["", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN]
    with serving(story, TOKEN) as url:
        for path in [*paths(), "/nope", "/../../etc/passwd"]:
            assert ask(url, path).status == 401
            for each in wrong:
                assert ask(url, path, Authorization=each).status == 401
        good = ask(url, "/metrics", Authorization=f"Bearer {TOKEN}")
        assert good.status == 200
        assert ask(url, "/livez", Authorization=f"bearer {TOKEN}").status == 200
        assert TOKEN.encode() not in good.body


def test_a_page_of_another_name_cannot_ask_through_a_browser(story: Story) -> None:
    """DNS rebinding: the name of an attacker leads to loopback, and the browser sends that name."""
    with serving(story) as url:
        port = url.rpartition(":")[2]
        for good in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
            assert ask(url, "/metrics", Host=good).status == 200
        for bad in (f"evil.example:{port}", "evil.example", "", "127.0.0.1.evil.example"):
            assert ask(url, "/metrics", Host=bad).status in (400, 421), bad
        with dial(url) as raw:
            raw.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
            assert raw.recv(100).split()[1] in (b"400", b"421")


def test_only_reading_is_allowed(story: Story) -> None:
    with serving(story) as url:
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert ask(url, "/api/feeds", method).status == 405
        assert ask(url, "/api/feeds", "POST", Transfer_Encoding="chunked").status == 413
        assert ask(url, "/livez", "HEAD").body == b""
        for path in ("/../../etc/passwd", "/api/feeds/../../..", "/%2e%2e/%2e%2e", "//etc/passwd"):
            assert ask(url, path).status in (404, 400)
        assert ask(url, "/api/feeds/nobody").status == 404
        for limit in ("0", "-1", "501", "x", "", "1" * 5000, "%D9%A3"):
            assert ask(url, f"/api/feeds/feed/windows?limit={limit}").status == 400, limit[:10]


def test_no_answer_has_a_payload_in_it(story: Story) -> None:
    with serving(story) as url:
        found = ask(url, "/api/feeds/feed/errors").json
        assert found["records"] == 2
        assert found["by_reason"] == [{"dataset": None, "reason": "NOT_JSON", "count": 2}]
        assert sum(group["count"] for group in found["groups"]["shown"]) == 2
        assert {"fingerprint", "reason", "count", "datasets", "first", "last"} == set(
            found["groups"]["shown"][0]
        )
        for path in paths():
            assert b"4111" not in ask(url, path).body


def test_the_api_tells_feeds_and_windows(story: Story) -> None:
    with serving(story) as url:
        (brief,) = ask(url, "/api/feeds").json["feeds"]
        assert (brief["feed"], brief["state"], brief["counts"]["read"]) == ("feed", "stopped", 6)
        whole = ask(url, "/api/feeds/feed").json
        assert [each["dataset"] for each in whole["datasets"]] == ["_quarantine", "click"]
        assert whole["partitions"][0]["watermark"] == 6
        (window,) = ask(url, "/api/feeds/feed/windows?limit=5").json["windows"]
        assert (window["read"], window["written"], window["quarantined"]) == (6, 4, 2)
        assert window["ranges"] == [{"topic": TOPIC, "partition": 0, "start": 0, "end": 6}]


def test_a_client_that_says_nothing_is_cut_off(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "HEAD_S", 0.3)
    with serving(story) as url, dial(url) as silent, dial(url) as slow:
        slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: local")
        assert silent.recv(10) == b""
        assert slow.recv(10) == b""
        assert ask(url, "/livez").status == 200


def test_a_body_of_a_gigabyte_is_not_taken(story: Story) -> None:
    """The connection ends long before all of it was sent."""
    with serving(story) as url, dial(url) as raw:
        head = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"
        raw.sendall(head)
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 1_000_000_000:
                sent += raw.send(b"x" * 65_536)
        assert sent < 100_000_000


def test_many_connections_are_refused_and_not_collected(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "MOST_CONNECTIONS", 5)
    with serving(story) as url, contextlib.ExitStack() as held:
        for _ in range(8):
            held.enter_context(dial(url))
        time.sleep(0.2)
        assert ask(url, "/livez").status == 503


def test_the_server_ends_at_once_whatever_its_clients_do(story: Story) -> None:
    with contextlib.ExitStack() as clients:
        with serving(story) as url:
            slow = clients.enter_context(dial(url))
            slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")  # and never reads
            half = clients.enter_context(dial(url))
            half.sendall(b"GET /met")
            began = time.monotonic()
        assert (
            time.monotonic() - began < STOP_S + 5
        )  # it waits 2 s at most; the rest is the machine


def test_an_address_that_others_reach_needs_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.com"):
        with pytest.raises(TokenMissing) as refused:
            listen(Address(host, 0), None)
        assert refused.value.exit_code == 2
    listen(Address("0.0.0.0", 0), TOKEN).close()
    assert allowed_hosts("0.0.0.0") is None


def test_only_loopback_listens_by_default() -> None:
    with listen(FREE, None) as found:
        assert found.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_told_in_one_sentence() -> None:
    with listen(FREE, None) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressRefused) as refused:
            listen(Address("127.0.0.1", port), None)
    assert refused.value.exit_code == 2
    assert f"127.0.0.1 port {port}: address already in use." in str(refused.value)
    with pytest.raises(AddressRefused):
        listen(Address("127.0.0.1", 70_000), None)


def test_a_server_that_fails_is_told_and_harms_nobody(story: Story) -> None:
    told: list[str] = []
    keeper = FactsKeeper([], lambda: None, around())
    listening = listen(FREE, None)
    failing = HttpServer(application(keeper, MetricOptions()), listening, told.append)
    failing._server.config.http_protocol_class = None  # type: ignore[assignment]
    failing._server.config.loaded = True
    with failing:
        for _ in range(100):
            if told:
                break
            time.sleep(0.05)
    assert "the server for metrics has ended" in told[0]


def test_a_lake_that_hangs_holds_back_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first question waits a moment; liveness never does; the end of the server neither."""
    released = threading.Event()
    clock = Story().clock
    keeper = FactsKeeper([], lambda: released.wait(60), clock.around())
    monkeypatch.setattr(keeper, "facts", lambda: FactsKeeper.facts(keeper, wait_s=0.2))
    app = application(keeper, MetricOptions())
    with HttpServer(app, listen(FREE, None), print) as server:
        assert ask(server.url, "/livez").status == 200
        found = ask(server.url, "/readyz")
        assert (found.status, found.json["ready"]) == (503, False)
        assert "has not answered" in found.json["why"]
        assert b"penstock_lake_up 0.0" in ask(server.url, "/metrics").body
    released.set()
