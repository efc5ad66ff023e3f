"""The client of schema registries: what it asks, what it believes, and what it never gives away.

What a registry says is tested with a registry in a dict; how it is asked, with a server on
loopback.
"""

import base64
import contextlib
import gc
import json
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import RegistrySpec
from penstock.ports.registry.errors import RegistryDown, RegistryRefused, RegistryWrong
from penstock.ports.registry.registry import Registry
from penstock.ports.registry.registry_http import http_fetch
from tests.helpers.http_answers import Answers, answer, raw, serving

URL = "http://registry/path"
GUID = "0b2f7d0e-6f0c-4c0b-9d2e-1d2a3b4c5d6e"
NONE_SUCH = b'{"error_code": 40403, "message": "Schema 7 not found"}'


class Registered:
    """A registry in a dict: answers by path, 404 without a word for all others."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, bytes]] = {
            "/schemas/types": (200, b'["JSON", "PROTOBUF", "AVRO"]')
        }
        self.asked: list[str] = []
        self.registry = Registry(URL, self._fetch)

    def _fetch(self, url: str) -> tuple[int, bytes]:
        path = url.removeprefix(URL)
        self.asked.append(path)
        return self.answers.get(path, (404, b""))

    def has(self, path: str, schema: str, *references: tuple[str, str], **more: object) -> None:
        """Put a schema there; references are (name, subject/version)."""
        named = [
            {"name": name, "subject": place.split("/")[0], "version": int(place.split("/")[1])}
            for name, place in references
        ]
        said = {"schema": schema, "references": named, **more}
        self.answers[path] = (200, json.dumps(said).encode())

    def has_version(self, place: str, schema: str, *references: tuple[str, str]) -> None:
        """Put a schema at a subject's version."""
        self.has(version_path(place), schema, *references)


def version_path(place: str) -> str:
    subject, version = place.split("/")
    return f"/subjects/{subject}/versions/{version}?deleted=true"


@pytest.fixture
def there() -> Registered:
    return Registered()


@pytest.fixture
def server() -> Iterator[Answers]:
    with serving() as answers:
        yield answers


def asking(server: Answers, **settings: Any) -> Registry:
    """A client of the server; it waits for a short time only."""
    spec = RegistrySpec(server.url, **({"timeout_s": 60.0} | settings))
    return Registry(server.url, http_fetch(spec))


# What a registry says.


def test_a_schema_is_found_by_its_id_and_by_its_guid(there: Registered) -> None:
    there.has("/schemas/ids/7", '"string"')
    there.has(f"/schemas/guids/{GUID}", '"long"')
    assert there.registry.find("7") == RegisteredSchema("avro", '"string"')
    assert there.registry.find(f"guid:{GUID}") == RegisteredSchema("avro", '"long"')


@pytest.mark.parametrize(
    ("said", "kind"), [("AVRO", "avro"), ("PROTOBUF", "protobuf"), ("JSON", "json"), (None, "avro")]
)
def test_a_schema_has_one_of_three_types_and_none_means_avro(
    there: Registered, said: str | None, kind: str
) -> None:
    there.has("/schemas/ids/7", "x", schemaType=said)
    found = there.registry.find("7")
    assert found is not None
    assert found.type == kind


def why_unusable(there: Registered, key: str) -> str:
    """Why a schema that is there cannot be used; it must not stop the records of others."""
    found = there.registry.find(key)
    assert found is not None
    assert (found.type, found.references) == ("unusable", ())
    return found.text


def test_a_schema_of_another_type_is_unusable(there: Registered) -> None:
    there.has("/schemas/ids/7", "x", schemaType="XML")
    assert "type 'XML'" in why_unusable(there, "7")


def test_fields_that_are_null_or_unknown_do_not_matter(there: Registered) -> None:
    said = {"schema": "x", "references": None, "schemaType": None, "ruleSet": {"a": [1]}, "id": 7}
    there.answers["/schemas/ids/7"] = (200, json.dumps(said).encode())
    assert there.registry.find("7") == RegisteredSchema("avro", "x")


