"""Writing a staged file: spooled on the executor's disk, sent as an object into the staging."""

import tempfile
from contextlib import suppress

import google_crc32c

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.ports.store.gcs.gcs_identity import metadata_of, proof_of, staged_key
from penstock.ports.store.gcs.gcs_keys import GcsKeys
from penstock.ports.store.gcs.gcs_requests import GcsRequests, crc32c_of
from penstock.ports.store.gcs.gcs_settings import GCS
from penstock.ports.store.gcs.gcs_uploads import GcsUploads, Outgoing, Uploaded
from penstock.ports.store.os_errors import before_it_begins
from penstock.ports.store.spooled_writer import SpooledWriter


class GcsStagedWriter(SpooledWriter):
    """A staged file that is being written; its object is made when its checksum is known."""

    def __init__(self, asks: GcsRequests, keys: GcsKeys, final: str, spot: StagingSpot) -> None:
        super().__init__(final)
        self._requests = asks
        self._spot = spot
        self._staged = staged_key(spot)
        self._key = keys.whole(self._staged)
        self._crc32c = google_crc32c.Checksum()
        self._made: Uploaded | None = None

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes, or whatever lends its memory as they do; returns how many."""
        written = super().write(data)
        self._crc32c.update(bytes(data))
        return written

    def _send(self, checksum: str) -> StagedHandle:
        file = Outgoing(
            self._key,
            metadata_of(self._spot, self._final, checksum),
            self._size_bytes,
            crc32c_of(self._crc32c),
            self._read,
        )
        self._made = GcsUploads(self._requests).upload(file)
        return StagedHandle(
            store=GCS,
            staged=self._staged,
            final=self._final,
            size_bytes=self._size_bytes,
            checksum=checksum,
            proof=proof_of(self._made.generation, self._made.sent),
        )

    def _take_back(self) -> None:
        if self._made is not None:
            # What stays is found by a cleaner.
            with suppress(StoreUnavailable, OutcomeUnknown):
                self._requests.delete(self._key, self._made.generation)

    def _read(self, start: int, length: int) -> bytes:
        """Bytes of the spool."""
        with before_it_begins("stage", tempfile.gettempdir()):
            self._spool.seek(start)
            return self._spool.read(length)
