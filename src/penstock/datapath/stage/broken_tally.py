"""Counts the broken records of a range by fingerprint, and keeps a few of each."""

from collections.abc import Sequence

import pyarrow as pa

from penstock.model.bad_records import BadRecord
from penstock.model.broken_groups import (
    MOST_GROUPS,
    MOST_SAMPLES,
    SAMPLE_BYTES,
    BrokenGroup,
    BrokenRecord,
)
from penstock.model.ranges import OffsetRange
from penstock.model.record_position import Position


class _Met:
    """What was met of one group so far."""

    def __init__(self, reason: str, offset: int) -> None:
        self.reason = reason
        self.count = 0
        self.first = self.last = offset
        self.datasets: set[str] = set()
        self.samples: list[BrokenRecord] = []


class BrokenTally:
    """The broken records of one range. Used by one thread of one attempt; bounded."""

    def __init__(self, covered: OffsetRange, most_bytes: int) -> None:
        self._covered = covered
        self._left = most_bytes
        self._met: dict[str, _Met] = {}

    def add(
        self,
        taken: pa.RecordBatch,
        bad: Sequence[BadRecord],
        fingerprints: Sequence[str],
        dataset: str,
    ) -> None:
        """Take some records: as they were read, why they are broken, and their groups."""
        offsets = taken["offset"].to_pylist()
        for row, (offset, record, name) in enumerate(zip(offsets, bad, fingerprints, strict=True)):
            met = self._met.get(name)
            if met is None:
                if len(self._met) == MOST_GROUPS:
                    continue  # it is counted by its reason
                met = self._met[name] = _Met(record.reason, offset)
            met.count += 1
            met.first, met.last = min(met.first, offset), max(met.last, offset)
            met.datasets.add(dataset)
            if len(met.samples) < MOST_SAMPLES and self._left > 0:
                self._keep(met, self._sample(taken, row, record, dataset))

    def _keep(self, met: _Met, sample: BrokenRecord) -> None:
        if sample.size_bytes <= self._left:
            met.samples.append(sample)
            self._left -= sample.size_bytes

    def _sample(
        self, taken: pa.RecordBatch, row: int, bad: BadRecord, dataset: str
    ) -> BrokenRecord:
        key, value, headers, timestamp_ms, offset = (
            taken[name][row].as_py() for name in ("key", "value", "headers", "timestamp", "offset")
        )
        return BrokenRecord(
            self._position(offset),
            timestamp_ms,
            dataset,
            bad.detail[:SAMPLE_BYTES],
            None if key is None else key[:SAMPLE_BYTES],
            None if value is None else value[:SAMPLE_BYTES],
            None if headers is None else headers[:SAMPLE_BYTES],
            len(value or b""),
        )

    def _position(self, offset: int) -> Position:
        return Position(self._covered.topic, self._covered.partition, offset)

    def groups(self) -> tuple[BrokenGroup, ...]:
        """What was met, in an order that a retry repeats."""
        return tuple(
            BrokenGroup(
                name,
                met.reason,
                tuple(sorted(met.datasets)),
                met.count,
                self._position(met.first),
                self._position(met.last),
                tuple(met.samples),
            )
            for name, met in sorted(self._met.items())
        )
