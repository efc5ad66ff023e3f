"""What the local store makes durable, in which order, and how it ends when the disk fails."""

import ast
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from penstock.errors import DurabilityLost, OutcomeUnknown, StoreUnavailable, StoreUnfit
from penstock.model.staged import StagedRef, StagingSpot
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.disk import Disk
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.contracts.store_staged import FINAL, STAGING, stage
from penstock.testing.fault_disks import (
    DiskFault,
    FaultDisk,
    Link,
    MakeDirectory,
    NewFile,
    RecordingDisk,
    RemoveDirectory,
    SyncDirectory,
    SyncFile,
    Unlink,
)
from penstock.testing.fault_store import Died
from tests.tidy.names import reaches, uses

SCRIPT = """
import errno, os, sys
from penstock.ports.store.local import disk
from penstock.ports.store.local.local_store import LocalStore

disk._FULL_SYNC = None  # so that a Mac calls what is replaced below

real, calls = os.fsync, 0

def fsync(descriptor):
    global calls
    calls += 1
    os.write(1, b"fsync\\n")
    if calls == int(sys.argv[2]):
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    real(descriptor)

os.fsync = fsync
try:
    LocalStore(sys.argv[1]).create("a/b", b"content")
finally:
    os.write(1, b"went on\\n")
"""


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    path = tmp_path / "lake"
    path.mkdir()
    return path


def temporary(word: str) -> str:
    return f"_penstock/tmp/{word}"


def test_a_create_syncs_the_file_before_the_name_and_the_names_before_it_returns(
    lake: Path,
) -> None:
    disk = RecordingDisk(lake)
    store = LocalStore(lake, disk, random_word=iter(["one", "two"]).__next__)
    store.create("a/b/c", b"content")
    first = disk.operations
    assert first.index(SyncFile(temporary("one"))) < first.index(Link(temporary("one"), "a/b/c"))
    assert first[-5:] == [
        Link(temporary("one"), "a/b/c"),
        SyncDirectory("a/b"),
        SyncDirectory("a"),
        SyncDirectory(""),
        Unlink(temporary("one")),
    ]


def test_a_directory_that_this_store_has_made_durable_is_not_synced_again(lake: Path) -> None:
    disk = RecordingDisk(lake)
    store = LocalStore(lake, disk, random_word=iter(["one", "two"]).__next__)
    store.create("a/b/c", b"content")
    done = len(disk.operations)
    store.create("a/b/d", b"content")
    syncs = [act for act in disk.operations[done:] if isinstance(act, SyncDirectory)]
    assert syncs == [SyncDirectory("a/b")]


def test_a_directory_whose_maker_may_have_died_is_synced(lake: Path) -> None:
    """Goal: what another process made is not taken for durable. Method: make it by hand."""
    (lake / "a" / "b").mkdir(parents=True)
    disk = RecordingDisk(lake)
    LocalStore(lake, disk).create("a/b/c", b"content")
    assert SyncDirectory("a") in disk.operations
    assert disk.operations[-2] == SyncDirectory("")


def parents_synced(disk: FaultDisk, lake: Path) -> int:
    return disk.calls.count(("sync_directory", str(lake.parent)))


def test_the_lake_itself_is_made_durable_once_whoever_has_made_it(tmp_path: Path) -> None:
    for name in ("theirs", "ours"):
        lake = tmp_path / name
        if name == "theirs":
            lake.mkdir()
        disk = FaultDisk([])
        store = LocalStore(lake, disk)
        store.create("a/b", b"content")
        calls = [call for call, _ in disk.calls]
        synced = disk.calls.index(("sync_directory", str(tmp_path)))
        assert synced < calls.index("link"), name
        store.publish(stage(store, FINAL, b"rows"))
        store.create("a/c", b"content")
        assert parents_synced(disk, lake) == 1, name


def test_what_is_reported_as_done_includes_the_lake_itself(lake: Path) -> None:
    handle = stage(LocalStore(lake), "a", b"rows")
    LocalStore(lake).publish(handle)
    disk = FaultDisk([])
    assert LocalStore(lake, disk).look(handle).is_done
    assert parents_synced(disk, lake) == 1


class ShutParentDisk(FaultDisk):
    """A disk on which the directory around the lake may not be opened; of a user who is no root."""

    def __init__(self, lake: Path) -> None:
        super().__init__([])
        self.parent = str(lake.parent)

    def sync_directory(self, path: str) -> None:
        if path == self.parent:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        super().sync_directory(path)