def test_references_come_after_what_they_refer_to_themselves(there: Registered) -> None:
    there.has("/schemas/ids/7", "top", ("b.B", "b/2"))
    there.has_version("b/2", "B", ("a.A", "a/1"))
    there.has_version("a/1", "A")
    found = there.registry.find("7")
    assert found == RegisteredSchema("avro", "top", (("a.A", "A"), ("b.B", "B")))


def test_what_is_referred_to_twice_is_asked_for_and_told_once(there: Registered) -> None:
    """A diamond: the two sides refer to the same bottom."""
    there.has("/schemas/ids/7", "top", ("l", "left/1"), ("r", "right/1"))
    there.has_version("left/1", "L", ("d", "down/1"))
    there.has_version("right/1", "R", ("d", "down/1"))
    there.has_version("down/1", "D")
    found = there.registry.find("7")
    assert found is not None
    assert found.references == (("d", "D"), ("l", "L"), ("r", "R"))
    assert there.asked.count(version_path("down/1")) == 1


def test_one_schema_under_two_names_is_told_under_both(there: Registered) -> None:
    """Files may import one other by two paths, and each has to be found."""
    there.has("/schemas/ids/7", "top", ("x/common.proto", "common/1"), ("left.proto", "left/1"))
    there.has_version("left/1", "L", ("common.proto", "common/1"))
    there.has_version("common/1", "C")
    found = there.registry.find("7")
    assert found is not None
    assert dict(found.references) == {"x/common.proto": "C", "common.proto": "C", "left.proto": "L"}
    assert there.asked.count(version_path("common/1")) == 1


def test_a_subject_is_quoted_in_an_address(there: Registered) -> None:
    there.answers["/schemas/ids/7"] = (
        200,
        b'{"schema": "t", "references": [{"name": "n", "subject": "a/../b ?#", "version": 1}]}',
    )
    there.answers["/subjects/a%2F..%2Fb%20%3F%23/versions/1?deleted=true"] = (
        200,
        b'{"schema":"B"}',
    )
    found = there.registry.find("7")
    assert found is not None
    assert found.references == (("n", "B"),)


@pytest.mark.parametrize("body", [b"", b'{"error_code": 40401}', b'{"error_code": 40402}'])
def test_a_reference_that_is_not_there_is_named(there: Registered, body: bytes) -> None:
    there.has("/schemas/ids/7", "top", ("b", "b/2"))
    there.answers[version_path("b/2")] = (404, body)
    assert "refers to b/2, which is not there" in why_unusable(there, "7")


@pytest.mark.parametrize("status", [204, 429, 500, 503])
def test_a_reference_that_nobody_answers_for_is_not_missing(there: Registered, status: int) -> None:
    there.has("/schemas/ids/7", "top", ("b", "b/2"))
    there.answers[version_path("b/2")] = (status, b"")
    with pytest.raises(RegistryDown, match=str(status)):
        there.registry.find("7")


def test_references_in_a_circle_are_refused(there: Registered) -> None:
    there.has("/schemas/ids/7", "top", ("a", "a/1"))
    there.has_version("a/1", "A", ("b", "b/1"))
    there.has_version("b/1", "B", ("a", "a/1"))
    assert "a/1 refers to itself" in why_unusable(there, "7")


def test_references_may_be_many_and_not_more(there: Registered) -> None:
    for number in range(65):
        there.has_version(f"s{number}/1", "x")
    names = [(f"n{number}", f"s{number}/1") for number in range(65)]
    there.has("/schemas/ids/7", "top", *names[:64])
    there.has("/schemas/ids/8", "top", *names)
    found = there.registry.find("7")
    assert found is not None
    assert len(found.references) == 64
    assert "over 64 references" in why_unusable(there, "8")


