"""Disks for tests: one that fails by script, and one that takes notes of every durable act."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import NoReturn, TypeVar

from penstock.errors import DurabilityLost
from penstock.ports.store.local.disk import Child, Disk, OpenFile, end_process, raise_it
from penstock.testing.fault_script import Place, Script

T = TypeVar("T")

CALLS = frozenset(
    {
        "append", "checksum", "children", "link", "make_directory", "open_new", "read",
        "remove_directory", "status", "sync_directory", "sync_file", "unlink",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DiskFault:
    """One fault of a disk: `DiskFault("append", error=errno.ENOSPC, place="*/tmp/*")`.

    With an `error` the act fails with it, without one the process dies there. `performed` says
    that the act happened all the same. Of an append, `kept_bytes` reach the file first. The place
    is an absolute path; that of a link is its new name.
    """

    call: str
    error: int | None = None
    place: Place = "*"
    nth: int = 1
    performed: bool = False
    kept_bytes: int = 0

    def __post_init__(self) -> None:
        if self.call not in CALLS:
            raise ValueError(f"a disk has no call {self.call!r}")


def _raise(error: OSError) -> NoReturn:
    raise error


class FaultDisk(Disk):
    """A disk that fails by script. A failed sync raises, unless a test says otherwise."""

    def __init__(
        self,
        script: Iterable[DiskFault],
        on_sync_failure: Callable[[DurabilityLost], NoReturn] = raise_it,
    ) -> None:
        super().__init__(on_sync_failure)
        self._script = Script(script)
        self.calls: list[tuple[str, str]] = []

    def unmet(self) -> list[DiskFault]:
        """The faults of the script that never happened."""
        return self._script.unmet()

    def make_directory(self, path: str) -> bool:
        """As on a disk, with faults."""
        return self._run("make_directory", path, partial(super().make_directory, path))

    def open_new(self, path: str) -> OpenFile:
        """As on a disk, with faults."""
        return self._run("open_new", path, partial(super().open_new, path))

    def append(self, file: OpenFile, data: memoryview) -> None:
        """As on a disk, with faults; a torn write leaves the first bytes."""
        self.calls.append(("append", file.path))
        fault = self._script.meet("append", file.path)
        if fault is None:
            super().append(file, data)
            return
        super().append(file, data if fault.performed else data[: fault.kept_bytes])
        self._fail(fault, file.path, _raise)

    def sync_file(self, file: OpenFile) -> None:
        """As on a disk, with faults; an error is a failed sync."""
        lose = partial(self.lose_durability, file.path)
        self._run("sync_file", file.path, partial(super().sync_file, file), lose)

    def sync_directory(self, path: str) -> None:
        """As on a disk, with faults; an error is a failed sync."""
        lose = partial(self.lose_durability, path)
        self._run("sync_directory", path, partial(super().sync_directory, path), lose)

    def link(self, source: str, target: str) -> None:
        """As on a disk, with faults."""
        self._run("link", target, partial(super().link, source, target))

    def unlink(self, path: str) -> None:
        """As on a disk, with faults."""
        self._run("unlink", path, partial(super().unlink, path))

    def remove_directory(self, path: str) -> None:
        """As on a disk, with faults."""
        self._run("remove_directory", path, partial(super().remove_directory, path))

    def status(self, path: str) -> os.stat_result | None:
        """As on a disk, with faults."""
        return self._run("status", path, partial(super().status, path))

    def read(self, path: str) -> bytes:
        """As on a disk, with faults."""
        return self._run("read", path, partial(super().read, path))

    def checksum(self, path: str) -> str:
        """As on a disk, with faults."""
        return self._run("checksum", path, partial(super().checksum, path))

    def children(self, path: str) -> list[Child]:
        """As on a disk, with faults."""
        return self._run("children", path, partial(super().children, path))

    def _run(
        self,
        call: str,
        path: str,
        act: Callable[[], T],
        fail: Callable[[OSError], NoReturn] = _raise,
    ) -> T:
        self.calls.append((call, path))
        fault = self._script.meet(call, path)
        if fault is not None:
            if fault.performed:
                act()
            self._fail(fault, path, fail)
        return act()

    def _fail(self, fault: DiskFault, path: str, fail: Callable[[OSError], NoReturn]) -> NoReturn:
        if fault.error is None:
            self._script.die(f"{fault.call} {path!r}")
        fail(OSError(fault.error, os.strerror(fault.error), path))


@dataclass(frozen=True, slots=True)
class MakeDirectory:
    """A directory was made. All paths of operations are relative to the root, which is ``."""

    path: str


@dataclass(frozen=True, slots=True)
class NewFile:
    """An empty file was made."""

    path: str


@dataclass(frozen=True, slots=True)
class Append:
    """Bytes were written to the end of a file."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SyncFile:
    """The content of a file was made durable."""

    path: str


@dataclass(frozen=True, slots=True)
class SyncDirectory:
    """The names in a directory were made durable."""

    path: str


@dataclass(frozen=True, slots=True)
class Link:
    """A file got a second name."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Unlink:
    """A name was taken away."""

    path: str


@dataclass(frozen=True, slots=True)
class RemoveDirectory:
    """An empty directory was removed."""

    path: str


Operation = (
    MakeDirectory | NewFile | Append | SyncFile | SyncDirectory | Link | Unlink | RemoveDirectory
)


class RecordingDisk(Disk):
    """A disk that writes down each act that succeeded, in order, with all that a replay needs.

    Acts are performed one at a time, so that the order in the notes is the order on the disk.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        on_sync_failure: Callable[[DurabilityLost], NoReturn] = end_process,
    ) -> None:
        super().__init__(on_sync_failure)
        self._root = os.path.realpath(root)
        self._lock = Lock()
        self.operations: list[Operation] = []

    def make_directory(self, path: str) -> bool:
        """Make and record, unless it was there."""
        with self._lock:
            made = super().make_directory(path)
            if made and path != self._root:
                self.operations.append(MakeDirectory(self._relative(path)))
            return made

    def open_new(self, path: str) -> OpenFile:
        """Open and record."""
        with self._lock:
            file = super().open_new(path)
            self.operations.append(NewFile(self._relative(path)))
            return file

    def append(self, file: OpenFile, data: memoryview) -> None:
        """Append and record the bytes."""
        with self._lock:
            super().append(file, data)
            self.operations.append(Append(self._relative(file.path), bytes(data)))

    def sync_file(self, file: OpenFile) -> None:
        """Sync and record."""
        with self._lock:
            super().sync_file(file)
            self.operations.append(SyncFile(self._relative(file.path)))

    def sync_directory(self, path: str) -> None:
        """Sync and record, unless it is outside of the root."""
        with self._lock:
            super().sync_directory(path)
            if path == self._root or path.startswith(f"{self._root}/"):
                self.operations.append(SyncDirectory(self._relative(path)))

    def link(self, source: str, target: str) -> None:
        """Link and record."""
        with self._lock:
            super().link(source, target)
            self.operations.append(Link(self._relative(source), self._relative(target)))

    def unlink(self, path: str) -> None:
        """Unlink and record."""
        with self._lock:
            super().unlink(path)
            self.operations.append(Unlink(self._relative(path)))

    def remove_directory(self, path: str) -> None:
        """Remove and record."""
        with self._lock:
            super().remove_directory(path)
            self.operations.append(RemoveDirectory(self._relative(path)))

    def _relative(self, path: str) -> str:
        return path.removeprefix(self._root).removeprefix("/")
