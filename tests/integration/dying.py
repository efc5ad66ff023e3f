"""A store and a disk that die, stop or fail at one point, in the driver or in a task."""

import errno
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from penstock.datapath.stage.task import shredding
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.ports.store.delete_each import keys_not_deleted
from penstock.ports.store.local.disk import Disk, OpenFile
from penstock.ports.store.local.local_staged import LocalStagedWriter
from penstock.ports.store.local.local_store import LocalStore
from penstock.ports.store.publish_each import those_that_fail
from tests.integration.points import Point


def die(how: int = signal.SIGKILL) -> None:
    """The process group: driver and JVM. Spark's workers are a group of their own, and end when
    they notice; until then they may go on writing, as on a real host."""
    os.killpg(os.getpgrp(), how)


class Fuse:
    """Counts calls that fit a point, and burns through at the nth."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self._seen = 0
        self._lock = threading.Lock()

    def before(self, call: str, key: str) -> None:
        """Count the call; perhaps it is the last."""
        if not self.point.after and self.is_due(call, key):
            die(self.point.how)

    def after(self, call: str, key: str) -> None:
        """Count the call that has happened; perhaps it was the last."""
        if self.point.after and self.is_due(call, key):
            die(self.point.how)

    def is_due(self, call: str, key: str) -> bool:
        """True for the nth call that fits. A method without a key fits every key."""
        if call != self.point.call or (key and not fnmatch(key, self.point.key)):
            return False
        with self._lock:
            self._seen += 1
            return self._seen == self.point.nth


class DyingDisk(Disk):
    """Dies before it gives a name, or before it takes that of a staged file; or fails to sync."""

    def __init__(self, fuse: Fuse) -> None:
        super().__init__()
        self._fuse = fuse
        self.here = threading.local()  # files are published on several threads

    def raising(self) -> Disk:  # type: ignore[override]
        """The probe at the start gets a plain disk: it is no part of any point."""
        return Disk().raising()

    def link(self, source: str, target: str) -> None:
        """Perhaps for the last time."""
        self._fuse.before("link", target)
        super().link(source, target)

    def unlink(self, path: str) -> None:
        """Perhaps for the last time: shown, and not yet consumed."""
        if getattr(self.here, "is_publishing", False):
            self._fuse.before("unlink", path)
        super().unlink(path)

    def sync_file(self, file: OpenFile) -> None:
        """Perhaps with an error."""
        self._perhaps_fail(file.path)
        super().sync_file(file)

    def sync_directory(self, path: str) -> None:
        """Perhaps with an error."""
        self._perhaps_fail(path)
        super().sync_directory(path)

    def _perhaps_fail(self, path: str) -> None:
        if self._fuse.is_due("sync", path):
            self.lose_durability(path, OSError(errno.EIO, os.strerror(errno.EIO), path))


class DyingStore(LocalStore):
    """A local store whose process dies at one point. Tasks get one that does what theirs says."""

    def __init__(self, root: str, fuse: Fuse) -> None:
        self._fuse = fuse
        self._dying_disk = DyingDisk(fuse)
        super().__init__(root, self._dying_disk)

    def __reduce__(self) -> Any:
        call = self._fuse.point.call
        if not call.startswith("task"):
            return super().__reduce__()
        return FlawedStore, (self.root, call, self._fuse.point.key, str(os.getpgrp()))

    def create(self, key: str, data: bytes) -> bool:
        """Perhaps for the last time."""
        self._fuse.before("create", key)
        created = super().create(key, data)
        self._fuse.after("create", key)
        return created

    def publish(self, handle: StagedHandle) -> None:
        """Perhaps for the last time."""
        self._fuse.before("publish", handle.final)
        self._dying_disk.here.is_publishing = True
        super().publish(handle)
        self._dying_disk.here.is_publishing = False
        self._fuse.after("publish", handle.final)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """Perhaps for the last time; one by one if it is a publish that is counted."""
        if self._fuse.point.call == "publish":
            return those_that_fail(self.publish, handles)
        self._dying_disk.here.is_publishing = True
        left = super().publish_all(handles)
        self._dying_disk.here.is_publishing = False
        return left

    def discard(self, ref: StagedRef) -> None:
        """Perhaps for the last time."""
        self._fuse.before("discard", ref.place)
        super().discard(ref)
        self._fuse.after("discard", ref.place)

    def delete(self, key: str) -> None:
        """Perhaps for the last time."""
        self._fuse.before("delete", key)
        super().delete(key)
        self._fuse.after("delete", key)

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """Perhaps for the last time; one by one if it is a delete that is counted."""
        if self._fuse.point.call == "delete":
            return keys_not_deleted(self.delete, keys)
        return super().delete_all(keys)


class FlawedStore(LocalStore):
    """What a task gets: at its first fitting file it kills the driver, or cannot sync."""

    def __init__(self, root: str, flaw: str, key: str, group: str) -> None:
        super().__init__(root)
        self._flaw, self._key, self._group = flaw, key, int(group)

    def open_staged(self, final: str, spot: StagingSpot) -> LocalStagedWriter:
        """As a local store does, if it comes to that."""
        if self._flaw == "task" and fnmatch(final, self._key) and self._is_first():
            os.killpg(self._group, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        writer = super().open_staged(final, spot)
        if self._flaw == "task sync" and self._is_first():
            self._disk.lose_durability(final, OSError(errno.EIO, os.strerror(errno.EIO), final))
        return writer

    def _is_first(self) -> bool:
        return is_first(self.root)


def is_first(lake: str) -> bool:
    """True once per lake, for whichever attempt comes first: a file beside the lake tells."""
    try:
        Path(f"{lake}.flaw").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def losing_its_result(plan: Any, store: Any) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """The function of a task whose first attempt writes everything, and ends before it reports."""
    inner = shredding(plan, store)

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        reports = list(inner(batches))
        if any(Path(store.root).rglob("*.staged")) and is_first(store.root):
            os._exit(9)
        yield from reports

    return run
