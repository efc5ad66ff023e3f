# ruff: noqa: S101  -- these are tests; they assert
"""The contract of stores that replace conditionally, beside that of every store.

class TestMyStore(StoreContract, ReplacingContract):
    @pytest.fixture
    def store(self) -> Store: ...
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from penstock.api.store import ReplacesConditionally, Store
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.replace_once import replace_once
from penstock.testing.fault_store import Fault, ReplacingFaultStore, What

KEY = "lease/current"
RACERS = 20


def replacing(store: Store) -> ReplacesConditionally:
    """The store as one that replaces."""
    assert isinstance(store, ReplacesConditionally)
    return store


def put(store: Store, data: bytes, tag: str | None = None) -> str:
    """Put an object, which must succeed; its tag."""
    found = replacing(store).replace_tagged(KEY, data, tag)
    assert found is not None
    return found


class ReplacingContract:
    """Tests of read_tagged and replace_tagged. `second_store` is another client.

    A place that compares and replaces in two acts is good enough for leases, on which nothing that
    is decided depends; its tests set `replaces_in_one_act` to False.
    """

    replaces_in_one_act = True

    def test_what_was_put_is_read_with_its_tag(self, store: Store, second_store: Store) -> None:
        assert replacing(store).read_tagged(KEY) is None
        tag = put(store, b"one")
        found = replacing(second_store).read_tagged(KEY)
        assert found is not None
        assert (found.data, found.tag) == (b"one", tag)
        assert store.read(KEY) == b"one"
        assert list_keys(store, "lease") == [KEY]

    def test_without_a_tag_it_is_put_only_where_nothing_is(self, store: Store) -> None:
        assert store.create(KEY, b"theirs") is True
        assert replacing(store).replace_tagged(KEY, b"mine", None) is None
        assert store.read(KEY) == b"theirs"
        store.delete(KEY)
        put(store, b"mine")
        assert store.create(KEY, b"theirs") is False
        assert store.read(KEY) == b"mine"

    def test_a_replacement_gets_a_new_tag_and_the_old_one_is_void(
        self, store: Store, second_store: Store
    ) -> None:
        first = put(store, b"one")
        second = put(second_store, b"two", first)
        assert second != first
        assert replacing(store).replace_tagged(KEY, b"three", first) is None
        assert store.read(KEY) == b"two"
        put(store, b"three", second)
        assert second_store.read(KEY) == b"three"

    def test_what_is_gone_is_not_replaced(self, store: Store) -> None:
        tag = put(store, b"one")
        store.delete(KEY)
        assert replacing(store).replace_tagged(KEY, b"two", tag) is None
        assert store.read(KEY) is None

    def test_of_many_that_replace_at_once_exactly_one_wins(
        self, store: Store, second_store: Store
    ) -> None:
        tag = put(store, b"one")
        barrier = Barrier(RACERS)

        def race(number: int) -> bool:
            barrier.wait()
            client = replacing(store if number % 2 else second_store)
            return client.replace_tagged(KEY, f"racer {number}".encode(), tag) is not None

        with ThreadPoolExecutor(RACERS) as pool:
            won = list(pool.map(race, range(RACERS)))
        assert won.count(True) == 1 or not self.replaces_in_one_act
        winners = [f"racer {number}".encode() for number, has_won in enumerate(won) if has_won]
        assert store.read(KEY) in winners

    @pytest.mark.parametrize("first", [True, False], ids=["created", "replaced"])
    def test_a_lost_reply_is_recognised_as_our_own_replacement(
        self, store: Store, first: bool
    ) -> None:
        tag = None if first else put(store, b"one")
        faulty = ReplacingFaultStore(store, [Fault("replace_tagged", What.FAIL_AFTER)])
        mine = replace_once(faulty, KEY, b"mine", tag)
        found = replacing(store).read_tagged(KEY)
        assert found is not None
        assert (found.data, found.tag) == (b"mine", mine)
        assert faulty.unmet() == []

    def test_a_lost_request_is_unknown_since_it_may_land_yet(self, store: Store) -> None:
        tag = put(store, b"one")
        faulty = ReplacingFaultStore(store, [Fault("replace_tagged", What.DELAY)])
        with pytest.raises(OutcomeUnknown):
            replace_once(faulty, KEY, b"mine", tag)
        assert faulty.deliver() == 1
        assert store.read(KEY) == b"mine"

    def test_a_late_request_changes_nothing_once_another_was_faster(
        self, store: Store, second_store: Store
    ) -> None:
        tag = put(store, b"one")
        faulty = ReplacingFaultStore(store, [Fault("replace_tagged", What.DELAY)])
        with pytest.raises(OutcomeUnknown):
            replacing(faulty).replace_tagged(KEY, b"late", tag)
        put(second_store, b"theirs", tag)
        assert faulty.deliver() == 1
        assert store.read(KEY) == b"theirs"

    def test_anothers_replacement_is_told_from_ours_when_no_answer_came(
        self, store: Store, second_store: Store
    ) -> None:
        tag = put(store, b"one")
        put(second_store, b"theirs", tag)
        faulty = ReplacingFaultStore(store, [Fault("replace_tagged", What.FAIL_BEFORE)])
        assert replace_once(faulty, KEY, b"mine", tag) is None

    def test_a_tagged_read_without_an_answer_is_not_an_absence(self, store: Store) -> None:
        put(store, b"one")
        faulty = ReplacingFaultStore(store, [Fault("read_tagged", What.FAIL_BEFORE)])
        with pytest.raises(StoreUnavailable):
            faulty.read_tagged(KEY)
