"""The seconds of a task are shared among its datasets; bytes and records are counted."""

import numpy as np
import pyarrow as pa
import pytest

from penstock.datapath.stage.cost_tally import CostTally, weights, with_task_time
from penstock.datapath.stage.row_arrays import BatchRows
from penstock.datapath.stage.shred_plan import TaskReport
from penstock.model.evidence import RangeEvidence
from penstock.model.ranges import OffsetRange
from penstock.model.window_cost import NO_DATASET, TaskSpent

BATCH = pa.RecordBatch.from_pydict(
    {
        "key": pa.array([None, b"k", b"kk", None], pa.binary()),
        "value": pa.array([b"abc", b"", None, b"abcdef"], pa.binary()),
    }
)


class Clock:
    def __init__(self) -> None:
        self.tick_s = 0.0

    def __call__(self) -> float:
        return self.tick_s


def some(*rows: int) -> BatchRows:
    return BatchRows(BATCH, np.array(rows, np.int64))


def report(*spent: TaskSpent) -> TaskReport:
    return TaskReport(RangeEvidence.empty(OffsetRange("t", "id", 0, 0, 9)), spent=spent)


def test_keys_and_values_are_weighed_and_nulls_weigh_nothing() -> None:
    assert weights(BATCH).tolist() == [3, 1, 2, 6]
    assert weights(BATCH.slice(2)).tolist() == [2, 6]


def test_of_a_record_with_several_rows_the_first_one_is_the_record_and_has_the_key() -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([b"kk"] * 3, pa.binary()),
            "value": pa.array([b"{1}", b"{22}", b"{3}"], pa.binary()),
            "row": pa.array([0, 1, 0], pa.int64()),
        }
    )
    assert weights(batch).tolist() == [5, 4, 5]
    tally = CostTally(Clock())
    tally.add("click", BatchRows(batch, np.array([0, 1])))
    tally.add("view", BatchRows(batch, np.array([2])))
    assert [(each.records, each.read_bytes) for each in tally.spent("t")] == [(1, 9), (1, 5)]


def test_what_comes_to_no_dataset_is_counted_without_a_name() -> None:
    tally = CostTally(Clock())
    assert tally.read(BATCH).sum() == 12
    tally.add("click", some(0, 3))
    tally.add("view", some(1))
    assert tally.spent("t") == (
        TaskSpent("t", NO_DATASET, 1, 2),
        TaskSpent("t", "click", 2, 9),
        TaskSpent("t", "view", 1, 1),
    )


def test_the_time_for_a_dataset_is_measured_also_when_it_fails() -> None:
    clock = Clock()
    tally = CostTally(clock)
    for _ in range(2):
        with tally.timing("click"):
            clock.tick_s += 2.0

    def broken() -> None:
        clock.tick_s += 1.0
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"), tally.timing("view"):
        broken()
    found = {each.dataset: each.task_s for each in tally.spent("t")}
    assert found == {"click": 4.0, "view": 1.0}


def test_all_seconds_of_a_task_are_shared_and_what_was_measured_stays() -> None:
    first = report(TaskSpent("t", "a", 1, 30, 2.0), TaskSpent("t", "b", 1, 10, 0.0))
    second = report(TaskSpent("u", "a", 1, 60, 1.0))
    found = [each for timed in with_task_time([first, second], 13.0) for each in timed.spent]
    assert [each.task_s for each in found] == [5.0, 1.0, 7.0]


def test_records_without_bytes_share_by_their_number() -> None:
    (timed,) = with_task_time([report(TaskSpent("t", "a", 3), TaskSpent("t", "b", 1))], 8.0)
    assert [each.task_s for each in timed.spent] == [6.0, 2.0]


def test_a_task_that_read_nothing_has_nothing_to_share() -> None:
    assert with_task_time([report()], 8.0) == [report()]
    assert with_task_time([], 8.0) == []
