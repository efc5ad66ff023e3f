"""The parts of a file group in a task: which one is written now, and which rows are final.

Rows of a file lie in the order of partitions and offsets. A source hands out one range after the
other, in any order; so what is read of a partition may be written only when all partitions before
it have been read to their end, and waits in the spool until then.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.model.file_groups import FileGroup, name_of_part
from penstock.model.ranges import OffsetRange
from penstock.model.window import StageOrder


class Arrival:
    """In which order the partitions of a group come. Used by one thread of one attempt."""

    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        self._waiting = sorted(each.partition for each in ranges)
        self._ended: set[int] = set()
        self._now: int | None = None

    def begin(self, partition: int) -> bool:
        """Records of a partition come. False if it had ended: another one came after it."""
        if partition == self._now:
            return True
        if self._now is not None:
            self._ended.add(self._now)
            self._waiting.remove(self._now)
        self._now = partition
        return partition not in self._ended

    @property
    def settled(self) -> int:
        """Rows of partitions up to this one can be written: no earlier partition is to come."""
        return self._waiting[0]


@dataclass(frozen=True, slots=True)
class FilePart:
    """One part of a file group: the ranges that each of its files covers, in order."""

    group: int
    number: int
    ranges: tuple[OffsetRange, ...]
    arrival: Arrival = field(compare=False)

    def file_name(self, order: StageOrder, suffix: str) -> str:
        """The last part of the final name of a file."""
        return name_of_part(order.generation, order.window, self.group, self.ranges, suffix)

    @property
    def settled(self) -> int:
        """Rows of partitions up to this one can be written."""
        return self.arrival.settled


class GroupParts:
    """The parts of one file group, and the one to which the records of now belong.

    Used by one thread of one attempt.
    """

    def __init__(self, group: FileGroup) -> None:
        self.number = group.number
        self.ranges = group.ranges
        self.arrival = Arrival(group.ranges)
        self._parts = [
            FilePart(group.number, number, part, self.arrival)
            for number, part in enumerate(group.parts)
        ]
        self.now = self._parts[0]

    def pieces(self, partition: int, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Records of one partition, in pieces of which each lies in one part.

        `now` is the part of the piece that is handed out.
        """
        if len(self._parts) == 1:
            yield batch
            return
        offsets = batch["offset"].to_numpy()
        for part in self._parts:
            for covered in part.ranges:
                if covered.partition == partition:
                    first, end = np.searchsorted(offsets, [covered.start, covered.end]).tolist()
                    if first < end:
                        self.now = part
                        yield batch.slice(first, end - first)