def test_references_may_not_go_down_for_ever(there: Registered) -> None:
    """Goal: a chain counts while it is followed, and not only once its end was found."""
    there.has("/schemas/ids/7", "top", ("n0", "s0/1"))
    for number in range(2000):
        there.has_version(f"s{number}/1", "x", (f"n{number + 1}", f"s{number + 1}/1"))
    assert "over 64 references" in why_unusable(there, "7")
    assert len(there.asked) <= 66


def test_many_names_for_one_schema_are_bounded_too(there: Registered) -> None:
    there.has("/schemas/ids/7", "top", *((f"n{number}", "s/1") for number in range(65)))
    there.has_version("s/1", "x")
    assert "over 64 references" in why_unusable(there, "7")


def test_references_together_are_bounded_in_size(there: Registered) -> None:
    there.has("/schemas/ids/7", "top", ("a", "a/1"), ("b", "b/1"))
    for subject in ("a", "b"):
        there.has_version(f"{subject}/1", "x" * 5_000_000)
    assert "characters" in why_unusable(there, "7")


# What is not there, and what is no registry.


def test_an_id_that_is_not_there_is_none(there: Registered) -> None:
    there.answers["/schemas/ids/7"] = (404, NONE_SUCH)
    assert there.registry.find("7") is None
    assert there.asked == ["/schemas/ids/7"]


@pytest.mark.parametrize(
    "key", ["2147483647", f"guid:{GUID}"], ids=["an id that none has yet", "a guid"]
)
@pytest.mark.parametrize("body", [b"", b'{"error_code": 404, "message": "HTTP 404 Not Found"}'])
def test_what_a_registry_has_no_words_for_is_not_there_either(
    there: Registered, key: str, body: bytes
) -> None:
    """Goal: no record stops a feed. A 404 of the web server means the record if others answer."""
    kind, _, guid = key.rpartition(":")
    there.answers[f"/schemas/{kind or 'id'}s/{guid}"] = (404, body)
    assert there.registry.find(key) is None


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"error_code": []}', b'{"error_code": 404}', b'["AVRO"']
)
def test_a_404_of_something_else_is_no_answer_about_a_schema(
    there: Registered, body: bytes
) -> None:
    """Else a wrong address would send all records to the quarantine."""
    there.answers["/schemas/ids/7"] = there.answers["/schemas/types"] = (404, body)
    with pytest.raises(RegistryWrong, match=r"/schemas/ids/7 is not an address.*ccompat") as caught:
        there.registry.find("7")
    assert caught.value.exit_code == 2
    there.answers["/schemas/types"] = (200, body)
    with pytest.raises(RegistryWrong):
        there.registry.find("7")


@pytest.mark.parametrize("status", [401, 403])
def test_being_refused_is_said_with_what_to_give(there: Registered, status: int) -> None:
    there.answers["/schemas/ids/7"] = (status, b"no")
    with pytest.raises(RegistryRefused, match=f"{status}.*a token") as caught:
        there.registry.find("7")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("status", [400, 422])
def test_a_registry_that_finds_an_id_odd_has_no_such_schema(there: Registered, status: int) -> None:
    """Only in its own words, and while it answers: else it may be whatever is in between."""
    there.answers["/schemas/ids/7"] = (status, b'{"error_code": 400, "message": "bad id"}')
    assert there.registry.find("7") is None
    types = there.answers["/schemas/types"]
    there.answers["/schemas/types"] = (status, b'{"error_code": 400}')
    with pytest.raises(RegistryDown, match=str(status)):
        there.registry.find("7")
    there.answers["/schemas/types"] = types
    there.answers["/schemas/ids/7"] = (status, b"<html>bad request</html>")
    with pytest.raises(RegistryDown, match=str(status)):
        there.registry.find("7")


def test_an_id_that_none_can_have_is_not_asked_for(there: Registered) -> None:
    assert there.registry.find(str(2**31)) is None
    assert there.asked == []
    there.has(f"/schemas/ids/{2**31 - 1}", "x")
    assert there.registry.find(str(2**31 - 1)) is not None


