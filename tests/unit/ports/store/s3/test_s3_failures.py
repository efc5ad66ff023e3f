"""Every way a request can fail, and the one sentence about it."""

import pytest
from botocore import exceptions as boto
from botocore.exceptions import ClientError

from penstock.ports.store.bucket.bucket_failures import Kind
from penstock.ports.store.s3.s3_failures import judge


def answered(
    code: str, status: int, message: str = "Said so.", operation: str = "PutObject"
) -> ClientError:
    said = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(said, operation)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "status", "kind", "words"),
    [
        ("NoSuchKey", 404, Kind.ABSENT, ""),
        ("404", 404, Kind.ABSENT, ""),
        ("NoSuchUpload", 404, Kind.NO_UPLOAD, ""),
        ("NoSuchBucket", 404, Kind.REFUSED, "there is no bucket 'lake'"),
        ("PreconditionFailed", 412, Kind.TAKEN, ""),
        ("ConditionalRequestConflict", 409, Kind.CONFLICT, ""),
        ("InvalidRange", 416, Kind.NO_RANGE, ""),
        ("InvalidPart", 400, Kind.BAD_PART, ""),
        ("AccessDenied", 403, Kind.REFUSED, "access to bucket 'lake' was denied"),
        ("403", 403, Kind.REFUSED, "denied; allow s3:PutObject"),
        ("ExpiredToken", 400, Kind.EXPIRED, "have expired"),
        ("RequestTimeTooSkewed", 403, Kind.REFUSED, "the clock of this machine"),
        ("InvalidAccessKeyId", 403, Kind.REFUSED, "correct the credentials"),
        ("SignatureDoesNotMatch", 403, Kind.REFUSED, "correct the credentials"),
        ("PermanentRedirect", 301, Kind.REFUSED, "in another region"),
        ("AuthorizationHeaderMalformed", 400, Kind.REFUSED, "region"),
        ("SlowDown", 503, Kind.LOST, ""),
        ("InternalError", 500, Kind.LOST, ""),
        ("InternalError", 200, Kind.LOST, ""),
        ("TooManyRequests", 429, Kind.UNSENT, ""),
        ("BadDigest", 400, Kind.UNSENT, ""),
        ("NotImplemented", 501, Kind.REFUSED, "answered NotImplemented: Said so"),
        ("KeyTooLongError", 400, Kind.REFUSED, "answered KeyTooLongError"),
    ],
)
def test_an_answer_is_told_by_its_code(code: str, status: int, kind: Kind, words: str) -> None:
    failure = judge(answered(code, status), "lake", "")
    assert failure.kind is kind
    assert words in failure.why
    assert "'lake'" in failure.why


@pytest.mark.parametrize(
    ("operation", "said", "words"),
    [
        ("HeadObject", "", "allow s3:GetObject, and s3:ListBucket, without which"),
        ("ListObjectsV2", "", "allow s3:ListBucket"),
        ("UploadPart", "", "allow s3:PutObject"),
        ("ListParts", "", "allow s3:ListMultipartUploadParts"),
        ("AbortMultipartUpload", "", "allow s3:AbortMultipartUpload"),
        (
            "CreateMultipartUpload",
            "User: arn:aws:iam::1:user/x is not authorized to perform: kms:GenerateDataKey on it",
            "allow kms:GenerateDataKey",
        ),
    ],
)
def test_a_denial_names_the_right_that_is_missing(operation: str, said: str, words: str) -> None:
    why = judge(answered("AccessDenied", 403, said, operation), "lake", "").why
    assert why.startswith(f"access to bucket 'lake' was denied; {words}")


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (boto.EndpointConnectionError(endpoint_url="x"), Kind.UNSENT, "cannot be reached"),
        (boto.ConnectTimeoutError(endpoint_url="x"), Kind.UNSENT, "cannot be reached"),
        (boto.ReadTimeoutError(endpoint_url="x"), Kind.LOST, "no whole answer"),
        (boto.ConnectionClosedError(endpoint_url="x"), Kind.LOST, "no whole answer"),
        (boto.IncompleteReadError(actual_bytes=1, expected_bytes=2), Kind.LOST, "no whole answer"),
        (boto.NoCredentialsError(), Kind.REFUSED, "no usable credentials"),
        (boto.ProfileNotFound(profile="p"), Kind.REFUSED, "no usable credentials"),
        (
            boto.SSLError(endpoint_url="x", error=OSError("CERTIFICATE_VERIFY_FAILED")),
            Kind.REFUSED,
            "is not trusted",
        ),
        (
            boto.SSLError(endpoint_url="x", error=OSError("EOF occurred")),
            Kind.LOST,
            "no whole answer",
        ),
        (boto.ParamValidationError(report="bad"), Kind.REFUSED, "could not be made"),
        (ValueError("Invalid endpoint: a:b@x"), Kind.REFUSED, "(Invalid endpoint: x);"),
    ],
)
def test_silence_is_told_by_whether_anything_was_sent(
    error: Exception, kind: Kind, words: str
) -> None:
    failure = judge(error, "lake", "http://127.0.0.1:1")
    assert failure.kind is kind
    assert words in failure.why
    assert "'lake'" in failure.why
