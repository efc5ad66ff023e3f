"""The store that the simulator rests on keeps the contract of a real one."""

import pytest

from penstock.testing.contracts.store import StoreContract
from penstock.testing.contracts.store_replacing import ReplacingContract
from penstock.testing.memory_store import MemoryStore, ReplacingMemoryStore


class TestMemoryStore(StoreContract):
    """Publishing in two acts, as disks do."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


class TestMemoryStoreThatPublishesInOneAct(StoreContract):
    """Publishing in one act, as object stores do."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore(atomic_publish=True)


class TestMemoryStoreThatReplaces(StoreContract, ReplacingContract):
    """Replacing conditionally, as object stores do."""

    @pytest.fixture
    def store(self) -> ReplacingMemoryStore:
        return ReplacingMemoryStore()
