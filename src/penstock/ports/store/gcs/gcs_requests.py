"""Requests to one bucket of GCS about whole objects; uploads in pieces are in `gcs_uploads.py`.

Writes name the generation that must be there, which is the tag of an object here.
"""

import base64
from collections.abc import Iterator, Mapping

import google_crc32c
from google.cloud.storage import Blob, Bucket

from penstock.errors import StoreUnavailable
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.block_reading import Piece
from penstock.ports.store.bucket.bucket_failures import BucketAnswer, Failure, Kind
from penstock.ports.store.bucket.bucket_objects import PAGE, BucketObject, ObjectFacts
from penstock.ports.store.bucket.bucket_requests import BucketRequests
from penstock.ports.store.gcs.gcs_clients import GcsClient, gcs_clients
from penstock.ports.store.gcs.gcs_failures import CLIENT_ERRORS, ERRORS, judge, judge_making
from penstock.ports.store.gcs.gcs_settings import GcsSettings

MOST_CALLS = 10_000  # of one rewrite: each does at least a mebibyte
NOTHING = "0"  # the generation of what is not there
_LISTED = "kind,items(name,size,generation),nextPageToken"


class GcsRequests(BucketRequests[GcsClient]):
    """What is asked of the objects of one bucket. Keys are whole here. Safe to share."""

    def __init__(
        self, settings: GcsSettings, policy: BackOff | None = None, waiting: Waiting | None = None
    ) -> None:
        clients = gcs_clients(settings)
        super().__init__(
            settings.bucket, settings.uri, clients, ERRORS, CLIENT_ERRORS, policy, waiting
        )
        self.settings = settings

    def put(self, act: str, key: str, data: bytes, tag: str | None) -> str:
        """Put an object where nothing is, or where this generation is; that of the new one."""
        return self.insert(act, key, data, NOTHING if tag is None else tag)

    def insert(
        self, act: str, key: str, data: bytes, found: str, metadata: Mapping[str, str] | None = None
    ) -> str:
        """Put an object where one with this generation is; `NOTHING` where nothing is.

        The generation of the new object; raises `BucketAnswer`. GCS itself checks what arrived: the
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

        return self.unless_absent("read", key, get)

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
        except BucketAnswer as answer:
            if answer.kind in (Kind.ABSENT, Kind.TAKEN):
                return None
            facts = self.head(key) if answer.kind is Kind.NO_RANGE else None
            if facts is None or facts.size_bytes > start:
                raise self.odd_answer("read", key, answer) from answer
            return Piece(b"", facts.size_bytes, facts.tag)
        if tag is not None or len(data) < length:
            return Piece(data, start + len(data), generation)
        facts = self.head(key)
        if facts is None or facts.tag != generation:
            raise StoreUnavailable("read", key, "it was replaced or removed while it was read")
        return Piece(data, facts.size_bytes, generation)

    def head(self, key: str) -> ObjectFacts | None:
        """Size, generation and metadata of an object; None when nothing is there."""

        def head(client: GcsClient) -> ObjectFacts:
            blob = self.blob(client, key)
            blob.reload(**client.options)
            return ObjectFacts(int(blob.size), generation_of(blob), blob.metadata or {})

        return self.unless_absent("look at", key, head)

    def delete(self, key: str, generation: str | None = None) -> None:
        """Delete an object, only this generation of it if one is named.

        Nothing happens when nothing is there, or, with a generation, something else.
        """
        wanted = None if generation is None else int(generation)

        def delete(client: GcsClient) -> None:
            self.blob(client, key).delete(if_generation_match=wanted, **client.options)

        try:
            self.send("delete", key, delete, changes=True)
        except BucketAnswer as answer:
            gone = {Kind.ABSENT} if generation is None else {Kind.ABSENT, Kind.TAKEN}
            if answer.kind not in gone:
                raise self.odd_answer("delete", key, answer) from answer

    def rewrite(
        self, source: str, target: str, generation: str, metadata: Mapping[str, str]
    ) -> None:
        """Copy this generation of an object to where nothing is. Raises `BucketAnswer`.

        One call, unless the storage class of the bucket has changed meanwhile. Between calls the
        source is looked at: what somebody else has published and consumed must not come back.
        """
        token: str | None = None
        for _ in range(MOST_CALLS):
            if token is not None:
                facts = self.head(source)
                if facts is None or facts.tag != generation:
                    raise BucketAnswer(Kind.ABSENT)
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

    def list_keys(self, prefix: str, after: str, page: int) -> Iterator[BucketObject]:
        """Live objects with this beginning after another key, in order, page by page."""
        most = min(page + 1, PAGE) if after else page  # the other key itself comes, too
        token: str | None = None
        while True:
            found, token = self._page(prefix, after, token, most)
            yield from found
            if not token:
                return

    def _page(
        self, prefix: str, after: str, token: str | None, most: int
    ) -> tuple[list[BucketObject], str | None]:
        def page(client: GcsClient) -> tuple[list[BucketObject], str | None]:
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
            found = [BucketObject(each.name, int(each.size), generation_of(each)) for each in first]
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

    def _judge(self, error: Exception, client: GcsClient) -> Failure:
        del client  # it has the address of the settings
        return judge(error, self.bucket, self.settings.endpoint)

    def _judge_making(self, error: Exception) -> Failure:
        return judge_making(error, self.bucket)


def generation_of(blob: Blob) -> str:
    """The generation that an answer named. Raises `KeyError` when it was not a whole one."""
    found = blob.generation
    if found is None:
        raise KeyError("generation")
    return str(found)


def crc32c_of(checksum: google_crc32c.Checksum) -> str:
    """A checksum as GCS writes it."""
    return base64.b64encode(checksum.digest()).decode()
