"""What can be asked of the objects of one bucket, whatever speaks to it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.errors import StoreUnavailable
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.block_reading import Piece
from penstock.ports.store.bucket.bucket_failures import BucketAnswer

PAGE = 1000  # keys of a listing in one request


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """What a store says about an object. The tag is another one whenever it was replaced."""

    size_bytes: int
    tag: str
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BucketObject:
    """A live object as a listing shows it. Former and deleted versions are never listed."""

    key: str
    size_bytes: int
    tag: str


class BucketObjects(ABC):
    """The objects of one bucket. Keys are whole here. Safe to share.

    Where nothing else is said, failures are `StoreUnavailable` or `OutcomeUnknown`.
    """

    def __init__(self, bucket: str, uri: str, policy: BackOff, waiting: Waiting) -> None:
        self.bucket = bucket
        self.uri = uri
        self.policy = policy
        self.waiting = waiting

    @abstractmethod
    def put(self, act: str, key: str, data: bytes, tag: str | None) -> str:
        """Put an object where nothing is, or, with a tag, where the object with that tag is.

        The tag of the new object; raises `BucketAnswer`.
        """

    @abstractmethod
    def get(self, key: str) -> tuple[bytes, str] | None:
        """The whole object with its tag; None when nothing is there."""

    @abstractmethod
    def get_range(self, key: str, start: int, length: int, tag: str | None) -> Piece | None:
        """Bytes of an object, fewer at its end; None if nothing is there, or, with a tag, not it.

        An object without bytes has none.
        """

    @abstractmethod
    def head(self, key: str) -> ObjectFacts | None:
        """Size, tag and metadata of an object; None when nothing is there."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Delete an object; nothing happens when nothing is there."""

    @abstractmethod
    def list_keys(self, prefix: str, after: str, page: int) -> Iterator[BucketObject]:
        """Objects with this beginning after another key, in order, page by page."""

    def odd_answer(self, act: str, key: str, answer: BucketAnswer) -> StoreUnavailable:
        """The error for an answer that nobody expects here."""
        why = f"bucket {self.bucket!r} said that {answer.kind.value}, which was not asked"
        return StoreUnavailable(act, key, why)
