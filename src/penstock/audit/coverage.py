"""Accounts for one partition's offsets, entry by entry: none skipped, none twice."""

from dataclasses import dataclass, field

import msgspec

from penstock.audit.receipt import Difference, GivenUp, PartitionReceipt
from penstock.model.entries import Gap, PartitionStart, Seek
from penstock.model.evidence import RangeEvidence
from penstock.model.ranges import OffsetRange


@dataclass(slots=True)
class Coverage:
    """What the entries so far say about one partition of one topic id.

    `skipped` are the offsets that a gap or a seek passed over; `floor` is where the last window
    ended. The journal's rules check all of this as well; an audit checks it independently.
    """

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int
    floor: int | None = None
    read: int = 0
    written: int = 0
    quarantined: int = 0
    filtered: int = 0
    empty: int = 0
    dropped: int = 0
    extra: int = 0  # additional rows of records that become several rows
    skipped: list[GivenUp] = field(default_factory=list)
    datasets: dict[str, int] = field(default_factory=dict)

    @classmethod
    def begin(cls, start: PartitionStart) -> "Coverage":
        """Start a partition at its first offset."""
        return cls(start.topic, start.topic_id, start.partition, start.offset, start.offset)

    def cover(self, number: int, covered: OffsetRange) -> list[Difference]:
        """Add a range that a window has read."""
        found = self._joint(number, covered)
        self.end = self.floor = covered.end
        return found

    def count(self, seen: RangeEvidence) -> None:
        """Add the counts of a window in its range."""
        self.read += seen.read.count
        self.written += seen.written
        self.quarantined += seen.quarantined.count
        self.filtered += seen.filtered.count
        self.empty += len(seen.range) - seen.read.count
        self.extra += seen.extra.count

    def deliver(self, dataset: str, rows: int) -> None:
        """Add rows of this partition that were written to a dataset."""
        self.datasets[dataset] = self.datasets.get(dataset, 0) + rows

    def give_up(self, number: int, gap: Gap) -> list[Difference]:
        """Add a range that Kafka no longer had and that an operator accepted."""
        found = self._joint(number, gap.range)
        lost = gap.range
        self.skipped.append(GivenUp("gap", number, lost, len(lost), gap.author, gap.reason))
        self.end = lost.end
        return found

    def seek(self, number: int, seek: Seek) -> list[Difference]:
        """Move the next offset: forward skips offsets, back undoes skips."""
        found = self._joint(number, self._range(seek.from_offset, seek.from_offset))
        if seek.to_offset > self.end:
            skipped = self._range(self.end, seek.to_offset)
            author, reason = seek.author, seek.reason
            self.skipped.append(GivenUp("seek", number, skipped, len(skipped), author, reason))
        else:
            found += self._go_back(number, seek.to_offset)
        self.end = seek.to_offset
        return found

    def receipt(self) -> PartitionReceipt:
        """The receipt for all offsets up to the watermark."""
        return PartitionReceipt(
            topic=self.topic,
            topic_id=self.topic_id,
            partition=self.partition,
            start=self.start,
            watermark=self.end,
            read=self.read,
            written=self.written,
            quarantined=self.quarantined,
            filtered=self.filtered,
            empty=self.empty,
            given_up=self.dropped + sum(each.offsets for each in self.skipped),
            datasets=dict(sorted(self.datasets.items())),
            extra=self.extra,
        )

    def imbalance(self) -> list[Difference]:
        """How the counts differ from the number of offsets and rows; empty when they add up."""
        sums = self.receipt()
        fates = sums.written + sums.quarantined + sums.filtered + sums.empty + sums.given_up
        whole = self.end - self.start + self.extra
        if fates == whole:
            return []
        more = f" with {self.extra} more rows" if self.extra > 0 else ""
        found = f"{self.end - self.start} offsets{more} have {fates} fates"
        return [Difference("counts", found, ranges=(self.whole(),))]

    def whole(self) -> OffsetRange:
        """All offsets that are accounted for."""
        return self._range(self.start, self.end)

    def _joint(self, number: int, covered: OffsetRange) -> list[Difference]:
        if covered.start == self.end:
            return []
        low, high = sorted((covered.start, self.end))
        between = self._range(low, high)
        words = f"{between} is covered {'by no entry' if covered.start == high else 'twice'}"
        return [Difference("offsets", words, ranges=(between,), entry=number)]

    def _go_back(self, number: int, to_offset: int) -> list[Difference]:
        self.skipped = [
            _cut(each, to_offset) for each in self.skipped if each.range.start < to_offset
        ]
        self.start = min(self.start, to_offset)
        if self.floor is None or to_offset >= self.floor:
            return []
        again = self._range(to_offset, self.floor)
        words = f"{again} was delivered, but a seek goes back over it"
        return [Difference("offsets", words, ranges=(again,), entry=number)]

    def _range(self, start: int, end: int) -> OffsetRange:
        return OffsetRange(self.topic, self.topic_id, self.partition, start, end)


def _cut(given_up: GivenUp, end: int) -> GivenUp:
    """What is left of a skip after a seek back to `end`."""
    if given_up.range.end <= end:
        return given_up
    left = given_up.range.with_bounds(given_up.range.start, end)
    return msgspec.structs.replace(given_up, range=left, offsets=len(left))
