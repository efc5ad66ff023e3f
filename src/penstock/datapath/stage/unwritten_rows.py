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
    """Takes rows that are not written. Used by one thread of one attempt.

    In a replay, records come from the quarantine: those that are refused or filtered stay there.
    """

    def __init__(
        self,
        plan: ShredPlan,
        covered: OffsetRange,
        group: GroupFiles,
        declared: Mapping[str, DatasetSpec],
    ) -> None:
        kind = StayingRows if plan.is_replay else QuarantineRows
        self._is_replay = plan.is_replay
        self.quarantine = kind(plan, covered, group, declared)
        self._filtered = Tally(covered.topic, covered.partition)

    def refuse(self, some: BatchRows, bad: list[BadRecord], dataset: str = "") -> Mask:
        """Quarantine the bad ones, which were meant for a dataset; a mask of those that are left.

        `bad` numbers them within the given rows.
        """
        good = np.ones(len(some), dtype=bool)
        if bad:
            self.quarantine.add(some, bad, dataset)
            good[[record.index for record in bad]] = False
        return good

    def filter(self, some: BatchRows) -> None:
        """Let rows go, by the configuration; those of the quarantine stay there."""
        if self._is_replay:
            self.quarantine.keep("FILTERED", some)
        else:
            self._filtered.add(some.numbers("offset"), numbers_of(some.batch, some.rows))

    def filtered(self) -> Evidence:
        """The evidence of the rows that were let go."""
        return self._filtered.total()
