"""What is written beside the journal when a feed halts, for whoever asks later.

It decides nothing. It is about the moment before one entry, so it is void as soon as that entry is
there. The first object has no values of records; the second has samples with their raw bytes.
"""

import msgspec

from penstock.model.broken_groups import BrokenGroup, BrokenRecord
from penstock.model.ranges import OffsetRange
from penstock.model.record_position import Position
from penstock.model.value import Value

HALTED_FORMAT = 1
HALTED_SAMPLES_FORMAT = 1
MOST_RANGES = 1_000
MOST_POSITIONS = 20
LONGEST_TEXT = 10_000


class HaltedPlace(Value, frozen=True):
    """Where in Kafka the cause lies: a topic, a partition of it, or offsets of that."""

    topic: str
    partition: int | None = None
    start: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        if self.partition is None:
            return self.topic
        place = f"{self.topic}/{self.partition}"
        return place if self.start is None else f"{place} [{self.start}, {self.end})"


class HaltedGroup(Value, frozen=True):
    """Broken records with the same fingerprint; `samples` are the positions of some of them."""

    fingerprint: str
    reason: str
    datasets: tuple[str, ...]
    count: int
    first: Position
    last: Position
    samples: tuple[Position, ...] = ()

    @classmethod
    def of(cls, group: BrokenGroup, samples: int) -> "HaltedGroup":
        """A group without values of records, and with the positions of so many samples."""
        positions = tuple(each.position for each in group.samples[:samples])
        facts = (group.fingerprint, group.reason, group.datasets, group.count)
        return cls(*facts, group.first, group.last, positions)


class Halted(Value, frozen=True, kw_only=True):
    """A feed that halted before the entry `number`, in the given epoch.

    since       when it first halted for this cause, before restarts; `at` is this halt
    window      the window that was refused, with its `ranges`; both empty for other causes
    places      where in Kafka the cause lies, if it is about offsets or topics
    reasons     how many records of the window are broken for which reason
    config      a digest of the feed's configuration at that time
    """

    format: int = HALTED_FORMAT
    feed: str
    lake: str
    epoch: int
    number: int
    windows: int
    code: str
    sentence: str
    advice: str
    since: str
    at: str
    owner: str
    window: str = ""
    ranges: tuple[OffsetRange, ...] = ()
    more_ranges: int = 0
    places: tuple[HaltedPlace, ...] = ()
    reasons: dict[str, int] = {}
    groups: tuple[HaltedGroup, ...] = ()
    config: str = ""

    def is_same_cause(self, earlier: "Halted") -> bool:
        """True when an earlier halt had the same cause, so that the feed is halted since then."""
        return self.cause == earlier.cause

    @property
    def cause(self) -> tuple[object, ...]:
        """What stays the same when a feed is started again and halts again."""
        first = self.groups[0].first if self.groups else None
        return self.feed, self.lake, self.code, self.windows, self.places, first

    def with_since(self, since: str) -> "Halted":
        """The same halt, with a cause that was there before."""
        return msgspec.structs.replace(self, since=since)


class HaltedSample(Value, frozen=True):
    """One broken record of the refused window, and the group it belongs to."""

    fingerprint: str
    record: BrokenRecord


class HaltedSamples(Value, frozen=True, kw_only=True):
    """Samples of the window that a feed halted at, with raw bytes; only `errors` shows them."""

    format: int = HALTED_SAMPLES_FORMAT
    feed: str
    lake: str
    epoch: int
    number: int
    samples: tuple[HaltedSample, ...]
