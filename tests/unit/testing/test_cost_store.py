"""The store that counts is the store it wraps, and its sums are those of its docstring."""

import pytest

from penstock.model.staged import StagedHandle
from penstock.ports.store.list_keys import list_keys
from penstock.runtime.surroundings import AT_ONCE
from penstock.testing.contracts.store import StoreContract
from penstock.testing.contracts.store_staged import STAGING, stage
from penstock.testing.cost_store import CostStore
from penstock.testing.memory_store import MemoryStore


class TestCostStore(StoreContract):
    """The contract holds around any store."""

    @pytest.fixture
    def store(self) -> CostStore:
        return CostStore(MemoryStore())

    @pytest.fixture
    def second_store(self, store: CostStore) -> CostStore:
        return CostStore(store._inner)


def staged(inner: MemoryStore, count: int) -> list[StagedHandle]:
    return [stage(inner, f"data/{n}", b"rows", f"t{n}") for n in range(count)]


def test_each_request_counts_by_its_kind_and_takes_its_time() -> None:
    store = CostStore(MemoryStore())
    store.create("a", b"one")
    store.read("a")
    store.read("b")
    store.head("a")
    list_keys(store, "")
    store.delete("a")
    cost = store.take()
    assert cost.requests == {"create": 1, "read": 2, "head": 1, "list": 1, "delete": 1}
    assert cost.total == 6
    assert cost.seconds == pytest.approx(6 * 0.040)
    assert store.take().total == 0


@pytest.mark.parametrize(
    ("count", "rounds"), [(0, 0), (1, 1), (AT_ONCE, 1), (AT_ONCE + 1, 2), (15 * AT_ONCE, 15)]
)
def test_many_at_once_take_rounds(count: int, rounds: int) -> None:
    inner = MemoryStore()
    store = CostStore(inner, latency_s=0.5)
    handles = staged(inner, count)
    assert store.publish_all(handles) == set()
    assert store.take().seconds == rounds * 2 * 0.5
    store.delete_all([handle.final for handle in handles])
    cost = store.take()
    assert (cost.total, cost.seconds) == (count, rounds * 0.5)
    assert list_keys(inner, "") == []


def test_a_listing_is_a_request_for_each_thousand_keys() -> None:
    inner = MemoryStore()
    for number in range(2_001):
        inner.create(f"a/{number}", b"")
    staged(inner, 3)
    store = CostStore(inner)
    assert len(list_keys(store, "a")) == 2_001
    assert store.take().requests == {"list": 3}
    assert len(store.list_staged(STAGING, ())) == 3
    assert store.take().requests == {"list": 1}


def test_what_a_caller_does_side_by_side_takes_as_long_as_the_slowest_of_a_round() -> None:
    store = CostStore(MemoryStore(), latency_s=1.0)

    def once() -> None:
        store.read("a")

    def twice() -> None:
        once()
        once()

    store.side_by_side([once] * (AT_ONCE - 1) + [twice] + [once] * 3)
    cost = store.take()
    assert (cost.total, cost.seconds) == (AT_ONCE + 4, 3.0)


def test_the_time_can_pass_for_real() -> None:
    waited: list[float] = []
    store = CostStore(MemoryStore(), latency_s=0.25, sleep=waited.append)
    store.read("a")
    store.delete_all([f"a/{n}" for n in range(AT_ONCE + 4)])
    assert waited == [0.25, 0.5]
    assert store.seconds == 0.75
