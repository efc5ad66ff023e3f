"""A window before it is decided: what there is to read, what was asked for, what was staged."""

from collections.abc import Mapping

import msgspec

from penstock.model.entries import LastRecord
from penstock.model.evidence import RangeEvidence
from penstock.model.manifest import ManifestFile, RecordSet
from penstock.model.ranges import OffsetRange
from penstock.model.staged import StagingSpot
from penstock.model.value import Value

Place = tuple[str, int]  # a partition by its topic's name and its number


class PartitionOffsets(Value, frozen=True):
    """What a partition holds: [earliest, latest), read-committed.

    `up_to` is where reading shall end, although the log may go on; None: nowhere before its end.
    """

    earliest: int
    latest: int
    up_to: int | None = None

    @property
    def end(self) -> int:
        """Where there is nothing more to read."""
        return self.latest if self.up_to is None else min(self.latest, self.up_to)


class TopicOffsets(Value, frozen=True):
    """One topic as the cluster describes it now."""

    topic: str
    topic_id: str
    partitions: dict[int, PartitionOffsets]


class Available(Value, frozen=True):
    """What there is to read, with the identity of where it lies.

    `unreadable` are partitions that are there and cannot be read now, with why; they are not among
    the `topics`' partitions, and their watermarks stand.
    """

    cluster_id: str
    topics: tuple[TopicOffsets, ...]
    unreadable: dict[Place, str] = {}

    def without(self, held: Mapping[Place, str]) -> "Available":
        """The same, with these partitions among the unreadable ones."""
        if not held:
            return self
        topics = tuple(
            msgspec.structs.replace(
                topic,
                partitions={
                    partition: offsets
                    for partition, offsets in topic.partitions.items()
                    if (topic.topic, partition) not in held
                },
            )
            for topic in self.topics
        )
        return Available(self.cluster_id, topics, self.unreadable | dict(held))


class StageOrder(Value, frozen=True):
    """What the tasks are asked to do. Travels in the closure, so it must stay small.

    `planned_s` is the time of the plan: times far ahead of it are not believed, by any attempt.
    `largest_bytes` is the size of the largest record of recent windows, 0 if nobody knows.
    `decided`: an entry names the window already, and so perhaps files that are staged for it.
    """

    feed: str
    window: str
    staging: str
    ranges: tuple[OffsetRange, ...]
    generation: int = 0
    planned_s: float = 0.0
    largest_bytes: int = 0
    decided: bool = False

    def spot(self, attempt: str) -> StagingSpot:
        """Where one attempt of one task may write."""
        return StagingSpot(self.staging, self.window, attempt)


class StagedWindow(Value, frozen=True):
    """The manifest rows of the successful attempts, and nothing of the others.

    `reasons` says how many records went to the quarantine for which reason, and `misfits` how many
    of each dataset because of a schema that cannot be merged with the dataset's. Of a replay,
    `tried` says how many quarantined records were read, and `delivered` which are in the files.
    """

    files: tuple[ManifestFile, ...] = ()
    evidence: tuple[RangeEvidence, ...] = ()
    quarantined: tuple[RecordSet, ...] = ()
    last_records: tuple[LastRecord, ...] = ()
    schemas: dict[str, int] = {}
    read_bytes: int = 0
    largest_bytes: int = 0
    reasons: dict[str, int] = {}
    misfits: dict[str, int] = {}
    tried: int = 0
    delivered: tuple[RecordSet, ...] = ()
