"""A store that reads a lake and writes elsewhere: for a rehearsal that must not change the lake."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import BinaryIO

from penstock.api.store import ListedObject, StagedWriter, Store
from penstock.model.outcome import Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot


class ScratchStore:
    """What lies in `base` can be read; everything that is written lies in `scratch`.

    Staged files are those of `scratch` alone. Nothing of `base` can be deleted. Driver only.
    """

    def __init__(self, base: Store, scratch: Store) -> None:
        self._base = base
        self._scratch = scratch

    @property
    def kind(self) -> str:
        """That of `scratch`, which makes the handles."""
        return self._scratch.kind

    @property
    def longest_key_bytes(self) -> int:
        """What both take."""
        return min(self._base.longest_key_bytes, self._scratch.longest_key_bytes)

    def uri(self, key: str) -> str:
        """The address in the lake."""
        return self._base.uri(key)

    def create(self, key: str, data: bytes) -> bool:
        """Create if absent in both."""
        return self._base.head(key) is None and self._scratch.create(key, data)

    def read(self, key: str) -> bytes | None:
        """The content, or None."""
        found = self._scratch.read(key)
        return self._base.read(key) if found is None else found

    def open_read(self, key: str) -> BinaryIO | None:
        """The content as a file, or None."""
        found = self._scratch.open_read(key)
        return self._base.open_read(key) if found is None else found

    def head(self, key: str) -> int | None:
        """The size, or None."""
        found = self._scratch.head(key)
        return self._base.head(key) if found is None else found

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        """Objects of both, in order; what lies in both is shown as it is in `scratch`."""
        both = (store.list_objects(prefix, after, limit) for store in (self._scratch, self._base))
        merged = heapq.merge(*both, key=_key)  # keeps the order of the two where keys are equal
        return islice((next(each) for _, each in groupby(merged, _key)), limit)

    def open_staged(self, final: str, spot: StagingSpot) -> StagedWriter:
        """Begin a file."""
        return self._scratch.open_staged(final, spot)

    def look(self, handle: StagedHandle) -> Sighting:
        """What became of a file of `scratch`."""
        return self._scratch.look(handle)

    def publish(self, handle: StagedHandle) -> None:
        """Make a file visible in `scratch`."""
        self._scratch.publish(handle)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """The same for many."""
        return self._scratch.publish_all(handles)

    def list_staged(self, staging: str, data_prefixes: Sequence[str]) -> Iterable[StagedRef]:
        """What is staged in `scratch`."""
        return self._scratch.list_staged(staging, data_prefixes)

    def discard(self, ref: StagedRef) -> None:
        """Destroy what is staged in `scratch`."""
        self._scratch.discard(ref)

    def delete(self, key: str) -> None:
        """Remove an object of `scratch`."""
        self._scratch.delete(key)

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """Remove objects of `scratch`."""
        return self._scratch.delete_all(keys)

    def sweep(self) -> int:
        """Nothing to do: it does not outlive the rehearsal."""
        return 0

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Try the promises of `scratch`."""
        self._scratch.probe(scratch, for_journal=for_journal)


def _key(listed: ListedObject) -> str:
    return listed.key
