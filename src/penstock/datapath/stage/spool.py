"""Rows that wait on the task's own disk until their file can be written in one go."""

import os
import tempfile
from typing import IO

import pyarrow as pa

from penstock.ports.store.os_errors import before_it_begins

_PACKED = pa.ipc.IpcWriteOptions(compression="lz4")

Place = tuple[int, int]  # where rows lie in the spool, and how many bytes they take


class Spool:
    """One unnamed file for the rows of all files of a task, so that it takes one descriptor.

    It is gone with the process, whatever ends that. Used by one thread of one attempt.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None

    def put(self, rows: pa.Table) -> Place:
        """Let rows wait; returns where they are."""
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, rows.schema, options=_PACKED) as packed:
            packed.write_table(rows)
        data = stream.getvalue()
        with before_it_begins("stage", tempfile.gettempdir()):
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - as long as we
            start = self._file.seek(0, os.SEEK_END)
            left = memoryview(data)
            while len(left):
                left = left[self._file.write(left) :]
        return start, data.size

    def get(self, place: Place) -> pa.Table:
        """Rows that wait."""
        if self._file is None:
            raise ValueError("nothing waits in the spool")
        start, size_bytes = place
        with before_it_begins("stage", tempfile.gettempdir()):
            self._file.seek(start)
            data = self._file.read(size_bytes)
        return pa.ipc.open_stream(data).read_all()

    def clear(self) -> None:
        """Forget all rows; safe to repeat."""
        if self._file is not None:
            self._file.close()
            self._file = None
