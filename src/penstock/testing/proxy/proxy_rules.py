"""What happens to which request: rules are values, one act each.

Rule(DropReply(), "CompleteMultipartUpload", "lake/data/*", nth=2)
Rule(SLOW_DOWN, "UploadPart", times=5)
Rule(Late("entry"), "PutObject", "*/journal/*")
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from threading import Lock

from penstock.testing.fault_script import Place, fits
from penstock.testing.proxy.proxied_request import ProxiedRequest


@dataclass(frozen=True, slots=True)
class Answer:
    """The client gets this instead of the store's reply: an error as S3 or GCS writes it.

    The store never sees the request, unless it is `performed`. Without a code the body is empty.
    """

    status: int
    code: str
    message: str = "by the script of the proxy"
    performed: bool = False


@dataclass(frozen=True, slots=True)
class DropRequest:
    """The connection ends, and the store never sees the request."""


@dataclass(frozen=True, slots=True)
class DropReply:
    """The store performs the request; the connection ends before the first byte of its reply."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """The store performs the request; the connection ends after so many bytes of the body."""

    body_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Stall:
    """The store performs the request; of its reply comes nothing, until the client gives up.

    With `body_bytes` the head and so much of the body comes before.
    """

    body_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """The request waits so long, then goes on."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """The request waits until `release(name)`, then goes on. The client waits, as long as it does.

    What the client sent is read first, so the request arrives even if the client gives up.
    """

    name: str = "held"


@dataclass(frozen=True, slots=True)
class Late:
    """The connection ends at once. The request arrives at the store with `release(name)`."""

    name: str = "late"


@dataclass(frozen=True, slots=True)
class IgnoreHeader:
    """The store gets the request without this header: a store that ignores conditions.

    For servers that check no signatures, since it is signed.
    """

    name: str


@dataclass(frozen=True, slots=True)
class IgnoreParameter:
    """The store gets the request without this word of the query: GCS has its conditions there."""

    name: str


Act = (
    IgnoreHeader
    | IgnoreParameter
    | Answer
    | DropRequest
    | DropReply
    | Truncate
    | Stall
    | Delay
    | Hold
    | Late
)

CONFLICT = Answer(409, "ConditionalRequestConflict")
PRECONDITION_FAILED = Answer(412, "PreconditionFailed")
INTERNAL_ERROR = Answer(500, "InternalError")
SLOW_DOWN = Answer(503, "SlowDown")
ACCESS_DENIED = Answer(403, "AccessDenied")
EXPIRED_TOKEN = Answer(400, "ExpiredToken")
NO_SUCH_UPLOAD = Answer(404, "NoSuchUpload")
ERROR_INSIDE_200 = Answer(200, "InternalError")
"""S3 begins to answer `CompleteMultipartUpload` before it knows, so a 200 can hold an error."""

GCS_NOT_MET = Answer(412, "conditionNotMet")
GCS_BACKEND_ERROR = Answer(503, "backendError")
GCS_RATE_LIMIT = Answer(429, "rateLimitExceeded")
GCS_FORBIDDEN = Answer(403, "forbidden")
GCS_UNAUTHORIZED = Answer(401, "authError")

EMPTY = Answer(200, "")
"""A success without what it should contain, as a half broken machine in between may send."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One act, and the requests that it is for.

    `operation` is the name of a call of S3 or of GCS, or several with `|` between them; `method`
    that of HTTP.
    `key` is a glob over the key (for a server without buckets: what follows the first part of the
    path), or a question about it. `query` are words that must be in the query. `token` is a glob
    over the session token of S3 or the bearer token of GCS. Of the requests that fit, `times` are
    hit from the `nth` on; None is all of them.
    """

    act: Act
    operation: str = "*"
    key: Place = "*"
    method: str = "*"
    query: tuple[str, ...] = ()
    token: str = "*"  # noqa: S105 -- a pattern
    nth: int = 1
    times: int | None = 1

    def is_for(self, request: ProxiedRequest) -> bool:
        """Whether this request counts."""
        return (
            any(fnmatchcase(request.operation, each) for each in self.operation.split("|"))
            and fnmatchcase(request.method, self.method)
            and fits(self.key, request.key)
            and all(request.value(each) is not None for each in self.query)
            and fnmatchcase(_token(request), self.token)
        )

    def hits(self, count: int) -> bool:
        """Whether the request with this number, of those that fit, is hit."""
        return count >= self.nth and (self.times is None or count < self.nth + self.times)


def _token(request: ProxiedRequest) -> str:
    if request.is_gcs:
        return (request.head.header("Authorization") or "").removeprefix("Bearer ")
    return request.head.header("x-amz-security-token") or ""


class RuleBook:
    """Rules with a count of the requests that fitted each. Thread-safe."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._lock = Lock()
        self._rules = list(rules)
        self._met = [0] * len(self._rules)

    def add(self, *rules: Rule) -> None:
        """More rules, after those that are there. Their counts begin now."""
        with self._lock:
            self._rules += rules
            self._met += [0] * len(rules)

    def clear(self) -> None:
        """No rules from now on."""
        with self._lock:
            self._rules, self._met = [], []

    def meet(self, request: ProxiedRequest) -> Act | None:
        """Count this request, and return what the first rule that hits it says."""
        with self._lock:
            act = None
            for number, rule in enumerate(self._rules):
                if rule.is_for(request):
                    self._met[number] += 1
                    if act is None and rule.hits(self._met[number]):
                        act = rule.act
            return act

    def unmet(self) -> list[Rule]:
        """Rules that never hit, so that a test can notice a script that missed."""
        with self._lock:
            return [
                rule for rule, met in zip(self._rules, self._met, strict=True) if met < rule.nth
            ]
