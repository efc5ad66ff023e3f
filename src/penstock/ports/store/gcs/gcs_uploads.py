"""Sending a whole staged file: in one request when it is small, else in pieces by a session.

A session is asked how much it has before anything is sent to it again. Its address is a key to it,
so it is kept in memory only, and what was begun and not ended shows nothing to anybody.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import requests
from google.api_core.exceptions import from_http_response

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.ports.store.bucket.bucket_failures import BucketAnswer, Kind
from penstock.ports.store.gcs.gcs_clients import GcsClient
from penstock.ports.store.gcs.gcs_requests import NOTHING, GcsRequests
from penstock.ports.store.gcs.gcs_settings import MIB

AT_ONCE_BYTES = MIB  # a file of this size is sent in one request
SESSIONS = 3  # each begins again from the start
STEPS_WITHOUT_PROGRESS = 5
_HELD = re.compile(r"bytes=0-(\d+)")
_INCOMPLETE = 308
_NO_SESSION = (404, 410)
_ACT = "stage"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A file that is to be sent: its name, what it will say, and how it is read."""

    key: str
    metadata: Mapping[str, str]
    size_bytes: int
    crc32c: str
    read: Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The object that a file became, and how many requests that took."""

    generation: str
    sent: int


class GcsUploads:
    """Sends files to one bucket. Safe to share."""

    def __init__(self, asks: GcsRequests) -> None:
        self._requests = asks

    def upload(self, file: Outgoing) -> Uploaded:
        """Make an object of a file where nothing is. An earlier try of ours is recognised."""
        try:
            if file.size_bytes <= AT_ONCE_BYTES:
                data = file.read(0, file.size_bytes)
                made = self._requests.insert(_ACT, file.key, data, NOTHING, file.metadata)
                return Uploaded(made, 1)
            return self._in_pieces(file)
        except BucketAnswer as answer:
            if answer.kind is not Kind.TAKEN:
                raise self._requests.odd_answer(_ACT, file.key, answer) from answer
            return Uploaded(self._recognised(file), 2)

    def _recognised(self, file: Outgoing) -> str:
        """The generation of what is there, if it is this file."""
        facts = self._requests.head(file.key)
        if facts is not None and facts.metadata == file.metadata:
            return facts.tag
        raise StoreUnavailable(_ACT, file.key, "another file was staged under this name")

    def _in_pieces(self, file: Outgoing) -> Uploaded:
        sent = 0
        for _ in range(SESSIONS):
            session = _Session(self._requests, file, self._begin(file))
            sent += 1
            while True:
                before = session.sent
                try:
                    generation = session.step()
                except BucketAnswer as answer:
                    if answer.kind not in (Kind.NO_UPLOAD, Kind.ABSENT):
                        raise
                    break  # its place has forgotten it
                finally:
                    sent += session.sent - before
                if generation is not None:
                    return Uploaded(generation, sent)
        raise OutcomeUnknown(_ACT, file.key, f"{SESSIONS} uploads of it were forgotten")

    def _begin(self, file: Outgoing) -> str:
        """Open a session; its address. One whose answer was lost is forgotten by its place."""

        def begin(client: GcsClient) -> str:
            blob = self._requests.blob(client, file.key)
            blob.crc32c = file.crc32c
            blob.metadata = dict(file.metadata)
            return str(
                blob.create_resumable_upload_session(
                    content_type="application/octet-stream",
                    size=file.size_bytes,
                    checksum=None,
                    if_generation_match=int(NOTHING),
                    **client.options,
                )
            )

        return self._requests.send(_ACT, file.key, begin)


class _Session:
    """One upload that is under way. Used by one thread."""

    def __init__(self, asks: GcsRequests, file: Outgoing, address: str) -> None:
        self._requests = asks
        self._file = file
        self._address = address
        self._held = 0  # bytes that its place has said it has
        self._is_sure = True  # that this is still so
        self._idle = 0
        self.sent = 0

    def step(self) -> str | None:
        """Send the next piece; the generation of the object once that was the last one."""
        before = self._held
        generation = self._requests.send(_ACT, self._file.key, self._move, changes=True)
        self._idle = 0 if self._held > before else self._idle + 1
        if generation is None and self._idle > STEPS_WITHOUT_PROGRESS:
            raise OutcomeUnknown(_ACT, self._file.key, "its upload does not advance")
        return generation

    def _move(self, client: GcsClient) -> str | None:
        """Ask how far it is, if that is not certain, and send what comes next."""
        if not self._is_sure:
            generation = self._put(client, f"bytes */{self._file.size_bytes}", b"")
            if generation is not None:
                return generation
        size_bytes = self._file.size_bytes
        length = min(self._requests.settings.chunk_bytes, size_bytes - self._held)
        piece = self._file.read(self._held, length)
        said = f"bytes {self._held}-{self._held + length - 1}/{size_bytes}"
        return self._put(client, said, piece)

    def _put(self, client: GcsClient, content_range: str, piece: bytes) -> str | None:
        self._is_sure = False
        self.sent += 1
        answer = client.session.put(
            self._address,
            data=piece,
            headers={"Content-Range": content_range},
            timeout=client.timeout_s,
            allow_redirects=False,
        )
        if answer.status_code == _INCOMPLETE:
            self._held = _held_by(answer)
            self._is_sure = True
            return None
        if answer.status_code in _NO_SESSION:
            raise BucketAnswer(Kind.NO_UPLOAD)
        if not answer.ok:
            raise from_http_response(answer)
        return str(answer.json()["generation"])


def _held_by(answer: requests.Response) -> int:
    """How many bytes a session has; without a range it has none."""
    found = _HELD.fullmatch(answer.headers.get("Range", ""))
    return 0 if found is None else int(found[1]) + 1