def test_a_lake_that_others_made_where_we_may_not_look_is_used_all_the_same(lake: Path) -> None:
    store = LocalStore(lake, ShutParentDisk(lake))
    assert store.create("a/b", b"content") is True
    handle = stage(store, FINAL, b"rows")
    store.publish(handle)
    assert store.look(handle).is_done
    store.probe("scratch")


def test_a_lake_of_our_own_has_to_last(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    store = LocalStore(lake, ShutParentDisk(lake))
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="Permission denied"):
            store.create("a/b", b"content")
    assert list_keys(store, "") == []


class MountedDisk(FaultDisk):
    """A disk with the lake on a device of its own, around which nothing can be synced."""

    def __init__(self, lake: Path) -> None:
        super().__init__([DiskFault("sync_directory", errno.EINVAL, place=str(lake.parent))])
        self.parent = str(lake.parent)

    def status(self, path: str) -> os.stat_result | None:
        status = super().status(path)
        if status is None or path != self.parent:
            return status
        return os.stat_result((*status[:2], status.st_dev + 1, *status[3:]))


def test_a_mount_point_needs_no_name_that_lasts(lake: Path) -> None:
    disk = MountedDisk(lake)
    assert LocalStore(lake, disk).create("a/b", b"content") is True
    assert parents_synced(disk, lake) == 0


def test_an_object_that_was_there_is_made_durable_before_it_is_reported(lake: Path) -> None:
    """Its creator may have died before the sync, and the caller will build on it."""
    (lake / "a").mkdir()
    (lake / "a" / "b").write_bytes(b"theirs")
    disk = RecordingDisk(lake)
    assert LocalStore(lake, disk).create("a/b", b"ours") is False
    assert disk.operations[-3:-1] == [SyncDirectory("a"), SyncDirectory("")]


def test_a_staged_file_is_durable_with_its_way_before_it_has_a_handle(lake: Path) -> None:
    disk = RecordingDisk(lake)
    store = LocalStore(lake, disk)
    handle = stage(store, FINAL, b"rows")
    acts = disk.operations
    assert acts[:4] == [
        MakeDirectory("staging"),
        MakeDirectory(STAGING),
        MakeDirectory(f"{STAGING}/0-1"),
        NewFile(handle.staged),
    ]
    assert acts[-5:] == [
        SyncFile(handle.staged),
        SyncDirectory(f"{STAGING}/0-1"),
        SyncDirectory(STAGING),
        SyncDirectory("staging"),
        SyncDirectory(""),
    ]
    done = len(acts)
    stage(store, FINAL, b"rows", "t1")
    syncs = [act.path for act in disk.operations[done:] if isinstance(act, SyncDirectory)]
    assert syncs == [f"{STAGING}/0-1", STAGING], "a window's directory may have been made anew"


def test_files_that_were_whole_before_a_sync_of_their_directory_share_it(lake: Path) -> None:
    disk = FaultDisk([])
    store = LocalStore(lake, disk)
    writers = [store.open_staged(f"a/{n}", StagingSpot(STAGING, "1-1", f"w{n}")) for n in range(4)]
    window = ("sync_directory", f"{os.path.realpath(lake)}/{STAGING}/1-1")
    for writer in writers[:3]:
        writer.write(b"rows")
        writer.sync()
    for writer in writers[:3]:
        assert writer.finish().size_bytes == 4
    assert disk.calls.count(window) == 1
    assert disk.calls.index(window) > max(
        at for at, (call, _) in enumerate(disk.calls) if call == "sync_file"
    )
    writers[3].finish()  # it was not whole before, so nobody has synced its name
    assert disk.calls.count(window) == 2


def test_a_directory_that_was_made_anew_is_synced_anew_with_the_way_to_it(lake: Path) -> None:
    disk = FaultDisk([])
    store = LocalStore(lake, disk)
    above = ("sync_directory", f"{os.path.realpath(lake)}/{STAGING}")
    for attempt in ("first", "second"):
        writer = store.open_staged("a/b", StagingSpot(STAGING, "1-1", attempt))
        writer.sync()
        before = disk.calls.count(above)
        handle = writer.finish()
        assert disk.calls.count(above) == before + 1, attempt
        store.discard(StagedRef(handle.staged, "1-1"))  # and its directory, which is empty then


