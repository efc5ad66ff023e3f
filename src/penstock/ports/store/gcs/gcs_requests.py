"""Requests to one bucket, each tried again while that can help; objects are read and written here.

Nothing is repeated that could act twice: writes name the generation that must be there, and all
else leaves the same behind however often it is done. The client library repeats nothing. Uploads in
pieces are in `gcs_uploads.py`.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import google_crc32c
from google.cloud.storage import Blob, Bucket

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.block_reading import Piece
from penstock.ports.store.gcs.gcs_clients import GcsClient, GcsClients
from penstock.ports.store.gcs.gcs_failures import (
    ANSWERS,
    ERRORS,
    PASSING,
    GcsAnswer,
    GcsFailure,
    GcsKind,
    judge,
    judge_making,
)
from penstock.ports.store.gcs.gcs_settings import GcsSettings
from penstock.ports.store.machine_waiting import real_waiting

RENEWALS = 2
PAGE = 1000  # names of a listing in one request
MOST_CALLS = 10_000  # of one rewrite: each does at least a mebibyte
NOTHING = "0"  # the generation of what is not there
_LISTED = "kind,items(name,size,generation),nextPageToken"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GcsFacts:
    """What the resource of an object says."""

    size_bytes: int
    generation: str
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GcsListed:
    """A live object as a listing shows it. Former and deleted versions are never listed."""

    key: str
    size_bytes: int
    generation: str


class GcsRequests:
    """What is asked of the objects of one bucket. Keys are whole here. Safe to share."""

    def __init__(
        self,
        settings: GcsSettings,
        clients: GcsClients,
        policy: BackOff | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        self.settings = settings
        self.bucket = settings.bucket
        self.policy = policy or BackOff()
        self.waiting = waiting or real_waiting()
        self._clients = clients

    def send(
        self, act: str, key: str, call: Callable[[GcsClient], T], *, changes: bool = False
    ) -> T:
        """Send a request until it is answered.

        Raises `GcsAnswer` for an answer that callers expect, such as that nothing is there;
        `StoreUnavailable` if certainly nothing was changed, else `OutcomeUnknown`.
        """
        until = self.waiting.tick() + self.policy.within_s
        doubt: GcsFailure | None = None
        renewals = RENEWALS
        pauses = list(self.policy.pauses_s(self.waiting.random))
        while True:
            client = self._client(act, key)
            try:
                return call(client)
            except ERRORS as error:
                failure = judge(error, self.bucket, self.settings.endpoint)
                if failure.kind in ANSWERS:
                    raise GcsAnswer(failure.kind) from error
                if failure.may_have_happened and changes:
                    doubt = failure
                if failure.wants_new_keys and renewals and self._clients.can_renew:
                    renewals -= 1
                    self._renew(act, key, client)
                    continue
                is_late = self.waiting.tick() > until
                if failure.kind not in PASSING or not pauses or is_late:
                    raise _given_up(act, key, failure, doubt) from error
            self.waiting.sleep(pauses.pop(0))

    def expect(self, act: str, key: str, call: Callable[[GcsClient], T]) -> T:
        """Send a request that has no answer but its result; what it changes nobody sees yet."""
        try:
            return self.send(act, key, call)
        except GcsAnswer as answer:
            raise self.odd_answer(act, key, answer) from answer

    def insert(
        self, act: str, key: str, data: bytes, found: str, metadata: Mapping[str, str] | None = None
    ) -> str:
        """Put an object where one with this generation is; `NOTHING` where nothing is.

        The generation of the new object; raises `GcsAnswer`. GCS itself checks what arrived: the
        library's own check would delete an object that it doubts.
        """
        checksum = crc32c_of(google_crc32c.Checksum(data))

        def insert(client: GcsClient) -> str:
            blob = self.blob(client, key)
            blob.crc32c = checksum
            if metadata is not None:
                blob.metadata = dict(metadata)
            blob.upload_from_string(
                data, if_generation_match=int(found), checksum=None, **client.options
            )
            return generation_of(blob)

        return self.send(act, key, insert, changes=True)

    def get(self, key: str) -> tuple[bytes, str] | None:
        """The whole object with its generation; None when nothing is there."""

        def get(client: GcsClient) -> tuple[bytes, str]:
            blob = self.blob(client, key)
            data = blob.download_as_bytes(raw_download=True, checksum="crc32c", **client.options)
            return data, generation_of(blob)

        return self._unless_absent("read", key, get)

    def get_range(self, key: str, start: int, length: int, tag: str | None) -> Piece | None:
        """Bytes of an object, fewer at its end; None if nothing is there, or, with a tag, not it.

        An answer does not tell the size of the whole; it is asked for where it is not plain.
        """
        wanted = None if tag is None else int(tag)

        def get(client: GcsClient) -> tuple[bytes, str]:
            blob = self.blob(client, key)
            data = blob.download_as_bytes(
                start=start,
                end=start + length - 1,
                raw_download=True,
                checksum=None,
                if_generation_match=wanted,
                **client.options,
            )
            return data, generation_of(blob)

        try:
            data, generation = self.send("read", key, get)
        except GcsAnswer as answer:
            if answer.kind in (GcsKind.ABSENT, GcsKind.TAKEN):
                return None
            facts = self.head(key) if answer.kind is GcsKind.NO_RANGE else None
            if facts is None or facts.size_bytes > start:
                raise self.odd_answer("read", key, answer) from answer
            return Piece(b"", facts.size_bytes, facts.generation)
        if tag is not None or len(data) < length:
            return Piece(data, start + len(data), generation)
        facts = self.head(key)
        if facts is None or facts.generation != generation:
            raise StoreUnavailable("read", key, "it was replaced or removed while it was read")
        return Piece(data, facts.size_bytes, generation)

    def head(self, key: str) -> GcsFacts | None:
        """Size, generation and metadata of an object; None when nothing is there."""

        def head(client: GcsClient) -> GcsFacts:
            blob = self.blob(client, key)
            blob.reload(**client.options)
            return GcsFacts(int(blob.size), generation_of(blob), blob.metadata or {})

        return self._unless_absent("look at", key, head)

    def delete(self, key: str, generation: str | None = None) -> None:
        """Delete an object, only this generation of it if one is named.

        Nothing happens when nothing is there, or, with a generation, something else.
        """
        wanted = None if generation is None else int(generation)

        def delete(client: GcsClient) -> None:
            self.blob(client, key).delete(if_generation_match=wanted, **client.options)

        try:
            self.send("delete", key, delete, changes=True)
        except GcsAnswer as answer:
            gone = {GcsKind.ABSENT} if generation is None else {GcsKind.ABSENT, GcsKind.TAKEN}
            if answer.kind not in gone:
                raise self.odd_answer("delete", key, answer) from answer

    def rewrite(
        self, source: str, target: str, generation: str, metadata: Mapping[str, str]
    ) -> None:
        """Copy this generation of an object to where nothing is. Raises `GcsAnswer`.

        One call, unless the storage class of the bucket has changed meanwhile. Between calls the
        source is looked at: what somebody else has published and consumed must not come back.
        """
        token: str | None = None
        for _ in range(MOST_CALLS):
            if token is not None:
                facts = self.head(source)
                if facts is None or facts.generation != generation:
                    raise GcsAnswer(GcsKind.ABSENT)
            token = self._rewrite_some(source, target, generation, metadata, token)
            if token is None:
                return
        raise StoreUnavailable("publish", target, f"it was not copied by {MOST_CALLS} requests")

    def _rewrite_some(
        self,
        source: str,
        target: str,
        generation: str,
        metadata: Mapping[str, str],
        token: str | None,
    ) -> str | None:
        """One call; the token for the next one, None when the new object is there."""

        def rewrite(client: GcsClient) -> str | None:
            blob = self.blob(client, target)
            blob.metadata = dict(metadata)
            # Without the generation in the source itself: by that, GCS would also copy a version
            # that was deleted, where the bucket keeps those.
            found, _done_bytes, _size_bytes = blob.rewrite(
                self.blob(client, source),
                token=token,
                if_generation_match=0,
                if_source_generation_match=int(generation),
                **client.options,
            )
            return None if found is None else str(found)

        return self.send("publish", target, rewrite, changes=True)

    def list_keys(self, prefix: str, after: str, page: int) -> Iterator[GcsListed]:
        """Live objects with this beginning after another key, in order, page by page."""
        token: str | None = None
        while True:
            found, token = self._page(prefix, after, token, page)
            yield from found
            if not token:
                return

    def _page(
        self, prefix: str, after: str, token: str | None, most: int
    ) -> tuple[list[GcsListed], str | None]:
        def page(client: GcsClient) -> tuple[list[GcsListed], str | None]:
            listing = client.client.list_blobs(
                client.bucket,
                prefix=prefix or None,
                start_offset=after or None,
                page_token=token,
                page_size=most,
                fields=_LISTED,
                **client.options,
            )
            first = next(listing.pages)
            first.raw_page["kind"]  # an answer without it is not a whole one
            found = [GcsListed(each.name, int(each.size), generation_of(each)) for each in first]
            # It begins at the key, which is itself left out.
            return [each for each in found if each.key != after], listing.next_page_token

        return self.expect("list", prefix, page)

    def bucket_facts(self) -> Bucket:
        """The settings of the bucket. Raises `StoreUnavailable`, also where it may not be read."""

        def get(client: GcsClient) -> Bucket:
            client.bucket.reload(**client.options)
            return client.bucket

        return self.expect("read the settings of", self.bucket, get)

    def blob(self, client: GcsClient, key: str) -> Blob:
        """An object of the bucket as the library names it; asks nothing."""
        return client.bucket.blob(key, kms_key_name=self.settings.kms_key or None)

    def _unless_absent(self, act: str, key: str, call: Callable[[GcsClient], T]) -> T | None:
        """The answer; None when it is that nothing is there."""
        try:
            return self.send(act, key, call)
        except GcsAnswer as answer:
            if answer.kind is GcsKind.ABSENT:
                return None
            raise self.odd_answer(act, key, answer) from answer

    def odd_answer(self, act: str, key: str, answer: GcsAnswer) -> StoreUnavailable:
        """The error for an answer that nobody expects here."""
        why = f"bucket {self.bucket!r} said that {answer.kind.value}, which was not asked"
        return StoreUnavailable(act, key, why)

    def _client(self, act: str, key: str) -> GcsClient:
        try:
            return self._clients.current()
        except (*ERRORS, OSError) as error:
            why = judge_making(error, self.bucket).why
            raise StoreUnavailable(act, key, why) from error

    def _renew(self, act: str, key: str, stale: GcsClient) -> None:
        try:
            self._clients.renew(stale)
        except (*ERRORS, OSError) as error:
            why = judge_making(error, self.bucket).why
            raise StoreUnavailable(act, key, why) from error


def generation_of(blob: Blob) -> str:
    """The generation that an answer named. Raises `KeyError` when it was not a whole one."""
    found = blob.generation
    if found is None:
        raise KeyError("generation")
    return str(found)


def crc32c_of(checksum: google_crc32c.Checksum) -> str:
    """A checksum as GCS writes it."""
    return base64.b64encode(checksum.digest()).decode()


def _given_up(act: str, key: str, failure: GcsFailure, doubt: GcsFailure | None) -> Exception:
    if doubt is not None:
        return OutcomeUnknown(act, key, doubt.why)
    if failure.kind is GcsKind.CONFLICT:
        return GcsAnswer(GcsKind.CONFLICT)
    return StoreUnavailable(act, key, failure.why)
