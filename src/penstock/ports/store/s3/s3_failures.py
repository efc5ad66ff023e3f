"""What a failed request says: an answer, a refusal, or that nobody knows what happened."""

import re

from botocore import exceptions as boto
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from penstock.ports.store.bucket.bucket_failures import Failure, Kind

# A `KeyError` is an answer without what every such answer has: its end did not arrive.
ERRORS = (ClientError, BotoCoreError, ResponseParserError, KeyError)
# Of making a client, which sends nothing: a `ValueError` is an endpoint that is no address.
CLIENT_ERRORS = (ClientError, BotoCoreError, ValueError)


_BY_CODE = {
    "NoSuchKey": Kind.ABSENT,
    "NoSuchUpload": Kind.NO_UPLOAD,
    "PreconditionFailed": Kind.TAKEN,
    "InvalidRange": Kind.NO_RANGE,
    "InvalidPart": Kind.BAD_PART,
    "InvalidPartOrder": Kind.BAD_PART,
    "ExpiredToken": Kind.EXPIRED,
    "ExpiredTokenException": Kind.EXPIRED,
    "RequestExpired": Kind.EXPIRED,
    "TokenRefreshRequired": Kind.EXPIRED,
    # What arrived was not what was sent, so it was not taken.
    "BadDigest": Kind.UNSENT,
    "IncompleteBody": Kind.UNSENT,
    "RequestTimeout": Kind.UNSENT,
    "XAmzContentSHA256Mismatch": Kind.UNSENT,
}
_BY_STATUS = {
    404: Kind.ABSENT,
    409: Kind.CONFLICT,
    412: Kind.TAKEN,
    416: Kind.NO_RANGE,
    429: Kind.UNSENT,
    501: Kind.REFUSED,
}
# What right a request needs; the others need one of their own name.
_RIGHTS = {
    "CompleteMultipartUpload": "s3:PutObject",
    "CreateMultipartUpload": "s3:PutObject",
    "DeleteObjects": "s3:DeleteObject",
    "GetBucketLifecycleConfiguration": "s3:GetLifecycleConfiguration",
    "HeadObject": "s3:GetObject",
    "ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "ListObjectsV2": "s3:ListBucket",
    "ListParts": "s3:ListMultipartUploadParts",
    "UploadPart": "s3:PutObject",
}
_NAMED_RIGHT = re.compile(r"to perform: ([a-z0-9-]+:\w+)")  # AWS says it, also of keys of KMS
_DENIED = frozenset({"AccessDenied", "AllAccessDisabled", "Forbidden", "403"})
_BAD_KEYS = frozenset({"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken"})
_REGION = frozenset(
    {
        "301",
        "307",
        "AuthorizationHeaderMalformed",
        "IllegalLocationConstraintException",
        "PermanentRedirect",
        "TemporaryRedirect",
    }
)
_UNSENT = (boto.EndpointConnectionError, boto.ConnectTimeoutError, boto.ProxyConnectionError)
_SILENCE = (
    boto.ConnectionError,
    boto.HTTPClientError,
    boto.IncompleteReadError,
    ResponseParserError,
    KeyError,
)
_CREDENTIALS = (
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.CredentialRetrievalError,
    boto.ProfileNotFound,
    boto.TokenRetrievalError,
    boto.UnauthorizedSSOTokenError,
    boto.SSOTokenLoadError,
    boto.RefreshWithMFAUnsupportedError,
)
# What ends a connection before anything is sent on it, and would end the next one: the words by
# which OpenSSL and its callers tell it, and what it means. The first that fits is taken.
_TLS = (
    (
        "No such file",
        "no connection to {} is possible: the file of certificates that `ca` below `store`, or "
        "AWS_CA_BUNDLE, names does not exist",
    ),
    (
        "CERTIFICATE_OR_CRL_FOUND",
        "no connection to {} is possible: the file that `ca` below `store`, or AWS_CA_BUNDLE, "
        "names has no certificates in PEM",
    ),
    (
        "WRONG_VERSION_NUMBER",
        "{} does not speak TLS; correct `endpoint` below `store`, or AWS_ENDPOINT_URL: is it "
        "http://?",
    ),
    ("match", "the certificate of {} is for another host; use a name that it has"),
    ("not valid for", "the certificate of {} is for another host; use a name that it has"),
    ("expired", "the certificate of {} is not valid at this time; is the clock right?"),
    (
        "CERTIFICATE",
        "the certificate of {} is not trusted; name its authority by `ca` below `store`",
    ),
)
# A reply to HEAD has no body, so that it cannot say why; of all reasons only this one passes.
_EXPIRED_AT_HEAD = "400"
_LONGEST = 200


