"""Writing a staged file: spooled on the executor's disk, then written to HDFS in one go.

A task has hundreds of open files; on HDFS each would hold a pipeline through data nodes open, and a
lease. What is spooled can also be sent again when a data node fails.
"""

import io
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.staged import StagedHandle
from penstock.ports.store.os_errors import before_it_begins
from penstock.ports.store.spooled_writer import IN_MEMORY_BYTES, SpooledWriter

Send = Callable[[Callable[[], BinaryIO]], str]
"""Writes a content, which it may open again, to a staged file; the key of that."""


class HdfsStagedWriter(SpooledWriter):
    """A staged file that is being written."""

    def __init__(self, store: str, final: str, send: Send, discard: Callable[[str], None]) -> None:
        super().__init__(final)
        self._store = store
        self._write_staged = send
        self._discard = discard

    def _send(self, checksum: str) -> StagedHandle:
        return StagedHandle(
            store=self._store,
            staged=self._write_staged(self._content),
            final=self._final,
            size_bytes=self._size_bytes,
            checksum=checksum,
        )

    def _take_back(self) -> None:
        if self._sent is not None:
            # What stays is found by a cleaner.
            with suppress(StoreUnavailable, OutcomeUnknown):
                self._discard(self._sent.staged)

    def _content(self) -> BinaryIO:
        """The spooled bytes from their beginning, through a descriptor of their own."""
        with before_it_begins("stage", tempfile.gettempdir()):
            if self._size_bytes <= IN_MEMORY_BYTES:
                self._spool.seek(0)
                return io.BytesIO(self._spool.read())
            file = os.fdopen(os.dup(self._spool.fileno()), "rb")
            file.seek(0)
            return file
