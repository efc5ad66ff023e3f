"""The local store keeps the contract, and what only a local disk can break."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.errors import BadKey, ForeignFile, StagedGone, StoreUnavailable, StoreUnfit
from penstock.model.outcome import FinalState, Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.disk import Disk, OpenFile
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.contracts.store import StoreContract
from penstock.testing.contracts.store_staged import FINAL, STAGING, stage
from penstock.testing.fault_disks import DiskFault
from penstock.testing.fault_store import Died, FaultDisk


class TestLocalStore(StoreContract):
    """The contract on a real directory, with two clients."""

    @pytest.fixture
    def store(self, lake: Path) -> LocalStore:
        self.tells_twins_apart = _tells_twins_apart(lake)
        return LocalStore(lake)

    @pytest.fixture
    def second_store(self, lake: Path) -> LocalStore:
        return LocalStore(lake)


def _tells_twins_apart(directory: Path) -> bool:
    """False on the usual disk of a Mac, which takes `Case` and `case` for one name."""
    (directory / "Twin").touch()
    is_apart = not (directory / "tWIN").exists()
    (directory / "Twin").unlink()
    return is_apart


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    path = tmp_path / "lake"
    path.mkdir()
    return path


@pytest.fixture
def store(lake: Path) -> LocalStore:
    return LocalStore(lake)


def names_below(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def test_the_probe_leaves_no_directory_either(store: LocalStore, lake: Path) -> None:
    store.probe("deep/scratch")
    assert names_below(lake) == []
    store.create("deep/a", b"")
    before = names_below(lake)
    store.probe("deep/scratch")
    assert names_below(lake) == before


def test_only_the_root_pickles(store: LocalStore) -> None:
    store.create("a", b"a")
    copy = pickle.loads(pickle.dumps(store))
    assert copy.root == store.root
    assert copy.read("a") == b"a"


def test_the_root_may_be_a_link_and_is_resolved_once(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(lake)
    store = LocalStore(tmp_path / "link")
    (tmp_path / "link").unlink()
    assert store.create("a", b"a") is True
    assert (lake / "a").read_bytes() == b"a"


def test_a_missing_root_is_made_but_not_the_way_to_it(tmp_path: Path) -> None:
    assert LocalStore(tmp_path / "new").create("a", b"a") is True
    nowhere = LocalStore(tmp_path / "no" / "where")
    assert nowhere.read("a") is None
    assert list_keys(nowhere, "") == []
    with pytest.raises(StoreUnavailable, match="where' there"):
        nowhere.create("a", b"a")


def test_the_directory_of_temporary_files_holds_no_objects(store: LocalStore, lake: Path) -> None:
    with pytest.raises(BadKey):
        store.create("_penstock/tmp/a", b"")
    (lake / "_penstock" / "tmp").mkdir(parents=True)
    (lake / "_penstock" / "tmp" / "torn").write_bytes(b"half a fi")
    store.create("_penstock/tm", b"")
    store.create("_penstock/tmp-not", b"")
    assert list_keys(store, "") == ["_penstock/tm", "_penstock/tmp-not"]
    assert list_keys(store, "_penstock/tmp") == []


def test_a_torn_temporary_file_is_ignored_and_swept_after_an_hour(lake: Path) -> None:
    now_s = 1_700_000_000.0
    store = LocalStore(lake, clock=lambda: now_s)
    store.create("a", b"a")
    old, young = lake / "_penstock/tmp/old", lake / "_penstock/tmp/young"
    for path, age_s in ((old, 3601), (young, 3599)):
        path.write_bytes(b"half a fi")
        os.utime(path, (now_s - age_s, now_s - age_s))
    assert store.sweep() == 1
    assert store.sweep() == 0
    assert not old.exists()
    assert young.exists()
    assert list_keys(store, "") == ["a"]


def test_a_sweep_of_a_new_lake_finds_nothing(store: LocalStore) -> None:
    assert store.sweep() == 0


def test_a_handle_of_another_kind_of_store_is_refused(store: LocalStore) -> None:
    handle = StagedHandle("s3", "staging/0-1/t0.staged", "data/a", 1, "sha256:00")
    with pytest.raises(StoreUnfit):
        store.publish(handle)
    with pytest.raises(StoreUnfit):
        store.look(handle)


def test_an_attempt_cannot_write_over_another(store: LocalStore) -> None:
    handle = stage(store, FINAL, b"rows")
    with pytest.raises(StoreUnavailable, match="File exists"):
        stage(store, FINAL, b"other rows")
    store.publish(handle)
    assert store.read(FINAL) == b"rows"


def test_a_publisher_that_died_after_the_link_is_finished_by_the_next(lake: Path) -> None:
    handle = stage(LocalStore(lake), FINAL, b"rows")
    dying = LocalStore(lake, FaultDisk([DiskFault("unlink", place="*.staged")]))
    with pytest.raises(Died):
        dying.publish(handle)
    store = LocalStore(lake)
    assert store.look(handle) == Sighting(final=FinalState.OURS, staged=True)
    store.publish(handle)
    assert store.look(handle).is_done
    assert store.read(FINAL) == b"rows"


@pytest.mark.parametrize("torn", [b"", b"row", b"rows and more"])
def test_a_torn_staged_file_counts_as_gone_and_is_kept(
    store: LocalStore, lake: Path, torn: bytes
) -> None:
    handle = stage(store, FINAL, b"rows")
    (lake / handle.staged).write_bytes(torn)
    assert store.look(handle).is_lost
    with pytest.raises(StagedGone):
        store.publish(handle)
    assert (lake / handle.staged).read_bytes() == torn
    assert not (lake / FINAL).exists()


def test_a_directory_at_the_final_name_is_foreign(store: LocalStore, lake: Path) -> None:
    handle = stage(store, FINAL, b"rows")
    (lake / FINAL).mkdir(parents=True)
    assert store.look(handle).final is FinalState.FOREIGN
    with pytest.raises(ForeignFile, match="not a regular file"):
        store.publish(handle)


def test_a_window_directory_is_removed_with_its_last_attempt(store: LocalStore, lake: Path) -> None:
    stage(store, FINAL, b"rows", "t0")
    stage(store, FINAL, b"rows", "t1")
    first, second = store.list_staged(STAGING, ())
    store.discard(first)
    assert (lake / STAGING / "0-1").is_dir()
    store.discard(second)
    assert not (lake / STAGING / "0-1").exists()
    assert stage(store, FINAL, b"rows").size_bytes == 4


@pytest.mark.parametrize("at_once", [True, False])
def test_no_window_leaves_its_directory_once_all_is_published(
    store: LocalStore, lake: Path, at_once: bool
) -> None:
    handles = [stage(store, f"data/{n}", b"rows", f"t{n}") for n in range(3)]
    orphan = stage(store, FINAL, b"rows", "orphan")
    if at_once:
        assert store.publish_all(handles) == set()
    else:
        for handle in handles:
            store.publish(handle)
    assert names_below(lake / STAGING) == ["0-1", "0-1/orphan.staged"]
    store.publish(orphan)
    assert names_below(lake / STAGING) == []
    assert all(store.look(handle).is_done for handle in (*handles, orphan))


def test_an_attempt_that_gives_up_takes_the_directory_with_it(
    store: LocalStore, lake: Path
) -> None:
    writers = [store.open_staged(FINAL, StagingSpot(STAGING, "0-1", word)) for word in "ab"]
    writers[0].abandon()
    assert names_below(lake / STAGING) == ["0-1", "0-1/b.staged"]
    writers[1].abandon()
    assert names_below(lake / STAGING) == []


class RemovingDisk(Disk):
    """A disk on which the last file of the window is published just before others are opened."""

    def __init__(self, others: LocalStore, handles: list[StagedHandle]) -> None:
        super().__init__()
        self.others = others
        self.handles = handles

    def open_new(self, path: str) -> OpenFile:
        if self.handles:
            self.others.publish(self.handles.pop())
        return super().open_new(path)


def test_an_attempt_finds_its_directory_made_again(store: LocalStore, lake: Path) -> None:
    """Goal: a zombie loses nothing. Method: its window is published between mkdir and open."""
    handle = stage(store, "data/first", b"rows", "first")
    late = LocalStore(lake, RemovingDisk(store, [handle]))
    writer = late.open_staged(FINAL, StagingSpot(STAGING, "0-1", "late"))
    assert store.look(handle).is_done
    assert names_below(lake / STAGING) == ["0-1", "0-1/late.staged"]
    writer.write(b"late rows")
    late.publish(writer.finish())
    assert (store.read("data/first"), store.read(FINAL)) == (b"rows", b"late rows")
    assert names_below(lake / STAGING) == []


def test_publishers_and_attempts_of_one_window_side_by_side_lose_nothing(
    store: LocalStore, lake: Path
) -> None:
    """Goal: what has a handle is published. Method: the directory comes and goes all the time."""

    def stage_and_publish(worker: int) -> None:
        own = store if worker % 2 else LocalStore(lake)
        for n in range(25):
            handle = _stage_until_it_works(own, f"data/{worker}-{n}", f"{worker}-{n}")
            if n % 2:
                own.publish(handle)
            else:
                assert own.publish_all([handle]) == set()
            assert own.look(handle).is_done

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(stage_and_publish, range(6)))
    assert len(list_keys(store, "data")) == 6 * 25
    assert names_below(lake / STAGING) == []


def _stage_until_it_works(store: LocalStore, final: str, attempt: str) -> StagedHandle:
    """Six publishers may take the directory away three times in a row; a task is tried again."""
    for number in range(50):
        with suppress(StoreUnavailable):
            return stage(store, final, b"rows", f"{attempt}-{number}")
    return stage(store, final, b"rows", attempt)


def test_discard_takes_only_staged_files(store: LocalStore) -> None:
    store.create("data/a", b"a")
    handle = stage(store, FINAL, b"rows")
    store.publish(handle)
    for place in ("data/a", FINAL):
        with pytest.raises(BadKey):
            store.discard(StagedRef(place=place, window="0-1"))
    assert list_keys(store, "") == ["data/a", FINAL]


def test_a_file_that_was_discarded_under_its_writer_is_not_finished(store: LocalStore) -> None:
    writer = store.open_staged(FINAL, StagingSpot(STAGING, "0-1", "t0"))
    writer.write(b"rows")
    for ref in store.list_staged(STAGING, ()):
        store.discard(ref)
    with pytest.raises(StoreUnavailable, match="discarded while"):
        writer.finish()


def test_strangers_in_staging_are_not_staged_files(store: LocalStore, lake: Path) -> None:
    stage(store, FINAL, b"rows")
    (lake / STAGING / "top.staged").touch()
    (lake / STAGING / "0-1" / "notes.txt").touch()
    (lake / STAGING / "0-1" / "deep").mkdir()
    (lake / STAGING / "0-1" / "deep" / "t9.staged").touch()
    (lake / STAGING / "0-1" / "dir.staged").mkdir()
    assert [ref.place for ref in store.list_staged(STAGING, ())] == [f"{STAGING}/0-1/t0.staged"]


def test_what_is_no_file_is_neither_listed_nor_read(store: LocalStore, lake: Path) -> None:
    store.create("data/a", b"a")
    os.mkfifo(lake / "data" / "pipe")
    (lake / "data" / "link").symlink_to("a")
    (lake / "data" / "dangling").symlink_to("nowhere")
    with suppress(OSError):  # some disks refuse a name that is not UTF-8
        Path(os.fsdecode(os.fsencode(lake / "data") + b"/\xff\xfe")).touch()
    assert list_keys(store, "data") == ["data/a"]
    for name in ("pipe", "link", "dangling"):
        with pytest.raises(StoreUnavailable):
            store.read(f"data/{name}")
        with pytest.raises(StoreUnavailable):
            store.head(f"data/{name}")
        with pytest.raises(StoreUnavailable):
            store.create(f"data/{name}", b"")


def test_a_staged_writer_is_a_file(store: LocalStore) -> None:
    writer = store.open_staged(FINAL, StagingSpot(STAGING, "0-1", "t0"))
    assert writer.writable()
    assert not writer.readable()
    assert not writer.seekable()
    assert writer.write(memoryview(b"ro")) == 2
    assert writer.write(bytearray(b"ws")) == 2
    writer.flush()
    assert writer.tell() == 4
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write(b"more")
    handle = writer.finish()
    assert writer.finish() is handle
    assert writer.closed
    store.publish(handle)
    assert store.read(FINAL) == b"rows"


def test_half_a_file_that_was_never_sent_is_listed_and_discarded(tmp_path: Path) -> None:
    """Goal: what a killed task leaves is found by the cleaner, as nobody else looks there."""
    store = LocalStore(tmp_path / "lake")
    store.open_staged(FINAL, StagingSpot(STAGING, "0-1", "t0")).write(b"half a fi")
    [ref] = store.list_staged(STAGING, ())
    assert ref.window == "0-1"
    store.discard(ref)
    assert store.list_staged(STAGING, ()) == []
