"""Staged files on S3: uploads at their final key, completed, listed and given up.

An upload is gone only when the store says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import BadKey, OutcomeUnknown, StoreUnavailable, StoreUnfit
from penstock.model.names import window_in
from penstock.model.staged import StagedHandle, StagedRef
from penstock.ports.store.bucket.bucket_failures import Kind
from penstock.ports.store.bucket.bucket_staging import BucketStaging, looking_for
from penstock.ports.store.keys import check_key
from penstock.ports.store.s3.s3_identity import KEY, PARTS, UPLOAD, tags_in
from penstock.ports.store.s3.s3_keys import Keys
from penstock.ports.store.s3.s3_requests import S3Requests
from penstock.ports.store.s3.s3_settings import S3
from penstock.ports.store.s3.s3_staged import staged_name
from penstock.ports.store.s3.s3_uploads import Uploads

# With these the upload will never become an object, though the store still shows it.
_HOPELESS = frozenset({None, Kind.CONFLICT, Kind.BAD_PART})
# After these nothing of the upload is left.
_CONSUMED = frozenset({None, Kind.NO_UPLOAD, Kind.ABSENT})


@dataclass(frozen=True, slots=True)
class S3Place:
    """What a handle names: the key of an object, and an upload there."""

    handle: StagedHandle
    final: str
    upload: str


class S3Staging(BucketStaging[S3Place]):
    """The staged half of `S3Store`."""

    def __init__(self, keys: Keys, requests: S3Requests, uploads: Uploads) -> None:
        super().__init__(S3, requests)
        self._keys = keys
        self._uploads = uploads

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

    def _place(self, handle: StagedHandle) -> S3Place:
        check_key(handle.staged)
        key = self._keys.whole(handle.final)
        if UPLOAD not in handle.proof or PARTS not in handle.proof:
            seen = f"the handle of {handle.final!r} names no upload"
            raise StoreUnfit(self._requests.uri, "publish without an upload", seen)
        return S3Place(handle, key, handle.proof[UPLOAD])

    def _is_staged(self, place: S3Place) -> bool:
        """Whether parts of the upload are there to be completed."""
        return self._uploads.is_open(place.final, place.upload)

    def _make_visible(self, place: S3Place) -> None:
        self._uploads.complete(place.final, place.upload, tags_in(place.handle.proof))

    def _consume(self, place: S3Place, said: Kind | None) -> None:
        if said not in _CONSUMED:
            self._give_up(place.final, place.upload)

    def _leave(self, place: S3Place, said: Kind | None) -> None:
        """Give up an upload that will never be an object, so that it is known to be gone."""
        if said not in _HOPELESS:
            super()._leave(place, said)
        with looking_for(place.handle):
            self._give_up(place.final, place.upload)
            is_settled = self._is_settled(place, Kind.NO_UPLOAD)
        if not is_settled:
            raise StoreUnavailable("publish", place.handle.final, "its upload cannot be given up")

    def _give_up(self, key: str, upload: str) -> None:
        """Abort until no part is left: parts on their way may arrive after an abort."""
        for _ in self._tries():
            self._uploads.abort(key, upload)
            if not self._uploads.is_open(key, upload):
                return
        why = f"bucket {self._requests.bucket!r} still shows parts of its upload"
        raise OutcomeUnknown("discard", key, why)