def judge(error: Exception, bucket: str, endpoint: str) -> Failure:
    """What a failed request says. Never contains a secret."""
    if isinstance(error, ClientError):
        return _judge_answer(error, bucket)
    return _judge_silence(error, bucket, endpoint)


def _judge_answer(error: ClientError, bucket: str) -> Failure:
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code == "NoSuchBucket":
        return Failure(Kind.REFUSED, f"there is no bucket {bucket!r}; create it, or correct `lake`")
    if code in _REGION:
        why = f"bucket {bucket!r} is in another region ({code}); set `store: {{region: ...}}`"
        return Failure(Kind.REFUSED, why)
    if code == "RequestTimeTooSkewed":
        why = f"the clock of this machine differs from that of bucket {bucket!r}; set it right"
        return Failure(Kind.REFUSED, why)
    if code in _BAD_KEYS:
        why = f"bucket {bucket!r} does not know these keys ({code}); correct the credentials"
        return Failure(Kind.REFUSED, why)
    if code == _EXPIRED_AT_HEAD:
        return Failure(Kind.EXPIRED, _words(Kind.EXPIRED, code, error, bucket))
    kind = _BY_CODE.get(code) or (Kind.REFUSED if code in _DENIED else _BY_STATUS.get(status))
    if kind is None:
        kind = Kind.LOST if status >= 500 or status < 300 else Kind.REFUSED
    return Failure(kind, _words(kind, code, error, bucket))


def _words(kind: Kind, code: str, error: ClientError, bucket: str) -> str:
    if code in _DENIED:
        return f"access to bucket {bucket!r} was denied; {_wanted_right(error)}"
    if kind is Kind.EXPIRED:
        return (
            f"the credentials for bucket {bucket!r} have expired ({code}) and no new ones were "
            "found; renew them"
        )
    said = " ".join(str(error.response.get("Error", {}).get("Message", "")).split())[:_LONGEST]
    return f"bucket {bucket!r} answered {code}: {said.rstrip('.')}"


def _wanted_right(error: ClientError) -> str:
    """Which right is missing, as the end of a sentence."""
    named = _NAMED_RIGHT.search(str(error.response.get("Error", {}).get("Message", "")))
    usual = _RIGHTS.get(error.operation_name, f"s3:{error.operation_name}")
    right = named[1] if named else usual
    if right == "s3:GetObject":
        return f"allow {right}, and s3:ListBucket, without which S3 denies what is only absent"
    return f"allow {right}"


def _judge_silence(error: Exception, bucket: str, endpoint: str) -> Failure:
    where = f"{_without_user(endpoint) or 'S3'} (bucket {bucket!r})"
    said = _without_user(" ".join(str(error).split()))[:_LONGEST].rstrip(".")
    if isinstance(error, _UNSENT):
        why = f"{where} cannot be reached; check the network, and `endpoint` or AWS_ENDPOINT_URL"
        return Failure(Kind.UNSENT, why)
    if isinstance(error, _CREDENTIALS):
        why = f"no usable credentials for bucket {bucket!r} were found ({said})"
        return Failure(Kind.REFUSED, f"{why}; give some by the usual chain, or below `store`")
    if isinstance(error, boto.SSLError) and (meant := _meant_by_tls(error)):
        return Failure(Kind.REFUSED, meant.format(where))
    if isinstance(error, ValueError) and not isinstance(error, BotoCoreError):
        why = f"bucket {bucket!r} has no address ({said}); `endpoint` below `store`, or "
        return Failure(Kind.REFUSED, f"{why}AWS_ENDPOINT_URL, is such as https://s3.example.com")
    if isinstance(error, _SILENCE):
        return Failure(Kind.LOST, f"{where} gave no whole answer ({type(error).__name__})")
    return Failure(Kind.REFUSED, f"the request to {where} could not be made ({said})")


def _without_user(words: str) -> str:
    """Words without what stands before the host of an address, which may be a password."""
    return re.sub(r"[^\s/@]*@", "", words)


def _meant_by_tls(error: boto.SSLError) -> str:
    """What a connection by TLS failed by; empty when that is not known, so that it may pass."""
    said = str(error.kwargs.get("error", error))
    return next((meant for word, meant in _TLS if word in said), "")
