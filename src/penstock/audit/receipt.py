"""The receipt: the result of an audit as plain values."""

from typing import Literal

import msgspec

from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.value import Value

MOST_RUNS = 20  # runs of each kind; more would hide the verdict

DifferenceKind = Literal[
    "journal",
    "file_missing",
    "file_size",
    "file_contents",
    "file_rows",
    "file_foreign",
    "offsets",
    "counts",
    "kafka",
]
GivenUpKind = Literal["gap", "seek", "drop"]
Fate = Literal["missing", "doubled", "foreign", "never_read"]

KAFKA_SIDE = "Kafka"


class Offsets(Value, frozen=True, kw_only=True):
    """Wrong offsets of one partition: the first runs [start, end), and how many more.

    `count` is the number of such offsets: exactly those of the runs. If `among` is true, at least
    `count` of the offsets in the runs are meant, and it is not known which.
    """

    fate: Fate
    topic: str
    partition: int
    count: int
    runs: tuple[tuple[int, int], ...]
    more_runs: int = 0
    among: bool = False

    @classmethod
    def of(
        cls, fate: Fate, topic: str, partition: int, found: OffsetSet, among: int = 0
    ) -> "Offsets":
        """These offsets; with `among`, that many of them."""
        return cls(
            fate=fate,
            topic=topic,
            partition=partition,
            count=among or len(found),
            runs=found.runs[:MOST_RUNS],
            more_runs=max(len(found.runs) - MOST_RUNS, 0),
            among=among > 0,
        )


class Difference(Value, frozen=True):
    """One difference from the journal. `file` is empty when it concerns offsets only."""

    kind: DifferenceKind
    found: str
    file: str = ""
    ranges: tuple[OffsetRange, ...] = ()
    entry: int = -1
    offsets: tuple[Offsets, ...] = ()


class GivenUp(Value, frozen=True):
    """Offsets that an operator gave up: never read, or dropped from the quarantine."""

    kind: GivenUpKind
    entry: int
    range: OffsetRange
    offsets: int
    author: str
    reason: str


class Corrected(Value, frozen=True):
    """Records that a replay delivered with corrected contents: how many, by whom and why."""

    entry: int
    records: int
    author: str
    reason: str


class PartitionReceipt(Value, frozen=True):
    """What became of the offsets [start, watermark) of one partition of one topic id.

    `read` is what Kafka gave; `written`, `quarantined` and `filtered` are where those records are
    now. `empty` offsets had no record; `given_up` were skipped, lost or dropped by an operator.
    `datasets` are the rows that were delivered to each. `extra` are the additional rows of records
    that became several rows: all counts but `read` add up to the offsets plus these.
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
    datasets: dict[str, int] = msgspec.field(default_factory=dict)
    extra: int = 0


class Pending(Value, frozen=True):
    """A group that is decided and not proven visible yet; `parked` is the reason, if parked."""

    entry: int
    dataset: str
    files: int
    rows: int
    parked: str = ""


class Unchecked(Value, frozen=True):
    """Offsets that could not be compared with Kafka, and why."""

    topic: str
    partition: int
    start: int
    end: int
    reason: str


class KafkaReceipt(Value, frozen=True, kw_only=True):
    """The comparison with the source. `agreed` offsets were compared by position and content.

    `skipped` says why nothing was compared at all; it is empty when something was. `source` is
    what was read again, in words.
    """

    agreed: int = 0
    records: int = 0
    unchecked: tuple[Unchecked, ...] = ()
    skipped: str = ""
    source: str = KAFKA_SIDE


class DeepReceipt(Value, frozen=True, kw_only=True):
    """What the deep audit read besides the journal, how long it took, and what was left out.

    `since` and `dataset` are what it was limited to; empty when it was not.
    """

    files: int
    rows: int
    size_bytes: int
    seconds: float
    kafka: KafkaReceipt
    since: str = ""
    dataset: str = ""


class Receipt(Value, frozen=True, kw_only=True):
    """The outcome of auditing one feed up to entry `entries - 1`; `deep` is absent if shallow."""

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
    datasets: dict[str, int] = msgspec.field(default_factory=dict)
    deep: DeepReceipt | None = None
    corrected: tuple[Corrected, ...] = ()

    @property
    def verdict(self) -> Literal["ok", "different"]:
        """`ok` when every offset is accounted for and every file is in its place."""
        return "different" if self.differences else "ok"
