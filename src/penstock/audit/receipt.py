"""The receipt: what an audit found, as plain values for people and programs."""

from typing import Literal

from penstock.model.ranges import OffsetRange
from penstock.model.value import Value

DifferenceKind = Literal["file_missing", "file_size", "file_foreign", "offsets", "counts"]
GivenUpKind = Literal["gap", "seek", "drop"]


class Difference(Value, frozen=True):
    """One thing that is not as the journal says. `file` is empty when it is about offsets only."""

    kind: DifferenceKind
    found: str
    file: str = ""
    ranges: tuple[OffsetRange, ...] = ()
    entry: int = -1


class GivenUp(Value, frozen=True):
    """Offsets that a person gave up by name: never read, or dropped from the quarantine."""

    kind: GivenUpKind
    entry: int
    range: OffsetRange
    offsets: int
    author: str
    reason: str


class PartitionReceipt(Value, frozen=True):
    """What became of the offsets [start, watermark) of one partition of one life of a topic.

    `read` is what Kafka gave; `written`, `quarantined` and `filtered` are where those records are
    now. `empty` offsets held no record; `given_up` were skipped, lost or dropped by a person.
    """

    topic: str
    topic_id: str
    partition: int
    start: int
    watermark: int
    read: int
    written: int
    quarantined: int
    filtered: int
    empty: int
    given_up: int


class Pending(Value, frozen=True):
    """A group that is decided and not proven visible yet; `parked` is the reason, if it waits."""

    entry: int
    dataset: str
    files: int
    rows: int
    parked: str = ""


class Receipt(Value, frozen=True, kw_only=True):
    """The outcome of auditing one feed up to entry `entries - 1`."""

    feed: str
    entries: int
    epoch: int
    windows: int
    partitions: tuple[PartitionReceipt, ...]
    given_up: tuple[GivenUp, ...]
    files: int
    size_bytes: int
    retired_rows: int
    pending: tuple[Pending, ...]
    differences: tuple[Difference, ...]
    notices: tuple[str, ...] = ()

    @property
    def verdict(self) -> Literal["ok", "different"]:
        """`ok` when every offset has its fate and every file is in its place."""
        return "different" if self.differences else "ok"
