# ruff: noqa: S101  -- these are tests; they assert
"""The contract of every store, as a test class to inherit from.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self) -> Store: ...

Each test gets an empty store. A fixture `second_store` may give another client of the same
place; without it the one client plays both parts.
"""

import pytest

from penstock.api.store import Store
from penstock.ports.store.list_keys import list_keys
from penstock.testing.contracts.store_names import NameContract
from penstock.testing.contracts.store_objects import ObjectContract
from penstock.testing.contracts.store_staged import StagedContract, file_name, stage


class StoreContract(ObjectContract, StagedContract, NameContract):
    """All that a store must give, tried on a real one."""

    @pytest.fixture
    def second_store(self, store: Store) -> Store:
        """Another client of the same place; the same one unless a subclass knows better."""
        return store

    def test_the_probe_passes_and_leaves_nothing(self, store: Store) -> None:
        store.create("data/a", b"a")
        store.probe("probe/scratch")
        store.probe("probe/scratch")
        assert list_keys(store, "") == ["data/a"]
        assert list(store.list_staged("probe", ["probe"])) == []

    def test_a_sweep_leaves_what_is_visible_or_staged(self, store: Store) -> None:
        store.create("data/a", b"a")
        final = f"data/{file_name()}"
        handle = stage(store, final, b"b")
        store.sweep()
        assert store.read("data/a") == b"a"
        store.publish(handle)
        assert store.read(final) == b"b"
