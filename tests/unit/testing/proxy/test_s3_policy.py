"""A policy allows what it says and nothing else, and the proxy enforces it."""

import http.client
import json
from collections.abc import Iterator

import pytest

from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.http_messages import Head
from penstock.testing.proxy.proxied_request import ProxiedRequest
from penstock.testing.proxy.s3_policy import Policy, Wish, wish_of
from tests.unit.testing.proxy.echo_server import Echo, echo_server

TEXT = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": ["s3:GetObject", "s3:PutObject"],
                "Resource": "arn:aws:s3:::BUCKET/PREFIX/*",
            },
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": ["arn:aws:s3:::BUCKET"],
                "Condition": {"StringLike": {"s3:prefix": ["PREFIX", "PREFIX/*"]}},
            },
            {
                "Effect": "Allow",
                "Action": "s3:Delete*",
                "Resource": "arn:aws:s3:::BUCKET/PREFIX/_pen?tock/*",
            },
            {
                "Effect": "Deny",
                "Action": "s3:PutObject",
                "Resource": "arn:aws:s3:::BUCKET/PREFIX/[sealed]/*",
            },
        ],
    }
)
POLICY = Policy.from_json(TEXT, {"BUCKET": "b", "PREFIX": "lake"})


def request(method: str, target: str) -> ProxiedRequest:
    return ProxiedRequest.of(Head(f"{method} {target} HTTP/1.1".encode(), ()))


@pytest.mark.parametrize(
    ("method", "target", "allowed"),
    [
        ("PUT", "/b/lake/a", True),
        ("PUT", "/b/lake/a/b%2Fc", True),
        ("PUT", "/b/lakeside/a", False),
        ("PUT", "/b/other/a", False),
        ("PUT", "/other/lake/a", False),
        ("PUT", "/b/lake/%5Bsealed%5D/a", False),
        ("PUT", "/b/lake/s/a", True),
        ("POST", "/b/lake/a?uploads", True),
        ("PUT", "/b/lake/a?partNumber=1&uploadId=u", True),
        ("POST", "/b/lake/a?uploadId=u", True),
        ("DELETE", "/b/lake/a?uploadId=u", False),
        ("GET", "/b/lake/a?uploadId=u", False),
        ("GET", "/b/lake/a", True),
        ("HEAD", "/b/lake/a", True),
        ("GET", "/b/lake/a?versionId=1", False),
        ("DELETE", "/b/lake/a", False),
        ("DELETE", "/b/lake/_penstock/a", True),
        ("GET", "/b?list-type=2&prefix=lake%2Fx", True),
        ("GET", "/b?list-type=2&prefix=lak", False),
        ("GET", "/b?list-type=2", False),
        ("GET", "/b?lifecycle", False),
        ("PUT", "/b", False),
    ],
)
def test_what_is_allowed_is_said_by_the_policy(method: str, target: str, allowed: bool) -> None:
    assert POLICY.allows(wish_of(request(method, target))) is allowed


def test_a_condition_may_be_missing_only_where_it_says_so() -> None:
    assert POLICY.hides_absence("b")
    loose = TEXT.replace("StringLike", "StringLikeIfExists")
    policy = Policy.from_json(loose, {"BUCKET": "b", "PREFIX": "lake"})
    assert not policy.hides_absence("b")
    assert not policy.allows(Wish("s3:ListBucket", "arn:aws:s3:::b", "else"))


def test_one_right_can_be_taken_away() -> None:
    wish = wish_of(request("PUT", "/b/lake/a"))
    assert POLICY.allows(wish)
    assert not POLICY.without("s3:PutObject").allows(wish)
    assert POLICY.without("s3:ListBucket").allows(wish)


@pytest.mark.parametrize(
    "statement",
    [
        {"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"},
        {"Effect": "Maybe", "Action": "s3:*", "Resource": "*"},
        {"Effect": "Allow", "Action": 3, "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": "s3:*",
            "Resource": "*",
            "Condition": {"StringNotLike": {"s3:prefix": "a"}},
        },
        {
            "Effect": "Allow",
            "Action": "s3:*",
            "Resource": "*",
            "Condition": {"StringLike": {"aws:SourceIp": "1"}},
        },
    ],
)
def test_a_policy_that_is_not_understood_is_refused(statement: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not known here|neither a text"):
        Policy.from_json(json.dumps({"Statement": [statement]}))


@pytest.fixture
def echo() -> Iterator[Echo]:
    with echo_server() as echo:
        yield echo


def ask(proxy: FaultProxy, method: str, target: str, body: bytes = b"") -> tuple[int, str]:
    connection = http.client.HTTPConnection(proxy.url.removeprefix("http://"), timeout=30)
    connection.request(method, target, body)
    reply = connection.getresponse()
    found = reply.status, reply.read().decode()
    connection.close()
    return found


def test_the_proxy_enforces_a_policy(echo: Echo) -> None:
    with FaultProxy(echo.url, policy=POLICY) as proxy:
        assert ask(proxy, "PUT", "/b/lake/a", b"a")[0] == 200
        status, text = ask(proxy, "PUT", "/b/other/a", b"a")
        assert (status, "<Code>AccessDenied</Code>" in text) == (403, True)
        proxy.enforce(None)
        assert ask(proxy, "PUT", "/b/other/a", b"a")[0] == 200
        proxy.enforce(POLICY.without("s3:PutObject"))
        assert ask(proxy, "PUT", "/b/lake/a", b"a")[0] == 403
        assert [record.act for record in proxy.requests()] == ["", "Policy", "", "Policy"]
    assert echo.lines == ["PUT /b/lake/a HTTP/1.1", "PUT /b/other/a HTTP/1.1"]


def test_absence_is_hidden_from_those_who_may_not_list(echo: Echo) -> None:
    everything = [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]
    policy = Policy.from_json(json.dumps({"Statement": everything}))
    with FaultProxy(echo.url, policy=policy) as proxy:
        assert ask(proxy, "GET", "/missing/k")[0] == 404
        proxy.enforce(policy.without("s3:ListBucket"))
        assert ask(proxy, "GET", "/missing/k")[0] == 403
        assert ask(proxy, "HEAD", "/missing/k")[0] == 403


def test_a_deletion_of_many_is_judged_key_by_key(echo: Echo) -> None:
    def body(*keys: str) -> bytes:
        return "".join(f"<Object><Key>{key}</Key></Object>" for key in keys).encode()

    with FaultProxy(echo.url, policy=POLICY) as proxy:
        allowed = body("lake/_penstock/a", "lake/_penstock/b&amp;c")
        assert ask(proxy, "POST", "/b?delete", allowed)[0] == 200
        assert echo.sent[0].body == allowed
        status, text = ask(proxy, "POST", "/b?delete", body("lake/_penstock/a", "lake/d&amp;e"))
    assert status == 200
    assert "<Key>lake/d&amp;e</Key><Code>AccessDenied</Code>" in text
    assert "<Key>lake/_penstock/a</Key><Code>InternalError</Code>" in text
    assert len(echo.sent) == 1
