"""The shredder: one pass over the batches of a range, from bytes to staged files.

Per batch: count and hash what was read; let the decoder read it; find the datasets of the records,
and further ones by forks; ask for the columns of each dataset; find event times; hand the rows to
their files. What fails on the way goes to the quarantine with its raw bytes, alone. A dataset that
the plan does not know is sampled and not written: the driver learns it and asks again. From there
on the rest of the range is only looked through for more such datasets.
"""

from collections import Counter
from collections.abc import Iterator

import msgspec
import numpy as np
import pyarrow as pa

from penstock.datapath.shape.event_time.event_time import Times
from penstock.datapath.shape.event_time.zones import Micros
from penstock.datapath.shape.route.placing import ForkAnswers
from penstock.datapath.stage.batch_decoder import (
    BatchDecoder,
    DatasetPart,
    RecordGroup,
    refused,
    renumbered,
)
from penstock.datapath.stage.cost_tally import CostTally
from penstock.datapath.stage.field_columns import times_of, waiting_values
from penstock.datapath.stage.group_writer import GroupFiles
from penstock.datapath.stage.own_columns import extra_columns
from penstock.datapath.stage.placement import Placement
from penstock.datapath.stage.range_tally import RangeTallies
from penstock.datapath.stage.record_rows import as_fork, fork_members, numbers_of, spread_arrays
from penstock.datapath.stage.row_arrays import BatchRows, Mask, Rows
from penstock.datapath.stage.rows_to_files import RowsToFiles
from penstock.datapath.stage.samples import Sampling
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.split_rows import Piece
from penstock.datapath.stage.tombstones import TOMBSTONE, TombstoneContent
from penstock.datapath.stage.unwritten_rows import UnwrittenRows
from penstock.datapath.stage.way_tally import WayTally
from penstock.model.bad_records import BadRecord
from penstock.model.broken_groups import BrokenGroup
from penstock.model.fork import FORK_ROWS
from penstock.model.ranges import OffsetRange, OffsetSet


