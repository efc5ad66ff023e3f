"""A client of HDFS whose calls fail by a script, between the store and a real name node.

The acts are those of a network and of the client itself: a request that is lost, a reply that is
lost after the name node has acted, a call that the client sends twice by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, assert_never, cast

from hdfs_native import Client

from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.hdfs.hdfs_clients import make_client
from penstock.ports.store.hdfs.hdfs_settings import HdfsSettings
from penstock.ports.store.hdfs.hdfs_store import HdfsStore

SOON = BackOff(tries=6, first_pause_s=0.005, longest_pause_s=0.05, within_s=60.0)
SAFE_MODE = RuntimeError(
    'RPCError("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Cannot rename /a. Name '
    'node is in safe mode.\\n\\tat org.apache.hadoop.hdfs.server.namenode.X(Y.java:1)")'
)
DENIED = RuntimeError(
    'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied: user=etl, '
    'access=WRITE, inode=\\"/lake\\":hdfs:supergroup:drwxr-xr-x\\n\\tat org.apache.X(Y.java:1)")'
)
RESET = "Connection reset by peer (os error 104)"


class Loss(Enum):
    """What happens to a call."""

    REQUEST = "it is not sent"
    REPLY = "it is carried out, and its reply is lost"
    TWICE = "it is carried out, and sent again by the client, whose answer arrives"


@dataclass
class Rule:
    """A fault for calls of a method, from the `nth` on; `hook` is called before it.

    `about` is a part of the path, or of one of the paths, that it is called with.
    """

    method: str
    loss: Loss | None = None
    about: str = ""
    nth: int = 1
    times: int = 1
    hook: Callable[[], object] | None = None
    error: Exception | None = None
    seen: int = 0
    hits: int = 0

    def is_due(self, method: str, words: tuple[object, ...]) -> bool:
        """Count a call; whether this one is hit. What fails by itself is not."""
        if method != self.method:
            return False
        if self.about and not any(self.about in each for each in words if isinstance(each, str)):
            return False
        self.seen += 1
        return self.seen >= self.nth and self.hits < self.times


class ScriptedClient:
    """Hands calls on, and meets the rules with them; also those to writers and readers."""

    def __init__(self, inner: Any, rules: list[Rule]) -> None:
        self._inner = inner
        self._rules = rules

    def __getattr__(self, method: str) -> Any:
        found = getattr(self._inner, method)
        if not callable(found):
            return found

        def call(*words: Any, **named: Any) -> Any:
            return self._meet(method, words, lambda: found(*words, **named))

        return call

    def _meet(self, method: str, words: tuple[object, ...], act: Callable[[], Any]) -> Any:
        for rule in self._rules:
            if rule.is_due(method, words):
                return self._fail(rule, act)
        return self._wrapped(method, act())

    def _fail(self, rule: Rule, act: Callable[[], Any]) -> Any:
        if rule.hook is not None:
            rule.hook()
        match rule.loss:
            case Loss.REQUEST:
                rule.hits += 1
                raise rule.error or OSError(RESET)
            case Loss.REPLY:
                act()
                rule.hits += 1
                raise rule.error or OSError(RESET)
            case Loss.TWICE:
                act()
                rule.hits += 1
                return act()
            case None:
                rule.hits += 1
                if rule.error is not None:
                    raise rule.error
                return self._wrapped(rule.method, act())
            case _ as never:
                assert_never(never)

    def _wrapped(self, method: str, answer: Any) -> Any:
        if method in ("create", "read") and type(answer).__name__ in ("FileWriter", "FileReader"):
            return ScriptedClient(answer, self._rules)
        return answer


def scripted(spec: StoreSpec, *rules: Rule, policy: BackOff = SOON) -> HdfsStore:
    """A store whose calls meet these rules; its pauses are short."""

    def make(settings: HdfsSettings) -> Client:
        return cast(Client, ScriptedClient(make_client(settings), [*rules]))

    return HdfsStore(spec, policy, make=make)
