"""A window before it is decided: what can be read, the plan, and what was staged."""

from collections.abc import Mapping

import msgspec

from penstock.model.broken_groups import BrokenGroup
from penstock.model.entries import LastRecord
from penstock.model.evidence import RangeEvidence
from penstock.model.file_groups import FileGroup, FilePlan, file_groups
from penstock.model.manifest import ManifestFile, RecordSet
from penstock.model.ranges import OffsetRange
from penstock.model.read_ways import ReadWays
from penstock.model.staged import StagingSpot
from penstock.model.value import Value
from penstock.model.window_cost import TaskSpent

Place = tuple[str, int]  # a partition by its topic's name and its number


class PartitionOffsets(Value, frozen=True):
    """The offsets of a partition: [earliest, latest), read-committed.

    `up_to` is where reading should end before the end of the log; None: at the end of the log.
    """

    earliest: int
    latest: int
    up_to: int | None = None

    @property
    def end(self) -> int:
        """Where reading ends."""
        return self.latest if self.up_to is None else min(self.latest, self.up_to)


class TopicOffsets(Value, frozen=True):
    """One topic as it is in the cluster now."""

    topic: str
    topic_id: str
    partitions: dict[int, PartitionOffsets]


class Available(Value, frozen=True):
    """What can be read, with the identity of the source.

    `unreadable` are existing partitions that cannot be read now, with the reason; they are not in
    the partitions of `topics`, and their watermarks do not move.
    """

    cluster_id: str
    topics: tuple[TopicOffsets, ...]
    unreadable: dict[Place, str] = {}

    def without(self, held: Mapping[Place, str]) -> "Available":
        """A copy with these partitions marked as unreadable."""
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
    """The order for the tasks of a window. It is part of the closure, so it must stay small.

    `planned_s` is the time of the plan; every attempt refuses event times far after it.
    `largest_bytes` is the size of the largest record of recent windows, 0 if it is not known.
    `record_bytes` is the mean size of a record of recent windows, likewise.
    `decided`: an entry already names the window, and perhaps files that are staged for it. Then
    `schemas` and `reading` are the versions that the entry records. None: the newest.
    `file_plan` says how the rows of the window are laid out in files. Where only some groups of it
    are read, `some_groups` are these, and `ranges` are theirs.
    """

    feed: str
    window: str
    staging: str
    ranges: tuple[OffsetRange, ...]
    generation: int = 0
    planned_s: float = 0.0
    largest_bytes: int = 0
    decided: bool = False
    schemas: dict[str, int] | None = None
    reading: dict[str, int] = {}
    record_bytes: float = 0.0
    file_plan: FilePlan = FilePlan()
    some_groups: tuple[FileGroup, ...] = ()

    @property
    def groups(self) -> tuple[FileGroup, ...]:
        """The file groups that are read."""
        return self.some_groups or file_groups(self.ranges, self.file_plan)

    def spot(self, attempt: str) -> StagingSpot:
        """Where one attempt of one task may write."""
        return StagingSpot(self.staging, self.window, attempt)


class StagedWindow(Value, frozen=True):
    """The files and evidence of the successful attempts, and nothing of the others.

    `reasons` counts quarantined records by reason, and `misfits` by dataset those whose schema
    cannot be merged with the dataset's. For a replay, `tried` is the number of quarantined records
    that were read, and `delivered` are those in the files. `ways` says by dataset how records were
    read. `broken` are the quarantined records by group, within bounds; `new_types` counts the
    datasets that were not known before this window, with those that there was no room for.
    `schemas` are the versions of its files; `reading` those that their records were read with, if
    they were converted. `spent` says by topic and dataset what it took; empty: nobody counted.
    `kept` are values that plug-ins keep with the window. `refused` counts quarantined records by
    dataset and reason.
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
    ways: tuple[ReadWays, ...] = ()
    broken: tuple[BrokenGroup, ...] = ()
    new_types: int = 0
    reading: dict[str, int] = {}
    spent: tuple[TaskSpent, ...] = ()
    kept: dict[str, str] = {}
    refused: dict[str, dict[str, int]] = {}
