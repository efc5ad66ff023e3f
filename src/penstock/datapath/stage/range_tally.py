"""The evidence of a range, gathered batch by batch: what was read, and the rows beyond that."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.datapath.stage.batch_parts import in_parts
from penstock.datapath.stage.record_rows import ROW, largest_of
from penstock.datapath.stage.row_arrays import Chosen
from penstock.evidence.position_columns import Offsets, positions, runs_of, sum_mod64
from penstock.model.entries import LastRecord
from penstock.model.evidence import Evidence, RangeEvidence, lowest_rows
from penstock.model.ranges import OffsetRange

SLACK_S = 60.0  # by how much clocks may differ, and a window is read after it was planned


class Tally:
    """Counts rows and adds hashes while batches go by."""

    def __init__(self, topic: str, partition: int) -> None:
        self._topic = topic
        self._partition = partition
        self._parts: list[Evidence] = []

    def add(self, offsets: Offsets, rows: Offsets | None = None) -> None:
        """Take in some rows."""
        self._parts.append(positions(self._topic, self._partition, offsets, rows))

    def total(self) -> Evidence:
        """All rows so far."""
        return Evidence.total(self._parts)


class RangeTally:
    """Everything that was read of one range. Used by one thread of one attempt.

    read_bytes      keys and values together; of a record with several rows, its key counts once
    largest_bytes   a bound for the size of any record
    last_record     the record with the highest offset, by its hash, and the largest timestamp
    """

    def __init__(self, covered: OffsetRange, latest_ms: int) -> None:
        self._covered = covered
        self._latest_ms = latest_ms
        self._largest_ms = -1
        self._read = Tally(covered.topic, covered.partition)
        self._extra = Tally(covered.topic, covered.partition)
        self._numbers: set[int] = set()
        self._offsets: list[Offsets] = []
        self._content_sum = 0
        self.read_bytes = 0
        self.largest_bytes = 0
        self.last_record: LastRecord | None = None

    def add(self, batch: pa.RecordBatch, read_bytes: int) -> None:
        """Take in the records of a batch, which are in offset order, and their bytes in all."""
        offsets = batch["offset"].to_numpy()
        hashes = batch["hash"].to_numpy()
        self._offsets.append(offsets)
        self._read.add(offsets)
        self._content_sum = (self._content_sum + sum_mod64(hashes)) % 2**64
        timestamps = batch["timestamp"].to_numpy()
        believed = timestamps[timestamps <= self._latest_ms]
        self._largest_ms = max(self._largest_ms, int(believed.max(initial=-1)))
        place = self._covered
        self.last_record = LastRecord(
            place.topic_id,
            place.partition,
            int(offsets[-1]),
            int(np.uint64(hashes[-1].astype(np.uint64))),
            int(timestamps[-1]),
            self._largest_ms,
        )
        self.read_bytes += read_bytes
        self.largest_bytes = max(self.largest_bytes, largest_of(batch))

    def add_extra(self, batch: pa.RecordBatch, rows: Chosen) -> None:
        """Take in rows that are not the first of their records; they have numbers."""
        numbers = batch[ROW].to_numpy()[rows]
        self._extra.add(batch["offset"].to_numpy()[rows], numbers)
        self._numbers = {*lowest_rows((*self._numbers, *np.unique(numbers).tolist()))}

    def evidence(
        self, filtered: Evidence, quarantined: Evidence, *, in_order: bool = True
    ) -> RangeEvidence:
        """All evidence of the range, with that of the rows that are not written."""
        offsets = np.concatenate(self._offsets) if self._offsets else np.empty(0, np.int64)
        if not in_order:
            offsets.sort()
        return RangeEvidence(
            range=self._covered,
            offsets=runs_of(offsets),
            read=self._read.total(),
            content_sum=self._content_sum,
            filtered=filtered,
            quarantined=quarantined,
            extra=self._extra.total(),
            rows=lowest_rows(self._numbers),
        )


class RangeTallies:
    """The same for several ranges of one topic.

    `now_s` is when the window was planned: timestamps that lie after it are of a wrong clock.
    """

    def __init__(self, ranges: tuple[OffsetRange, ...], now_s: float) -> None:
        latest_ms = int((now_s + SLACK_S) * 1000)
        self.of = {covered: RangeTally(covered, latest_ms) for covered in ranges}
        self._by_partition = {covered.partition: each for covered, each in self.of.items()}

    def add(self, batch: pa.RecordBatch, sizes: npt.NDArray[np.int64]) -> None:
        """Take in the records of a batch and the bytes of each, range by range."""
        start = 0
        for _, partition, some in in_parts(batch, ""):
            end = start + some.num_rows
            self._by_partition[partition].add(some, int(sizes[start:end].sum()))
            start = end

    def add_extra(self, batch: pa.RecordBatch, rows: Chosen) -> None:
        """Take in rows that are not the first of their records; they have numbers."""
        chosen = np.arange(batch.num_rows)[rows]
        partitions = batch["partition"].to_numpy()[chosen]
        for partition in np.unique(partitions).tolist():
            self._by_partition[partition].add_extra(batch, chosen[partitions == partition])
