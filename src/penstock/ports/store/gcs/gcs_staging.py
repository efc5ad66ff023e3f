"""Staged files on GCS: objects below the staging prefix, looked at, published and discarded.

A reply is never believed alone. Whatever the answer to a rewrite is, the final object is looked at
afterwards, by its identity; a staged object is known by its generation, and only that is deleted.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import assert_never

from penstock.errors import (
    BadKey,
    ForeignFile,
    OutcomeUnknown,
    StagedGone,
    StoreUnavailable,
    StoreUnfit,
)
from penstock.model.outcome import FinalState, Sighting
from penstock.model.staged import StagedHandle, StagedRef
from penstock.ports.store.block_reading import BLOCK_BYTES, open_object
from penstock.ports.store.breaker import Breaker
from penstock.ports.store.gcs.gcs_failures import GcsAnswer, GcsKind
from penstock.ports.store.gcs.gcs_identity import (
    GENERATION,
    SUFFIX,
    generation_in,
    metadata_of_final,
    says_ours,
)
from penstock.ports.store.gcs.gcs_keys import GcsKeys
from penstock.ports.store.gcs.gcs_requests import PAGE, GcsRequests
from penstock.ports.store.gcs.gcs_settings import GCS
from penstock.ports.store.keys import check_key
from penstock.ports.store.publish_each import those_that_fail
from penstock.runtime.surroundings import side_by_side


class GcsStaging:
    """The staged half of `GcsStore`; the methods are those of the store protocol."""

    def __init__(self, keys: GcsKeys, asks: GcsRequests) -> None:
        self._keys = keys
        self._requests = asks

    def look(self, handle: StagedHandle) -> Sighting:
        """Is the staged object there, this generation of it? Then the final one, by identity."""
        place = _Place(self._keys, self._requests, handle)
        is_staged = self._is_staged(place)
        return Sighting(final=self._final_state(place), staged=is_staged)

    def publish(self, handle: StagedHandle) -> None:
        """Rewrite, look, delete the staged object; again while the answers do not settle it."""
        place = _Place(self._keys, self._requests, handle)
        said: GcsKind | None = None
        for _ in self._tries():
            said = self._rewrite(place)
            try:
                is_settled = self._is_settled(place)
            except StoreUnavailable as error:  # the look failed; what was asked may have happened
                raise OutcomeUnknown("publish", handle.final, error.why) from error
            if is_settled:
                return
        seen = "that it has done it" if said is None else f"that {said.value}"
        why = f"bucket {self._requests.bucket!r} said {seen}, and nothing is there"
        raise StoreUnavailable("publish", handle.final, why)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """As `publish` does each, on several threads; the final names that failed."""
        publish = Breaker().guarded(self.publish, "publish")
        return those_that_fail(publish, handles, side_by_side)

    def refs(self, staging: str) -> Iterator[StagedRef]:
        """Every staged object below the prefix, with its window and its generation."""
        base = f"{'/'.join(check_key(staging))}/"
        for found in self._requests.list_keys(self._keys.base(staging), "", PAGE):
            key = self._keys.relative(found.key)
            window, slash, name = (key or "").removeprefix(base).partition("/")
            if key is not None and slash and "/" not in name and name.endswith(SUFFIX):
                yield StagedRef(key, window, {GENERATION: found.generation})

    def discard(self, ref: StagedRef) -> None:
        """Delete a staged object; nothing happens when it is gone, or another one is there."""
        key = self._keys.whole(ref.place)
        generation = generation_in(ref.proof)
        if generation is None or not ref.place.endswith(SUFFIX):
            why = "it is not a staged object: its proof names a generation, and its name ends in "
            raise BadKey(ref.place, f"{why}{SUFFIX}")
        self._requests.delete(key, generation)

    def _rewrite(self, place: "_Place") -> GcsKind | None:
        """Ask for the final object; what was answered, None if with success."""
        try:
            metadata = metadata_of_final(place.handle)
            self._requests.rewrite(place.staged, place.final, place.generation, metadata)
        except GcsAnswer as answer:
            return answer.kind
        except OutcomeUnknown:
            if self._final_state(place) is not FinalState.OURS:
                raise
            return GcsKind.LOST
        return None

    def _is_settled(self, place: "_Place") -> bool:
        """True when our object is there and its source is gone; False when it is worth a try."""
        match self._final_state(place):
            case FinalState.OURS:
                self._requests.delete(place.staged, place.generation)
                return True
            case FinalState.FOREIGN:
                raise self._foreign(place)
            case FinalState.ABSENT:
                return self._is_gone_or_there(place)
            case _ as never:
                assert_never(never)

    def _is_gone_or_there(self, place: "_Place") -> bool:
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

    def _is_staged(self, place: "_Place") -> bool:
        facts = self._requests.head(place.staged)
        return facts is not None and facts.generation == place.generation

    def _tries(self) -> Iterator[None]:
        """One round for each try, with growing pauses between them."""
        asks = self._requests
        yield
        for pause_s in asks.policy.pauses_s(asks.waiting.random):
            asks.waiting.sleep(pause_s)
            yield

    def _final_state(self, place: "_Place") -> FinalState:
        facts = self._requests.head(place.final)
        if facts is None:
            return FinalState.ABSENT
        is_ours = says_ours(facts, place.handle.checksum, place.handle.size_bytes)
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

    def _foreign(self, place: "_Place") -> ForeignFile:
        facts = self._requests.head(place.final)
        handle = place.handle
        wanted = f"{handle.size_bytes} bytes with {handle.checksum}"
        if facts is None:
            return ForeignFile(handle.final, wanted, "something that has vanished since")
        return ForeignFile(handle.final, wanted, f"{facts.size_bytes} bytes with another content")


class _Place:
    """What a handle names: both whole keys, and the generation of the staged object."""

    def __init__(self, keys: GcsKeys, asks: GcsRequests, handle: StagedHandle) -> None:
        if handle.store != GCS:
            seen = f"this one comes from a store of kind {handle.store!r}"
            raise StoreUnfit(asks.settings.uri, "publish what others staged", seen)
        self.handle = handle
        self.final = keys.whole(handle.final)
        self.staged = keys.whole(handle.staged)
        generation = generation_in(handle.proof)
        if generation is None:
            seen = f"the handle of {handle.final!r} names no generation"
            raise StoreUnfit(asks.settings.uri, "publish without a staged object", seen)
        self.generation = generation
