"""The half of the store protocol that is alike for all stores in buckets."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO, Generic, TypeVar

from penstock.api.store import ListedObject, OddName, Store, TaggedObject
from penstock.errors import StoreUnavailable
from penstock.model.outcome import Sighting
from penstock.model.staged import StagedHandle, StagedRef
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.block_reading import open_object
from penstock.ports.store.bucket.bucket_failures import BucketAnswer, Kind
from penstock.ports.store.bucket.bucket_objects import PAGE, BucketObject, BucketObjects
from penstock.ports.store.bucket.bucket_staging import BucketStaging, Place
from penstock.ports.store.keys import check_key
from penstock.ports.store.open_store import reopen_store
from penstock.ports.store.prefixed_keys import PrefixedKeys

P = TypeVar("P", bound=Place)


class BucketStore(ABC, Generic[P]):
    """A store below one prefix of one bucket. Safe to share between threads; its spec pickles.

    It is opened without a request, and a process that was forked makes a client of its own.
    """

    def __init__(
        self,
        spec: StoreSpec,
        prefix: str,
        keys: PrefixedKeys,
        requests: BucketObjects,
        staging: BucketStaging[P],
    ) -> None:
        self._spec = spec
        self._prefix = prefix
        self._keys = keys
        self._requests = requests
        self._staging = staging

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[object, ...]]:
        return reopen_store, (self._spec,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._requests.uri!r})"

    @property
    @abstractmethod
    def scheme(self) -> str:
        """How addresses of this kind of store begin, as Spark and pyarrow know them."""

    @property
    def longest_key_bytes(self) -> int:
        """1,024 bytes without the prefix."""
        return self._keys.longest_bytes

    def uri(self, key: str) -> str:
        """The scheme, the bucket and the key, not encoded: Spark and others take it as it is."""
        return f"{self.scheme}://{self._requests.bucket}/{self._keys.whole(key)}"

    def create(self, key: str, data: bytes) -> bool:
        """Put the object if nothing is there; sent again, the same bytes, while no answer comes."""
        return self._put("create", key, data, None) is not None

    def read(self, key: str) -> bytes | None:
        """The whole content, or None when nothing is there."""
        found = self._requests.get(self._keys.whole(key))
        return None if found is None else found[0]

    def read_tagged(self, key: str) -> TaggedObject | None:
        """The whole content with its tag, or None when nothing is there."""
        found = self._requests.get(self._keys.whole(key))
        return None if found is None else TaggedObject(*found)

    def replace_tagged(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Put the object if what is there has this tag; with None, if nothing is there."""
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
        page = PAGE if limit is None else min(PAGE, limit)
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
        parts = self._prefix.split("/") if self._prefix else []
        for depth in reversed(range(len(parts))):
            around = "".join(f"{part}/" for part in parts[:depth])
            try:
                facts = self._requests.head(f"{around}{key}")
            except StoreUnavailable:
                continue
            if facts is not None:
                return f"{self.scheme}://{self._requests.bucket}/{around}"
        return None

    def look(self, handle: StagedHandle) -> Sighting:
        """What was staged first, then the final object, by metadata and size."""
        return self._staging.look(handle)

    def publish(self, handle: StagedHandle) -> None:
        """Make a staged file visible where nothing is, then look at what is there."""
        self._staging.publish(handle)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """As `publish` does each, side by side; the final names that failed."""
        return self._staging.publish_all(handles)

    def discard(self, ref: StagedRef) -> None:
        """Take a staged file away, the very one that the reference names."""
        self._staging.discard(ref)

    def delete(self, key: str) -> None:
        """Delete an object; some buckets keep what was deleted, and no listing shows that."""
        self._requests.delete(self._keys.whole(key))

    def sweep(self) -> int:
        """Nothing to remove: what is spooled has no name, and staged files belong to windows."""
        return 0

    def _put(self, act: str, key: str, data: bytes, tag: str | None) -> str | None:
        """The tag of what was put; None when something else is there."""
        whole = self._keys.whole(key)
        try:
            return self._requests.put(act, whole, data, tag)
        except BucketAnswer as answer:
            others = {Kind.TAKEN} if tag is None else {Kind.TAKEN, Kind.ABSENT}
            if answer.kind in others:
                return None
            raise self._requests.odd_answer(act, whole, answer) from answer

    def _legal(self, found: Iterator[BucketObject]) -> Iterator[ListedObject]:
        for each in found:
            key = self._keys.relative(each.key)
            if key is not None:
                yield ListedObject(key, each.size_bytes)
