"""Calls to a name node and its data nodes, each in bounded time, and again while that can help.

The client waits without end for a name node that keeps its connection and does not answer. So a
call runs on a thread of its own, and nobody waits for it longer than `request_timeout`.

Nothing is repeated here that could act twice: callers repeat a rename by looking at both names.
"""

import queue
import random
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import TypeVar

from hdfs_native import Client

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.hdfs.hdfs_clients import HdfsClients
from penstock.ports.store.hdfs.hdfs_failures import (
    ANSWERS,
    ERRORS,
    PASSING,
    Failure,
    HdfsAnswer,
    Kind,
    NoAnswerInTime,
    judge,
)
from penstock.ports.store.hdfs.hdfs_settings import HdfsSettings

T = TypeVar("T")

# A name node that restarts is back after half a minute to several minutes.
POLICY = BackOff(tries=12, first_pause_s=0.1, longest_pause_s=5.0, within_s=30.0)


def real_waiting() -> Waiting:
    """The clock, sleep and randomness of this machine."""
    return Waiting(time.monotonic, time.sleep, random.SystemRandom().random)


class Calls:
    """What is asked of one file system. Safe to share between threads."""

    def __init__(
        self,
        settings: HdfsSettings,
        clients: HdfsClients,
        policy: BackOff | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        self.settings = settings
        self.policy = policy or POLICY
        self.waiting = waiting or real_waiting()
        self._clients = clients

    def once(
        self,
        call: Callable[[Client], T],
        patience: float = 1.0,
        late: Callable[[T], object] | None = None,
    ) -> T:
        """Call once, in bounded time; raises whatever the client raises, or `NoAnswerInTime`.

        `patience` is for what takes many requests: it may last so many times as long. `late` gets
        an answer for which nobody waits any more.
        """
        client = self._clients.current()
        try:
            return in_time(lambda: call(client), self.settings.request_timeout_s * patience, late)
        except NoAnswerInTime:
            self._clients.renew(client)
            raise

    def judge(self, error: Exception) -> Failure:
        """What a failed call says."""
        return judge(error, self.settings.authority)

    def send(
        self,
        act: str,
        key: str,
        call: Callable[[Client], T],
        *,
        changes: bool = False,
        patience: float = 1.0,
    ) -> T:
        """Call until there is an answer; only for what may be repeated.

        Raises `HdfsAnswer` for an answer that callers expect, such as that nothing is there;
        `StoreUnavailable` if certainly nothing was changed, else `OutcomeUnknown`.
        """
        until = self.waiting.tick() + self.policy.within_s
        doubt: Failure | None = None
        pauses = list(self.policy.pauses_s(self.waiting.random))
        while True:
            try:
                return self.once(call, patience)
            except ERRORS as error:
                failure = self.judge(error)
                if failure.kind in ANSWERS:
                    raise HdfsAnswer(failure.kind) from error
                if failure.kind is Kind.LOST and changes:
                    doubt = failure
                if failure.kind not in PASSING or not pauses or self.waiting.tick() > until:
                    raise given_up(act, key, failure, doubt) from error
            self.waiting.sleep(pauses.pop(0))

    def unless_absent(
        self,
        act: str,
        key: str,
        call: Callable[[Client], T],
        *,
        changes: bool = False,
        patience: float = 1.0,
    ) -> T | None:
        """The answer; None when it is that nothing is there."""
        try:
            return self.send(act, key, call, changes=changes, patience=patience)
        except HdfsAnswer as answer:
            if answer.kind in (Kind.ABSENT, Kind.NOT_A_DIRECTORY):
                return None
            raise self.odd_answer(act, key, answer.kind) from answer

    def odd_answer(self, act: str, key: str, kind: Kind) -> StoreUnavailable:
        """The error for an answer that nobody expects here."""
        why = f"{self.settings.authority} said that {kind.value}, which was not asked"
        return StoreUnavailable(act, key, why)


def in_time(
    call: Callable[[], T], timeout_s: float, late: Callable[[T], object] | None = None
) -> T:
    """Call on another thread, and wait for at most so long. The thread is never joined.

    Either the answer is returned here, or `late` gets it on that thread; never both.
    """
    answers: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()
    nobody_waits = Event()

    def run() -> None:
        try:
            answers.put((call(), None))
        except Exception as error:  # noqa: BLE001  it is raised where somebody waits for it
            answers.put((None, error))
        except BaseException as panic:  # noqa: BLE001  of Rust, which would end our caller
            answers.put((None, RuntimeError(f"Panic({panic})")))
        if late is not None and nobody_waits.is_set():
            _hand_over(answers, late)

    Thread(target=run, name="penstock-hdfs", daemon=True).start()
    try:
        found, error = answers.get(timeout=timeout_s)
    except queue.Empty:
        nobody_waits.set()
        try:
            found, error = answers.get_nowait()  # it came in this moment
        except queue.Empty:
            raise NoAnswerInTime(timeout_s) from None
    try:
        if error is not None:
            raise error
    finally:
        # It holds this frame. Were it held by it, both would wait for the collector of garbage.
        del error
    return found  # type: ignore[return-value]  # what `call` gave, which may be None


def _hand_over(
    answers: "queue.SimpleQueue[tuple[T | None, Exception | None]]", late: Callable[[T], object]
) -> None:
    with suppress(queue.Empty, *ERRORS):
        found, error = answers.get_nowait()
        if error is None:
            late(found)  # type: ignore[arg-type]  # what `call` gave


def aside(act: Callable[[], object]) -> None:
    """Do what may last, and whose outcome nobody needs, on a thread of its own."""

    def run() -> None:
        with suppress(*ERRORS):
            act()

    Thread(target=run, name="penstock-hdfs-aside", daemon=True).start()


def given_up(act: str, key: str, failure: Failure, doubt: Failure | None) -> Exception:
    """The error for the last failure: unknown when an earlier try, or this one, may have acted."""
    if doubt is not None:
        return OutcomeUnknown(act, key, doubt.why)
    return StoreUnavailable(act, key, failure.why)
