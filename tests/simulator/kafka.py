"""A source of records that can be counted: what lies in each partition, and its fate."""

import hashlib
import json
from dataclasses import dataclass, field

from penstock.api.store import Store
from penstock.errors import GapFound, PenstockError, TopicReplaced
from penstock.model.entries import LastRecord
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.file_groups import NO_GROUP, name_of_part
from penstock.model.manifest import QUARANTINE, ManifestFile, RecordSet
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.window import (
    Available,
    PartitionOffsets,
    StagedWindow,
    StageOrder,
    TopicOffsets,
)
from penstock.runtime.surroundings import Surroundings

BAD = "!bad"
MISFIT = "!misfit"  # of the dataset STOPPING, whose schema cannot be merged with this record's
BROKEN = frozenset({BAD, MISFIT})
STOPPING = "a"  # the dataset that goes no further once a misfit has come
FILTERED = "!filtered"
MARKER = "!marker"  # an offset at which Kafka holds no record
TOPIC, TOPIC_ID, CLUSTER = "events", "topic-id-1", "cluster-1"
LIFE = 100  # partition 1 of the topic's second life is known as 101: rows of two lives are not one


def known_as(topic_id: str, partition: int) -> int:
    """The number under which a partition of one life of the topic is known here."""
    return (int(topic_id.rpartition("-")[2]) - 1) * LIFE + partition


