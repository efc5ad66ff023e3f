"""A lake and a journal in two stores keep the promises of one, and each key has its place."""

import pickle
from pathlib import Path

import pytest

from penstock.api.store import ReplacesConditionally, Store
from penstock.errors import OutcomeUnknown, StoreUnavailable, StoreUnfit
from penstock.model.layout import Layout
from penstock.model.staged import StagingSpot
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.local_store import LocalStore
from penstock.ports.store.split_store import SplitStore, split_store
from penstock.testing.contracts.store import StoreContract
from penstock.testing.fault_store import Fault, FaultStore, What
from penstock.testing.memory_store import MemoryStore, ReplacingMemoryStore

LAYOUT = Layout("web")
ENTRY, DATA = LAYOUT.entry(0), "web/click/day=2026-11-15/a.parquet"
KEYS = (ENTRY, LAYOUT.tail(0), LAYOUT.manifest("1-1"), f"{LAYOUT.quarantine}/x", DATA)


def two() -> tuple[MemoryStore, MemoryStore, SplitStore]:
    """A lake, a journal, and both as one."""
    lake, journal = MemoryStore(), MemoryStore()
    return lake, journal, split_store(lake, journal, "memory://j")


class TestSplitStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return two()[2]


class TestSplitStoreOnDisks(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        # Names of one length, so that both take keys of the same length: the shorter one counts.
        lake, journal = LocalStore(tmp_path / "data"), LocalStore(tmp_path / "book")
        return split_store(lake, journal, str(tmp_path / "book"))


def test_each_object_lies_in_one_store_and_is_found_there() -> None:
    lake, journal, store = two()
    for key in KEYS:
        assert store.create(key, key.encode())
        assert not store.create(key, b"another")
    assert list_keys(journal, "") == [ENTRY, LAYOUT.manifest("1-1")]
    assert list_keys(lake, "") == sorted(set(KEYS) - {ENTRY, LAYOUT.manifest("1-1")})
    assert [store.read(key) for key in KEYS] == [key.encode() for key in KEYS]
    assert [store.head(key) for key in KEYS] == [len(key) for key in KEYS]
    assert store.delete_all(KEYS) == set()
    assert list_keys(lake, "") + list_keys(journal, "") == []


@pytest.mark.parametrize("prefix", ["", "_penstock", "_penstock/web"])
def test_a_listing_above_both_has_the_objects_of_both_in_order(prefix: str) -> None:
    lake, journal, store = two()
    for key in KEYS:
        store.create(key, b"")
    wanted = sorted(key for key in KEYS if key.startswith(prefix))
    lake.create(LAYOUT.entry(7), b"a journal that was moved away")
    journal.create("web/stray", b"")
    assert list_keys(store, prefix) == wanted
    assert list_keys(store, prefix, wanted[0], 1) == wanted[1:2]
    assert list_keys(store, LAYOUT.journal) == [ENTRY]
    assert list_keys(store, LAYOUT.data, limit=1) == [LAYOUT.tail(0)]


def test_files_are_staged_and_published_in_the_lake() -> None:
    lake, journal, store = two()
    writer = store.open_staged(DATA, StagingSpot(LAYOUT.staging, "1-1", "x"))
    writer.write(b"rows")
    handle = writer.finish()
    assert len(list(store.list_staged(LAYOUT.staging, LAYOUT.data_prefixes))) == 1
    store.publish(handle)
    assert store.look(handle).is_done
    assert lake.read(DATA) == b"rows"
    assert list_keys(journal, "") == []


def test_executors_get_the_lake_alone(tmp_path: Path) -> None:
    """Goal: tasks need no access to the journal. Method: travel, and ask for an entry."""
    lake, journal = LocalStore(tmp_path / "lake"), LocalStore(tmp_path / "journal")
    store = split_store(lake, journal, str(tmp_path / "journal"))
    store.create(ENTRY, b"entry")
    store.create(DATA, b"rows")
    travelled = pickle.loads(pickle.dumps(store))
    assert isinstance(travelled, LocalStore)
    assert (travelled.read(DATA), travelled.read(ENTRY)) == (b"rows", None)


def test_only_a_journal_that_can_be_replaced_has_a_lease_of_one_object() -> None:
    plain, replacing = MemoryStore(), ReplacingMemoryStore()
    assert not isinstance(split_store(replacing, plain, "j"), ReplacesConditionally)
    store = split_store(plain, replacing, "j")
    assert isinstance(store, ReplacesConditionally)
    key = f"{LAYOUT.lease}/current.json"
    tag = store.replace_tagged(key, b"beat", None)
    found = store.read_tagged(key)
    assert found is not None
    assert (found.data, found.tag) == (b"beat", tag)
    assert plain.read(key) is None
    with pytest.raises(ValueError, match="does not lie with the journal"):
        store.read_tagged(DATA)


@pytest.mark.parametrize(
    ("key", "name"), [(ENTRY, "the journal's store memory://j"), (DATA, "the lake's store")]
)
def test_an_error_says_which_of_the_two_stores_does_not_answer(key: str, name: str) -> None:
    faults = [
        Fault("read", What.FAIL_BEFORE),
        Fault("create", What.FAIL_AFTER),
        Fault("list_objects", What.FAIL_BEFORE),
    ]
    lake, journal = FaultStore(MemoryStore(), faults), FaultStore(MemoryStore(), faults)
    store = split_store(lake, journal, "memory://j")
    with pytest.raises(StoreUnavailable) as read:
        store.read(key)
    with pytest.raises(OutcomeUnknown) as created:
        store.create(key, b"")
    with pytest.raises(StoreUnavailable) as listed:
        list_keys(store, key.rpartition("/")[0])
    for error in (read.value, created.value, listed.value):
        assert f"({name})." in str(error)


def test_the_shorter_of_the_longest_keys_counts(tmp_path: Path) -> None:
    lake, journal = LocalStore(tmp_path / "a"), LocalStore(tmp_path / "longer")
    for pair in ((lake, journal), (journal, lake)):
        assert split_store(*pair, "j").longest_key_bytes == journal.longest_key_bytes
    assert journal.longest_key_bytes < lake.longest_key_bytes


def test_an_address_is_that_of_the_store_with_the_key(tmp_path: Path) -> None:
    store = split_store(LocalStore(tmp_path / "a"), LocalStore(tmp_path / "b"), "j")
    assert (store.uri(DATA), store.uri(ENTRY)) == (
        LocalStore(tmp_path / "a").uri(DATA),
        LocalStore(tmp_path / "b").uri(ENTRY),
    )


class AlwaysCreating(MemoryStore):
    """A store that ignores the condition of a create, as some that speak S3 do."""

    def create(self, key: str, data: bytes) -> bool:
        """Whatever is there."""
        self.shelf = self.shelf.with_object(key, data)
        return True


def test_a_lake_whose_store_cannot_keep_a_journal_is_refused_unless_that_lies_elsewhere() -> None:
    with pytest.raises(StoreUnfit, match="create an object only when nothing is there"):
        AlwaysCreating().probe("_penstock/probe")
    with pytest.raises(StoreUnfit, match="create an object only when nothing is there"):
        split_store(MemoryStore(), AlwaysCreating(), "j").probe("_penstock/probe")
    lake, journal = AlwaysCreating(), MemoryStore()
    split_store(lake, journal, "j").probe("_penstock/probe")
    assert list_keys(lake, "") + list_keys(journal, "") == []


def test_the_probe_tries_both() -> None:
    for broken in ("lake", "journal"):
        stores = {name: FaultStore(MemoryStore()) for name in ("lake", "journal")}
        stores[broken] = FaultStore(MemoryStore(), [Fault("probe", What.FAIL_BEFORE)])
        with pytest.raises(OutcomeUnknown, match=f"the {broken}'s store"):
            split_store(stores["lake"], stores["journal"], "j").probe("_penstock/probe")
