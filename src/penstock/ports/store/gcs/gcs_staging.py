"""Staged files on GCS: objects below the staging prefix, rewritten to their final name.

A staged object is known by its generation, and only that one is deleted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.errors import BadKey, StoreUnfit
from penstock.model.staged import StagedHandle, StagedRef
from penstock.ports.store.bucket.bucket_failures import Kind
from penstock.ports.store.bucket.bucket_objects import PAGE
from penstock.ports.store.bucket.bucket_staging import BucketStaging
from penstock.ports.store.gcs.gcs_identity import (
    GENERATION,
    SUFFIX,
    generation_in,
    metadata_of_final,
)
from penstock.ports.store.gcs.gcs_keys import GcsKeys
from penstock.ports.store.gcs.gcs_requests import GcsRequests
from penstock.ports.store.gcs.gcs_settings import GCS
from penstock.ports.store.keys import check_key


@dataclass(frozen=True, slots=True)
class GcsPlace:
    """What a handle names: both whole keys, and the generation of the staged object."""

    handle: StagedHandle
    final: str
    staged: str
    generation: str


class GcsStaging(BucketStaging[GcsPlace]):
    """The staged half of `GcsStore`."""

    _requests: GcsRequests

    def __init__(self, keys: GcsKeys, requests: GcsRequests) -> None:
        super().__init__(GCS, requests)
        self._keys = keys

    def refs(self, staging: str) -> Iterator[StagedRef]:
        """Every staged object below the prefix, with its window and its generation."""
        base = f"{'/'.join(check_key(staging))}/"
        for found in self._requests.list_keys(self._keys.base(staging), "", PAGE):
            key = self._keys.relative(found.key)
            window, slash, name = (key or "").removeprefix(base).partition("/")
            if key is not None and slash and "/" not in name and name.endswith(SUFFIX):
                yield StagedRef(key, window, {GENERATION: found.tag})

    def discard(self, ref: StagedRef) -> None:
        """Delete a staged object; nothing happens when it is gone, or another one is there."""
        key = self._keys.whole(ref.place)
        generation = generation_in(ref.proof)
        if generation is None or not ref.place.endswith(SUFFIX):
            why = "it is not a staged object: its proof names a generation, and its name ends in "
            raise BadKey(ref.place, f"{why}{SUFFIX}")
        self._requests.delete(key, generation)

    def _place(self, handle: StagedHandle) -> GcsPlace:
        final, staged = self._keys.whole(handle.final), self._keys.whole(handle.staged)
        generation = generation_in(handle.proof)
        if generation is None:
            seen = f"the handle of {handle.final!r} names no generation"
            raise StoreUnfit(self._requests.uri, "publish without a staged object", seen)
        return GcsPlace(handle, final, staged, generation)

    def _is_staged(self, place: GcsPlace) -> bool:
        facts = self._requests.head(place.staged)
        return facts is not None and facts.tag == place.generation

    def _make_visible(self, place: GcsPlace) -> None:
        metadata = metadata_of_final(place.handle)
        self._requests.rewrite(place.staged, place.final, place.generation, metadata)

    def _consume(self, place: GcsPlace, said: Kind | None) -> None:
        del said  # whatever it was: the staged object goes when the final one is there
        self._requests.delete(place.staged, place.generation)
