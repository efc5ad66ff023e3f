"""Writing a staged file for a store that takes it at once: spooled on the executor's disk.

Nothing is sent before `sync`: then its size and checksum are known, and many files can be sent side
by side. The spool has no name, so it is gone with its process, whatever ends that.
"""

import hashlib
import io
import os
import tempfile
from contextlib import suppress

from penstock.errors import StoreUnavailable
from penstock.model.staged import StagedHandle
from penstock.ports.store.os_errors import before_it_begins

IN_MEMORY_BYTES = 2**16  # of each open file, of which a task has hundreds; the rest is on disk


class SpooledWriter:
    """The part of a `StagedWriter` that stores share; file-like enough for `pyarrow.PythonFile`.

    Used by one task attempt. A store says in `_send` and `_take_back` how a file gets there.
    """

    def __init__(self, final: str) -> None:
        self._final = final
        self._spool = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115  -- as we
        self._digest = hashlib.sha256()
        self._size_bytes = 0
        self._closed = False
        self._trouble: str | None = None
        self._sent: StagedHandle | None = None
        self._finished = False

    def _send(self, checksum: str) -> StagedHandle:
        """Send what was written, and return its handle."""
        raise NotImplementedError

    def _take_back(self) -> None:
        """Remove what was sent, as far as possible."""
        raise NotImplementedError

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes, or whatever lends its memory as they do; returns how many."""
        if self._closed:
            raise ValueError("write to a staged file that is closed")
        piece = memoryview(data).cast("B")
        self._refuse_if_broken()
        # Set first: whatever interrupts the write, a file of unknown length is never sent.
        self._trouble = "an earlier write to it failed"
        with before_it_begins("stage", tempfile.gettempdir()):
            self._spool.write(piece)
        self._trouble = None
        self._digest.update(piece)
        self._size_bytes += len(piece)
        return len(piece)

    def sync(self) -> None:
        """Send all of it. It is durable and listed afterwards, and not visible. Safe to repeat."""
        if self._sent is not None:
            return
        self._refuse_if_broken()
        self._closed = True
        self._trouble = "an earlier try to send it failed"
        # A full disk shows here, before anything is begun at the store.
        with before_it_begins("stage", tempfile.gettempdir()):
            self._spool.flush()
        self._sent = self._send(f"sha256:{self._digest.hexdigest()}")
        self._trouble = None
        self._spool.close()

    def finish(self) -> StagedHandle:
        """Send it if that was not done, and return its handle. Safe to repeat."""
        self.sync()
        self._refuse_if_broken()
        if self._sent is None:
            raise StoreUnavailable("stage", self._final, "it was not sent")
        self._finished = True
        return self._sent

    def abandon(self) -> None:
        """Give up what was written, as far as possible. Does nothing after `finish`."""
        if self._finished:
            return
        self._closed = True
        self._trouble = self._trouble or "it was abandoned"
        with suppress(OSError):
            self._spool.close()
        self._take_back()

    def close(self) -> None:
        """Take no more bytes; they stay for `finish`, which sends them."""
        self._closed = True

    @property
    def closed(self) -> bool:
        """True when no more bytes are taken."""
        return self._closed

    def tell(self) -> int:
        """How many bytes were written so far."""
        return self._size_bytes

    def flush(self) -> None:
        """Nothing to do: all of it is sent at once, when it is whole."""

    def readable(self) -> bool:
        """False; the file is only written."""
        return False

    def writable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """False; bytes only go to the end."""
        return False

    def _refuse_if_broken(self) -> None:
        if self._trouble is not None:
            raise StoreUnavailable("stage", self._final, self._trouble)


class SpoolPart(io.RawIOBase):
    """Bytes [start, end) of a spool as a file of its own, so that parts are sent side by side."""

    def __init__(self, descriptor: int, start: int, end: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._start = start
        self._end = end
        self._position = start

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """Where the next byte is read, from the start of the part."""
        return self._position - self._start

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place in the part."""
        origin = {io.SEEK_SET: self._start, io.SEEK_CUR: self._position, io.SEEK_END: self._end}
        self._position = max(self._start, origin[whence] + offset)
        return self.tell()

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        """Fill a buffer as far as the part goes; 0 at its end."""
        length = max(0, min(len(buffer), self._end - self._position))
        piece = os.pread(self._descriptor, length, self._position)
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)
