"""Files on the task's own disk: copies of what is rewritten, and the file that is being written.

They have no name, so they are gone with the process, whatever ends that.
"""

import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import IO, Any, BinaryIO, NamedTuple

import pyarrow as pa

from penstock.api.store import StagedWriter
from penstock.ports.store.os_errors import before_it_begins

CHUNK_BYTES = 4 << 20
BUFFER_BYTES = 1 << 20


class Part(NamedTuple):
    """A part of an own file."""

    start: int
    size_bytes: int


class OwnFile:
    """One unnamed file. Used by one thread."""

    def __init__(self) -> None:
        with _telling():
            self._file: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._size = 0

    # Any: whatever holds bytes; before Python 3.12 no type says that.
    def write(self, data: Any) -> int:
        """Append bytes; returns how many."""
        left = memoryview(data).cast("B")
        size = len(left)
        with _telling():
            while len(left):
                left = left[self._file.write(left) :]
        self._size += size
        return size

    def copy(self, source: BinaryIO) -> tuple["Part", str]:
        """Append all that a file has; where it lies, and its checksum in the form of handles."""
        digest, start, size = hashlib.sha256(), self._size, 0
        while chunk := source.read(CHUNK_BYTES):
            digest.update(chunk)
            size += self.write(chunk)
        return Part(start, size), f"sha256:{digest.hexdigest()}"

    def opened(self, part: "Part | None" = None) -> BinaryIO:
        """All of it or a part, to read from the beginning."""
        return io.BufferedReader(_Reading(self._file.fileno(), part or Part(0, self._size)))

    def stream(self) -> pa.NativeFile:
        """A stream that appends; closing it only writes what it has buffered."""
        return pa.output_stream(_Writing(self), buffer_size=BUFFER_BYTES)

    def send(self, staged: StagedWriter) -> str:
        """Write all of it to a store; the checksum of what was sent."""
        digest = hashlib.sha256()
        for chunk in self._chunks():
            digest.update(chunk)
            staged.write(chunk)
        return f"sha256:{digest.hexdigest()}"

    def close(self) -> None:
        """Give the place back; safe to repeat."""
        self._file.close()

    def _chunks(self) -> Iterator[bytes]:
        with self.opened() as file:
            yield from iter(lambda: file.read(CHUNK_BYTES), b"")


class _Writing(io.RawIOBase):
    """An own file as Arrow wants files."""

    def __init__(self, file: OwnFile) -> None:
        self._own = file

    def writable(self) -> bool:
        return True

    # Any: as above.
    def write(self, data: Any) -> int:
        return self._own.write(data)


class _Reading(io.RawIOBase):
    """A way through a part of an unnamed file that moves no other one."""

    def __init__(self, descriptor: int, part: Part) -> None:
        self._descriptor = descriptor
        self._part = part
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        before = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._part.size_bytes}
        self._place = before[whence] + offset
        return self._place

    def tell(self) -> int:
        return self._place

    # Any: as above.
    def readinto(self, buffer: Any) -> int:
        wanted = max(0, min(len(buffer), self._part.size_bytes - self._place))
        with _telling():
            data = os.pread(self._descriptor, wanted, self._part.start + self._place)
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


def _telling() -> AbstractContextManager[None]:
    return before_it_begins("stage", tempfile.gettempdir())
