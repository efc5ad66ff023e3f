"""Whatever a power cut leaves of the local store's work is whole, and what returned is there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.model.outcome import FinalState
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.ports.store.local.local_staged import LocalStagedWriter
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.contracts.store_staged import FINAL, STAGING, discard_all, stage
from penstock.testing.crash_states import CrashState, crash_states, materialise
from penstock.testing.fault_disks import RecordingDisk, SyncDirectory

TEMPORARY = ("_penstock/tmp",)


def test_an_object_is_whole_or_absent_and_there_once_its_create_has_returned(
    tmp_path: Path,
) -> None:
    disk = RecordingDisk(tmp_path / "lake")
    store = LocalStore(tmp_path / "lake", disk)
    contents = {"journal/0": b"bind", "journal/1": b"claim", "a/b/c/d": b"deep"}
    returned: dict[str, int] = {}
    for key, data in contents.items():
        store.create(key, data)
        returned[key] = len(disk.operations)
    count = 0
    for state in crash_states(disk.operations):
        count += 1
        for key, data in contents.items():
            if key in state.files:
                assert state.read(key) == data, state.description
            else:
                # The unlink of the temporary file comes last, and does not matter.
                assert state.done < returned[key] - 1, state.description
    assert count > 100


def test_what_another_left_unsynced_lasts_once_we_were_told_that_it_is_there(
    tmp_path: Path,
) -> None:
    """Goal: False means durably there. Method: two processes, of which the first never syncs."""
    disk = LazyDisk(tmp_path / "lake")
    lazy = LocalStore(tmp_path / "lake", disk)
    lazy.create("a/b", b"first")
    disk.is_lazy = False
    assert LocalStore(tmp_path / "lake", disk).create("a/b", b"second") is False
    total = len(disk.operations)
    for state in crash_states(disk.operations):
        if state.done == total:
            assert state.read("a/b") == b"first"


class LazyDisk(RecordingDisk):
    """Of a process that is killed after each link, before it syncs the directory."""

    is_lazy = True

    def sync_directory(self, path: str) -> None:
        if not self.is_lazy:
            super().sync_directory(path)


def publish(store: LocalStore, handle: StagedHandle) -> None:
    store.publish(handle)


def discard(store: LocalStore, _handle: StagedHandle) -> None:
    discard_all(store)


def states_of(
    lake: Path, act: Callable[[LocalStore, StagedHandle], None]
) -> tuple[StagedHandle, int, int, list[CrashState]]:
    """Stage a file, then act; also how many operations were done after each of the two."""
    disk = RecordingDisk(lake)
    store = LocalStore(lake, disk)
    handle = stage(store, FINAL, b"rows")
    staged = len(disk.operations)
    act(store, handle)
    states = list(crash_states(disk.operations, quiet=TEMPORARY))
    return handle, staged, len(disk.operations), states


def test_a_file_with_a_handle_is_staged_or_published_in_every_state(tmp_path: Path) -> None:
    """Goal: a decided file is never lost. Method: the power goes anywhere in the publish."""
    handle, staged, total, states = states_of(tmp_path / "lake", publish)
    assert len(states) > 20
    for number, state in enumerate(states):
        for path in (handle.staged, FINAL):
            if path in state.files and state.done >= staged:
                assert state.read(path) == b"rows", state.description
        if state.done >= staged:
            assert handle.staged in state.files or FINAL in state.files, state.description
        if state.done == total:
            assert FINAL in state.files, state.description
            assert handle.staged not in state.files, state.description
        if state.done >= staged:
            _publish_after_the_crash(tmp_path / str(number), state, handle)


def test_of_many_files_published_at_once_none_is_lost_in_any_state(tmp_path: Path) -> None:
    """Goal: as for one file. Method: three files in two directories share their syncs."""
    finals = ["data/one/a", "data/one/b", "data/two/a"]
    disk = RecordingDisk(tmp_path / "lake")
    store = LocalStore(tmp_path / "lake", disk)
    handles = [stage(store, final, final.encode(), f"t{n}") for n, final in enumerate(finals)]
    staged = len(disk.operations)
    assert store.publish_all(handles) == set()
    total = len(disk.operations)
    states = [s for s in crash_states(disk.operations, quiet=TEMPORARY) if s.done >= staged]
    assert len(states) > 20
    for state in states:
        for handle in handles:
            found = [path for path in (handle.staged, handle.final) if path in state.files]
            assert found, state.description
            assert all(state.read(path) == handle.final.encode() for path in found)
            if state.done == total:
                assert found == [handle.final], state.description


def test_an_attempt_in_a_directory_that_was_made_again_is_as_durable_as_the_first(
    tmp_path: Path,
) -> None:
    """Goal: a handle lasts, what is published stays so. Method: publish, and stage once more."""
    disk = RecordingDisk(tmp_path / "lake")
    store = LocalStore(tmp_path / "lake", disk)
    first = stage(store, FINAL, b"rows", "first")
    store.publish(first)
    published = len(disk.operations)
    late = stage(store, "data/late", b"late rows", "late")
    staged = len(disk.operations)
    store.publish(late)
    for state in crash_states(disk.operations, quiet=TEMPORARY):
        if state.done >= published:
            assert state.read(FINAL) == b"rows", state.description
            assert first.staged not in state.files, state.description
        if state.done >= staged:
            found = [path for path in (late.staged, late.final) if path in state.files]
            assert found, state.description
            assert all(state.read(path) == b"late rows" for path in found), state.description


def test_a_file_with_a_handle_lasts_whoever_had_their_shared_directory_synced(
    tmp_path: Path,
) -> None:
    """Goal: one sync of a directory is taken only for files that were there before it began.

    Method: two files are whole before the first sync, one is begun before it and whole after it,
    one is begun after it; then the directory is removed and made anew for the last.
    """
    disk = RecordingDisk(tmp_path / "lake")
    store = LocalStore(tmp_path / "lake", disk)
    returned: dict[str, int] = {}

    def begin(name: str) -> LocalStagedWriter:
        writer = store.open_staged(f"data/{name}", StagingSpot(STAGING, "0-1", name))
        writer.write(name.encode())
        return writer

    def finish(writer: LocalStagedWriter) -> None:
        handle = writer.finish()
        returned[handle.staged] = len(disk.operations)

    early, other, late = begin("early"), begin("other"), begin("late")
    early.sync()
    other.sync()
    finish(early)
    syncs = disk.operations.count(SyncDirectory(f"{STAGING}/0-1"))
    finish(other)
    assert disk.operations.count(SyncDirectory(f"{STAGING}/0-1")) == syncs == 1
    later = begin("later")
    late.sync()
    later.sync()
    finish(late)
    finish(later)
    discarded = len(disk.operations)
    discard_all(LocalStore(tmp_path / "lake", disk))  # as a cleaner in another process does
    finish(begin("last"))
    for state in crash_states(disk.operations, quiet=TEMPORARY):
        for staged, end in returned.items():
            if state.done >= end and (state.done <= discarded or "last" in staged):
                name = staged.rpartition("/")[2].removesuffix(".staged")
                assert state.read(staged) == name.encode(), state.description


class RemakingDisk(RecordingDisk):
    """A disk on which, after the first unlink, others remove the directory and make it anew.

    One of them has died before it synced anything, the other has not come to that yet.
    """

    is_quiet = True

    def unlink(self, path: str) -> None:
        super().unlink(path)
        if not self.is_quiet and path.endswith(".staged"):
            self.is_quiet = True
            directory = str(Path(path).parent)
            self.remove_directory(directory)
            self.make_directory(directory)
            self.open_new(f"{directory}/late.staged")


@pytest.mark.parametrize("is_seen", [False, True])
def test_a_consumed_name_stays_gone_although_its_directory_was_made_again(
    tmp_path: Path, is_seen: bool
) -> None:
    """Goal: no staged name comes back. Method: the directory that we sync is not the one it had."""
    lake = tmp_path / "lake"
    disk = RemakingDisk(lake)
    store = LocalStore(lake, disk)
    handle = stage(store, "final", b"rows")
    disk.is_quiet = False
    if is_seen:  # the publisher dies after its unlink, and we look
        disk.link(str(lake / handle.staged), str(lake / "final"))
        disk.unlink(str(lake / handle.staged))
        assert store.look(handle).is_done
    else:
        store.publish(handle)
    total = len(disk.operations)
    for state in crash_states(disk.operations, quiet=TEMPORARY):
        if state.done == total:
            assert "final" in state.files, state.description
            assert handle.staged not in state.files, state.description


def _publish_after_the_crash(directory: Path, state: CrashState, handle: StagedHandle) -> None:
    directory.mkdir()
    materialise(state, directory)
    store = LocalStore(directory)
    store.publish(handle)
    assert store.look(handle).is_done, state.description
    assert store.read(FINAL) == b"rows"


def test_a_discarded_file_stays_gone_once_the_discard_has_returned(tmp_path: Path) -> None:
    handle, _, total, states = states_of(tmp_path / "lake", discard)
    for state in states:
        if state.done == total:
            assert handle.staged not in state.files, state.description


def test_what_was_seen_as_done_stays_done(tmp_path: Path) -> None:
    """Goal: a look that says done outlives a power cut. Method: the publisher never synced."""
    disk = LazyDisk(tmp_path / "lake")
    disk.is_lazy = False
    store = LocalStore(tmp_path / "lake", disk)
    handle = stage(store, FINAL, b"rows")
    disk.is_lazy = True
    store.publish(handle)
    disk.is_lazy = False
    assert LocalStore(tmp_path / "lake", disk).look(handle).is_done
    total = len(disk.operations)
    last = [s for s in crash_states(disk.operations, quiet=TEMPORARY) if s.done == total]
    for number, state in enumerate(last):
        (tmp_path / str(number)).mkdir()
        materialise(state, tmp_path / str(number))
        sighting = LocalStore(tmp_path / str(number)).look(handle)
        assert sighting.final is FinalState.OURS, state.description
        assert not sighting.staged, state.description
    assert LocalStore(tmp_path / "lake").list_staged(STAGING, ()) == []
