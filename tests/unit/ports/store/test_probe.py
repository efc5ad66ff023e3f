"""The probe finds a store that keeps a promise only most of the time."""

from collections.abc import Iterator

import pytest

from penstock.api.store import ListedObject
from penstock.errors import StoreUnfit
from penstock.model.staged import StagedHandle
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.probe import LEAST_KEY_BYTES, ROUNDS, probe_promises
from penstock.testing.memory_store import MemoryStore, ReplacingMemoryStore, Shelf


class ManyWinners(MemoryStore):
    """Tells all racers that they have created an object, in one race of ten."""

    def create(self, key: str, data: bytes) -> bool:
        return super().create(key, data) or key.endswith("/raced/09")


class WrongSizes(MemoryStore):
    """Lists objects with the sizes of something else."""

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        for each in super().list_objects(prefix, after, limit):
            yield ListedObject(each.key, each.size_bytes + 1)


class BringsBack(MemoryStore):
    """Remembers what was published, and publishes it again."""

    def publish(self, handle: StagedHandle) -> None:
        found = self.shelf.staged.get(handle.staged)
        self._known = getattr(self, "_known", {}) | ({handle.staged: found} if found else {})
        if found is None and handle.final not in self.shelf.objects:
            self.shelf = self.shelf.with_staged(handle.staged, self._known[handle.staged])
        super().publish(handle)


class FalseAnswer(MemoryStore):
    """Says that it has published, and shows nothing, once the name was deleted."""

    def __init__(self) -> None:
        super().__init__(atomic_publish=True)
        self._deleted: set[str] = set()

    def delete(self, key: str) -> None:
        self._deleted.add(key)
        super().delete(key)

    def publish(self, handle: StagedHandle) -> None:
        if handle.final in self._deleted and handle.staged in self.shelf.staged:
            self.shelf = self.shelf.with_staged(handle.staged, None)
            return
        super().publish(handle)


def overwriting() -> MemoryStore:
    """Publishes over what is there, as completing an upload without a condition does."""
    store = MemoryStore(atomic_publish=True)
    store.shelf = Shelf.empty(clobber=True)
    return store


@pytest.mark.parametrize(
    ("store", "words"),
    [
        (ManyWinners(), "8 of 8 at once were told that they had, in round 9"),
        (WrongSizes(), "the listing was another"),
        (overwriting(), "of two with other contents 2 were told"),
        (BringsBack(), "published again"),
        (FalseAnswer(), "then it was absent"),
    ],
)
def test_a_broken_promise_is_found_and_nothing_is_left(store: MemoryStore, words: str) -> None:
    with pytest.raises(StoreUnfit, match=words):
        probe_promises(store, "a broken store", "scratch")
    assert list_keys(store, "") == []
    assert list(store.list_staged("scratch/staging", ["scratch/data"])) == []


def test_a_store_that_takes_only_short_keys_is_refused() -> None:
    store = MemoryStore(longest_key_bytes=LEAST_KEY_BYTES - 1)
    with pytest.raises(StoreUnfit, match="take keys of 700 bytes: it takes 699"):
        probe_promises(store, "a far prefix", "scratch")


@pytest.mark.parametrize("store", [MemoryStore(), MemoryStore(atomic_publish=True)])
def test_a_store_that_keeps_all_promises_passes(store: MemoryStore) -> None:
    probe_promises(store, "memory", "scratch")
    probe_promises(ReplacingMemoryStore(), "memory", "scratch")
    assert list_keys(store, "") == []


def test_races_are_run_often_enough() -> None:
    """A store with two winners in 9 of 25 rounds was met; it passes one round in three starts."""
    assert (16 / 25) ** ROUNDS < 0.01