def test_a_file_that_was_taken_away_is_not_finished_by_the_sync_of_others(lake: Path) -> None:
    store = LocalStore(lake)
    spots = [StagingSpot(STAGING, "1-1", f"w{n}") for n in range(2)]
    first, second = (store.open_staged(f"a/{spot.attempt}", spot) for spot in spots)
    first.sync()
    second.sync()
    handle = first.finish()
    store.discard(StagedRef(handle.staged.replace("w0", "w1"), "1-1"))
    with pytest.raises(StoreUnavailable):
        second.finish()


def test_a_publish_syncs_the_final_name_before_it_takes_the_staged_one(lake: Path) -> None:
    handle = stage(LocalStore(lake), "data/day/a", b"rows")
    disk = RecordingDisk(lake)
    LocalStore(lake, disk).publish(handle)
    assert disk.operations == [
        MakeDirectory("data"),
        MakeDirectory("data/day"),
        Link(handle.staged, "data/day/a"),
        SyncDirectory("data/day"),
        SyncDirectory("data"),
        SyncDirectory(""),
        Unlink(handle.staged),
        SyncDirectory(f"{STAGING}/0-1"),
        RemoveDirectory(f"{STAGING}/0-1"),
        SyncDirectory(STAGING),
    ]


def test_many_publishes_share_the_syncs_and_take_no_staged_name_before_them(lake: Path) -> None:
    before = LocalStore(lake)
    finals = ["data/one/a", "data/one/b", "data/two/a"]
    handles = [stage(before, final, b"rows", f"t{n}") for n, final in enumerate(finals)]
    disk = RecordingDisk(lake)
    assert LocalStore(lake, disk).publish_all(handles) == set()
    acts = disk.operations
    links = [number for number, act in enumerate(acts) if isinstance(act, Link)]
    unlinks = [number for number, act in enumerate(acts) if isinstance(act, Unlink)]
    syncs = [act.path for act in acts if isinstance(act, SyncDirectory)]
    between = {act.path for act in acts[links[-1] : unlinks[0]] if isinstance(act, SyncDirectory)}
    assert between == {"data/one", "data/two", "data", ""}
    assert (len(links), len(unlinks)) == (3, 3)
    assert syncs.count("data/one") == syncs.count("data/two") == 1
    assert acts[-3:] == [
        SyncDirectory(f"{STAGING}/0-1"),
        RemoveDirectory(f"{STAGING}/0-1"),
        SyncDirectory(STAGING),
    ]
    assert syncs.count(f"{STAGING}/0-1") == syncs.count(STAGING) == 1


def test_many_deletes_share_the_syncs_and_none_returns_before_them(lake: Path) -> None:
    keys = ["data/one/a", "data/one/b", "data/two/a", "data/gone/a"]
    before = LocalStore(lake)
    for key in keys[:-1]:
        before.create(key, b"rows")
    disk = RecordingDisk(lake)
    assert LocalStore(lake, disk).delete_all(keys) == set()
    acts = disk.operations
    syncs = [act.path for act in acts if isinstance(act, SyncDirectory)]
    assert sorted(syncs) == ["data", "data/one", "data/two"]
    assert [act for act in acts if isinstance(act, Unlink)] == [Unlink(key) for key in keys[:-1]]
    assert all(isinstance(act, SyncDirectory) for act in acts[-3:])


def test_many_publishes_try_once_to_remove_the_directory_of_a_window(lake: Path) -> None:
    before = LocalStore(lake)
    handles = [stage(before, f"data/{n}", b"rows", f"t{n}") for n in range(20)]
    stage(before, "data/other", b"rows", "other")
    disk = FaultDisk([])
    assert LocalStore(lake, disk).publish_all(handles) == set()
    tries = [path for call, path in disk.calls if call == "remove_directory"]
    assert tries == [str(lake / STAGING / "0-1")]


@pytest.mark.parametrize("error", [errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.EACCES])
def test_a_directory_that_may_not_be_removed_stays(lake: Path, error: int) -> None:
    """It is in nobody's way; and what was published is."""
    handles = [stage(LocalStore(lake), f"data/{n}", b"rows", f"t{n}") for n in range(2)]
    discarded = stage(LocalStore(lake), FINAL, b"rows", "discarded")
    faults = [DiskFault("remove_directory", error, nth=n) for n in (1, 2, 3)]
    store = LocalStore(lake, FaultDisk(faults))
    store.publish(handles[0])
    assert store.publish_all(handles[1:]) == set()
    store.discard(StagedRef(place=discarded.staged, window="0-1"))
    assert all(store.look(handle).is_done for handle in handles)
    assert (lake / STAGING / "0-1").is_dir()


