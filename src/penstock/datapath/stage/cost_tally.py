"""What the records of each dataset take in a task: how many, their bytes, and seconds.

The seconds in which rows of a dataset are decoded, converted and written are measured. All other
seconds of the task, such as those in which it waits for records, are shared by bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.datapath.stage.record_rows import numbers_of
from penstock.datapath.stage.row_arrays import BatchRows
from penstock.datapath.stage.shred_plan import TaskReport
from penstock.model.window_cost import NO_DATASET, TaskSpent


@dataclass(slots=True)
class _Sum:
    records: int = 0
    read_bytes: int = 0
    task_s: float = 0.0


class CostTally:
    """Counts for one range. Used by one thread of one attempt."""

    def __init__(self, tick: Callable[[], float]) -> None:
        self._tick = tick
        self._found: dict[str, _Sum] = {}
        self._weighed: pa.RecordBatch | None = None
        self._weights: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._read = _Sum()

    def read(self, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Take a batch that was read, before its records are known; the bytes of each row."""
        found = self._weigh(batch)
        self._read.records += batch.num_rows
        self._read.read_bytes += int(found.sum())
        return found

    def add(self, dataset: str, some: BatchRows) -> None:
        """Take records of a dataset; those of a batch come in many groups.

        Of a record that is spread, the first row stands for the record.
        """
        mine = self._of(dataset)
        numbers = numbers_of(some.batch, some.rows)
        mine.records += len(some) if numbers is None else int(np.count_nonzero(numbers == 0))
        mine.read_bytes += int(self._weigh(some.batch)[some.rows].sum())

    @contextmanager
    def timing(self, dataset: str) -> Iterator[None]:
        """Add the time in which this context is open."""
        began = self._tick()
        try:
            yield
        finally:
            self._of(dataset).task_s += self._tick() - began

    def spent(self, topic: str) -> tuple[TaskSpent, ...]:
        """Everything, once; records that came to no dataset have no name."""
        found, rest = list(self._found.values()), self._of(NO_DATASET)
        rest.records += max(self._read.records - sum(each.records for each in found), 0)
        rest.read_bytes += max(self._read.read_bytes - sum(each.read_bytes for each in found), 0)
        return tuple(
            TaskSpent(topic, dataset, each.records, each.read_bytes, each.task_s)
            for dataset, each in sorted(self._found.items())
            if each.records or each.read_bytes or each.task_s
        )

    def _weigh(self, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
        if self._weighed is not batch:
            self._weighed, self._weights = batch, weights(batch)
        return self._weights

    def _of(self, dataset: str) -> _Sum:
        return self._found.setdefault(dataset, _Sum())


def weights(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The bytes of key and value of every row; only the first one of a record has the key."""
    numbers = numbers_of(batch, slice(None))
    keys = _lengths(batch["key"])
    return _lengths(batch["value"]) + (keys if numbers is None else np.where(numbers, 0, keys))


def _lengths(column: pa.Array) -> npt.NDArray[np.int64]:
    found = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
    return found.astype(np.int64)


def with_task_time(reports: Sequence[TaskReport], task_s: float) -> list[TaskReport]:
    """The reports of one task, with all of its seconds shared among what they found.

    What was measured stays; the rest goes by bytes, or by records where there are no bytes.
    """
    parts = [each for report in reports for each in report.spent]
    rest_s = max(task_s - sum(each.task_s for each in parts), 0.0)
    weigh = _weighing(parts)
    whole = sum(map(weigh, parts)) or 1

    def timed(each: TaskSpent) -> TaskSpent:
        share_s = rest_s * weigh(each) / whole
        return msgspec.structs.replace(each, task_s=each.task_s + share_s)

    return [
        msgspec.structs.replace(report, spent=tuple(map(timed, report.spent))) for report in reports
    ]


def _weighing(parts: Sequence[TaskSpent]) -> Callable[[TaskSpent], int]:
    if any(each.read_bytes for each in parts):
        return lambda each: each.read_bytes
    return lambda each: each.records
