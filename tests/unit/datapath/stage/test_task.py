"""Gathering small batches, and the size of the largest record."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from penstock.datapath.formats.parquet.parquet import FORMAT as PARQUET
from penstock.datapath.stage import task
from penstock.datapath.stage.record_rows import largest_of
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.datapath.stage.task import (
    FEW_DATASETS,
    RecordTooLarge,
    gathered,
    read_report,
    shredding,
)
from penstock.model.ranges import TOO_LARGE, OffsetRange
from penstock.model.spec import PartitionKey
from penstock.model.window import StageOrder
from penstock.testing.memory_store import MemoryStore
from tests.helpers.shredding import BY_TYPE, TOPIC, a_batch, an_event, learned


def small_batches(sizes: Sequence[int]) -> list[pa.RecordBatch]:
    whole = a_batch([b"0123456789"] * sum(sizes), [None] * sum(sizes))
    ends = np.cumsum([0, *sizes]).tolist()
    return [whole.slice(start, size) for start, size in zip(ends, sizes, strict=False)]


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ([], []),
        ([7], [7]),
        ([40, 40, 20], [100]),
        ([40, 40, 30, 5], [80, 35]),
        ([150, 1, 150], [150, 1, 150]),
    ],
)
def test_batches_are_gathered_up_to_a_number_of_rows(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], wanted: list[int]
) -> None:
    monkeypatch.setattr(task, "ROWS_AT_ONCE", 100)
    found = list(gathered(small_batches(sizes), 1))
    assert [batch.num_rows for batch in found] == wanted
    offsets = [offset for batch in found for offset in batch["offset"].to_pylist()]
    assert offsets == list(range(sum(sizes)))


def test_batches_are_gathered_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = small_batches([10, 10, 10])
    monkeypatch.setattr(task, "BYTES_AT_ONCE", batches[0].nbytes * 2 + 10)
    assert [batch.num_rows for batch in gathered(batches, 1)] == [20, 10]
    assert [batch.num_rows for batch in gathered(batches, 2 * FEW_DATASETS)] == [30]


def test_the_largest_record_is_never_larger_than_what_is_told() -> None:
    batch = a_batch([b"12345", None, b"1"], [None, "abc", None])
    assert largest_of(batch) == len("key") + 5 + 3
    assert largest_of(batch.slice(0, 0)) == 0


@pytest.mark.parametrize("large", [0, 25, 59])
def test_a_record_that_came_without_its_contents_makes_its_task_say_so_and_leave_nothing(
    monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    """Goal: no failure, which Spark would repeat. Method: a marked record in one of six batches."""
    monkeypatch.setattr(task, "ROWS_AT_ONCE", 10)
    events = [an_event("a", n=number) for number in range(60)]
    whole = a_batch([*events[:large], None, *events[large + 1 :]], [None] * 60)
    partitions = pa.array([TOO_LARGE if n == large else 0 for n in range(60)], pa.int32())
    marked = whole.set_column(1, "partition", partitions)
    given = iter([marked.slice(start, 10) for start in range(0, 60, 10)])
    order = StageOrder("f", "1-1", "_penstock/f/staging", (OffsetRange(TOPIC, "id", 0, 0, 60),))
    store = MemoryStore()
    plan = ShredPlan(
        order=order, feed=BY_TYPE, schemas=learned(events[0]), now_s=0.0, format=PARQUET
    )
    (answer,) = shredding(plan, store)(given)
    assert list(given) == []  # Spark would take a worker that leaves some for dead
    with pytest.raises(RecordTooLarge):
        read_report(answer["report"][0].as_py())
    assert not list(store.list_staged("_penstock/f/staging", ()))


def test_values_that_make_too_long_a_key_are_cut_and_every_record_lands() -> None:
    """Goal: one long value does not fail its task again and again."""
    values = [{key: f"{key}{n}" * 120 for key in "wxyz"} for n in range(3)]
    events = [an_event("a", **each) for each in values]
    order = StageOrder("f", "1-1", "_penstock/f/staging", (OffsetRange(TOPIC, "id", 0, 0, 3),))
    store = MemoryStore(longest_key_bytes=700)
    levels = tuple(PartitionKey("field", key) for key in "wxyz")
    plan = ShredPlan(
        order=order,
        feed=msgspec.structs.replace(BY_TYPE, partition=levels),
        schemas=learned(events[0]),
        now_s=2e9,
        format=PARQUET,
        longest_key_bytes=store.longest_key_bytes,
    )
    (answer,) = shredding(plan, store)(iter([a_batch(events, [None] * 3)]))
    files = read_report(answer["report"][0].as_py()).files
    assert sum(file.evidence.count for file in files) == 3
    assert len({file.handle.final.rpartition("/")[0] for file in files}) == 3
    assert all(file.handle.final.startswith("f/a/by_w=w") for file in files)
    assert all(len(file.handle.final) <= 700 for file in files)
