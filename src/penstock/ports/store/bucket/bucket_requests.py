"""Requests to one bucket, each tried again while that can help.

Nothing is repeated that could act twice: writes of objects are conditional, and all else leaves the
same behind however often it is done. The client libraries repeat nothing.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.bucket.bucket_failures import (
    ANSWERS,
    PASSING,
    BucketAnswer,
    Failure,
    Kind,
)
from penstock.ports.store.bucket.bucket_objects import BucketObjects
from penstock.ports.store.bucket.client_of_process import ClientOfProcess
from penstock.ports.store.machine_waiting import real_waiting

RENEWALS = 2

C = TypeVar("C")
T = TypeVar("T")


class BucketRequests(BucketObjects, Generic[C]):
    """Asks for objects by a client of one kind.

    `errors` are what calls of the client raise, and `errors_of_making` what making it does.
    """

    def __init__(
        self,
        bucket: str,
        uri: str,
        clients: ClientOfProcess[C],
        errors: tuple[type[Exception], ...],
        errors_of_making: tuple[type[Exception], ...],
        policy: BackOff | None,
        waiting: Waiting | None,
    ) -> None:
        super().__init__(bucket, uri, policy or BackOff(), waiting or real_waiting())
        self._clients = clients
        self._errors = errors
        self._errors_of_making = errors_of_making

    @abstractmethod
    def _judge(self, error: Exception, client: C) -> Failure:
        """What a failed call says."""

    @abstractmethod
    def _judge_making(self, error: Exception) -> Failure:
        """Why no client could be made."""

    def send(self, act: str, key: str, call: Callable[[C], T], *, changes: bool = False) -> T:
        """Send a request until it is answered.

        Raises `BucketAnswer` for an answer that callers expect, such as that nothing is there;
        `StoreUnavailable` if certainly nothing was changed, else `OutcomeUnknown`.
        """
        until = self.waiting.tick() + self.policy.within_s
        doubt: Failure | None = None
        renewals = RENEWALS
        pauses = list(self.policy.pauses_s(self.waiting.random))
        while True:
            client = self._client(act, key, doubt)
            try:
                return call(client)
            except self._errors as error:
                failure = self._judge(error, client)
                if failure.kind in ANSWERS:
                    raise BucketAnswer(failure.kind) from error
                if failure.may_have_happened and changes:
                    doubt = failure
                if failure.wants_new_keys and renewals and self._clients.can_renew:
                    renewals -= 1
                    self._clients.renew(client)
                    continue
                is_late = self.waiting.tick() > until
                if failure.kind not in PASSING or not pauses or is_late:
                    raise _given_up(act, key, failure, doubt) from error
            self.waiting.sleep(pauses.pop(0))

    def expect(self, act: str, key: str, call: Callable[[C], T]) -> T:
        """Send a request that has no answer but its result; what it changes nobody sees yet."""
        try:
            return self.send(act, key, call)
        except BucketAnswer as answer:
            raise self.odd_answer(act, key, answer) from answer

    def unless_absent(
        self, act: str, key: str, call: Callable[[C], T], *, changes: bool = False
    ) -> T | None:
        """The answer; None when it is that nothing is there."""
        try:
            return self.send(act, key, call, changes=changes)
        except BucketAnswer as answer:
            if answer.kind is Kind.ABSENT:
                return None
            raise self.odd_answer(act, key, answer) from answer

    def _client(self, act: str, key: str, doubt: Failure | None) -> C:
        try:
            return self._clients.current()
        except self._errors_of_making as error:
            raise _given_up(act, key, self._judge_making(error), doubt) from error


def _given_up(act: str, key: str, failure: Failure, doubt: Failure | None) -> Exception:
    if doubt is not None:
        return OutcomeUnknown(act, key, doubt.why)
    if failure.kind is Kind.CONFLICT:
        return BucketAnswer(Kind.CONFLICT)
    return StoreUnavailable(act, key, failure.why)
