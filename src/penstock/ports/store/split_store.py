"""A lake whose journals lie in a store of their own, as one store: each key has its place.

What decides or describes goes to the journal's store, everything else to the lake's
(`is_journal_key`). Executors only read and write data, so it travels to them as the lake's store
alone: they need no access to the journal.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO, TypeVar

from penstock.api.store import (
    ListedObject,
    OddName,
    ReplacesConditionally,
    ShowsOddNames,
    StagedWriter,
    Store,
    TaggedObject,
)
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.layout import is_journal_key, is_journal_prefix
from penstock.model.outcome import Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.open_store import open_store

A = TypeVar("A")
T = TypeVar("T")
Silence = StoreUnavailable | OutcomeUnknown


def open_both(lake: StoreSpec, journal: StoreSpec | None) -> Store:
    """The store of a lake, with that of its journals if they have their own."""
    if journal is None:
        return open_store(lake)
    return split_store(open_store(lake), open_store(journal), journal.uri)


def split_store(lake: Store, journal: Store, place: str) -> "SplitStore":
    """Both stores as one; `place` is the address of the journal's, as the lake records it."""
    if isinstance(journal, ReplacesConditionally):
        return ReplacingSplitStore(lake, journal, place)
    return SplitStore(lake, journal, place)


def lake_of(store: Store) -> Store:
    """The store of the lake itself, for what only some stores can do with data."""
    return store.lake if isinstance(store, SplitStore) else store


def journal_of(store: Store) -> Store:
    """The store of the journals, for what only some stores can do."""
    return store.journal if isinstance(store, SplitStore) else store


class SplitStore:
    """The lake's store and that of its journals. They fail independently; errors say which."""

    def __init__(self, lake: Store, journal: Store, place: str) -> None:
        self.lake = lake
        self.journal = journal
        self.place = place

    def __reduce__(self) -> tuple[Callable[[Store], Store], tuple[Store]]:
        return _same, (self.lake,)

    @property
    def kind(self) -> str:
        """That of the lake, which makes the handles."""
        return self.lake.kind

    @property
    def longest_key_bytes(self) -> int:
        """What both take: names of datasets stand in keys of either."""
        return min(self.lake.longest_key_bytes, self.journal.longest_key_bytes)

    def uri(self, key: str) -> str:
        """The address in the store that has the key."""
        return self._of(key).uri(key)

    def create(self, key: str, data: bytes) -> bool:
        """Create if absent in the store that has the key."""
        return self.ask(self._of(key), lambda store: store.create(key, data))

    def read(self, key: str) -> bytes | None:
        """The content in the store that has the key."""
        return self.ask(self._of(key), lambda store: store.read(key))

    def open_read(self, key: str) -> BinaryIO | None:
        """The same as a file."""
        return self.ask(self._of(key), lambda store: store.open_read(key))

    def head(self, key: str) -> int | None:
        """The size in the store that has the key."""
        return self.ask(self._of(key), lambda store: store.head(key))

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        """Objects in the store that has the prefix; of both, in order, where both have some.

        What lies in one store under a key of the other is a stranger there, and is left out.
        """
        with_journal = is_journal_prefix(prefix)
        if with_journal is not None:
            store = self.journal if with_journal else self.lake
            return self._each(store, lambda: store.list_objects(prefix, after, limit))
        both = (self._own(store, prefix, after) for store in (self.lake, self.journal))
        return islice(heapq.merge(*both, key=lambda listed: listed.key), limit)

    def _own(self, store: Store, prefix: str, after: str) -> Iterator[ListedObject]:
        for listed in self._each(store, lambda: store.list_objects(prefix, after)):
            if self._of(listed.key) is store:
                yield listed

    def open_staged(self, final: str, spot: StagingSpot) -> StagedWriter:
        """Begin a file of the lake."""
        return self.ask(self.lake, lambda store: store.open_staged(final, spot))

    def look(self, handle: StagedHandle) -> Sighting:
        """What is at the final name in the lake."""
        return self.ask(self.lake, lambda store: store.look(handle))

    def publish(self, handle: StagedHandle) -> None:
        """Make the file visible in the lake."""
        self.ask(self.lake, lambda store: store.publish(handle))

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """The same for many."""
        return self.ask(self.lake, lambda store: store.publish_all(handles))

    def list_staged(self, staging: str, data_prefixes: Sequence[str]) -> Iterable[StagedRef]:
        """What is staged in the lake."""
        return self._each(self.lake, lambda: self.lake.list_staged(staging, data_prefixes))

    def discard(self, ref: StagedRef) -> None:
        """Destroy what is staged in the lake."""
        self.ask(self.lake, lambda store: store.discard(ref))

    def delete(self, key: str) -> None:
        """Remove an object from the store that has the key."""
        self.ask(self._of(key), lambda store: store.delete(key))

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """Remove objects, each from the store that has its key."""
        ours = [key for key in keys if is_journal_key(key)]
        data = [key for key in keys if not is_journal_key(key)]
        left: set[str] = self.journal.delete_all(ours) if ours else set()
        return left | (self.lake.delete_all(data) if data else set())

    def list_odd(self, prefix: str) -> list[OddName]:
        """What the lake's listing leaves out; nothing in a store whose names are all keys."""
        lake = self.lake
        if not isinstance(lake, ShowsOddNames):
            return []
        return self.ask(lake, lambda store: store.list_odd(prefix))

    def sweep(self) -> int:
        """Remove the leftovers of both."""
        return sum(
            self.ask(each, lambda store: store.sweep()) for each in (self.lake, self.journal)
        )

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Try all promises of the journal's store, and of the lake's what data needs."""
        self.ask(self.journal, lambda store: store.probe(scratch, for_journal=for_journal))
        self.ask(self.lake, lambda store: store.probe(scratch, for_journal=False))

    def _of(self, key: str) -> Store:
        return self.journal if is_journal_key(key) else self.lake

    def ask(self, store: A, ask: Callable[[A], T]) -> T:
        """Ask one of the two; an error names it, because a key alone does not tell which it is."""
        try:
            return ask(store)
        except (StoreUnavailable, OutcomeUnknown) as error:
            raise self._named(error, store) from error

    def _each(self, store: Store, found: Callable[[], Iterable[T]]) -> Iterator[T]:
        """The same for what is asked while it is iterated over."""
        try:
            yield from found()
        except (StoreUnavailable, OutcomeUnknown) as error:
            raise self._named(error, store) from error

    def _named(self, error: Silence, store: object) -> Silence:
        is_journal = store is self.journal
        name = f"the journal's store {self.place}" if is_journal else "the lake's store"
        return type(error)(error.act, error.key, f"{error.why.rstrip('.')} ({name})")


class ReplacingSplitStore(SplitStore):
    """The same where the journal's store replaces conditionally: leases are one object then."""

    def read_tagged(self, key: str) -> TaggedObject | None:
        """An object of the journal's store with its tag."""
        return self.ask(self._replacing(key), lambda store: store.read_tagged(key))

    def replace_tagged(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Replace an object of the journal's store."""
        replacing = self._replacing(key)
        return self.ask(replacing, lambda store: store.replace_tagged(key, data, tag))

    def _replacing(self, key: str) -> ReplacesConditionally:
        if not isinstance(self.journal, ReplacesConditionally) or not is_journal_key(key):
            raise ValueError(f"{key!r} does not lie with the journal, and only that is replaced")
        return self.journal


def _same(store: Store) -> Store:
    """What a split store is where it has travelled to."""
    return store
