"""The envelope of a journal's entries, the same in every book, and the one kind that all share."""

from typing import Generic, TypeVar

from penstock.model.value import Value

GENESIS = "0" * 64  # the `previous` hash of entry 0


class Body(Value, frozen=True, tag_field="kind"):
    """What an entry decides. A book has one class for each of its kinds."""


class Claim(Body, frozen=True, tag="claim"):
    """A new owner with the next epoch. It fences every older epoch."""

    owner: str


B_co = TypeVar("B_co", bound=Body, covariant=True)  # the kinds of a book, without `Claim`


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
    body: B_co | Claim


class Sealed(Value, Generic[B_co], frozen=True):
    """An entry with the hash of its bytes in the journal."""

    entry: Envelope[B_co]
    sha256: str

    @property
    def number(self) -> int:
        """The entry's number in the journal."""
        return self.entry.number

    @property
    def body(self) -> B_co | Claim:
        """What the entry decides."""
        return self.entry.body
