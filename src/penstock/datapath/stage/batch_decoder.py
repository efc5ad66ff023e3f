"""What a decoder is: it reads the records of a batch, and makes columns of them for a dataset.

The shredder knows no format, and a decoder knows neither quarantine nor files. They meet twice:

1.  `BatchDecoder.decode` reads the rows of a batch that have a value. Records that cannot be read
    are refused. All others are handed over in groups, in which the fields of records can be asked
    for: that is enough to find their datasets and forks.
2.  `RecordContent.parts` makes columns of the records of a group, for one dataset. A group that
    is forked is asked once for each dataset.

There is one decoder for each way to read: `decode_json`, `decode_converted`, `decode_by_schema`.
Decoders run on executors, one for each range of a task, used by one thread.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.datapath.stage.row_arrays import BatchRows, Column, Mask, Rows
from penstock.model.bad_records import BadRecord
from penstock.model.read_ways import Misfits, ReadCounts
from penstock.model.schema import DatasetSchema


@dataclass(frozen=True, slots=True)
class DatasetPart:
    """Some records of a group as columns of a dataset. Both numbers are within the group.

    `columns` has a row for each of `good`. The other records of the part are `bad`. `counts` says
    which way the records of the part were read, by their numbers within the group. Where values did
    not fit, `recount` tells those of some records only, since others may be refused later.
    """

    schema: DatasetSchema
    columns: pa.RecordBatch
    good: Rows
    bad: list[BadRecord]
    counts: ReadCounts = field(default_factory=ReadCounts)
    recount: Callable[[Rows], Misfits] | None = None

    def counts_when(self, written: Rows) -> ReadCounts:
        """The counts, with the misfits of those records only that become rows of files."""
        if self.recount is None or len(written) == len(self.good):
            return self.counts
        return replace(self.counts, misfits=self.recount(written))

    @staticmethod
    def without_rows(schema: DatasetSchema, bad: list[BadRecord]) -> "DatasetPart":
        """A part whose records are all bad."""
        none = pa.RecordBatch.from_pylist([], schema=arrow_schema(schema))
        return DatasetPart(schema, none, np.empty(0, np.int64), bad)


class RecordContent(Protocol):
    """What a decoder has read of the records of a group."""

    def column(self, path: str) -> Column:
        """The values of a field by its dotted path, one per record."""
        ...

    def take(self, members: Rows) -> "RecordContent":
        """The content of some of the records."""
        ...

    def parts(self, dataset: str) -> Iterator[DatasetPart]:
        """All records as columns of a dataset, in parts that bound the memory for columns.

        Nothing comes for a dataset that has to be learned first; a sample is noted instead.
        """
        ...


@dataclass(frozen=True, slots=True)
class RecordGroup:
    """Records that were read together: which rows of which batch they are, and what they hold.

    dataset       where they go, if reading has told it; None: the route says it
    schema_name   what the schema calls these records, if they have one
    has_values    False for tombstones: their time is that of Kafka, and no converter sees them
    """

    origin: BatchRows
    content: RecordContent
    dataset: str | None = None
    schema_name: str = ""
    has_values: bool = True

    def __len__(self) -> int:
        return len(self.origin)

    def take(self, members: Rows) -> "RecordGroup":
        """Some of the records, in their order."""
        if len(members) == len(self):
            return self
        origin, content = self.origin.take(members), self.content.take(members)
        return replace(self, origin=origin, content=content)

    def moved(self, batch: pa.RecordBatch) -> "RecordGroup":
        """The same records as the rows of another batch."""
        return replace(self, origin=BatchRows(batch, np.arange(len(self))))


class GroupReceiver(Protocol):
    """Takes what a decoder has read. The shredder is one."""

    def take_group(self, group: RecordGroup) -> None:
        """Take records that were read."""
        ...

    def refuse(self, some: BatchRows, bad: list[BadRecord]) -> Mask:
        """Take records that cannot be read; a mask of those that are left.

        `bad` numbers them within the given rows.
        """
        ...


class BatchDecoder(Protocol):
    """Reads the records of one range, batch by batch."""

    def decode(self, some: BatchRows, dataset: str | None, receiver: GroupReceiver) -> None:
        """Read some rows of a batch, all of which have a value, and hand over every one of them.

        With a `dataset` they go there, whatever their route says.
        """
        ...


def refused(count: int, reason: str, detail: str) -> list[BadRecord]:
    """All of so many records as bad ones, for one reason."""
    return [BadRecord(index, reason, detail) for index in range(count)]


def renumbered(bad: list[BadRecord], numbers: Rows) -> list[BadRecord]:
    """Bad records of a selection by their numbers in the whole, where `numbers` were selected."""
    return [BadRecord(int(numbers[each.index]), each.reason, each.detail) for each in bad]
