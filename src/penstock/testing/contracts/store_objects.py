# ruff: noqa: S101  -- these are tests; they assert
"""The part of the contract about objects: created once, read, listed in order, deleted."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from penstock.api.store import Store
from penstock.errors import BadKey, OutcomeUnknown, StoreUnavailable
from penstock.ports.store.create_once import create_once
from penstock.ports.store.list_keys import list_keys
from penstock.testing.fault_store import Fault, FaultStore, What

RACERS = 50
BIG = bytes(range(256)) * (20 * 1024 * 1024 // 256)


class ObjectContract:
    """Tests of create, read, head, list_objects and delete."""

    def test_what_was_created_is_read_back(self, store: Store) -> None:
        assert store.create("a/b/c", b"content") is True
        assert store.read("a/b/c") == b"content"
        assert store.head("a/b/c") == 7

    def test_what_was_created_can_be_read_piece_by_piece(self, store: Store) -> None:
        store.create("a/big", BIG)
        file = store.open_read("a/big")
        assert file is not None
        with file:
            assert file.read(3) == BIG[:3]
            assert file.seek(-5, 2) == len(BIG) - 5
            assert file.read() == BIG[-5:]
            assert file.seek(1 << 20) == file.tell() == 1 << 20
            assert file.read(10) == BIG[1 << 20 : (1 << 20) + 10]

    def test_nothing_can_be_opened_where_nothing_is(self, store: Store) -> None:
        store.create("a/b", b"content")
        assert store.open_read("a/c") is None
        assert store.open_read("a") is None
        assert store.open_read("a/b/c") is None

    def test_a_second_create_is_refused_and_changes_nothing(
        self, store: Store, second_store: Store
    ) -> None:
        assert store.create("a/b", b"first") is True
        assert second_store.create("a/b", b"second") is False
        assert store.create("a/b", b"first") is False
        assert store.read("a/b") == b"first"

    def test_of_many_that_create_at_once_exactly_one_wins(
        self, store: Store, second_store: Store
    ) -> None:
        barrier = Barrier(RACERS)

        def race(number: int) -> bool:
            barrier.wait()
            client = store if number % 2 else second_store
            return client.create("journal/7", f"racer {number}".encode())

        with ThreadPoolExecutor(RACERS) as pool:
            won = list(pool.map(race, range(RACERS)))
        assert won.count(True) == 1
        assert store.read("journal/7") == f"racer {won.index(True)}".encode()
        assert list_keys(store, "journal") == ["journal/7"]

    def test_a_lost_reply_is_recognised_as_our_own_create(self, store: Store) -> None:
        faulty = FaultStore(store, [Fault("create", What.FAIL_AFTER)])
        assert create_once(faulty, "journal/1", b"mine") is None
        assert store.read("journal/1") == b"mine"
        assert faulty.unmet() == []

    def test_a_lost_request_is_sent_again(self, store: Store) -> None:
        faulty = FaultStore(store, [Fault("create", What.FAIL_BEFORE)])
        assert create_once(faulty, "journal/1", b"mine") is None
        assert store.read("journal/1") == b"mine"

    def test_anothers_object_is_told_from_ours_when_no_answer_came(
        self, store: Store, second_store: Store
    ) -> None:
        faulty = FaultStore(store, [Fault("create", What.FAIL_BEFORE)])
        second_store.create("journal/1", b"theirs")
        assert create_once(faulty, "journal/1", b"mine") == b"theirs"

    def test_a_request_that_arrives_after_anothers_create_changes_nothing(
        self, store: Store, second_store: Store
    ) -> None:
        slow = FaultStore(store, [Fault("create", What.DELAY)])
        with pytest.raises(OutcomeUnknown):
            slow.create("journal/1", b"late")
        assert second_store.create("journal/1", b"theirs") is True
        assert slow.deliver() == 1
        assert store.read("journal/1") == b"theirs"

    def test_a_read_without_an_answer_is_not_an_absence(self, store: Store) -> None:
        faulty = FaultStore(store, [Fault("read", What.FAIL_BEFORE)])
        store.create("a", b"a")
        with pytest.raises(StoreUnavailable):
            faulty.read("a")

    def test_absence_is_an_answer(self, store: Store) -> None:
        store.create("a/b", b"")
        for key in ("x", "a/x", "x/y/z", "a"):
            assert store.read(key) is None
            assert store.head(key) is None

    def test_an_empty_object_is_there(self, store: Store) -> None:
        assert store.create("empty", b"") is True
        assert store.read("empty") == b""
        assert store.head("empty") == 0
        assert store.create("empty", b"full") is False

    def test_a_big_object_is_whole(self, store: Store, second_store: Store) -> None:
        assert store.create("big", BIG) is True
        assert second_store.head("big") == len(BIG)
        assert second_store.read("big") == BIG

    def test_a_listing_is_in_the_order_of_whole_keys(self, store: Store) -> None:
        """A dash and a dot sort before the slash, so directories and files interleave."""
        keys = ["d/a-b/x", "d/a.b", "d/a/b", "d/a/c/d", "d/a0", "d/é", "d/\U0001f600"]
        for key in reversed(keys):
            store.create(key, b"")
        assert keys == sorted(keys)
        assert list_keys(store, "d") == keys
        assert list_keys(store, "d/") == keys
        assert list_keys(store, "") == keys
        assert list_keys(store, "d/a") == ["d/a/b", "d/a/c/d"]

    def test_a_listing_begins_after_a_key_and_ends_at_the_limit(self, store: Store) -> None:
        keys = [f"journal/{number:04}" for number in range(30)]
        for key in keys:
            store.create(key, b"")
        assert list_keys(store, "journal", keys[9]) == keys[10:]
        assert list_keys(store, "journal", keys[9], 3) == keys[10:13]
        assert list_keys(store, "journal", "journal/0009x", 1) == [keys[10]]
        assert list_keys(store, "journal", "", 0) == []
        assert list_keys(store, "journal", "a") == keys
        assert list_keys(store, "journal", keys[-1]) == []
        assert list_keys(store, "journal", "z") == []

    def test_a_listing_shows_at_once_what_was_created_and_deleted(
        self, store: Store, second_store: Store
    ) -> None:
        for number in range(20):
            store.create(f"journal/{number:04}", b"")
            assert len(list_keys(second_store, "journal")) == number + 1
        store.delete("journal/0000")
        assert list_keys(second_store, "journal", "", 1) == ["journal/0001"]

    def test_a_listing_has_the_size_of_each_object(self, store: Store, second_store: Store) -> None:
        sizes = {"d/a": 0, "d/a.b": 1, "d/b": 1_000, "d/c/d": len(BIG)}
        for key, size_bytes in sizes.items():
            store.create(key, BIG[:size_bytes])
        assert {each.key: each.size_bytes for each in second_store.list_objects("d")} == sizes

    def test_a_listing_is_given_piece_by_piece(self, store: Store) -> None:
        """What is deleted behind and before the reader does not disturb it."""
        keys = [f"d/{number:04}" for number in range(40)]
        for key in keys:
            store.create(key, b"")
        listing = store.list_objects("d")
        assert [next(listing).key for _ in range(2)] == keys[:2]
        for key in (keys[0], keys[20]):
            store.delete(key)
        assert [each.key for each in listing if each.key != keys[20]] == keys[2:20] + keys[21:]

    def test_a_listing_of_nothing_is_empty(self, store: Store) -> None:
        store.create("a/b", b"")
        assert list_keys(store, "nowhere") == []
        assert list_keys(store, "a/nowhere/") == []
        assert list_keys(store, "a/b") == []

    def test_strangers_in_a_directory_do_not_hide_its_objects(self, store: Store) -> None:
        wanted = [f"journal/{number:04}" for number in range(5)]
        strangers = ["journal/.DS_Store", "journal/0002.tmp", "journal/lost+found/x", "journal/~"]
        for key in [*wanted, *strangers]:
            store.create(key, b"")
        listed = list_keys(store, "journal")
        assert listed == sorted(listed)
        assert [key for key in listed if key in wanted] == wanted

    def test_a_deleted_object_is_gone_and_deleting_again_is_fine(self, store: Store) -> None:
        store.create("a/b", b"one")
        store.delete("a/b")
        store.delete("a/b")
        store.delete("never/was")
        assert store.read("a/b") is None
        assert store.create("a/b", b"two") is True
        assert store.read("a/b") == b"two"

    def test_many_are_deleted_at_once_and_again(self, store: Store, second_store: Store) -> None:
        keys = [f"a/{number % 3}/{number}" for number in range(20)]
        for key in keys[1:]:
            store.create(key, b"one")
        store.create("a/0/stays", b"two")
        assert store.delete_all(keys) == set()
        assert store.delete_all(keys) == set()
        assert store.delete_all([]) == set()
        assert list_keys(second_store, "a") == ["a/0/stays"]

    def test_of_many_deletes_only_those_without_an_answer_are_in_doubt(self, store: Store) -> None:
        for number in range(4):
            store.create(f"a/{number}", b"one")
        faults = [Fault("delete", What.FAIL_BEFORE, "a/1"), Fault("delete", What.FAIL_AFTER, "a/2")]
        faulty = FaultStore(store, faults)
        assert faulty.delete_all([f"a/{number}" for number in range(4)]) == {"a/1", "a/2"}
        assert list_keys(store, "a") == ["a/1"]

    def test_nothing_is_deleted_when_one_of_many_keys_is_bad(self, store: Store) -> None:
        store.create("a/b", b"one")
        with pytest.raises(BadKey):
            store.delete_all(["a/b", "a/../b"])
        assert store.read("a/b") == b"one"
