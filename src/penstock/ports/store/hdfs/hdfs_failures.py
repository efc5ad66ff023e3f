"""What a failed call says: an answer, a refusal, or that nobody knows what happened.

The client raises errors of the operating system for a few answers, and for the rest a
`RuntimeError` that spells out one of its own: the class of a Java exception, and its message.
"""

import re
from dataclasses import dataclass
from enum import Enum

from penstock.ports.store.hdfs.hdfs_keytab import KeytabUnusable
from penstock.ports.store.hdfs.hdfs_login import login_failure


class Kind(Enum):
    """The kinds of failures, by what a caller can do."""

    ABSENT = "nothing is there"
    TAKEN = "something is there already"
    NOT_A_DIRECTORY = "a file stands where a directory is needed"
    NOT_EMPTY = "the directory is not empty"
    REFUSED = "refused, and another try would be too"
    UNSENT = "nothing happened, and another try may work"
    LOST = "no answer: it may have happened"


ANSWERS = frozenset({Kind.ABSENT, Kind.TAKEN, Kind.NOT_A_DIRECTORY, Kind.NOT_EMPTY})
PASSING = frozenset({Kind.UNSENT, Kind.LOST})


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed call: its kind, and why, as the end of a sentence."""

    kind: Kind
    why: str


class HdfsAnswer(Exception):
    """A call was answered with something that its caller expects. Never leaves this room."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind.value)
        self.kind = kind


