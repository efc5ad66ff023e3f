"""Writing a staged file: spooled on the executor's disk, sent as an upload that stays open."""

import hashlib
import io
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
from penstock.ports.store.spooled_writer import IN_MEMORY_BYTES, SpooledWriter, SpoolPart

MOST_PARTS = 10_000
PARTS_AT_ONCE = 4


class S3StagedWriter(SpooledWriter):
    """A staged file that is being written: its upload begins when its checksum is known."""

    def __init__(
        self, uploads: Uploads, final: str, key: str, spot: StagingSpot, part_bytes: int
    ) -> None:
        super().__init__(final)
        self._uploads = uploads
        self._key = key
        self._spot = spot
        self._part_bytes = part_bytes
        self._upload = ""

    def _send(self, checksum: str) -> StagedHandle:
        self._upload = self._uploads.begin(self._key, metadata_of(self._spot, checksum))
        tags = self._send_parts()
        return StagedHandle(
            store=S3,
            staged=staged_name(self._spot.prefix, self._spot.window, self._upload),
            final=self._final,
            size_bytes=self._size_bytes,
            checksum=checksum,
            proof=proof_of(self._final, self._upload, tags),
        )

    def _take_back(self) -> None:
        if self._upload:
            # An upload that stays open is found by a cleaner.
            with suppress(StoreUnavailable, OutcomeUnknown):
                self._uploads.abort(self._key, self._upload)

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