def content_hash(partition: int, offset: int) -> int:
    """What the source says about a record's content."""
    digest = hashlib.sha256(f"record {partition} {offset}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


@dataclass
class SimKafka:
    """Partitions as lists of fates by offset; `latest` says how much of each is there already.

    `earliest` says how much of each has expired; `life` how often the topic was made again.
    """

    partitions: dict[int, list[str]]
    latest: dict[int, int] = field(default_factory=dict)
    earliest: dict[int, int] = field(default_factory=dict)
    life: int = 0

    def __post_init__(self) -> None:
        for partition, fates in self.partitions.items():
            self.latest.setdefault(partition, len(fates))

    def available(self) -> Available:
        """What an owner sees now."""
        offsets = {
            p % LIFE: PartitionOffsets(self.earliest.get(p, 0), end)
            for p, end in self.latest.items()
            if p // LIFE == self.life
        }
        return Available(CLUSTER, (TopicOffsets(TOPIC, self.topic_id, offsets),))

    @property
    def topic_id(self) -> str:
        """The id of the topic as it is now."""
        return f"topic-id-{self.life + 1}"

    def make_again(self, partitions: dict[int, list[str]]) -> None:
        """Somebody deletes the topic and makes a new one of the same name."""
        self.life += 1
        for partition, fates in partitions.items():
            self.partitions[self.life * LIFE + partition] = fates
            self.latest[self.life * LIFE + partition] = len(fates)

    def records(self, covered: OffsetRange) -> list[tuple[int, str]]:
        """Offsets and fates of the records in a range; markers are no records."""
        partition = known_as(covered.topic_id, covered.partition)
        self._require(covered, self.earliest.get(partition, 0))
        fates = self.partitions[partition][covered.start : covered.end]
        return [(covered.start + i, fate) for i, fate in enumerate(fates) if fate != MARKER]

    def _require(self, covered: OffsetRange, earliest: int) -> None:
        missing: PenstockError | None = None
        if covered.topic_id != self.topic_id:
            missing = TopicReplaced(covered.topic, covered.topic_id, self.topic_id)
        elif covered.start < earliest:
            missing = GapFound(covered.topic, covered.partition, covered.start, earliest)
        if missing is not None:
            raise missing


Records = list[tuple[int, str]]  # offsets and fates
Rows = list[tuple[OffsetRange, list[int]]]  # ranges, and the offsets of each


def rows_as_bytes(partition: int, offsets: list[int]) -> bytes:
    """A data file of the simulator: the positions of its rows."""
    return positions_as_bytes([(partition, offset) for offset in offsets])


def positions_as_bytes(rows: list[tuple[int, int]]) -> bytes:
    """The same for rows of several partitions."""
    return json.dumps([list(row) for row in rows]).encode()


class SimSource:
    """Stages ranges of the simulated Kafka through a store, as the tasks do."""

    def __init__(self, kafka: SimKafka, store: Store, around: Surroundings) -> None:
        self._kafka = kafka
        self._store = store
        self._around = around

    def look(self) -> Available:
        """What there is now."""
        return self._kafka.available()

    def stage(self, order: StageOrder) -> StagedWindow:
        """One file per dataset and part of a file group."""
        files: list[ManifestFile] = []
        evidence: list[RangeEvidence] = []
        quarantined: list[RecordSet] = []
        last: list[LastRecord] = []
        misfits = 0
        for covered in order.ranges:
            records = self._kafka.records(covered)
            evidence.append(_evidence(covered, records))
            quarantined += _quarantined(covered, records)
            misfits += sum(fate == MISFIT for _, fate in records)
            if records:
                offset = records[-1][0]
                value = content_hash(known_as(covered.topic_id, covered.partition), offset)
                last.append(LastRecord(covered.topic_id, covered.partition, offset, value))
        for group in order.groups:
            for part in group.parts:
                files += self._stage_part(order, group.number, part)
        return StagedWindow(
            tuple(files),
            tuple(evidence),
            tuple(quarantined),
            tuple(last),
            misfits={STOPPING: misfits} if misfits else {},
        )

    def _stage_part(
        self, order: StageOrder, group: int, part: tuple[OffsetRange, ...]
    ) -> list[ManifestFile]:
        by_dataset: dict[str, Rows] = {}
        for covered in part:
            mine: dict[str, list[int]] = {}
            for offset, fate in self._kafka.records(covered):
                if fate != FILTERED:
                    mine.setdefault(QUARANTINE if fate in BROKEN else fate, []).append(offset)
            for dataset, offsets in mine.items():
                by_dataset.setdefault(dataset, []).append((covered, offsets))
        return [
            write_rows(self._store, self._around, order, dataset, (group, part), rows)
            for dataset, rows in sorted(by_dataset.items())
        ]


def write_file(
    store: Store,
    around: Surroundings,
    order: StageOrder,
    dataset: str,
    covered: OffsetRange,
    offsets: list[int],
) -> ManifestFile:
    """Stage one file of rows of one partition."""
    part = (NO_GROUP, (covered,))
    return write_rows(store, around, order, dataset, part, [(covered, offsets)])


def write_rows(
    store: Store,
    around: Surroundings,
    order: StageOrder,
    dataset: str,
    part: tuple[int, tuple[OffsetRange, ...]],
    rows: Rows,
) -> ManifestFile:
    """Stage one file of rows of one part of a file group."""
    group, ranges = part
    name = name_of_part(0, order.window, group, ranges, "rows")
    place = (
        f"_penstock/{order.feed}/quarantine" if dataset == QUARANTINE else f"{order.feed}/{dataset}"
    )
    writer = store.open_staged(f"{place}/day=2026-11-15/{name}", order.spot(around.nonce()[:8]))
    if len(rows) == 1:
        ((covered, offsets),) = rows
        writer.write(rows_as_bytes(known_as(covered.topic_id, covered.partition), offsets))
    else:
        found = [(known_as(each.topic_id, each.partition), o) for each, mine in rows for o in mine]
        writer.write(positions_as_bytes(found))
    seen = Evidence.total(Evidence.of_positions(each.topic, each.partition, o) for each, o in rows)
    return ManifestFile(dataset, writer.finish(), seen, ranges, group=group)


def _quarantined(covered: OffsetRange, records: list[tuple[int, str]]) -> list[RecordSet]:
    """The broken records by the dataset that they were meant for."""
    found = []
    for dataset, broken in (("", BAD), (STOPPING, MISFIT)):
        offsets = OffsetSet.of(offset for offset, fate in records if fate == broken)
        if offsets.runs:
            place = (covered.topic, covered.topic_id, covered.partition)
            found.append(RecordSet(*place, dataset, offsets))
    return found


def _evidence(covered: OffsetRange, records: list[tuple[int, str]]) -> RangeEvidence:
    def of(*fates: str) -> Evidence:
        return Evidence.of_positions(
            covered.topic, covered.partition, [o for o, f in records if f in fates]
        )

    offsets = [offset for offset, _ in records]
    return RangeEvidence(
        range=covered,
        offsets=OffsetSet.of(offsets),
        read=Evidence.of_positions(covered.topic, covered.partition, offsets),
        content_sum=sum(
            content_hash(known_as(covered.topic_id, covered.partition), o) for o in offsets
        )
        % 2**64,
        filtered=of(FILTERED),
        quarantined=of(*BROKEN),
    )
