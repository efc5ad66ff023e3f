"""Writing a staged file on a local disk."""

import hashlib
from collections.abc import Callable
from contextlib import suppress

from penstock.errors import StoreUnavailable
from penstock.model.staged import StagedHandle
from penstock.ports.store.local.disk import Disk, OpenFile
from penstock.ports.store.os_errors import before_it_begins


class LocalStagedWriter:
    """A staged file that is being written; file-like enough for `pyarrow.PythonFile`.

    Used by one thread of one task attempt. Size and checksum are taken while writing, so the file
    is never read again.

    `now` counts moments. `make_durable` returns after a sync of the file's directory that began
    after one of them; many files share one sync.
    """

    def __init__(
        self,
        disk: Disk,
        file: OpenFile,
        handle: StagedHandle,
        now: Callable[[], int],
        make_durable: Callable[[int], None],
        tidy: Callable[[], None],
    ) -> None:
        self._disk = disk
        self._file = file
        self._empty_handle = handle
        self._now = now
        self._make_durable = make_durable
        self._tidy = tidy
        self._digest = hashlib.sha256()
        self._size_bytes = 0
        self._closed = False
        self._trouble: str | None = None
        self._synced_at: int | None = None
        self._finished: StagedHandle | None = None

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes, or whatever lends its memory as they do; returns how many."""
        if self._closed:
            raise ValueError("write to a staged file that is closed")
        piece = memoryview(data).cast("B")
        self._refuse_if_broken()
        # Set first: whatever interrupts the write, a file of unknown length is never finished.
        self._trouble = "an earlier write to it failed"
        with before_it_begins("stage", self._empty_handle.staged):
            self._disk.append(self._file, piece)
        self._trouble = None
        self._digest.update(piece)
        self._size_bytes += len(piece)
        return len(piece)

    def sync(self) -> None:
        """Make the content durable; its name is not durable yet. Safe to repeat."""
        if self._synced_at is not None:
            return
        self._refuse_if_broken()
        self._closed = True
        self._trouble = "an earlier try to finish it failed"
        with before_it_begins("stage", self._empty_handle.staged):
            self._disk.sync_file(self._file)
            self._disk.close(self._file)
        self._trouble = None
        self._synced_at = self._now()

    def finish(self) -> StagedHandle:
        """Make the file and its name durable and return its handle. Safe to repeat."""
        if self._finished is not None:
            return self._finished
        self.sync()
        self._refuse_if_broken()
        self._trouble = "an earlier try to finish it failed"
        with before_it_begins("stage", self._empty_handle.staged):
            self._refuse_if_taken_away()
            self._make_durable(self._synced_at or 0)
        self._trouble = None
        self._finished = StagedHandle(
            store=self._empty_handle.store,
            staged=self._empty_handle.staged,
            final=self._empty_handle.final,
            size_bytes=self._size_bytes,
            checksum=f"sha256:{self._digest.hexdigest()}",
        )
        return self._finished

    def abandon(self) -> None:
        """Remove what was written, as far as possible. Does nothing after `finish`.

        A finished file may have been decided already, so it is left to the reader of the journal.
        """
        if self._finished is not None:
            return
        self._closed = True
        self._trouble = self._trouble or "it was abandoned"
        with suppress(OSError):
            self._disk.close(self._file)
        with suppress(OSError):
            self._disk.unlink(self._file.path)
            self._tidy()

    def close(self) -> None:
        """Take no more bytes. The descriptor stays for `finish`, which has to sync through it."""
        self._closed = True

    @property
    def closed(self) -> bool:
        """True when no more bytes are taken."""
        return self._closed

    def tell(self) -> int:
        """How many bytes were written so far."""
        return self._size_bytes

    def flush(self) -> None:
        """Nothing to do: nothing is held back in memory."""

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
            raise StoreUnavailable("stage", self._empty_handle.staged, self._trouble)

    def _refuse_if_taken_away(self) -> None:
        """A cleaner that took this attempt for dead has unlinked the file under our hands."""
        status = self._disk.status(self._file.path)
        if status is None or status.st_size != self._size_bytes:
            why = "it was discarded while it was being written"
            raise StoreUnavailable("stage", self._empty_handle.staged, why)
