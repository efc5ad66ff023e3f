"""What a failed request to a bucket says: an answer, a refusal, or that nobody knows."""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The kinds of failures, by what a caller can do."""

    ABSENT = "nothing is there"
    NO_UPLOAD = "the upload is not open"
    TAKEN = "a condition was not met"
    CONFLICT = "another request is at the same name"
    BAD_PART = "a part is not the one that was sent"
    NO_RANGE = "the object has no such bytes"
    REFUSED = "refused, and another try would be too"
    EXPIRED = "the credentials are not accepted any more"
    UNSENT = "nothing happened, and another try may work"
    LOST = "no answer: it may have happened"


ANSWERS = frozenset({Kind.ABSENT, Kind.NO_UPLOAD, Kind.TAKEN, Kind.BAD_PART, Kind.NO_RANGE})
PASSING = frozenset({Kind.CONFLICT, Kind.UNSENT, Kind.LOST})


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed request: its kind, and why, as the end of a sentence."""

    kind: Kind
    why: str

    @property
    def may_have_happened(self) -> bool:
        """True when nobody knows whether the request was carried out."""
        return self.kind is Kind.LOST

    @property
    def wants_new_keys(self) -> bool:
        """True when the same request may be answered once credentials are looked for again."""
        return self.kind is Kind.EXPIRED


class BucketAnswer(Exception):
    """A request was answered with something that its caller expects. Never leaves the stores."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind.value)
        self.kind = kind
