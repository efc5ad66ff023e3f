"""Rows of a range that get into no data file: refused ones, and filtered ones."""

from collections.abc import Mapping

import numpy as np

from penstock.datapath.stage.group_writer import GroupFiles
from penstock.datapath.stage.quarantine_writer import QuarantineRows, StayingRows
from penstock.datapath.stage.range_tally import Tally
from penstock.datapath.stage.record_rows import numbers_of
from penstock.datapath.stage.row_arrays import BatchRows, Mask
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.model.bad_records import BadRecord
from penstock.model.evidence import Evidence
from penstock.model.ranges import OffsetRange
from penstock.model.spec import DatasetSpec


class UnwrittenRows:
    """Takes rows of some ranges that are not written. Used by one thread of one attempt.

    In a replay, records come from the quarantine: those that are refused or filtered stay there.
    """

    def __init__(
        self,
        plan: ShredPlan,
        ranges: tuple[OffsetRange, ...],
        group: GroupFiles,
        declared: Mapping[str, DatasetSpec],
    ) -> None:
        kind = StayingRows if plan.is_replay else QuarantineRows
        self._is_replay = plan.is_replay
        self.quarantine = {each: kind(plan, each, group, declared) for each in ranges}
        self._filtered = {each: Tally(each.topic, each.partition) for each in ranges}
        self._ranges = {each.partition: each for each in ranges}

    def refuse(self, some: BatchRows, bad: list[BadRecord], dataset: str = "") -> Mask:
        """Quarantine the bad ones, which were meant for a dataset; a mask of those that are left.

        `bad` numbers them within the given rows.
        """
        good = np.ones(len(some), dtype=bool)
        if bad:
            partitions = some.numbers("partition")
            by_range: dict[OffsetRange, list[BadRecord]] = {}
            for record in bad:
                covered = self._ranges[int(partitions[record.index])]
                by_range.setdefault(covered, []).append(record)
            for covered, mine in by_range.items():
                self.quarantine[covered].add(some, mine, dataset)
            good[[record.index for record in bad]] = False
        return good

    def filter(self, some: BatchRows) -> None:
        """Let rows go, by the configuration; those of the quarantine stay there."""
        partitions = some.numbers("partition")
        for partition in np.unique(partitions).tolist():
            covered, mine = self._ranges[partition], some.take(partitions == partition)
            if self._is_replay:
                self.quarantine[covered].keep("FILTERED", mine)
            else:
                numbers = numbers_of(mine.batch, mine.rows)
                self._filtered[covered].add(mine.numbers("offset"), numbers)

    def filtered(self, covered: OffsetRange) -> Evidence:
        """The evidence of the rows of a range that were let go."""
        return self._filtered[covered].total()
