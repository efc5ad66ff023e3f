"""How many tasks a window is read by."""

from unittest.mock import MagicMock

import msgspec
import pytest

from penstock.api.doors import FORMATS
from penstock.api.find import find
from penstock.datapath.driver.source_tasks import FEW_BYTES, FEW_RECORDS, SourceTasks
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.model.evidence import RangeEvidence
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.window import StageOrder
from penstock.testing.memory_store import MemoryStore


def a_plan(records: int) -> ShredPlan:
    order = StageOrder("f", "1-1", "staging", (OffsetRange("t", "id", 0, 0, records),))
    feed = FeedSpec(name="f", topics=("t",))
    return ShredPlan(order=order, feed=feed, schemas={}, now_s=0.0, format=find(FORMATS, "parquet"))


@pytest.mark.parametrize(
    ("records", "record_bytes", "are_few"),
    [
        (FEW_RECORDS, 200, True),
        (FEW_RECORDS + 1, 200, False),
        (2_000, 4_000, False),
        (FEW_BYTES // 4_000, 4_000, True),
    ],
)
def test_few_small_records_are_read_by_one_task(
    records: int, record_bytes: int, are_few: bool
) -> None:
    source, plan = MagicMock(), a_plan(records)
    evidence = RangeEvidence.empty(plan.order.ranges[0])
    report = TaskReport(evidence, read_bytes=records * record_bytes)
    source.read.return_value = [msgspec.msgpack.encode(report)]
    run = SourceTasks(source, MemoryStore())
    run(plan)
    first, _ = source.read.call_args.args
    assert first.tasks == ((plan.order.ranges,) if records <= FEW_RECORDS else ())
    run(plan)
    second, _ = source.read.call_args.args
    assert second.tasks == ((plan.order.ranges,) if are_few else ())
