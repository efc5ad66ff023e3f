"""What a failed request says: an answer, a refusal, or that nobody knows what happened."""

from dataclasses import dataclass

import requests
import urllib3
from google.api_core.exceptions import GoogleAPICallError, GoogleAPIError
from google.auth import exceptions as auth
from google.cloud.storage.exceptions import DataCorruption, InvalidResponse
from urllib3.exceptions import NameResolutionError, NewConnectionError

from penstock.ports.store.bucket.bucket_failures import PASSING, Failure, Kind

# The last four are answers without what every such answer has: their end did not arrive.
ERRORS = (
    GoogleAPIError,
    InvalidResponse,
    DataCorruption,
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    auth.GoogleAuthError,
    KeyError,
    AttributeError,
    TypeError,
    ValueError,
)
# Of making a client, which reads files of keys.
CLIENT_ERRORS = (*ERRORS, OSError)


@dataclass(frozen=True, slots=True)
class _Said:
    """What an answer says: its status, its reason in one word, a sentence. Never an address."""

    status: int
    reason: str
    message: str


_BY_REASON = {
    "conditionNotMet": Kind.TAKEN,
    "rateLimitExceeded": Kind.UNSENT,
    "userRateLimitExceeded": Kind.UNSENT,
}
_BY_STATUS = {
    304: Kind.TAKEN,
    401: Kind.EXPIRED,
    404: Kind.ABSENT,
    408: Kind.LOST,
    409: Kind.CONFLICT,
    410: Kind.NO_UPLOAD,
    412: Kind.TAKEN,
    416: Kind.NO_RANGE,
    429: Kind.UNSENT,
    501: Kind.REFUSED,
}
_KEEPS = frozenset({"retentionPolicyNotMet", "objectUnderActiveHold"})
_NO_BUCKET = "bucket does not exist"
_NOT_WHAT_WAS_SENT = ("does not match", "doesn't match")  # of checksums, with a status of 400
_UNSENT = (
    requests.exceptions.ConnectTimeout,
    requests.exceptions.ProxyError,
    auth.TransportError,
)
_NEVER_MADE = (
    requests.exceptions.InvalidURL,
    requests.exceptions.MissingSchema,
    requests.exceptions.InvalidSchema,
    requests.exceptions.InvalidHeader,
)
_LONGEST = 200
_DEEPEST = 10  # errors inside errors


def judge(error: Exception, bucket: str, endpoint: str) -> Failure:
    """What a failed request says. Never contains a secret, nor the address of an upload."""
    said = _said(error)
    if said is not None:
        return _judge_answer(said, bucket)
    if isinstance(error, auth.GoogleAuthError):
        return _judge_credentials(error, bucket)
    return _judge_silence(error, bucket, endpoint)


def judge_making(error: Exception, bucket: str) -> Failure:
    """Why no client could be made: it is about credentials, or about files of the settings."""
    if isinstance(error, auth.GoogleAuthError):
        return _judge_credentials(error, bucket)
    why = f"no client for bucket {bucket!r} could be made ({_short(str(error))})"
    return Failure(Kind.REFUSED, f"{why}; look at what is below `store`")


def _said(error: Exception) -> _Said | None:
    """What the answer said, if there was a whole one."""
    if isinstance(error, DataCorruption):
        return None
    if not isinstance(error, GoogleAPICallError | InvalidResponse):
        return None
    response: requests.Response | None = error.response
    if response is not None:
        status = response.status_code
    else:
        status = int(getattr(error, "code", None) or 0)
    reason, message = _words_in(response)
    return _Said(status, reason, message or f"status {status}")


def _words_in(response: requests.Response | None) -> tuple[str, str]:
    """The reason and the sentence in the body of an error; it may also be a plain text."""
    if response is None:
        return "", ""
    try:
        found = response.json()["error"]
        details = found.get("errors") or [{}]
        return str(details[0].get("reason", "")), str(found.get("message", ""))
    except (*ERRORS, IndexError):
        return "", _short(response.text or "")


