"""The envelope of a journal's entries, the same in every book, and the kinds that all share."""

from typing import Generic, TypeAlias, TypeVar

from penstock.model.value import Value

GENESIS = "0" * 64  # the `previous` hash of entry 0


class Body(Value, frozen=True, tag_field="kind"):
    """What an entry decides. A book has one class for each of its kinds."""


class Claim(Body, frozen=True, tag="claim"):
    """A new owner with the next epoch. It fences every older epoch."""

    owner: str


class Seal(Body, frozen=True, tag="seal"):
    """The entries `first` to `last`, and their markers, lie in a segment and only there.

    `key` and `sha256` are those of the segment. What lies elsewhere under these numbers counts for
    nothing, since this was decided.
    """

    first: int
    last: int
    key: str
    sha256: str


Common: TypeAlias = Claim | Seal  # the kinds that the journal itself judges and folds

B_co = TypeVar("B_co", bound=Body, covariant=True)  # the kinds of a book, without those


class Envelope(Value, Generic[B_co], frozen=True, kw_only=True):
    """One numbered decision. `previous` is the hash of the entry before, `nonce` is random."""

    format: int
    number: int
    feed: str
    lake: str
    incarnation: int
    epoch: int
    nonce: str
    previous: str
    at: str
    body: B_co | Common


class Sealed(Value, Generic[B_co], frozen=True):
    """An entry with the hash of its bytes in the journal."""

    entry: Envelope[B_co]
    sha256: str

    @property
    def number(self) -> int:
        """The entry's number in the journal."""
        return self.entry.number

    @property
    def body(self) -> B_co | Common:
        """What the entry decides."""
        return self.entry.body
