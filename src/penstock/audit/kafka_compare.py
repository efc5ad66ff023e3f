"""Compares what was read with what Kafka still has.

Evidence was recorded when a range was read. If Kafka still has the range, reading it again must
give the same positions and the same contents. Records that Kafka has lost by retention or
compaction are listed, and are not a difference. Records that Kafka has and that were never read are
a difference.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from penstock.api.source import SourceUnavailable
from penstock.audit.receipt import KAFKA_SIDE, Difference, KafkaReceipt, Offsets, Unchecked
from penstock.evidence.position_columns import set_evidence
from penstock.model.evidence import RangeEvidence
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.window import Available, PartitionOffsets
from penstock.ports.source.found import RangeFound


class KafkaSide(Protocol):
    """Reads Kafka, or another source, again. Driver only; may be called several times."""

    @property
    def name(self) -> str:
        """What receipts call it, such as `Kafka`."""
        ...

    def look(self, topics: Iterable[str]) -> Available:
        """The offsets that these topics have; raises `SourceUnavailable`."""
        ...

    def read(
        self, ranges: tuple[OffsetRange, ...], *, with_offsets: bool
    ) -> dict[OffsetRange, RangeFound]:
        """The contents of these ranges, read-committed; raises `SourceUnavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class _StillInKafka:
    """A range that was read, and the part of it that Kafka still has."""

    number: int
    seen: RangeEvidence
    part: OffsetRange

    @property
    def is_whole(self) -> bool:
        return self.part == self.seen.range

    @property
    def offsets(self) -> OffsetSet:
        """The offsets that were read in that part."""
        return self.seen.offsets & OffsetSet(((self.part.start, self.part.end),))

    def agrees(self, found: RangeFound) -> bool:
        """True when Kafka has the same records there now."""
        if self.is_whole:
            return (found.read, found.content_sum) == (self.seen.read, self.seen.content_sum)
        return found.read == set_evidence(self.part.topic, self.part.partition, self.offsets)


@dataclass(slots=True)
class Comparison:
    """The result of the comparison so far."""

    differences: list[Difference] = field(default_factory=list)
    unchecked: list[Unchecked] = field(default_factory=list)
    agreed: int = 0
    records: int = 0
    skipped: str = ""
    source: str = KAFKA_SIDE

    def leave_out(self, covered: OffsetRange, reason: str) -> None:
        """Record offsets that could not be compared."""
        if not covered.is_empty:
            self.unchecked.append(
                Unchecked(covered.topic, covered.partition, covered.start, covered.end, reason)
            )

    def receipt(self) -> KafkaReceipt:
        """The result for the receipt."""
        return KafkaReceipt(
            agreed=self.agreed,
            records=self.records,
            unchecked=tuple(joined(self.unchecked)),
            skipped=self.skipped,
            source=self.source,
        )


def compare(
    kafka: KafkaSide, cluster_id: str, reads: list[tuple[int, RangeEvidence]]
) -> Comparison:
    """Read what Kafka still has of these ranges, and compare."""
    outcome = Comparison(source=kafka.name)
    topics = sorted({seen.range.topic for _, seen in reads})
    try:
        available = kafka.look(topics)
        if available.cluster_id != cluster_id:
            outcome.skipped = (
                f"another cluster answers: {available.cluster_id} instead of {cluster_id}"
            )
        else:
            held = list(_still_in_kafka(reads, available, outcome))
            _compare(kafka, topics, held, outcome)
    except SourceUnavailable as error:
        outcome.skipped = error.found.rstrip(".")
    if outcome.skipped:
        outcome.unchecked, outcome.agreed = [], 0
        for _, seen in reads:
            outcome.leave_out(seen.range, outcome.skipped)
    return outcome


def _still_in_kafka(
    reads: list[tuple[int, RangeEvidence]], available: Available, outcome: Comparison
) -> Iterator[_StillInKafka]:
    """The ranges of which Kafka still has a part; the others are listed with the reason."""
    topics = {topic.topic: topic for topic in available.topics}
    for number, seen in reads:
        covered = seen.range
        topic = topics.get(covered.topic)
        if topic is None:
            outcome.leave_out(covered, "the topic no longer exists")
            continue
        if topic.topic_id != covered.topic_id:
            outcome.leave_out(covered, "the topic was deleted and created again")
            continue
        offsets = topic.partitions.get(covered.partition)
        if offsets is None:
            outcome.leave_out(covered, "the partition has no leader, or is gone")
            continue
        part = _clipped(covered, offsets, outcome)
        if not part.is_empty:
            yield _StillInKafka(number, seen, part)


def _clipped(covered: OffsetRange, held: PartitionOffsets, outcome: Comparison) -> OffsetRange:
    """The part that is still there."""
    start = min(max(covered.start, held.earliest), covered.end)
    end = max(min(covered.end, held.latest), start)
    outcome.leave_out(covered.with_bounds(covered.start, start), "expired: no longer in the log")
    outcome.leave_out(covered.with_bounds(end, covered.end), f"the log ends at {held.latest}")
    return covered.with_bounds(start, end)


def _compare(
    kafka: KafkaSide, topics: list[str], held: list[_StillInKafka], outcome: Comparison
) -> None:
    if not held:
        return
    found = kafka.read(tuple(each.part for each in held), with_offsets=False)
    outcome.records = sum(each.read.count for each in found.values())
    suspects = []
    for each in held:
        if not each.agrees(found.get(each.part, RangeFound(each.part))):
            suspects.append(each)
        elif each.is_whole:
            outcome.agreed += len(each.part)
        else:
            words = "a part of its window is gone: positions agree, contents not comparable"
            outcome.leave_out(each.part, words)
    if suspects:
        again = kafka.read(tuple(each.part for each in suspects), with_offsets=True)
        earliest = _earliest(kafka.look(topics))
        for each in suspects:
            place = (each.part.topic, each.part.partition)
            start = earliest.get(place, each.part.start)
            _explain(each, again.get(each.part, RangeFound(each.part)), start, outcome)


def _earliest(available: Available) -> dict[tuple[str, int], int]:
    """Where the logs start now: this may have changed during the read."""
    return {
        (topic.topic, partition): offsets.earliest
        for topic in available.topics
        for partition, offsets in topic.partitions.items()
    }


def _explain(each: _StillInKafka, found: RangeFound, log_start: int, outcome: Comparison) -> None:
    """Add the differences of one range, with offsets."""
    part, wanted = each.part, each.offsets
    unseen, gone = found.offsets - wanted, wanted - found.offsets
    if unseen.runs:
        words = f"{outcome.source} has {len(unseen)} records in {part} that were never read"
        offsets = Offsets.of("never_read", part.topic, part.partition, unseen)
        _differ(each, words, outcome, offsets)
    if gone.runs:
        outcome.leave_out(part, _gone_words(gone, wanted, log_start))
    elif not unseen.runs and each.agrees(found):
        outcome.agreed += len(part)  # the leader may have changed during the first read
    elif not unseen.runs:
        now = f"in {outcome.source} now than when they were read"
        words = f"the records of {part} have other contents {now}"
        _differ(each, words, outcome)


def _differ(each: _StillInKafka, words: str, outcome: Comparison, *offsets: Offsets) -> None:
    outcome.differences.append(
        Difference("kafka", words, "", (each.seen.range,), each.number, offsets)
    )


def _gone_words(gone: OffsetSet, wanted: OffsetSet, log_start: int) -> str:
    """Why records that were read are no longer in Kafka."""
    expired = len(gone & OffsetSet.from_runs([(0, log_start)]))
    parts = [f"{expired} records expired during the audit"] if expired else []
    if len(gone) > expired:
        parts.append(f"compaction removed {len(gone) - expired} of {len(wanted)} records")
    return f"{', '.join(parts)}; the others agree by offset, contents not comparable"


def joined(found: list[Unchecked]) -> Iterator[Unchecked]:
    """Adjacent ranges with the same reason joined into one."""
    last: Unchecked | None = None
    for each in sorted(found, key=lambda u: (u.topic, u.partition, u.start)):
        if last is not None and _follows(each, last):
            last = Unchecked(last.topic, last.partition, last.start, each.end, last.reason)
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last


def _follows(each: Unchecked, last: Unchecked) -> bool:
    return (each.topic, each.partition, each.start, each.reason) == (
        last.topic,
        last.partition,
        last.end,
        last.reason,
    )
