"""The tasks of a window that is read from a source."""

from collections.abc import Sequence

from penstock.api.source import ReadFailed, ReadRequest, RunsTasks, Source
from penstock.api.store import Store
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.task import read_report, shredding
from penstock.model.file_groups import FileGroup
from penstock.model.ranges import OffsetRange

# Up to this much, one task is quicker than starting several. How large records are is known from
# the read before.
FEW_RECORDS = 20_000
FEW_BYTES = 4_000_000
# More tasks than cores even out what each of them has to do; beyond that they only cost.
TASKS_PER_CORE = 2

Tasks = tuple[tuple[OffsetRange, ...], ...]


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
        at_once = self._source.tasks_at_once() if isinstance(self._source, RunsTasks) else None
        tasks = (order.ranges,) if are_few else tasks_of(order.groups, at_once)
        request = ReadRequest(order.window, order.ranges, order.largest_bytes, tasks)
        reports = self._source.read(request, shredding(plan, self._store))
        found = [read_report(each) for each in reports]
        check_groups(order.window, found)
        self._record_bytes = sum(report.read_bytes for report in found) / max(records, 1)
        return found


def tasks_of(groups: Sequence[FileGroup], at_once: int | None) -> Tasks:
    """The ranges of each task: whole file groups, several of them where there are many.

    Empty where no ranges have to come together. `at_once` is how many tasks can run at once; None:
    nobody knows.
    """
    if all(len(group.ranges) == 1 for group in groups):
        return ()
    most = len(groups) if at_once is None else min(len(groups), TASKS_PER_CORE * at_once)
    tasks: list[tuple[int, list[FileGroup]]] = [(0, []) for _ in range(most)]
    for group in sorted(groups, key=_records, reverse=True):
        number = min(range(most), key=lambda each: tasks[each][0])
        records, mine = tasks[number]
        tasks[number] = (records + _records(group), [*mine, group])
    return tuple(tuple(covered for group in mine for covered in group.ranges) for _, mine in tasks)


def _records(group: FileGroup) -> int:
    return sum(map(len, group.ranges))


def check_groups(window: str, reports: Sequence[TaskReport]) -> None:
    """Raise `ReadFailed` if two tasks have written files of one file group."""
    attempts: dict[int, str] = {}
    for report in reports:
        if attempts.setdefault(report.group, report.attempt) != report.attempt:
            why = f"the ranges of file group {report.group} came to several tasks"
            raise ReadFailed(window, why)
