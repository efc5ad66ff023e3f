"""A store that cannot be spoken to is told in one sentence; what it answers is read as it is meant.

Method: a small server on loopback, with TLS or without.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.plugin import PluginRef
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.s3.s3_requests import S3Requests
from penstock.ports.store.s3.s3_settings import read_settings
from penstock.testing.certificates import Authority

CHECKSUM = "sha256:0123"


class Answers(BaseHTTPRequestHandler):
    """An object with metadata whose names have capitals; a PUT gets no answer or a refusal."""

    protocol_version = "HTTP/1.1"
    puts: list[int]

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.send_header("ETag", '"tag"')
        self.send_header("X-Amz-Meta-Penstock-Checksum", CHECKSUM)
        self.end_headers()

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if not self.puts:
            self.puts.append(1)
            self.close_connection = True
            return
        body = b"<Error><Code>ExpiredToken</Code><Message>No.</Message></Error>"
        self.send_response(400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def server(certificate: Path | None = None) -> Iterator[int]:
    """A server as long as the block lasts; its port."""
    running = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Answers,), {"puts": []}))
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        running.socket = context.wrap_socket(running.socket, server_side=True)
    thread = Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield running.server_address[1]
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


def requests_to(endpoint: str, **settings: str) -> S3Requests:
    opener = PluginRef("store", "s3", "penstock.ports.store.s3.s3_store:open_s3")
    where = {"endpoint": endpoint} if endpoint else {}
    found = read_settings(StoreSpec("s3", "lakes/shop", opener, where | settings))
    waiting = Waiting(lambda: 0.0, lambda _s: None, lambda: 0.0)
    return S3Requests(found, BackOff(tries=2), waiting)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "an-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")


@pytest.mark.parametrize(
    ("certificate", "host", "ca", "words"),
    [
        ("good", "localhost", "none.pem", "or AWS_CA_BUNDLE, names does not exist"),
        ("good", "localhost", "text", "names has no certificates in PEM"),
        ("good", "localhost", "other.pem", "is not trusted; name its authority by `ca`"),
        ("good", "127.0.0.1", "ca.pem", "is for another host"),
        ("elsewhere", "localhost", "ca.pem", "is for another host"),
        ("expired", "localhost", "ca.pem", "is not valid at this time"),
        ("", "localhost", "ca.pem", "does not speak TLS; correct `endpoint`"),
    ],
)
@pytest.mark.usefixtures("keys")
def test_each_failure_of_tls_is_told_with_what_to_do(
    certificate: str, host: str, ca: str, words: str, tmp_path: Path
) -> None:
    authority = Authority(tmp_path, "ca")
    Authority(tmp_path, "other")
    authority.sign("good", "localhost")
    authority.sign("elsewhere", "elsewhere.example")
    authority.sign("expired", "localhost", valid=timedelta(days=-1))
    (tmp_path / "text").write_text("not a certificate")
    with server(authority.path_of(certificate) if certificate else None) as port:
        requests = requests_to(f"https://{host}:{port}", ca=str(tmp_path / ca))
        with pytest.raises(StoreUnavailable) as caught:
            requests.head("x")
    assert words in caught.value.why
    assert f"https://{host}:{port}" in caught.value.why
    assert "'lakes'" in caught.value.why


@pytest.mark.usefixtures("keys")
def test_an_endpoint_of_the_environment_that_is_no_address_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "127.0.0.1:9000")
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:9000.*AWS_ENDPOINT_URL, is such"):
        requests_to("").head("x")


@pytest.mark.usefixtures("keys")
def test_an_endpoint_of_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with server() as port:
        gone = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", gone)
    with pytest.raises(StoreUnavailable, match=f"{gone} .*cannot be reached.*AWS_ENDPOINT_URL"):
        requests_to("").head("x")


@pytest.mark.usefixtures("keys")
def test_metadata_are_found_however_a_store_writes_their_names() -> None:
    with server() as port:
        facts = requests_to(f"http://127.0.0.1:{port}").head("x")
    assert facts is not None
    assert facts.metadata == {"penstock-checksum": CHECKSUM}


def test_a_profile_that_vanishes_after_a_lost_reply_leaves_the_outcome_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client is made anew while nobody knows what the first try has done."""
    config = tmp_path / "config"
    config.write_text(
        "[profile ingest]\naws_access_key_id = an-id\naws_secret_access_key = a-secret\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with server() as port:
        requests = requests_to(f"http://127.0.0.1:{port}", profile="ingest")
        assert requests.head("x") is not None
        config.write_text("")
        with pytest.raises(OutcomeUnknown):
            requests.put("create", "x", b"rows", None)
        with pytest.raises(StoreUnavailable, match="no usable credentials"):
            requests.head("x")
