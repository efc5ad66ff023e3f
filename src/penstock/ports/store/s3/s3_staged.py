"""Writing a staged file: spooled on the executor's disk, sent as an upload that stays open."""

import hashlib
import io
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import IO

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.ports.store.os_errors import before_it_begins
from penstock.ports.store.s3.s3_identity import metadata_of, proof_of
from penstock.ports.store.s3.s3_settings import MIB, S3
from penstock.ports.store.s3.s3_uploads import Uploads

IN_MEMORY_BYTES = 2**16  # of each open file, of which a task has hundreds; the rest is on disk
MOST_PARTS = 10_000
PARTS_AT_ONCE = 4


class S3StagedWriter:
    """A staged file that is being written; file-like enough for `pyarrow.PythonFile`.

    Used by one task attempt. Nothing is sent before `sync`: then its size and checksum are known,
    and many files can be sent side by side. The spool has no name, so it is gone with its process,
    whatever ends that.
    """

    def __init__(
        self, uploads: Uploads, final: str, key: str, spot: StagingSpot, part_bytes: int
    ) -> None:
        self._uploads = uploads
        self._final = final
        self._key = key
        self._spot = spot
        self._part_bytes = part_bytes
        self._spool = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115  -- as we
        self._digest = hashlib.sha256()
        self._size_bytes = 0
        self._closed = False
        self._trouble: str | None = None
        self._upload = ""
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
        with before_it_begins("stage", tempfile.gettempdir()):
            self._spool.flush()
        checksum = f"sha256:{self._digest.hexdigest()}"
        self._upload = self._uploads.begin(self._key, metadata_of(self._spot, checksum))
        tags = self._send_parts()
        self._sent = StagedHandle(
            store=S3,
            staged=staged_name(self._spot.prefix, self._spot.window, self._upload),
            final=self._final,
            size_bytes=self._size_bytes,
            checksum=checksum,
            proof=proof_of(self._final, self._upload, tags),
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
        if self._upload:
            # An upload that stays open is found by a cleaner.
            with suppress(StoreUnavailable, OutcomeUnknown):
                self._uploads.abort(self._key, self._upload)

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

    def _send_parts(self) -> list[str]:
        """Send each part; the tags in order."""
        bounds = part_bounds(self._size_bytes, self._part_bytes)

        def send(number: int, bound: tuple[int, int]) -> str:
            # Opened here and closed at once: each has a buffer, and a large file has thousands.
            with before_it_begins("stage", tempfile.gettempdir()), self._part(*bound) as content:
                return self._uploads.send_part(self._key, self._upload, number, content)

        if len(bounds) == 1:
            return [send(1, bounds[0])]
        with ThreadPoolExecutor(PARTS_AT_ONCE, "penstock-part") as threads:
            return list(threads.map(send, count(1), bounds))

    def _part(self, start: int, end: int) -> IO[bytes]:
        """Bytes of the spool; of one that never left the memory, all of it."""
        if self._size_bytes <= IN_MEMORY_BYTES:
            self._spool.seek(start)
            return io.BytesIO(self._spool.read(end - start))
        return io.BufferedReader(SpoolPart(self._spool.fileno(), start, end), MIB)

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


def part_bounds(size_bytes: int, wanted_bytes: int) -> list[tuple[int, int]]:
    """Where each part begins and ends; an empty file has one part that is empty."""
    length = part_bytes(size_bytes, wanted_bytes)
    starts = range(0, max(size_bytes, 1), length)
    return [(start, min(start + length, size_bytes)) for start in starts]


def part_bytes(size_bytes: int, wanted_bytes: int) -> int:
    """How long parts are: as wanted, unless that would be more of them than an upload can have."""
    least = -(-size_bytes // MOST_PARTS)
    return max(wanted_bytes, -(-least // MIB) * MIB)


def staged_name(staging: str, window: str, upload: str) -> str:
    """The name of an open upload among staged files; nothing lies there, it tells them apart."""
    word = hashlib.sha256(upload.encode()).hexdigest()[:32]
    return f"{staging}/{window}/{word}.staged"