@pytest.mark.parametrize("status", [204, 408, 429, 500, 502, 503])
def test_any_other_status_is_no_answer(there: Registered, status: int) -> None:
    there.answers["/schemas/ids/7"] = (status, NONE_SUCH)
    with pytest.raises(RegistryDown, match=str(status)):
        there.registry.find("7")
    there.answers["/schemas/ids/7"] = (404, b"")
    there.answers["/schemas/types"] = (status, b"")
    with pytest.raises(RegistryDown, match=str(status)):
        there.registry.find("7")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>not found</html>",
        b"null",
        b"[]",
        b"{}",
        b'{"schema": 7}',
        b'{"schema": "\xff"}',
        b'{"schema": "x", "references": [{"name": "a"}]}',
        b'{"schema": "x", "references": [{"name": "a", "subject": "s", "version": "1/../2"}]}',
        b'{"schema": "x", "unknown": ' + b"[" * 100_000,
    ],
)
def test_an_answer_that_is_no_schema_is_refused(there: Registered, body: bytes) -> None:
    there.answers["/schemas/ids/7"] = (200, body)
    with pytest.raises(RegistryWrong, match="not a schema"):
        there.registry.find("7")


def test_whether_it_is_a_registry_can_be_asked_after_any_answer(there: Registered) -> None:
    assert there.registry.is_there()
    for status, body in ((200, b"<html>log in</html>"), (401, b""), (404, b""), (503, b"")):
        there.answers["/schemas/types"] = (status, body)
        assert not there.registry.is_there()


# How it is asked.


def test_a_schema_over_http(server: Answers) -> None:
    server.by_path["/schemas/ids/7"] = answer(200, b'{"schema": "x"}')
    server.by_path["/schemas/ids/8"] = answer(404, NONE_SUCH)
    registry = asking(server)
    assert registry.find("7") == RegisteredSchema("avro", "x")
    assert registry.find("8") is None
    _path, headers = server.heard[0]
    assert "application/vnd.schemaregistry.v1+json" in headers["accept"]
    assert "authorization" not in headers


def test_a_body_in_chunks_or_up_to_the_end_is_read_whole(server: Answers) -> None:
    chunks = b'Transfer-Encoding: chunked\r\n\r\n4\r\n{"sc\r\nb\r\nhema": "x"}\r\n0\r\n\r\n'
    server.by_path["/schemas/ids/1"] = raw(b"HTTP/1.1 200 OK\r\n" + chunks)
    server.by_path["/schemas/ids/2"] = raw(b'HTTP/1.0 200 OK\r\n\r\n{"schema": "x"}')
    for key in ("1", "2"):
        assert asking(server).find(key) == RegisteredSchema("avro", "x")


def test_a_user_and_a_password_are_sent(server: Answers) -> None:
    server.by_path["/schemas/ids/7"] = answer(404, NONE_SUCH)
    asking(server, user="me", password="pä:ss").find("7")
    kind, _, pair = server.heard[0][1]["authorization"].partition(" ")
    assert (kind, base64.b64decode(pair).decode()) == ("Basic", "me:pä:ss")


def test_a_token_is_sent(server: Answers) -> None:
    server.by_path["/schemas/ids/7"] = answer(404, NONE_SUCH)
    asking(server, token="abc.def").find("7")
    assert server.heard[0][1]["authorization"] == "Bearer abc.def"


@pytest.mark.parametrize("token", ["top\nsecret", "top€secret"])
def test_a_token_that_no_header_can_have_is_not_repeated(server: Answers, token: str) -> None:
    with pytest.raises(RegistryDown) as caught:
        asking(server, token=token).find("7")
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__
    assert server.heard == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_no_secret_leaves(server: Answers, status: int) -> None:
    with serving() as elsewhere:
        elsewhere.by_path["/schemas/ids/7"] = answer(200, b'{"schema": "x"}')
        server.by_path["/schemas/ids/7"] = answer(
            status, b"", f"Location: {elsewhere.url}/schemas/ids/7"
        )
        with pytest.raises(RegistryDown, match=f"{status}, and redirects are not followed"):
            asking(server, user="me", password="secret").find("7")
        assert elsewhere.heard == []
    assert server.paths() == ["/schemas/ids/7"]


