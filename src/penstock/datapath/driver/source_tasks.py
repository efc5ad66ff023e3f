"""The tasks of a window that is read from a source."""

from penstock.api.source import ReadRequest, Source
from penstock.api.store import Store
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.task import read_report, shredding

# Up to this much, one task is quicker than starting several. How large records are is known from
# the read before.
FEW_RECORDS = 20_000
FEW_BYTES = 4_000_000


class SourceTasks:
    """Hands the records of a plan's ranges from the source to the tasks. Driver only."""

    def __init__(self, source: Source, store: Store) -> None:
        self._source = source
        self._store = store
        self._record_bytes = 0.0

    def __call__(self, plan: ShredPlan) -> list[TaskReport]:
        """Run them once; a report per range that had a record. Raises `RecordTooLarge`."""
        order = plan.order
        records = sum(map(len, order.ranges))
        record_bytes = self._record_bytes or order.record_bytes
        are_few = records <= FEW_RECORDS and records * record_bytes <= FEW_BYTES
        request = ReadRequest(
            order.window, order.ranges, order.largest_bytes, max_tasks=1 if are_few else None
        )
        reports = self._source.read(request, shredding(plan, self._store))
        found = [read_report(each) for each in reports]
        self._record_bytes = sum(report.read_bytes for report in found) / max(records, 1)
        return found
