"""Staged files on S3: uploads at their final key, looked at, completed, listed and given up.

A reply is never believed alone. Whatever the answer to a request to complete an upload is, the
object is looked at afterwards, by its identity; an upload is gone only when the store says so.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import assert_never

from penstock.errors import (
    BadKey,
    ForeignFile,
    OutcomeUnknown,
    StagedGone,
    StoreUnavailable,
    StoreUnfit,
)
from penstock.model.names import window_in
from penstock.model.outcome import FinalState, Sighting
from penstock.model.staged import StagedHandle, StagedRef
from penstock.ports.store.block_reading import BLOCK_BYTES, open_object
from penstock.ports.store.breaker import Breaker
from penstock.ports.store.keys import check_key
from penstock.ports.store.publish_each import those_that_fail
from penstock.ports.store.s3.s3_failures import Kind, S3Answer
from penstock.ports.store.s3.s3_identity import KEY, PARTS, UPLOAD, says_ours, tags_in
from penstock.ports.store.s3.s3_keys import Keys
from penstock.ports.store.s3.s3_requests import Requests
from penstock.ports.store.s3.s3_settings import S3
from penstock.ports.store.s3.s3_staged import staged_name
from penstock.ports.store.s3.s3_uploads import Uploads
from penstock.runtime.surroundings import side_by_side

# With these the upload will never become an object, though the store still shows it.
_HOPELESS = frozenset({None, Kind.CONFLICT, Kind.BAD_PART})


class S3Staging:
    """The staged half of `S3Store`; the methods are those of the store protocol."""

    def __init__(self, keys: Keys, requests: Requests, uploads: Uploads) -> None:
        self._keys = keys
        self._requests = requests
        self._uploads = uploads

    def look(self, handle: StagedHandle) -> Sighting:
        """Are parts of the upload there? Then what is at the final name, by its identity."""
        key, upload = self._place(handle)
        is_open = self._uploads.is_open(key, upload)
        return Sighting(final=self._final_state(handle, key), staged=is_open)

    def publish(self, handle: StagedHandle) -> None:
        """Complete the upload, then look; again while the answers do not settle it."""
        key, upload = self._place(handle)
        said: Kind | None = None
        for _ in self._tries():
            said = self._complete(handle, key, upload)
            with _looking_for(handle):
                is_settled = self._is_settled(handle, key, upload, said)
            if is_settled:
                return
        if said not in _HOPELESS:
            why = f"bucket {self._requests.bucket!r} said that {said}, and nothing is there"
            raise StoreUnavailable("publish", handle.final, why)
        self._give_up(key, upload)
        if not self._is_settled(handle, key, upload, Kind.NO_UPLOAD):
            raise StoreUnavailable("publish", handle.final, "its upload cannot be given up")

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """As `publish` does each, on several threads; the final names that failed."""
        publish = Breaker().guarded(self.publish, "publish")
        return those_that_fail(publish, handles, side_by_side)

    def refs(self, staging: str, data_prefixes: Sequence[str]) -> Iterator[StagedRef]:
        """Every open upload under the data prefixes whose name carries a window."""
        place = "/".join(check_key(staging))
        for prefix in [self._keys.base(each) for each in data_prefixes]:
            for found in self._uploads.list_open(prefix):
                final = self._keys.relative(found.key)
                window = None if final is None else window_in(final)
                if final is not None and window is not None:
                    proof = {KEY: final, UPLOAD: found.upload}
                    yield StagedRef(staged_name(place, window, found.upload), window, proof)

    def discard(self, ref: StagedRef) -> None:
        """Give up an upload; nothing happens when it is gone, or has become an object."""
        check_key(ref.place)
        if KEY not in ref.proof or UPLOAD not in ref.proof:
            raise BadKey(ref.place, "its upload is not known: the proof of a handle names it")
        self._give_up(self._keys.whole(ref.proof[KEY]), ref.proof[UPLOAD])

    def _place(self, handle: StagedHandle) -> tuple[str, str]:
        """The whole key of a handle, and its upload."""
        if handle.store != S3:
            seen = f"this one comes from a store of kind {handle.store!r}"
            raise StoreUnfit(self._requests.settings.uri, "publish what others staged", seen)
        check_key(handle.staged)
        key = self._keys.whole(handle.final)
        if UPLOAD not in handle.proof or PARTS not in handle.proof:
            seen = f"the handle of {handle.final!r} names no upload"
            raise StoreUnfit(self._requests.settings.uri, "publish without an upload", seen)
        return key, handle.proof[UPLOAD]

    def _complete(self, handle: StagedHandle, key: str, upload: str) -> Kind | None:
        """Ask the store to complete an upload; what it answered, None if with success."""
        try:
            self._uploads.complete(key, upload, tags_in(handle.proof))
        except S3Answer as answer:
            return Kind.NO_UPLOAD if answer.kind is Kind.ABSENT else answer.kind
        except OutcomeUnknown:
            with _looking_for(handle):
                is_ours = self._final_state(handle, key) is FinalState.OURS
            if not is_ours:
                raise
            return Kind.LOST
        return None

    def _is_settled(self, handle: StagedHandle, key: str, upload: str, said: Kind | None) -> bool:
        """True when our object is there and its upload is gone; False when it is worth a try."""
        match self._final_state(handle, key):
            case FinalState.OURS:
                if said not in (None, Kind.NO_UPLOAD):
                    self._give_up(key, upload)
                return True
            case FinalState.FOREIGN:
                raise self._foreign(handle, key)
            case FinalState.ABSENT:
                return self._is_gone_or_there(handle, key, upload)
            case _ as never:
                assert_never(never)

    def _is_gone_or_there(self, handle: StagedHandle, key: str, upload: str) -> bool:
        """Raise `StagedGone` when the upload is not open *and then* the object is not there."""
        if self._uploads.is_open(key, upload):
            return False
        match self._final_state(handle, key):
            case FinalState.OURS:
                return True
            case FinalState.FOREIGN:
                raise self._foreign(handle, key)
            case FinalState.ABSENT:
                raise StagedGone(handle.staged, handle.final)
            case _ as never:
                assert_never(never)

    def _give_up(self, key: str, upload: str) -> None:
        """Abort until no part is left: parts on their way may arrive after an abort."""
        for _ in self._tries():
            self._uploads.abort(key, upload)
            if not self._uploads.is_open(key, upload):
                return
        why = f"bucket {self._requests.bucket!r} still shows parts of its upload"
        raise OutcomeUnknown("discard", key, why)

    def _tries(self) -> Iterator[None]:
        """One round for each try, with growing pauses between them."""
        requests = self._requests
        yield
        for pause_s in requests.policy.pauses_s(requests.waiting.random):
            requests.waiting.sleep(pause_s)
            yield

    def _final_state(self, handle: StagedHandle, key: str) -> FinalState:
        facts = self._requests.head(key)
        if facts is None:
            return FinalState.ABSENT
        is_ours = says_ours(facts, handle)
        if is_ours is None:
            is_ours = self._checksum(key) == handle.checksum
        return FinalState.OURS if is_ours else FinalState.FOREIGN

    def _checksum(self, key: str) -> str:
        digest = hashlib.sha256()
        file = open_object(self._requests, key)
        if file is not None:
            with file:
                while piece := file.read(BLOCK_BYTES):
                    digest.update(piece)
        return f"sha256:{digest.hexdigest()}"

    def _foreign(self, handle: StagedHandle, key: str) -> ForeignFile:
        facts = self._requests.head(key)
        wanted = f"{handle.size_bytes} bytes with {handle.checksum}"
        if facts is None:
            return ForeignFile(handle.final, wanted, "something that has vanished since")
        return ForeignFile(handle.final, wanted, f"{facts.size_bytes} bytes with another content")


@contextmanager
def _looking_for(handle: StagedHandle) -> Iterator[None]:
    """A look after a request to complete: when it fails, what was asked may have happened."""
    try:
        yield
    except StoreUnavailable as error:
        raise OutcomeUnknown("publish", handle.final, error.why) from error
