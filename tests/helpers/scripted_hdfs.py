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
RESET = "Connection reset by peer (os error 104)"


class Loss(Enum):
    """What happens to a call."""

    REQUEST = "it is not sent"
    REPLY = "it is carried out, and its reply is lost"
    TWICE = "it is carried out, and sent again by the client, whose answer arrives"


@dataclass
class Rule:
    """A fault for calls of a method, from the `nth` on; `hook` is called before it instead."""

    method: str
    loss: Loss | None = None
    nth: int = 1
    times: int = 1
    hook: Callable[[], None] | None = None
    error: Exception | None = None
    seen: int = 0
    hits: int = 0

    def is_due(self, method: str) -> bool:
        """Count a call; whether this one is hit."""
        if method != self.method:
            return False
        self.seen += 1
        if self.seen < self.nth or self.hits >= self.times:
            return False
        self.hits += 1
        return True


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
            return self._meet(method, lambda: found(*words, **named))

        return call

    def _meet(self, method: str, act: Callable[[], Any]) -> Any:
        for rule in self._rules:
            if rule.is_due(method):
                return self._fail(rule, act)
        return self._wrapped(method, act())

    def _fail(self, rule: Rule, act: Callable[[], Any]) -> Any:
        if rule.hook is not None:
            rule.hook()
        match rule.loss:
            case Loss.REQUEST:
                raise rule.error or OSError(RESET)
            case Loss.REPLY:
                act()
                raise rule.error or OSError(RESET)
            case Loss.TWICE:
                act()
                return act()
            case None:
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