class NoAnswerInTime(Exception):
    """A call took longer than it may. It goes on, and nobody waits for it."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(f"no answer within {timeout_s:g} s")


class ShortRead(Exception):
    """Fewer bytes arrived than the file has: its last block is not reported everywhere yet."""

    def __init__(self, found: int, wanted: int) -> None:
        super().__init__(f"{found} of {wanted} bytes arrived")


ERRORS = (
    OSError,
    RuntimeError,
    ValueError,
    NotImplementedError,
    KeytabUnusable,
    NoAnswerInTime,
    ShortRead,
)

# By the last part of the name of a Java exception.
_BY_CLASS = {
    "FileNotFoundException": Kind.ABSENT,
    "FileAlreadyExistsException": Kind.TAKEN,
    "AlreadyBeingCreatedException": Kind.TAKEN,
    "ParentNotDirectoryException": Kind.NOT_A_DIRECTORY,
    "PathIsNotDirectoryException": Kind.NOT_A_DIRECTORY,
    "PathIsNotEmptyDirectoryException": Kind.NOT_EMPTY,
    # The name node has looked at the request and declined it.
    "AccessControlException": Kind.REFUSED,
    "AuthorizationException": Kind.REFUSED,
    "InvalidToken": Kind.REFUSED,
    "SaslException": Kind.REFUSED,
    "NSQuotaExceededException": Kind.REFUSED,
    "DSQuotaExceededException": Kind.REFUSED,
    "QuotaByStorageTypeExceededException": Kind.REFUSED,
    "PathComponentTooLongException": Kind.REFUSED,
    "MaxDirectoryItemsExceededException": Kind.REFUSED,
    "InvalidPathException": Kind.REFUSED,
    "HadoopIllegalArgumentException": Kind.REFUSED,
    "IllegalArgumentException": Kind.REFUSED,
    "UnsupportedOperationException": Kind.REFUSED,
    "SnapshotException": Kind.REFUSED,
    "RpcNoSuchMethodException": Kind.REFUSED,
    "RpcNoSuchProtocolException": Kind.REFUSED,
    # The name node cannot do it now.
    "SafeModeException": Kind.UNSENT,
    "StandbyException": Kind.UNSENT,
    "ObserverRetryOnActiveException": Kind.UNSENT,
    "RetriableException": Kind.UNSENT,
    "ServerTooBusyException": Kind.UNSENT,
    "NotReplicatedYetException": Kind.UNSENT,
    # The file under our hands is another's now, so what was written is not the file.
    "LeaseExpiredException": Kind.UNSENT,
    "RecoveryInProgressException": Kind.UNSENT,
}
# Of exceptions that have no class of their own, the words at the beginning.
_BY_WORDS = (
    ("must both be directories", Kind.TAKEN),
    ("Pathname too long", Kind.REFUSED),
    ("could only be written to", Kind.UNSENT),
    ("rename source", Kind.ABSENT),
)
# Where the name node checks permissions, it finds a file on the way before it looks for the end.
_BELOW_A_FILE = "(is not a directory)"
# What the client says about itself, and about data nodes: only files without a name are written.
_BY_CLIENT = {
    "InvalidArgument": Kind.REFUSED,
    "InvalidPath": Kind.REFUSED,
    "UrlParseError": Kind.REFUSED,
    "XmlParseError": Kind.REFUSED,
    "SASLError": Kind.REFUSED,
    "NoSASLMechanism": Kind.REFUSED,
    "UnsupportedErasureCodingPolicy": Kind.REFUSED,
}
_UNKNOWN_NAME = "No NameNode hosts found"
_NOT_RESOLVED = (
    "{} is neither a name node with its port, such as namenode:8020, nor a name service of the "
    "files in HADOOP_CONF_DIR, or in `config_dir` below `store`"
)
# With these no request was sent.
_UNSENT = re.compile(
    r"connection refused|no route to host|network is unreachable|network unreachable"
    r"|failed to lookup address|name or service not known|not connected|address not available",
    re.IGNORECASE,
)
_RPC = re.compile(r'(?P<fatal>Fatal)?RPCError\("(?P<name>[^"]*)", "(?P<said>.*)"\)\Z', re.DOTALL)
_CLIENT = re.compile(r"(?P<name>[A-Za-z]+)(?:\((?P<said>.*)\))?\Z", re.DOTALL)
_STACK = re.compile(r"(\\n|\n)(\\t|\t)?at .*", re.DOTALL)
_LONGEST = 240


def judge(error: Exception, authority: str) -> Failure:
    """What a failed call says. One line, without the stack of the server."""
    if isinstance(error, RuntimeError) and (found := _RPC.match(str(error))):
        return _judge_answer(found["name"], found["said"], authority)
    if isinstance(error, RuntimeError) and (found := _CLIENT.match(str(error))):
        if found["name"] == "GSSAPIError":
            return _judge_login(found["said"] or "", authority)
        kind = _BY_CLIENT.get(found["name"], Kind.LOST)
        said = _one_line(found["said"] or "")
        if _UNKNOWN_NAME in said:
            return Failure(Kind.REFUSED, _NOT_RESOLVED.format(authority))
        return Failure(kind, f"the client of {authority} failed ({found['name']}: {said})")
    if isinstance(error, KeytabUnusable):
        return Failure(Kind.REFUSED, str(error))
    if isinstance(error, FileExistsError):
        return Failure(Kind.TAKEN, _said(error, authority))
    if isinstance(error, IsADirectoryError | FileNotFoundError):
        return Failure(Kind.ABSENT, _said(error, authority))
    if isinstance(error, NotImplementedError | ValueError):
        return Failure(Kind.REFUSED, f"the client cannot do this ({_one_line(str(error))})")
    if isinstance(error, OSError) and _UNSENT.search(str(error)):
        why = f"{authority} cannot be reached ({_one_line(str(error))})"
        return Failure(Kind.UNSENT, f"{why}; check the name node, and the address of the lake")
    return Failure(Kind.LOST, f"{authority} gave no whole answer ({_one_line(str(error))})")


def _judge_login(said: str, authority: str) -> Failure:
    """A login comes before the first request of a connection, and no request is sent twice."""
    failure = login_failure(said)
    kind = Kind.UNSENT if failure.may_pass else Kind.REFUSED
    return Failure(kind, f"nobody can log in to {authority}: {failure.why}")


def _judge_answer(name: str, said: str, authority: str) -> Failure:
    short = re.split(r"[.$]", name)[-1]
    kind = _BY_CLASS.get(short)
    if short == "AccessControlException" and _one_line(said).endswith(_BELOW_A_FILE):
        kind = Kind.NOT_A_DIRECTORY
    if kind is None:
        kind = next((found for words, found in _BY_WORDS if words in said), Kind.LOST)
    why = f"{authority} answered {short}: {_one_line(said)}"
    if short == "AccessControlException" and kind is Kind.REFUSED:
        why += "; give this user rights on the lake's directory"
    return Failure(kind, why)


def _said(error: OSError, authority: str) -> str:
    return f"{authority} answered: {_one_line(str(error))}"


def _one_line(text: str) -> str:
    """The sentence of the server without its stack, which is longer than everything else."""
    words = _STACK.sub("", text).replace("\\n", " ").replace('\\"', '"')
    return " ".join(words.split())[:_LONGEST].rstrip(". ")