def test_a_disk_that_fails_to_remove_a_directory_is_told_of(lake: Path) -> None:
    faults = [DiskFault("remove_directory", errno.EIO, nth=n) for n in (1, 2)]
    handles = [stage(LocalStore(lake), f"data/{n}", b"rows", f"t{n}") for n in range(2)]
    store = LocalStore(lake, FaultDisk(faults))
    with pytest.raises(OutcomeUnknown):
        store.publish(handles[0])
    with pytest.raises(OutcomeUnknown):
        store.discard(StagedRef(place=handles[1].staged, window="0-1"))
    assert store.look(handles[0]).is_done


def test_a_directory_that_cannot_be_reached_fails_only_its_own_files(lake: Path) -> None:
    """Goal: nothing is consumed that is not durably visible. Method: one cannot be opened."""
    before = LocalStore(lake)
    finals = ["data/one/a", "data/one/b", "data/two/a"]
    handles = [stage(before, final, b"rows", f"t{n}") for n, final in enumerate(finals)]
    assert LocalStore(lake, ShutDisk()).publish_all(handles) == {"data/one/a", "data/one/b"}
    assert [before.look(handle).staged for handle in handles] == [True, True, False]
    assert before.publish_all(handles) == set()
    assert all(before.look(handle).is_done for handle in handles)


class ShutDisk(Disk):
    """A disk with a directory that cannot be opened to be synced."""

    def sync_directory(self, path: str) -> None:
        if path.endswith("/one"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        super().sync_directory(path)


def test_what_is_reported_as_done_was_made_durable(lake: Path) -> None:
    handle = stage(LocalStore(lake), "data/a", b"rows")
    LocalStore(lake).publish(handle)
    disk = RecordingDisk(lake)
    assert LocalStore(lake, disk).look(handle).is_done
    assert disk.operations == [
        SyncDirectory("data"),
        SyncDirectory(""),
        SyncDirectory(STAGING),
        SyncDirectory(STAGING),
    ]


def test_a_removal_is_made_durable_also_when_someone_else_did_it(lake: Path) -> None:
    LocalStore(lake).create("a/b", b"")
    disk = RecordingDisk(lake)
    store = LocalStore(lake, disk)
    store.delete("a/b")
    store.delete("a/b")
    assert disk.operations == [Unlink("a/b"), SyncDirectory("a"), SyncDirectory("a")]


@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5, 6])
def test_a_failed_sync_ends_the_process_at_once(lake: Path, nth: int) -> None:
    """Two directories, what is around the lake, the file, two directories, in this order."""
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(lake), str(nth)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 3
    assert run.stdout.splitlines() == ["fsync"] * nth, "no second try, and nothing after it"
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith("DURABILITY_LOST: ")


def test_the_script_that_fails_syncs_can_also_succeed(lake: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(lake), "7"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.splitlines()) == (0, ["fsync"] * 6 + ["went on"])


@pytest.mark.parametrize("call", ["sync_file", "sync_directory"])
def test_a_disk_that_lost_durability_never_syncs_again(lake: Path, call: str) -> None:
    disk = FaultDisk([DiskFault(call, error=errno.EIO)])
    store = LocalStore(lake, disk)
    for _ in range(2):
        with pytest.raises(DurabilityLost):
            store.create("a/b", b"content")
    assert disk.unmet() == []
    LocalStore(lake).create("a/b", b"other")
    assert LocalStore(lake).read("a/b") == b"other", "the name was never given"


class SweepingDisk(Disk):
    """A disk on which somebody sweeps just before each of the first links."""

    def __init__(self, sweeps: int) -> None:
        super().__init__()
        self.sweeps = sweeps

    def link(self, source: str, target: str) -> None:
        if self.sweeps:
            self.sweeps -= 1
            self.unlink(source)
        super().link(source, target)