def _judge_answer(said: _Said, bucket: str) -> Failure:
    if said.status == 404 and _NO_BUCKET in said.message:
        why = f"there is no bucket {bucket!r}; create it, or correct `lake`"
        return Failure(Kind.REFUSED, why)
    if said.reason in _KEEPS:
        why = (
            f"bucket {bucket!r} keeps objects by a retention policy or a hold ({said.reason}), and "
            "a lake deletes what it has published from its staging; take that from the bucket"
        )
        return Failure(Kind.REFUSED, why)
    if said.status == 400 and any(each in said.message for each in _NOT_WHAT_WAS_SENT):
        kind = Kind.UNSENT
    else:
        kind = _BY_REASON.get(said.reason) or _BY_STATUS.get(said.status) or _by_class(said.status)
    return Failure(kind, _words(kind, said, bucket))


def _by_class(status: int) -> Kind:
    return Kind.LOST if status >= 500 or status < 300 else Kind.REFUSED


def _words(kind: Kind, said: _Said, bucket: str) -> str:
    if said.status == 403 and kind not in PASSING:
        return (
            f"access to bucket {bucket!r} was denied ({_short(said.message)}); the roles that a "
            "lake needs are in docs/stores.md"
        )
    if said.status == 401:
        return (
            f"bucket {bucket!r} does not accept the credentials ({_short(said.message)}), and no "
            "others were found; renew them"
        )
    return f"bucket {bucket!r} answered {said.status}: {_short(said.message)}"


def _judge_credentials(error: auth.GoogleAuthError, bucket: str) -> Failure:
    said = _short(_first_text(error))
    if isinstance(error, auth.TransportError) or getattr(error, "retryable", False):
        why = f"no token for bucket {bucket!r} could be fetched ({said})"
        return Failure(Kind.UNSENT, why)
    if isinstance(error, auth.RefreshError):
        why = f"the credentials for bucket {bucket!r} give no token any more ({said}); renew them"
        return Failure(Kind.EXPIRED, why)
    why = f"no usable credentials for bucket {bucket!r} were found ({said})"
    return Failure(Kind.REFUSED, f"{why}; give some by the usual chain, or below `store`")


def _judge_silence(error: Exception, bucket: str, endpoint: str) -> Failure:
    where = f"{endpoint or 'Google Cloud Storage'} (bucket {bucket!r})"
    if isinstance(error, _UNSENT) or _was_not_connected(error):
        why = f"{where} cannot be reached; check the network, and `endpoint` below `store`"
        return Failure(Kind.UNSENT, why)
    if isinstance(error, requests.exceptions.SSLError) and "CERTIFICATE" in str(error).upper():
        why = f"the certificate of {where} is not trusted; name its authority by `ca` below `store`"
        return Failure(Kind.REFUSED, why)
    if isinstance(error, _NEVER_MADE):
        why = f"the request to {where} could not be made ({type(error).__name__})"
        return Failure(Kind.REFUSED, why)
    return Failure(Kind.LOST, f"{where} gave no whole answer ({type(error).__name__})")


def _was_not_connected(error: BaseException) -> bool:
    """Whether an error of a connection comes from making it: then nothing was sent."""
    found: list[object] = [error]
    for _ in range(_DEEPEST):
        one = found.pop() if found else None
        if isinstance(one, NewConnectionError | NameResolutionError):
            return True
        if isinstance(one, requests.ConnectionError | urllib3.exceptions.HTTPError):
            found += [*one.args, getattr(one, "reason", None)]
    return False


def _first_text(error: Exception) -> str:
    """The sentence of an error of credentials, which may bring a whole answer along."""
    first = error.args[0] if error.args else ""
    return str(first if isinstance(first, str) else type(error).__name__)


def _short(text: str) -> str:
    return " ".join(text.split())[:_LONGEST].rstrip(".")
