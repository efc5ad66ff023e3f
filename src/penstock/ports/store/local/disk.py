"""The seam to the operating system: one method for each act whose durability matters.

Everything above it speaks in keys and outcomes; here are paths and `OSError`. Tests put a disk
in its place that fails, dies or takes notes.
"""

import copy
import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from typing import NamedTuple, NoReturn, Self

from penstock.errors import DurabilityLost
from penstock.ports.store.keys import UNTEXT, is_text

_CHUNK_BYTES = 1 << 20

# macOS answers fsync before the drive has written; F_FULLFSYNC waits for the drive.
_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
_FULL_SYNC_UNKNOWN = frozenset({errno.ENOTSUP, errno.ENOTTY, errno.EINVAL})


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A new file that is being written. The same descriptor writes and syncs it, since only the
    descriptor that wrote is sure to be told about a write that failed later."""

    path: str
    raw: FileIO


class Child(NamedTuple):
    """A regular file or a directory, as a listing shows it. Links and the rest are left out.

    A tuple, because a journal's directory has many thousands of them.
    """

    name: str
    is_directory: bool


class OddChild(NamedTuple):
    """A name that no store would give, and what is odd about it."""

    name: str
    what: str


def _oddity(entry: os.DirEntry[str]) -> str:
    """What is odd about a name in a directory; empty for what is ordinary."""
    if entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False):
        return "" if is_text(entry.name) else UNTEXT
    mode = entry.stat(follow_symlinks=False).st_mode  # raises for what is gone, unlike the above
    return "a link" if stat.S_ISLNK(mode) else "neither a file nor a directory"


def end_process(error: DurabilityLost) -> NoReturn:
    """Say in one line why, and end this process without running anything else of it.

    After a failed fsync the kernel may drop the data and answer the next fsync with success, so
    going on, or trying again, could report as durable what is not there.
    """
    try:
        os.write(2, f"{error}\n".encode("utf-8", "backslashreplace"))
    finally:
        os._exit(error.exit_code)


def raise_it(error: DurabilityLost) -> NoReturn:
    """Raise the error instead of ending the process; for probes and tests."""
    raise error


class Disk:
    """Acts on absolute paths. Safe to share between threads; raises plain `OSError`."""

    def __init__(self, on_sync_failure: Callable[[DurabilityLost], NoReturn] = end_process) -> None:
        self._on_sync_failure = on_sync_failure
        self._lost: DurabilityLost | None = None

    def raising(self) -> Self:
        """A copy that raises `DurabilityLost` where this one would end the process."""
        twin = copy.copy(self)
        twin._on_sync_failure = raise_it
        return twin

    def make_directory(self, path: str) -> bool:
        """Make one directory; False when something is there already (the caller looks at what)."""
        try:
            os.mkdir(path)
        except FileExistsError:
            return False
        return True

    def open_new(self, path: str) -> OpenFile:
        """Begin a file that must not exist yet, not even as a dangling link."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return OpenFile(path, FileIO(os.open(path, flags, 0o666), "w"))

    def append(self, file: OpenFile, data: memoryview) -> None:
        """Write all of the bytes at the end of the file."""
        while data:
            data = data[file.raw.write(data) :]

    def sync_file(self, file: OpenFile) -> None:
        """Make the content durable, or end the process."""
        self._sync(file.raw.fileno(), file.path)

    def close(self, file: OpenFile) -> None:
        """Let go of the descriptor; nothing is made durable. Safe to repeat."""
        file.raw.close()

    def write_new(self, path: str, data: bytes) -> None:
        """Write a whole new file and make its content durable; its name is not durable yet."""
        file = self.open_new(path)
        try:
            self.append(file, memoryview(data))
            self.sync_file(file)
        finally:
            self.close(file)

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable, or end the process."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self._sync(descriptor, path)
        finally:
            os.close(descriptor)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name; `FileExistsError` when anything has that name already."""
        os.link(source, target, follow_symlinks=False)

    def unlink(self, path: str) -> None:
        """Take a name away; `FileNotFoundError` when it is gone."""
        os.unlink(path)

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""
        os.rmdir(path)

    def status(self, path: str) -> os.stat_result | None:
        """What has this name, links not followed; None when nothing has it."""
        try:
            return os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def may_write(self, path: str) -> bool:
        """Whether names may be made in a directory, by owner, mode and mount; it is not tried."""
        of_writer = os.access in os.supports_effective_ids
        return os.access(path, os.W_OK | os.X_OK, effective_ids=of_writer)

    def read(self, path: str) -> bytes:
        """The content of a regular file; `OSError` for anything else."""
        with _open_regular(path) as file:
            return file.readall()

    def open_to_read(self, path: str) -> FileIO:
        """A regular file, open; `OSError` for anything else. The caller closes it."""
        return _open_regular(path)

    def checksum(self, path: str) -> str:
        """The sha256 of a regular file, in hexadecimal digits; read piece by piece."""
        digest = hashlib.sha256()
        with _open_regular(path) as file:
            while piece := file.read(_CHUNK_BYTES):
                digest.update(piece)
        return digest.hexdigest()

    def children(self, path: str) -> list[Child]:
        """The regular files and directories in a directory, in no order."""
        found = []
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    found.append(Child(entry.name, is_directory=False))
                elif entry.is_dir(follow_symlinks=False):
                    found.append(Child(entry.name, is_directory=True))
        return found

    def oddities(self, path: str) -> list[OddChild]:
        """What `children` leaves out, or shows under a name that is not text; in no order."""
        found = []
        with os.scandir(path) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # it may be gone before its kind is known
                    what = _oddity(entry)
                    if what:
                        found.append(OddChild(entry.name, what))
        return found

    def lose_durability(self, path: str, error: OSError) -> NoReturn:
        """Act on a failed sync; from now on this disk never syncs anything again."""
        self._lost = DurabilityLost(path, error.strerror or str(error))
        self._on_sync_failure(self._lost)

    def _sync(self, descriptor: int, path: str) -> None:
        if self._lost is not None:
            self._on_sync_failure(self._lost)
        try:
            _sync_descriptor(descriptor)
        except OSError as error:
            self.lose_durability(path, error)


def _sync_descriptor(descriptor: int) -> None:
    if _FULL_SYNC is not None:
        try:
            fcntl.fcntl(descriptor, _FULL_SYNC)
        except OSError as error:
            # Not a failed sync: this file system does not know the request at all.
            if error.errno not in _FULL_SYNC_UNKNOWN:
                raise
        else:
            return
    os.fsync(descriptor)


def _open_regular(path: str) -> FileIO:
    """Open for reading, refusing links, directories, and pipes that would block for ever."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return FileIO(descriptor, "r")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise OSError(errno.EINVAL, "not a regular file", path)