@pytest.mark.parametrize(("sweeps", "lands"), [(1, True), (2, True), (3, False)])
def test_a_temporary_file_that_was_swept_is_written_again(
    lake: Path, sweeps: int, lands: bool
) -> None:
    store = LocalStore(lake, SweepingDisk(sweeps))
    if lands:
        assert store.create("a", b"content") is True
        assert store.read("a") == b"content"
    else:
        with pytest.raises(StoreUnavailable):
            store.create("a", b"content")
        assert list_keys(store, "") == []


@pytest.mark.parametrize("performed", [False, True])
def test_an_error_of_the_link_itself_is_looked_at(lake: Path, performed: bool) -> None:
    disk = FaultDisk([DiskFault("link", error=errno.EIO, performed=performed)])
    store = LocalStore(lake, disk)
    if performed:
        assert store.create("a", b"content") is True
    else:
        with pytest.raises(OutcomeUnknown):
            store.create("a", b"content")
    assert list((lake / "_penstock/tmp").iterdir()) == []


class CrowdedDisk(Disk):
    """A disk of a process that has too many files open to open a directory."""

    def sync_directory(self, path: str) -> None:
        if path.endswith("/data"):
            raise OSError(errno.EMFILE, "Too many open files", path)
        super().sync_directory(path)


def test_of_many_deletes_those_of_a_directory_that_cannot_be_synced_are_in_doubt(
    lake: Path,
) -> None:
    keys = ["one/data/a", "one/data/b", "two/a"]
    for key in keys:
        LocalStore(lake).create(key, b"rows")
    assert LocalStore(lake, CrowdedDisk()).delete_all(keys) == {"one/data/a", "one/data/b"}
    assert list_keys(LocalStore(lake), "one") == []


def test_a_name_that_could_not_be_synced_is_unknown_and_not_refused(lake: Path) -> None:
    store = LocalStore(lake, CrowdedDisk())
    with pytest.raises(OutcomeUnknown):
        store.create("data/a", b"content")
    handle = stage(store, "data/b", b"rows")
    with pytest.raises(OutcomeUnknown):
        store.publish(handle)
    assert LocalStore(lake).look(handle).staged, "the source is kept until the name is durable"


def test_two_file_systems_are_refused(lake: Path) -> None:
    handle = stage(LocalStore(lake), FINAL, b"rows")
    store = LocalStore(lake, FaultDisk([DiskFault("link", errno.EXDEV, nth=n) for n in (1, 2)]))
    with pytest.raises(StoreUnfit, match="one file system"):
        store.create("a", b"")
    with pytest.raises(StoreUnfit, match="one file system"):
        store.publish(handle)
    assert LocalStore(lake).look(handle).staged


def test_a_staged_file_of_which_a_write_failed_is_never_finished(lake: Path) -> None:
    disk = FaultDisk([DiskFault("append", error=errno.ENOSPC, kept_bytes=1)])
    store = LocalStore(lake, disk)
    writer = store.open_staged(FINAL, StagingSpot(STAGING, "0-1", "t0"))
    with pytest.raises(StoreUnavailable, match="No space left"):
        writer.write(b"rows")
    for attempt in (lambda: writer.write(b"more"), writer.finish):
        with pytest.raises(StoreUnavailable, match="an earlier write to it failed"):
            attempt()
    writer.abandon()
    assert store.list_staged(STAGING, ()) == []


@pytest.mark.parametrize("call", ["link", "sync_file", "sync_directory"])
def test_the_probe_refuses_a_disk_without_links_or_syncs(lake: Path, call: str) -> None:
    store = LocalStore(lake, FaultDisk([DiskFault(call, error=errno.EPERM)]))
    with pytest.raises(StoreUnfit):
        store.probe("scratch")
    assert list(lake.iterdir()) == []


class OverwritingDisk(Disk):
    """A disk whose links replace what is there."""

    def link(self, source: str, target: str) -> None:
        Path(target).unlink(missing_ok=True)
        super().link(source, target)


def test_the_probe_refuses_a_disk_that_overwrites(lake: Path) -> None:
    with pytest.raises(StoreUnfit, match="refuse a link over a file"):
        LocalStore(lake, OverwritingDisk()).probe("scratch")
    assert list(lake.iterdir()) == []