class RangeShredder:
    """One range, or several of a file group, batch by batch. Used by one thread of one attempt.

    It knows no format: `decoder` reads records, and puts into `samples` what has to be learned.
    """

    def __init__(
        self,
        plan: ShredPlan,
        ranges: tuple[OffsetRange, ...],
        group: GroupFiles,
        placement: Placement,
        decoder: BatchDecoder,
        samples: Sampling,
        costs: CostTally,
    ) -> None:
        self._plan = plan
        self._feed = plan.feed
        self._placement = placement
        self._decoder = decoder
        self._samples = samples
        self._costs = costs
        self._ranges = ranges
        self._tallies = RangeTallies(ranges, plan.now_s)
        self._unwritten = UnwrittenRows(plan, ranges, group, placement.declared)
        self._to_files = RowsToFiles(plan, ranges[0], group, placement, self._unwritten, samples)
        self._ways = WayTally(ranges[0].topic)
        self._forks = plan.feed.forks
        self._only_to: str | None = None

    def take(self, batch: pa.RecordBatch) -> None:
        """Take the next batch of records of this range, in offset order."""
        self._tallies.add(batch, self._costs.read(batch))
        for part in self._spread(batch) if self._feed.decode.spread else [batch]:
            self._decoder.decode(self._with_value(part), self._only_to, self)

    def take_again(self, batch: pa.RecordBatch, dataset: str) -> None:
        """Take quarantined records that were meant for a dataset, or for none that is known.

        What has a dataset was asked by all forks when it came first. A row of a fork stays one.
        """
        self._forks = () if dataset else self._feed.forks
        numbers = numbers_of(batch, slice(None))
        is_fork = numbers is not None and bool((numbers >= FORK_ROWS).any())
        self._only_to = dataset if is_fork and dataset else None
        self.take(batch)

    def reports(self, *, learning: bool | None = None) -> list[TaskReport]:
        """Tell what happened to the records of each range that had some; its group has the files.

        What was counted for all of them together is in the first. While any range of a task is
        `learning`, nothing counts but what there is to learn.
        """
        is_learning = self.is_learning if learning is None else learning
        met = [each for each, tally in self._tallies.of.items() if tally.last_record is not None]
        return [
            self._report(covered, is_first=number == 0, is_learning=is_learning)
            for number, covered in enumerate(met or self._ranges[:1])
        ]

    def _report(self, covered: OffsetRange, *, is_first: bool, is_learning: bool) -> TaskReport:
        quarantine, tally = self._unwritten.quarantine[covered], self._tallies.of[covered]
        evidence = tally.evidence(
            self._unwritten.filtered(covered),
            quarantine.evidence(),
            in_order=not self._plan.is_replay,  # files of the quarantine overlap
        )
        report, counted = TaskReport(evidence, read_bytes=tally.read_bytes), self._to_files
        if is_first:
            report = msgspec.structs.replace(
                report,
                samples=self._samples.all(),
                named=self._samples.named(),
                unlearned=self._samples.unlearned() if is_learning else (),
                ways=() if is_learning else self._ways.ways(counted.rest_rows, counted.rows),
                spent=self._costs.spent(covered.topic),
            )
        if is_learning:
            return report
        return msgspec.structs.replace(
            report,
            quarantined=quarantine.record_sets(),
            last_record=tally.last_record,
            reasons=dict(quarantine.reasons),
            misfits=dict(quarantine.misfits),
            refused=quarantine.refused(),
            broken=quarantine.broken.groups(),
            largest_bytes=tally.largest_bytes,
        )

    @property
    def is_learning(self) -> bool:
        """True when a dataset was met that the plan does not know."""
        return self._samples.has_new

    @property
    def refused(self) -> dict[int, OffsetSet]:
        """The offsets of the rows that were refused so far, by their number in the record."""
        return self._unwritten.quarantine[self._ranges[0]].offsets()

    @property
    def reasons(self) -> Counter[str]:
        """How many were refused so far, by reason."""
        return Counter(self._unwritten.quarantine[self._ranges[0]].reasons)

    @property
    def broken(self) -> tuple[BrokenGroup, ...]:
        """Those that were refused so far by group, within bounds."""
        return self._unwritten.quarantine[self._ranges[0]].broken.groups()

    # --- what the decoder hands over -------------------------------------------------------------

    def refuse(self, some: BatchRows, bad: list[BadRecord]) -> Mask:
        """Quarantine records that cannot be read; a mask of those that are left."""
        return self._unwritten.refuse(some, bad)

    def take_group(self, group: RecordGroup) -> None:
        """Bring records that were read to their datasets, and to further ones by forks.

        Where a fork function fails for a record, this goes to the quarantine whole, before any row
        of it has gone anywhere.
        """
        for dataset, some in self._routed(group):
            self._costs.add(dataset, some.origin)
            asked = self._placement.forked(self._forks, dataset, some)
            own = some
            if asked is not None:
                own = some.take(np.flatnonzero(self._unwritten.refuse(some.origin, asked.bad)))
            self._deliver(own, dataset)
            for further, fork in self._forked(some, dataset, asked):
                self._deliver(fork, further)

    # --- records to datasets ---------------------------------------------------------------------

    def _spread(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """A batch in which the elements of arrays are rows; empty arrays are filtered."""
        for spread in spread_arrays(batch):
            part = spread.batch
            if len(spread.fresh):
                self._tallies.add_extra(part, spread.fresh)
            if len(spread.empty):
                self._unwritten.filter(BatchRows(part, spread.empty))
                part = part.take(pa.array(np.delete(np.arange(part.num_rows), spread.empty)))
            yield part

    def _with_value(self, batch: pa.RecordBatch) -> BatchRows:
        """The rows that have a value; tombstones are filtered, kept or refused here."""
        every = BatchRows(batch, np.arange(batch.num_rows))
        nulls: Mask = batch["value"].is_null().to_numpy(zero_copy_only=False)
        if not nulls.any():
            return every
        gone = every.take(nulls)
        if self._feed.tombstones == "filter":
            self._unwritten.filter(gone)
        elif self._feed.tombstones == "keep" and not self._placement.needs_a_value:
            content = TombstoneContent(self._plan, self._samples, len(gone))
            group = RecordGroup(gone, content, self._only_to, has_values=False)
            for dataset, some in self._routed(group):
                self._costs.add(dataset, some.origin)
                self._deliver(some, dataset)
        else:
            is_wanted = self._feed.tombstones == "keep"
            why = "no value, and the route needs one" if is_wanted else "no value"
            self._unwritten.refuse(gone, refused(len(gone), TOMBSTONE, why))
        return every.take(~nulls)

    def _routed(self, group: RecordGroup) -> Iterator[tuple[str, RecordGroup]]:
        """The records of each dataset; those without one are refused.

        Those that are to be filtered come under no name: there may be forks for them.
        """
        if group.dataset is not None:
            yield group.dataset, group
            return
        places = self._placement.routed(group)
        self._unwritten.refuse(group.origin, places.bad)
        for dataset, members in places.groups():
            yield dataset, group.take(members)

    def _forked(
        self, group: RecordGroup, dataset: str, asked: ForkAnswers | None
    ) -> Iterator[tuple[str, RecordGroup]]:
        """The further datasets of records of a dataset, and rows for these."""
        for place, fork in enumerate(self._forks, start=1):
            members = fork_members(fork, dataset, group, asked)
            if len(members):
                again = as_fork(group.take(members), place)
                self._tallies.add_extra(again.origin.batch, slice(None))
                yield fork.dataset, again

    # --- records of a dataset to rows ------------------------------------------------------------

    def _deliver(self, group: RecordGroup, dataset: str) -> None:
        """Decode the records of one dataset, as many as may be columns at a time."""
        if not dataset:
            self._unwritten.filter(group.origin)
            return
        if self.is_learning and dataset in self._plan.schemas:
            return  # all will be read again; this read only looks for more that is new
        with self._costs.timing(dataset):
            for part in group.content.parts(dataset):
                counts = part.counts_when(self._put(group, part))
                origin = group.origin
                self._ways.add(
                    dataset, counts, origin.numbers("partition"), origin.numbers("offset")
                )

    def _put(self, group: RecordGroup, part: DatasetPart) -> Rows:
        """Hand the good rows of a part to their files; the numbers of those that get there."""
        some = group.take(part.good)
        times = self._times(some)
        bad = [*part.bad, *renumbered(times.bad, part.good)]
        fits = self._unwritten.refuse(group.origin, bad, part.schema.dataset)[part.good]
        if not fits.any():
            return part.good[:0]  # what is looked at singly is often broken, all of it
        piece = self._piece(some, part, times.micros)
        if group.has_values:
            return part.good[self._to_files.put(some.origin, piece, fits)]
        return part.good[self._to_files.put_unconverted(some.origin, piece, fits)]

    def _times(self, group: RecordGroup) -> Times:
        spec = self._feed.time
        column = group.content.column(spec.field) if spec.field and group.has_values else None
        return times_of(column, group.origin.numbers("timestamp"), spec, self._plan.now_s)

    def _piece(self, group: RecordGroup, part: DatasetPart, micros: Micros) -> Piece:
        """Rows of a batch with what was made of them."""
        origin, content = group.origin, group.content
        return Piece(
            part.schema,
            origin.numbers("offset"),
            origin.numbers("timestamp"),
            part.columns,
            micros,
            {path: waiting_values(content.column(path)) for path in self._placement.kept_paths},
            extra_columns(self._feed, origin),
            numbers_of(origin.batch, origin.rows),
            origin.numbers("partition").astype(np.int64) if len(self._ranges) > 1 else None,
        )
