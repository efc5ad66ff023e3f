"""A scratch store keeps the promises of a store, and the lake below it stays as it was."""

import pytest

from penstock.api.store import Store
from penstock.model.staged import StagingSpot
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.scratch_store import ScratchStore
from penstock.testing.contracts.store import StoreContract
from penstock.testing.memory_store import MemoryStore


class TestScratchStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return ScratchStore(MemoryStore(), MemoryStore())


def test_what_is_written_is_seen_and_does_not_reach_the_lake() -> None:
    lake = MemoryStore()
    lake.create("d/a", b"1")
    lake.create("d/c", b"3")
    store = ScratchStore(lake, MemoryStore())
    assert not store.create("d/a", b"other")
    assert store.create("d/b", b"22")
    assert list_keys(store, "d") == ["d/a", "d/b", "d/c"]
    assert list_keys(store, "d", "d/a", 1) == ["d/b"]
    assert (store.read("d/a"), store.read("d/b"), store.head("d/b")) == (b"1", b"22", 2)
    writer = store.open_staged("d/z", StagingSpot("staging", "1-1", "x"))
    writer.write(b"data")
    handle = writer.finish()
    assert len(list(store.list_staged("staging", ()))) == 1
    store.publish(handle)
    assert store.read("d/z") == b"data"
    store.delete("d/c")
    assert list_keys(lake, "d") == ["d/a", "d/c"]
    assert list(lake.list_staged("staging", ())) == []