def test_the_proxies_of_the_environment_are_not_for_a_registry(
    server: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.by_path["/schemas/ids/7"] = answer(200, b'{"schema": "x"}')
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert asking(server).find("7") is not None
        assert proxy.heard == []


LONG = b'{"schema": "' + b"x" * 9_000_000 + b'"}'


@pytest.mark.parametrize("status", [200, 404, 500])
def test_an_answer_that_is_too_long_is_not_read_to_its_end(server: Answers, status: int) -> None:
    server.by_path["/schemas/ids/7"] = answer(status, LONG)
    with pytest.raises(RegistryWrong, match="longer than"):
        asking(server).find("7")


def test_a_schema_that_is_too_long_is_unusable_if_a_registry_says_so(server: Answers) -> None:
    """Else the records of one id would hold up its partition for ever."""
    server.by_path["/schemas/types"] = answer(200, b'["AVRO"]')
    server.by_path["/schemas/ids/7"] = answer(200, LONG)
    server.by_path["/schemas/ids/8"] = answer(503, LONG)
    found = asking(server).find("7")
    assert found == RegisteredSchema("unusable", "its answer is longer than 8,388,608 bytes")
    with pytest.raises(RegistryWrong, match="longer than"):
        asking(server).find("8")
    server.by_path["/schemas/types"] = answer(200, LONG)
    with pytest.raises(RegistryWrong, match="longer than"):
        asking(server).find("7")


def test_a_reference_that_is_too_long_makes_a_schema_unusable(server: Answers) -> None:
    refers = {"schema": "t", "references": [{"name": "n", "subject": "s", "version": 1}]}
    server.by_path["/schemas/types"] = answer(200, b'["AVRO"]')
    server.by_path["/schemas/ids/7"] = answer(200, json.dumps(refers).encode())
    server.by_path["/subjects/s/versions/1?deleted=true"] = answer(200, LONG)
    found = asking(server).find("7")
    assert found == RegisteredSchema("unusable", "its answer is longer than 8,388,608 bytes")


@pytest.mark.parametrize("how", ["keep_silent", "drip"])
def test_a_slow_answer_is_no_answer(server: Answers, how: str) -> None:
    """Goal: the limit is for the whole answer. A byte now and then does not make it longer."""
    server.by_path["/schemas/ids/7"] = getattr(server, how)
    began = time.monotonic()
    with pytest.raises(RegistryDown, match=r"time|long"):
        asking(server, timeout_s=0.2).find("7")
    assert time.monotonic() - began < 60  # it would be for ever


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "a status": (b"HTTP/1.1 200 ", b"x"),
    "a header": (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
    "headers of a sound answer": (b'HTTP/1.1 404 x\r\nX: {"error_code": 40403}', b" "),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "trailers": (CHUNKED + b'f\r\n{"schema": "x"}\r\n0\r\n', b"X: y\r\n"),
    "a chunk's extension": (CHUNKED + b"f;", b"x"),
    "chunks": (CHUNKED, b"1\r\n \r\n"),
    "a body up to the end": (b'HTTP/1.0 200 OK\r\n\r\n{"schema": "x"}', b" "),
}


@pytest.mark.parametrize("what", ENDLESS)
@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_no_part_of_an_answer_may_take_longer_than_the_limit(
    what: str, secure: bool, tmp_path: Path
) -> None:
    """Goal: a server cannot keep a feed busy. What was cut off is never taken for an answer."""
    tls = server_side(tmp_path) if secure else None
    with serving(tls) as server:
        server.by_path["/schemas/ids/7"] = server.repeat(*ENDLESS[what])
        began = time.monotonic()
        with pytest.raises(RegistryDown, match=r"took too long|timed out"):
            asking(server, timeout_s=0.3, ca=str(tmp_path / "ca.pem") if secure else "").find("7")
        assert time.monotonic() - began < 60  # it would be for ever


def test_a_handshake_may_not_take_longer_than_the_limit_either() -> None:
    """Method: a record of TLS that announces sixteen kilobytes and comes a byte at a time."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            line, _ = listening.accept()
            with line, contextlib.suppress(OSError):
                line.sendall(b"\x16\x03\x03\x40\x00")
                while not ended.wait(0.02):
                    line.sendall(b"\0")

        thread = threading.Thread(target=drip)
        thread.start()
        there = Answers()
        there.url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(RegistryDown, match=r"took too long|timed out"):
            asking(there, timeout_s=0.3).find("7")
        assert time.monotonic() - began < 60  # it would be for ever
        ended.set()
        thread.join()


def test_a_question_leaves_no_thread_and_no_open_connection_behind(server: Answers) -> None:
    server.by_path["/schemas/ids/7"] = answer(200, b'{"schema": "x"}')
    server.by_path["/schemas/ids/8"] = server.repeat(b"", b"HTTP/1.1 100 Continue\r\n\r\n")
    before = {thread.ident for thread in threading.enumerate()}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        for _ in range(3):
            asking(server, timeout_s=60).find("7")
        with pytest.raises(RegistryDown):
            asking(server, timeout_s=0.2).find("8")
        gc.collect()
    ours = [each for each in threading.enumerate() if each.ident not in before]
    for thread in ours:
        thread.join(30)  # the server has one for every question, too
        assert not thread.is_alive() or "process_request" in thread.name


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Ty",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b'HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{"schema": "x"}',
        b"HTTP/1.1 500 Oh\r\nContent-Length: 90\r\n\r\nno",
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{"schema":',
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
    ],
    ids=[
        "nothing",
        "cut head",
        "cut header",
        "no http",
        "cut",
        "cut error",
        "cut chunk",
        "bad chunk",
        "long header",
    ],
)
def test_an_answer_that_is_broken_or_cut_short_is_no_answer(server: Answers, data: bytes) -> None:
    """Half of an answer says nothing about the registry, so it is asked again later."""
    server.by_path["/schemas/ids/7"] = raw(data)
    with pytest.raises(RegistryDown):
        asking(server).find("7")


def test_nobody_there_is_no_answer() -> None:
    with serving() as gone:
        registry = asking(gone)
    with pytest.raises(RegistryDown, match="refused") as caught:
        registry.find("7")
    assert caught.value.exit_code == 1
    assert "urlopen" not in str(caught.value)


def write_own_certificate(folder: Path) -> None:
    """A certificate for 127.0.0.1 that is its own authority, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "penstock tests")])
    now = datetime.now(UTC)
    usage = dict.fromkeys(
        (
            "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
            "crl_sign", "encipher_only", "decipher_only",
        ),
        False,
    )  # fmt: skip
    here = x509.IPAddress(ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([here]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(digital_signature=True, key_cert_sign=True, **usage), critical=True
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8
    (folder / "ca.pem").write_bytes(certificate.public_bytes(pem))
    secret = key.private_bytes(pem, plain, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(secret)


def server_side(folder: Path) -> ssl.SSLContext:
    """What a server with such a certificate needs."""
    write_own_certificate(folder)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    return tls


def test_a_certificate_of_ones_own_is_trusted_only_where_it_is_named(tmp_path: Path) -> None:
    with serving(server_side(tmp_path)) as server:
        server.by_path["/schemas/ids/7"] = answer(200, b'{"schema": "x"}')
        assert asking(server, ca=str(tmp_path / "ca.pem")).find("7") is not None
        with pytest.raises(RegistryDown, match="certificate"):
            asking(server, token="secret").find("7")
        named_else = Answers()
        named_else.url = server.url.replace("127.0.0.1", "localhost")
        with pytest.raises(RegistryDown, match=r"[Hh]ostname|certificate"):
            asking(named_else, ca=str(tmp_path / "ca.pem"), token="secret").find("7")
        assert [headers.get("authorization") for _path, headers in server.heard] == [None]
