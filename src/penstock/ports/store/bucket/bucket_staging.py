"""Staged files in a bucket: looked at, and made visible by one conditional request.

A reply is never believed alone. Whatever the answer to that request is, the final object is looked
at afterwards, by its identity. A look that fails leaves the outcome open.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar, assert_never

from penstock.errors import ForeignFile, OutcomeUnknown, StagedGone, StoreUnavailable, StoreUnfit
from penstock.model.outcome import FinalState, Sighting
from penstock.model.staged import StagedHandle, StagedRef
from penstock.ports.store.block_reading import BLOCK_BYTES, open_object
from penstock.ports.store.breaker import Breaker
from penstock.ports.store.bucket.bucket_failures import BucketAnswer, Kind
from penstock.ports.store.bucket.bucket_identity import says_ours
from penstock.ports.store.bucket.bucket_objects import BucketObjects
from penstock.ports.store.publish_each import those_that_fail
from penstock.runtime.surroundings import side_by_side


class Place(Protocol):
    """A handle, and the whole key of its final object."""

    @property
    def handle(self) -> StagedHandle: ...

    @property
    def final(self) -> str: ...


P = TypeVar("P", bound=Place)


class BucketStaging(ABC, Generic[P]):
    """The staged half of a store in a bucket; the methods are those of the store protocol."""

    def __init__(self, kind: str, requests: BucketObjects) -> None:
        self._kind = kind
        self._requests = requests

    @abstractmethod
    def _place(self, handle: StagedHandle) -> P:
        """What a handle of this kind of store names. Raises `StoreUnfit`, `BadKey`."""

    @abstractmethod
    def _is_staged(self, place: P) -> bool:
        """Whether what was staged is there to be published."""

    @abstractmethod
    def _make_visible(self, place: P) -> None:
        """Ask for the final object, where nothing is. Raises `BucketAnswer`, `OutcomeUnknown`."""

    @abstractmethod
    def _consume(self, place: P, said: Kind | None) -> None:
        """Take away what is left of the staged file, now that the final one is there."""

    @abstractmethod
    def discard(self, ref: StagedRef) -> None:
        """Take a staged file away; nothing happens when it is gone, or has become an object."""

    def look(self, handle: StagedHandle) -> Sighting:
        """Is what was staged there? Then what is at the final name, by its identity."""
        place = self._at(handle)
        is_staged = self._is_staged(place)
        return Sighting(final=self._final_state(place), staged=is_staged)

    def publish(self, handle: StagedHandle) -> None:
        """Make it visible, look, consume; again while the answers do not settle it."""
        place = self._at(handle)
        said: Kind | None = None
        for _ in self._tries():
            said = self._asked(place)
            with looking_for(handle):
                is_settled = self._is_settled(place, said)
            if is_settled:
                return
        self._leave(place, said)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """As `publish` does each, on several threads; the final names that failed."""
        publish = Breaker().guarded(self.publish, "publish")
        return those_that_fail(publish, handles, side_by_side)

    def _leave(self, place: P, said: Kind | None) -> None:
        """Nothing is there after all tries, and what was staged is: it can be tried again."""
        seen = "it has done it" if said is None else said.value
        why = f"bucket {self._requests.bucket!r} said that {seen}, and nothing is there"
        raise StoreUnavailable("publish", place.handle.final, why)

    def _at(self, handle: StagedHandle) -> P:
        if handle.store != self._kind:
            seen = f"this one comes from a store of kind {handle.store!r}"
            raise StoreUnfit(self._requests.uri, "publish what others staged", seen)
        return self._place(handle)

    def _asked(self, place: P) -> Kind | None:
        """Ask for the final object; what was answered, None if with success."""
        try:
            self._make_visible(place)
        except BucketAnswer as answer:
            return answer.kind
        except OutcomeUnknown:
            with looking_for(place.handle):
                is_ours = self._final_state(place) is FinalState.OURS
            if not is_ours:
                raise
            return Kind.LOST
        return None

    def _is_settled(self, place: P, said: Kind | None) -> bool:
        """True when our object is there and its source is gone; False when it is worth a try."""
        match self._final_state(place):
            case FinalState.OURS:
                self._consume(place, said)
                return True
            case FinalState.FOREIGN:
                raise self._foreign(place)
            case FinalState.ABSENT:
                return self._is_gone_or_there(place)
            case _ as never:
                assert_never(never)

    def _is_gone_or_there(self, place: P) -> bool:
        """Raise `StagedGone` when the source is gone *and then* the final object is not there."""
        if self._is_staged(place):
            return False
        match self._final_state(place):
            case FinalState.OURS:
                return True
            case FinalState.FOREIGN:
                raise self._foreign(place)
            case FinalState.ABSENT:
                raise StagedGone(place.handle.staged, place.handle.final)
            case _ as never:
                assert_never(never)

    def _tries(self) -> Iterator[None]:
        """One round for each try, with growing pauses between them."""
        requests = self._requests
        yield
        for pause_s in requests.policy.pauses_s(requests.waiting.random):
            requests.waiting.sleep(pause_s)
            yield

    def _final_state(self, place: P) -> FinalState:
        facts = self._requests.head(place.final)
        if facts is None:
            return FinalState.ABSENT
        is_ours = says_ours(facts, place.handle)
        if is_ours is None:
            is_ours = self._checksum(place.final) == place.handle.checksum
        return FinalState.OURS if is_ours else FinalState.FOREIGN

    def _checksum(self, key: str) -> str:
        digest = hashlib.sha256()
        file = open_object(self._requests, key)
        if file is not None:
            with file:
                while piece := file.read(BLOCK_BYTES):
                    digest.update(piece)
        return f"sha256:{digest.hexdigest()}"

    def _foreign(self, place: P) -> ForeignFile:
        facts = self._requests.head(place.final)
        handle = place.handle
        wanted = f"{handle.size_bytes} bytes with {handle.checksum}"
        if facts is None:
            return ForeignFile(handle.final, wanted, "something that has vanished since")
        return ForeignFile(handle.final, wanted, f"{facts.size_bytes} bytes with another content")


@contextmanager
def looking_for(handle: StagedHandle) -> Iterator[None]:
    """A look after a request that publishes: when it fails, what was asked may have happened."""
    try:
        yield
    except StoreUnavailable as error:
        raise OutcomeUnknown("publish", handle.final, error.why) from error
