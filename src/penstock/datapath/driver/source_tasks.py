"""The tasks of a window that is read from a source."""

from dataclasses import dataclass

from penstock.api.source import ReadRequest, Source
from penstock.api.store import Store
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.task import read_report, shredding

FEW_RECORDS = 20_000  # up to this many, one task is quicker than starting several


@dataclass(frozen=True, slots=True)
class SourceTasks:
    """Hands the records of a plan's ranges from the source to the tasks. Driver only."""

    source: Source
    store: Store

    def __call__(self, plan: ShredPlan) -> list[TaskReport]:
        """Run them once; a report per range that had a record. Raises `RecordTooLarge`."""
        order = plan.order
        are_few = sum(map(len, order.ranges)) <= FEW_RECORDS
        request = ReadRequest(
            order.window, order.ranges, order.largest_bytes, max_tasks=1 if are_few else None
        )
        reports = self.source.read(request, shredding(plan, self.store))
        return [read_report(each) for each in reports]
