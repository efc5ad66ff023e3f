"""A staged file that has lain for long is read once more before it is shown; a fresh one is not."""

import os
import time
from pathlib import Path

import pytest

from penstock.errors import StagedGone
from penstock.model.outcome import FinalState, Sighting
from penstock.model.staged import StagedHandle
from penstock.ports.store.local.disk import Disk
from penstock.ports.store.local.local_staging import READ_AGAIN_AFTER_S
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.contracts.store_staged import FINAL, stage
from tests.helpers.journals import an_owner, decided_only, rows
from tests.helpers.lakes_on_disk import DiskLake

LOST = Sighting(FinalState.ABSENT, staged=False)


class CountingDisk(Disk):
    """Counts the files that are read for their checksum."""

    hashed = 0

    def checksum(self, path: str) -> str:
        self.hashed += 1
        return super().checksum(path)


def make_old(path: Path) -> None:
    then = time.time() - READ_AGAIN_AFTER_S - 60
    os.utime(path, (then, then))


def rot(path: Path) -> None:
    """One bit changes, and neither the size nor the time of the file."""
    status, data = path.stat(), path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("at_once", [True, False])
def test_an_old_file_that_has_changed_is_as_good_as_gone(tmp_path: Path, at_once: bool) -> None:
    store = LocalStore(tmp_path / "lake")
    handle = stage(store, FINAL, b"rows")
    make_old(tmp_path / "lake" / handle.staged)
    rot(tmp_path / "lake" / handle.staged)
    if at_once:
        assert store.publish_all([handle]) == {FINAL}
    else:
        with pytest.raises(StagedGone):
            store.publish(handle)
    assert store.read(FINAL) is None
    assert store.look(handle) == LOST


@pytest.mark.parametrize(("is_old", "reads"), [(False, 0), (True, 2)])
def test_only_old_files_are_read_and_each_once(tmp_path: Path, is_old: bool, reads: int) -> None:
    disk = CountingDisk()
    store = LocalStore(tmp_path / "lake", disk)
    handles = [stage(store, f"data/{n}", b"rows", f"t{n}") for n in range(2)]
    for handle in handles:
        if is_old:
            make_old(tmp_path / "lake" / handle.staged)
    assert store.publish_all(handles) == set()
    assert disk.hashed == reads
    assert all(_is_done(store, handle) for handle in handles)


def _is_done(store: LocalStore, handle: StagedHandle) -> bool:
    return store.look(handle).is_done


def test_a_decided_window_whose_old_file_has_changed_is_derived_again(tmp_path: Path) -> None:
    lake = DiskLake(tmp_path)
    room = lake.room(["a", "a"])
    decided_only(an_owner(room))
    (staged,) = lake.root.rglob("*.staged")
    make_old(staged)
    rot(staged)
    an_owner(room).recover()
    assert rows(room.store, "a") == [(0, 0), (0, 1)]
    assert not room.journal().open().state.undone
