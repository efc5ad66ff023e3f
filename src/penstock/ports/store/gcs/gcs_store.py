"""The store on Google Cloud Storage, and on whatever speaks its JSON API with conditions."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import BinaryIO

from penstock.api.store import ListedObject, OddName, Store, TaggedObject
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.outcome import Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.block_reading import open_object
from penstock.ports.store.gcs.gcs_bucket_rules import gcs_keeps_deleted, gcs_risks_of
from penstock.ports.store.gcs.gcs_clients import GcsClients
from penstock.ports.store.gcs.gcs_failures import GcsAnswer, GcsKind
from penstock.ports.store.gcs.gcs_keys import GcsKeys
from penstock.ports.store.gcs.gcs_probe import probe_conditions
from penstock.ports.store.gcs.gcs_requests import NOTHING, PAGE, GcsListed, GcsRequests
from penstock.ports.store.gcs.gcs_settings import GCS, read_settings
from penstock.ports.store.gcs.gcs_staged import GcsStagedWriter
from penstock.ports.store.gcs.gcs_staging import GcsStaging
from penstock.ports.store.keys import check_component, check_key
from penstock.ports.store.open_store import reopen_store
from penstock.ports.store.probe import probe_promises

AT_ONCE = 16


def open_gcs(spec: StoreSpec) -> "GcsStore":
    """The store in the bucket, and below the prefix, that a spec names. Asks nothing yet."""
    return GcsStore(spec)


class GcsStore:
    """A store below one prefix of one bucket. Safe to share between threads; its spec pickles.

    It is opened without a request, and a process that was forked makes a client of its own.
    """

    def __init__(
        self, spec: StoreSpec, policy: BackOff | None = None, waiting: Waiting | None = None
    ) -> None:
        self._spec = spec
        self._settings = read_settings(spec)
        self._keys = GcsKeys(self._settings.prefix)
        self._requests = GcsRequests(self._settings, GcsClients(self._settings), policy, waiting)
        self._staging = GcsStaging(self._keys, self._requests)

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[object, ...]]:
        return reopen_store, (self._spec,)

    def __repr__(self) -> str:
        return f"GcsStore({self._settings.uri!r})"

    @property
    def kind(self) -> str:
        """`gcs`."""
        return GCS

    @property
    def longest_key_bytes(self) -> int:
        """1,024 bytes without the prefix."""
        return self._keys.longest_bytes

    def uri(self, key: str) -> str:
        """`gs://bucket/key`, not encoded: Spark and pyarrow take it as it is."""
        return f"gs://{self._settings.bucket}/{self._keys.whole(key)}"

    def create(self, key: str, data: bytes) -> bool:
        """Put the object if nothing is there; sent again, the same bytes, while no answer comes."""
        return self._put("create", key, data, None) is not None

    def read(self, key: str) -> bytes | None:
        """The whole content, or None when nothing is there."""
        found = self._requests.get(self._keys.whole(key))
        return None if found is None else found[0]

    def read_tagged(self, key: str) -> TaggedObject | None:
        """The whole content with its generation, or None when nothing is there."""
        found = self._requests.get(self._keys.whole(key))
        return None if found is None else TaggedObject(*found)

    def replace_tagged(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Put the object if what is there has this generation; with None, if nothing is there."""
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
        """Live objects below a directory in the order of whole keys, a page at a time."""
        page = PAGE if limit is None else min(PAGE, limit + 1)  # `after` itself is left out
        found = self._requests.list_keys(self._keys.base(prefix), self._keys.after(after), page)
        return islice(self._legal(found), limit)

    def list_odd(self, prefix: str) -> list[OddName]:
        """Names below a directory that are not keys of a lake, such as those with an empty part.

        The empty objects whose name ends in a slash, which some tools make, stand for folders; no
        reader takes them for data.
        """
        found = self._requests.list_keys(self._keys.base(prefix), "", PAGE)
        odd = [
            each.key for each in found if self._keys.relative(each.key) is None and each.size_bytes
        ]
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
                return f"gs://{self._settings.bucket}/{around}"
        return None

    def open_staged(self, final: str, spot: StagingSpot) -> GcsStagedWriter:
        """Begin a file that is spooled here until `sync` sends it."""
        check_key(spot.prefix)
        check_component(spot.window)
        check_component(spot.attempt)
        self._keys.whole(final)
        return GcsStagedWriter(self._requests, self._keys, final, spot)

    def look(self, handle: StagedHandle) -> Sighting:
        """The staged object by its generation first, then the final one, by metadata and size."""
        return self._staging.look(handle)

    def publish(self, handle: StagedHandle) -> None:
        """Rewrite the staged object to where nothing is, look, and delete the staged one."""
        self._staging.publish(handle)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """As `publish` does each, side by side; the final names that failed."""
        return self._staging.publish_all(handles)

    def list_staged(self, staging: str, data_prefixes: Sequence[str]) -> Iterable[StagedRef]:
        """Every object below the staging prefix that is a staged file."""
        del data_prefixes  # nothing is staged there
        return self._staging.refs(staging)

    def discard(self, ref: StagedRef) -> None:
        """Delete a staged object, the generation that the reference names."""
        self._staging.discard(ref)

    def delete(self, key: str) -> None:
        """Delete an object; some buckets keep what was deleted, and no listing shows that."""
        self._requests.delete(self._keys.whole(key))

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """Delete each, many at once; the keys for which no answer says that it is gone."""
        whole = {key: self._keys.whole(key) for key in keys}

        def attempt(key: str) -> str | None:
            try:
                self._requests.delete(whole[key])
            except (StoreUnavailable, OutcomeUnknown):
                return key
            return None

        with ThreadPoolExecutor(AT_ONCE, "penstock-delete") as threads:
            return {key for key in threads.map(attempt, whole) if key is not None}

    def sweep(self) -> int:
        """Nothing to remove: what is spooled has no name, and staged objects belong to windows."""
        return 0

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Try every promise below a new prefix in `scratch`, and remove what was made."""
        check_key(scratch)
        place = f"{scratch}/{secrets.token_hex(16)}"
        name = self._settings.uri
        try:
            probe_conditions(self._requests, self._keys.whole, name, place)
        finally:
            self.delete_all([each.key for each in self.list_objects(place)])
        probe_promises(self, name, place, for_journal=for_journal)

    def upload_risks(self) -> list[str]:
        """What lifecycle rules, versions and soft deletion of the bucket mean for the lake."""
        return gcs_risks_of(self._requests, self._keys.base(""))

    def deleted_stays(self) -> list[str]:
        """What versions and soft deletion of the bucket mean for what is deleted."""
        return gcs_keeps_deleted(self._requests)

    def _put(self, act: str, key: str, data: bytes, tag: str | None) -> str | None:
        """The generation of what was put; None when something else is there."""
        whole = self._keys.whole(key)
        try:
            return self._requests.insert(act, whole, data, NOTHING if tag is None else tag)
        except GcsAnswer as answer:
            others = {GcsKind.TAKEN} if tag is None else {GcsKind.TAKEN, GcsKind.ABSENT}
            if answer.kind in others:
                return None
            raise self._requests.odd_answer(act, whole, answer) from answer

    def _legal(self, found: Iterator[GcsListed]) -> Iterator[ListedObject]:
        for each in found:
            key = self._keys.relative(each.key)
            if key is not None:
                yield ListedObject(key, each.size_bytes)
