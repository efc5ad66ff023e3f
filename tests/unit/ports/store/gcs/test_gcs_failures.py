"""Every way a request to GCS can fail, and the one sentence about it."""

import json

import pytest
import requests
import urllib3
from google.api_core.exceptions import GoogleAPICallError, from_http_response
from google.auth import exceptions as auth
from google.cloud.storage.exceptions import DataCorruption, InvalidResponse
from urllib3.exceptions import MaxRetryError, NewConnectionError

from penstock.ports.store.bucket.bucket_failures import Kind
from penstock.ports.store.gcs.gcs_failures import judge, judge_making
from penstock.testing.gcs_double.gcs_answers import BUCKET_ABSENT, error_body

SESSION = "https://storage.example/upload?upload_id=c4n4ry-4ddr3ss"


def response(status: int, body: bytes) -> requests.Response:
    found = requests.Response()
    found.status_code = status
    found._content = body
    found.request = requests.Request("PUT", SESSION).prepare()
    return found


def answered(status: int, reason: str, message: str = "Said so.") -> GoogleAPICallError:
    found: GoogleAPICallError = from_http_response(
        response(status, error_body(status, reason, message))
    )
    return found


@pytest.mark.parametrize(
    ("status", "reason", "message", "kind", "words"),
    [
        (404, "notFound", "No such object: lake/a", Kind.ABSENT, ""),
        (404, "notFound", BUCKET_ABSENT, Kind.REFUSED, "there is no bucket 'lake'"),
        (412, "conditionNotMet", "", Kind.TAKEN, ""),
        (304, "conditionNotMet", "", Kind.TAKEN, ""),
        (409, "conflict", "Busy.", Kind.CONFLICT, ""),
        (410, "gone", "Over.", Kind.NO_UPLOAD, ""),
        (416, "requestedRangeNotSatisfiable", "", Kind.NO_RANGE, ""),
        (429, "rateLimitExceeded", "Slower.", Kind.UNSENT, ""),
        (403, "userRateLimitExceeded", "Slower.", Kind.UNSENT, ""),
        (403, "forbidden", "a@b lacks storage.x.", Kind.REFUSED, "denied (a@b lacks storage.x)"),
        (403, "retentionPolicyNotMet", "Kept.", Kind.REFUSED, "keeps objects by a retention"),
        (403, "objectUnderActiveHold", "Kept.", Kind.REFUSED, "or a hold"),
        (401, "authError", "Invalid.", Kind.EXPIRED, "does not accept the credentials"),
        (400, "invalid", "Provided CRC32C x doesn't match y.", Kind.UNSENT, ""),
        (400, "invalid", "No.", Kind.REFUSED, "answered 400: No"),
        (400, "userProjectMissing", "Say who pays.", Kind.REFUSED, "Say who pays"),
        (408, "requestTimeout", "", Kind.LOST, ""),
        (500, "backendError", "", Kind.LOST, ""),
        (501, "notImplemented", "", Kind.REFUSED, ""),
        (503, "backendError", "", Kind.LOST, ""),
        (504, "gatewayTimeout", "", Kind.LOST, ""),
    ],
)
def test_an_answer_is_told_by_its_reason_or_its_status(
    status: int, reason: str, message: str, kind: Kind, words: str
) -> None:
    failure = judge(answered(status, reason, message), "lake", "")
    assert failure.kind is kind
    assert words in failure.why
    assert "'lake'" in failure.why
    assert "c4n4ry" not in failure.why, "the address of an upload is a key to it"


def test_an_answer_that_the_library_did_not_expect_is_told_the_same() -> None:
    """`InvalidResponse` is what uploads raise where other calls raise `PreconditionFailed`."""
    error = InvalidResponse(response(412, error_body(412, "conditionNotMet", "No.")), "words")
    assert judge(error, "lake", "").kind is Kind.TAKEN
    assert judge(InvalidResponse(response(200, b"half"), "w"), "lake", "").kind is Kind.LOST
    plain = InvalidResponse(response(404, b"No such object"), "words")
    assert judge(plain, "lake", "").kind is Kind.ABSENT
    odd = InvalidResponse(response(418, b'{"error": []}'), "words")
    assert judge(odd, "lake", "").kind is Kind.REFUSED


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (requests.ConnectTimeout(), Kind.UNSENT, "cannot be reached"),
        (requests.exceptions.ProxyError(), Kind.UNSENT, "cannot be reached"),
        (
            requests.ConnectionError(
                MaxRetryError(None, "/x", NewConnectionError(None, "refused"))  # type: ignore[arg-type]
            ),
            Kind.UNSENT,
            "cannot be reached",
        ),
        (requests.ReadTimeout(), Kind.LOST, "no whole answer"),
        (requests.ConnectionError("reset by peer"), Kind.LOST, "no whole answer"),
        (requests.exceptions.ChunkedEncodingError(), Kind.LOST, "no whole answer"),
        (requests.exceptions.JSONDecodeError("x", "y", 0), Kind.LOST, "no whole answer"),
        (urllib3.exceptions.ProtocolError("cut"), Kind.LOST, "no whole answer"),
        (KeyError("generation"), Kind.LOST, "no whole answer"),
        (DataCorruption(response(200, b""), "other bytes"), Kind.LOST, "no whole answer"),
        (requests.exceptions.SSLError("EOF"), Kind.LOST, "no whole answer"),
        (
            requests.exceptions.SSLError("CERTIFICATE_VERIFY_FAILED"),
            Kind.REFUSED,
            "is not trusted",
        ),
        (requests.exceptions.InvalidURL(), Kind.REFUSED, "could not be made"),
        (auth.RefreshError("invalid_grant: x"), Kind.EXPIRED, "give no token any more"),
        (auth.RefreshError("later", retryable=True), Kind.UNSENT, "could be fetched (later)"),
        (auth.TransportError("reset"), Kind.UNSENT, "could be fetched"),
        (auth.DefaultCredentialsError("none"), Kind.REFUSED, "no usable credentials"),
    ],
)
def test_silence_is_told_by_whether_anything_was_sent(
    error: Exception, kind: Kind, words: str
) -> None:
    failure = judge(error, "lake", "http://127.0.0.1:1")
    assert failure.kind is kind
    assert words in failure.why
    assert "'lake'" in failure.why


@pytest.mark.parametrize("error", [FileNotFoundError("no key.json"), ValueError("not a key")])
def test_a_client_that_cannot_be_made_is_about_the_settings(error: Exception) -> None:
    failure = judge_making(error, "lake")
    assert failure.kind is Kind.REFUSED
    assert "look at what is below `store`" in failure.why
    assert str(error) in failure.why


def test_the_words_of_an_error_of_credentials_are_short() -> None:
    """The library hands on the whole answer of the place that gives tokens."""
    error = auth.RefreshError("invalid_grant", json.dumps({"assertion": "c4n4ry"}))
    assert "c4n4ry" not in judge(error, "lake", "").why
