"""The store on S3, and on whatever speaks its API with conditional writes."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO

from penstock.api.store import ListedObject, OddName, Store, TaggedObject
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.outcome import Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.block_reading import open_object
from penstock.ports.store.keys import check_component, check_key
from penstock.ports.store.open_store import reopen_store
from penstock.ports.store.probe import probe_promises
from penstock.ports.store.s3.s3_bucket_rules import risk_of_versions, risks_of
from penstock.ports.store.s3.s3_clients import Clients
from penstock.ports.store.s3.s3_failures import Kind, S3Answer
from penstock.ports.store.s3.s3_keys import Keys
from penstock.ports.store.s3.s3_probe import probe_uploads
from penstock.ports.store.s3.s3_requests import PAGE, Requests
from penstock.ports.store.s3.s3_settings import S3, read_settings
from penstock.ports.store.s3.s3_staged import S3StagedWriter
from penstock.ports.store.s3.s3_staging import S3Staging
from penstock.ports.store.s3.s3_uploads import Uploads


def open_s3(spec: StoreSpec) -> "S3Store":
    """The store in the bucket, and below the prefix, that a spec names. Asks nothing yet."""
    return S3Store(spec)


class S3Store:
    """A store below one prefix of one bucket. Safe to share between threads; its spec pickles.

    It is opened without a request, and a process that was forked makes a client of its own.
    """

    def __init__(
        self, spec: StoreSpec, policy: BackOff | None = None, waiting: Waiting | None = None
    ) -> None:
        self._spec = spec
        self._settings = read_settings(spec)
        self._keys = Keys(self._settings.prefix)
        self._requests = Requests(self._settings, Clients(self._settings), policy, waiting)
        self._uploads = Uploads(self._requests)
        self._staging = S3Staging(self._keys, self._requests, self._uploads)

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[object, ...]]:
        return reopen_store, (self._spec,)

    def __repr__(self) -> str:
        return f"S3Store({self._settings.uri!r})"

    @property
    def kind(self) -> str:
        """`s3`."""
        return S3

    @property
    def longest_key_bytes(self) -> int:
        """1,024 bytes without the prefix."""
        return self._keys.longest_bytes

    def uri(self, key: str) -> str:
        """`s3://bucket/key`, not encoded: Spark and DuckDB take it as it is."""
        return f"s3://{self._settings.bucket}/{self._keys.whole(key)}"

    def create(self, key: str, data: bytes) -> bool:
        """Put the object if nothing is there; sent again, the same bytes, while no answer comes."""
        return self._put("create", key, data, None) is not None

    def read(self, key: str) -> bytes | None:
        """The whole content, or None when nothing is there."""
        found = self._requests.get(self._keys.whole(key))
        return None if found is None else found[0]

    def read_tagged(self, key: str) -> TaggedObject | None:
        """The whole content with its ETag, or None when nothing is there."""
        found = self._requests.get(self._keys.whole(key))
        return None if found is None else TaggedObject(*found)

    def replace_tagged(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Put the object if what is there has this ETag; with None, if nothing is there."""
        return self._put("replace", key, data, tag)

    def open_read(self, key: str) -> BinaryIO | None:
        """The content as a file, fetched in large ranges, or None when nothing is there."""
        return open_object(self._requests, self._keys.whole(key))

    def head(self, key: str) -> int | None:
        """The size in bytes, or None when nothing is there."""
        facts = self._requests.head(self._keys.whole(key))
        return None if facts is None else facts.size_bytes

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        """Objects below a directory in the order of whole keys, a page at a time."""
        page = PAGE if limit is None else min(PAGE, limit)
        found = self._requests.list_keys(self._keys.base(prefix), self._keys.after(after), page)
        return islice(self._legal(found), limit)

    def list_odd(self, prefix: str) -> list[OddName]:
        """Keys below a directory that are not names in a lake, such as those with an empty part.

        The empty objects whose key ends in a slash, which some tools make, stand for folders; no
        reader takes them for data.
        """
        found = self._requests.list_keys(self._keys.base(prefix), "", PAGE)
        odd = [key for key, size_bytes in found if self._keys.relative(key) is None and size_bytes]
        root = self._keys.base("")
        return [OddName(key.removeprefix(root), "a key with an empty part") for key in odd]

    def place_around(self, key: str) -> str | None:
        """The nearest prefix around this one, or the bucket, in which an object has this key.

        A user whose rights end at the own prefix is refused there, and sees nothing.
        """
        check_key(key)
        parts = self._settings.prefix.split("/") if self._settings.prefix else []
        for depth in reversed(range(len(parts))):
            around = "".join(f"{part}/" for part in parts[:depth])
            try:
                facts = self._requests.head(f"{around}{key}")
            except StoreUnavailable:
                continue
            if facts is not None:
                return f"s3://{self._settings.bucket}/{around}"
        return None

    def open_staged(self, final: str, spot: StagingSpot) -> S3StagedWriter:
        """Begin a file that is spooled here until `sync` sends it."""
        check_key(spot.prefix)
        check_component(spot.window)
        check_component(spot.attempt)
        whole = self._keys.whole(final)
        return S3StagedWriter(self._uploads, final, whole, spot, self._settings.part_size_bytes)

    def look(self, handle: StagedHandle) -> Sighting:
        """The parts of the upload first, then the object, by metadata and size."""
        return self._staging.look(handle)

    def publish(self, handle: StagedHandle) -> None:
        """Complete the upload if nothing is at its key, then look at what is there."""
        self._staging.publish(handle)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """As `publish` does each, side by side; the final names that failed."""
        return self._staging.publish_all(handles)

    def list_staged(self, staging: str, data_prefixes: Sequence[str]) -> Iterator[StagedRef]:
        """Every open upload under the data prefixes; uploads without a window are strangers."""
        return self._staging.refs(staging, data_prefixes)

    def discard(self, ref: StagedRef) -> None:
        """Abort an upload, until none of its parts is left."""
        self._staging.discard(ref)

    def delete(self, key: str) -> None:
        """Delete an object; a versioned bucket keeps the former version."""
        self._requests.delete(self._keys.whole(key))

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """A thousand in one request; the keys for which the answer does not say that it is gone."""
        whole = {self._keys.whole(key): key for key in keys}
        asked = list(whole)
        left: set[str] = set()
        for start in range(0, len(asked), PAGE):
            some = asked[start : start + PAGE]
            try:
                left |= self._requests.delete_many(some)
            except (StoreUnavailable, OutcomeUnknown):
                left |= set(some)
        return {whole[key] for key in left}

    def sweep(self) -> int:
        """Nothing to remove: what is spooled has no name, and open uploads belong to windows."""
        return 0

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Try every promise below a new prefix in `scratch`, and remove what was made."""
        check_key(scratch)
        place = f"{scratch}/{secrets.token_hex(16)}"
        name = self._settings.uri
        probe_promises(self, name, place, for_journal=for_journal)
        probe_uploads(self, self._uploads, self._keys.whole, name, place)

    def upload_risks(self) -> list[str]:
        """What lifecycle rules and versions of the bucket mean for the lake."""
        return risks_of(self._requests, self._keys.base(""))

    def deleted_stays(self) -> list[str]:
        """What versions of the bucket mean for what is deleted."""
        return risk_of_versions(self._requests)

    def _put(self, act: str, key: str, data: bytes, tag: str | None) -> str | None:
        """The tag of what was put; None when something else is there."""
        whole = self._keys.whole(key)
        try:
            return self._requests.put(act, whole, data, tag)
        except S3Answer as answer:
            others = {Kind.TAKEN} if tag is None else {Kind.TAKEN, Kind.ABSENT}
            if answer.kind in others:
                return None
            raise self._requests.odd_answer(act, whole, answer) from answer

    def _legal(self, found: Iterator[tuple[str, int]]) -> Iterator[ListedObject]:
        for whole, size_bytes in found:
            key = self._keys.relative(whole)
            if key is not None:
                yield ListedObject(key, size_bytes)