def test_nothing_in_the_stores_renames() -> None:
    """A rename overwrites, so no write that happens once is made of it; that of HDFS does not."""
    names = ("os.rename", "os.renames", "os.replace", "shutil.move", "pathlib.Path.rename")
    modules = sorted((Path(penstock.__file__).parent / "ports" / "store").rglob("*.py"))
    assert len(modules) > 10
    for module in modules:
        tree = ast.parse(module.read_text(encoding="utf-8"))
        used = [use.name for use in uses(tree)]
        assert not [use for use in used if any(reaches(use, name) for name in names)], module
        is_of_hdfs = module.parent.name == "hdfs"
        assert is_of_hdfs or "rename" not in {use.rpartition(".")[2] for use in used}, module


def faults_at_each_call(lake: Path, error: int | None, performed: bool) -> list[DiskFault]:
    """One fault for each call that a create on this lake makes."""
    disk = FaultDisk([])
    LocalStore(lake, disk).create("a/b/c", b"content")
    counts: dict[str, int] = {}
    found = []
    for call, _ in disk.calls:
        counts[call] = counts.get(call, 0) + 1
        found.append(DiskFault(call, error, nth=counts[call], performed=performed, kept_bytes=3))
    return found


@pytest.mark.parametrize(
    ("error", "performed"),
    [
        (errno.ENOSPC, False),
        (errno.EACCES, False),
        (errno.EIO, False),
        (errno.EIO, True),
        (None, False),
        (None, True),
    ],
)
def test_a_failure_or_a_death_at_any_call_leaves_all_or_nothing(
    tmp_path: Path, error: int | None, performed: bool
) -> None:
    """Goal: no partial object, and a later create works. Method: hit each call of a create once.

    An append that fails or dies leaves three bytes in its file, or all of them.
    """
    (tmp_path / "clean").mkdir()
    faults = faults_at_each_call(tmp_path / "clean", error, performed)
    assert len(faults) > 15
    for number, fault in enumerate(faults):
        lake = tmp_path / str(number)
        lake.mkdir()
        outcome: bool | None = None
        try:
            outcome = LocalStore(lake, FaultDisk([fault])).create("a/b/c", b"content")
        except (StoreUnavailable, OutcomeUnknown, DurabilityLost, Died) as ended:
            if isinstance(ended, StoreUnavailable):
                assert not (lake / "a/b/c").exists(), fault
        after = LocalStore(lake)
        assert after.read("a/b/c") in ({b"content"} if outcome else {b"content", None}), fault
        assert list_keys(after, "") in ([], ["a/b/c"])
        after.create("a/b/c", b"content")
        assert after.read("a/b/c") == b"content"


def test_a_death_at_any_call_of_many_publishes_is_finished_by_the_next(tmp_path: Path) -> None:
    finals = ["data/one/a", "data/one/b", "data/two/a"]
    for performed in (False, True):
        number = 0
        while True:
            number += 1
            lake = tmp_path / f"{performed}-{number}"
            lake.mkdir()
            before = LocalStore(lake)
            handles = [stage(before, final, b"rows", f"t{n}") for n, final in enumerate(finals)]
            disk = NthCallKills(number, performed)
            try:
                assert LocalStore(lake, disk).publish_all(handles) == set()
            except Died:
                assert LocalStore(lake).publish_all(handles) == set()
            assert all(LocalStore(lake).look(handle).is_done for handle in handles)
            assert list_keys(LocalStore(lake), "") == finals
            if disk.left > 0:
                break
        assert number > 25


def test_a_death_at_any_call_of_a_publish_is_finished_by_the_next(tmp_path: Path) -> None:
    for performed in (False, True):
        number = 0
        while True:
            number += 1
            lake = tmp_path / f"{performed}-{number}"
            lake.mkdir()
            handle = stage(LocalStore(lake), FINAL, b"rows")
            disk = NthCallKills(number, performed)
            try:
                LocalStore(lake, disk).publish(handle)
            except Died:
                LocalStore(lake).publish(handle)
            assert LocalStore(lake).look(handle).is_done
            assert list_keys(LocalStore(lake), "") == [FINAL]
            if disk.left > 0:
                break
        assert number > 15


class NthCallKills(FaultDisk):
    """A disk whose process dies at its nth call, whatever call that is."""

    def __init__(self, nth: int, performed: bool) -> None:
        self.left = nth
        calls = [
            "link", "make_directory", "remove_directory", "status", "sync_directory", "unlink",
        ]  # fmt: skip
        super().__init__(
            [DiskFault(call, place=self.is_the_one, performed=performed) for call in calls]
        )

    def is_the_one(self, _path: str) -> bool:
        self.left -= 1
        return self.left == 0
