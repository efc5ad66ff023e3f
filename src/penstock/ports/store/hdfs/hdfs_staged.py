"""Writing a staged file: spooled on the executor's disk, then written to HDFS in one go.

A task has hundreds of open files; on HDFS each would hold a pipeline through data nodes open, and a
lease. What is spooled can also be sent again when a data node fails.
"""

import hashlib
import io
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.staged import StagedHandle
from penstock.ports.store.os_errors import before_it_begins

IN_MEMORY_BYTES = 2**16  # of each open file; the rest is on disk

Send = Callable[[Callable[[], BinaryIO]], str]
"""Writes a content, which it may open again, to a staged file; the key of that."""


class HdfsStagedWriter:
    """A staged file that is being written; file-like enough for `pyarrow.PythonFile`.

    Used by one task attempt. Nothing is sent before `sync`. The spool has no name, so it is gone
    with its process, whatever ends that.
    """

    def __init__(self, store: str, final: str, send: Send, discard: Callable[[str], None]) -> None:
        self._store = store
        self._final = final
        self._send = send
        self._discard = discard
        self._spool = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115  -- as we
        self._digest = hashlib.sha256()
        self._size_bytes = 0
        self._closed = False
        self._trouble: str | None = None
        self._sent: StagedHandle | None = None
        self._finished = False

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
        staged = self._send(self._content)
        self._sent = StagedHandle(
            store=self._store,
            staged=staged,
            final=self._final,
            size_bytes=self._size_bytes,
            checksum=f"sha256:{self._digest.hexdigest()}",
        )
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
        if self._sent is not None:
            # What stays is found by a cleaner.
            with suppress(StoreUnavailable, OutcomeUnknown):
                self._discard(self._sent.staged)

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

    def _content(self) -> BinaryIO:
        """The spooled bytes from their beginning, through a descriptor of their own."""
        with before_it_begins("stage", tempfile.gettempdir()):
            if self._size_bytes <= IN_MEMORY_BYTES:
                self._spool.seek(0)
                return io.BytesIO(self._spool.read())
            self._spool.flush()
            file = os.fdopen(os.dup(self._spool.fileno()), "rb")
            file.seek(0)
            return file

    def _refuse_if_broken(self) -> None:
        if self._trouble is not None:
            raise StoreUnavailable("stage", self._final, self._trouble)
