"""Resumable uploads: sessions that take a file in pieces, and say how much of it they have."""

import re
from dataclasses import dataclass, field
from threading import Lock

from penstock.testing.gcs_double.gcs_answers import GcsRefusal, Json
from penstock.testing.gcs_double.gcs_bucket import GcsBucket
from penstock.testing.gcs_double.gcs_conditions import Conditions
from penstock.testing.gcs_double.gcs_versions import Version, check_name, token

CHUNK_BYTES = 256 * 1024
_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")


@dataclass
class Session:
    """An upload that was begun. The conditions are checked when it ends."""

    bucket: GcsBucket
    name: str
    resource: Json
    conditions: Conditions
    held: bytearray = field(default_factory=bytearray)
    version: Version | None = None
    is_cancelled: bool = False
    lock: Lock = field(default_factory=Lock)

    def take(self, said: str | None, body: bytes) -> Version | None:
        """Take a piece; the version when the upload has ended, None while more is to come."""
        with self.lock:
            if self.is_cancelled:
                raise GcsRefusal(499, "clientClosedRequest", "The upload was cancelled.")
            if self.version is not None:
                return self.version
            start, total = _read_range(said, len(body))
            if start is not None:
                self._append(start, body, is_last=total == start + len(body))
            if total is None or len(self.held) < total:
                return None
            self.version = self.bucket.insert(
                self.name, bytes(self.held), self.resource, self.conditions
            )
            return self.version

    def cancel(self) -> None:
        """Give it up."""
        with self.lock:
            self.is_cancelled = True

    def _append(self, start: int, body: bytes, *, is_last: bool) -> None:
        """Keep what is new in a piece. Nothing is kept of a piece that leaves a gap."""
        known = len(self.held) - start
        if known < 0:
            raise GcsRefusal(503, "backendError", f"{-known} bytes before this piece are missing.")
        new = body[known:]
        most = self.bucket.moods.persist_bytes
        if most is not None and len(new) > most:
            new, is_last = new[:most], False
        end = len(self.held) + len(new)
        if not is_last:
            end -= end % CHUNK_BYTES
        self.held += new[: max(0, end - len(self.held))]


class Sessions:
    """All uploads of a server. Thread-safe."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}

    def begin(self, bucket: GcsBucket, name: str, resource: Json, conditions: Conditions) -> str:
        """Begin one; its id."""
        check_name(name)
        word = token()
        self._open[word] = Session(bucket, name, resource, conditions)
        return word

    def find(self, word: str) -> Session:
        """The upload with this id."""
        found = self._open.get(word)
        if found is None:
            raise GcsRefusal(404, "notFound", "There is no such upload session.")
        return found


def _read_range(said: str | None, size_bytes: int) -> tuple[int | None, int | None]:
    """Where a piece begins, None for a question, and how long the whole is, None if unknown."""
    if said is None:
        return 0, size_bytes
    found = _RANGE.fullmatch(said)
    if found is None:
        raise GcsRefusal(400, "invalid", f"Failed to parse Content-Range header: {said}")
    total = None if found[3] == "*" else int(found[3])
    if found[1] is None:
        return None, total
    start, last = int(found[1]), int(found[2])
    if last - start + 1 != size_bytes:
        raise GcsRefusal(400, "invalid", "The length of the content is another one than its range.")
    return start, total
