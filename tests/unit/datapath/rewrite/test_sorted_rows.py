"""Rows come out in order, whatever their number and however they came, in bounded memory."""

from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest

from penstock.datapath.rewrite.sorted_rows import SortedRows, in_order, keys_of

Position = tuple[int, int, int]


def rows(positions: list[Position], width: int = 10) -> pa.RecordBatch:
    partitions, offsets, numbers = zip(*positions, strict=True)
    return pa.RecordBatch.from_pydict(
        {
            "text": [f"{each}".ljust(width) for each in positions],
            "_partition": pa.array(partitions, pa.int32()),
            "_offset": pa.array(offsets, pa.int64()),
            "_row": pa.array(numbers, pa.int32()),
        }
    )


def positions_of(batch: pa.RecordBatch) -> list[Position]:
    names = ("_partition", "_offset", "_row")
    return list(zip(*(batch[name].to_pylist() for name in names), strict=True))


def in_batches(positions: list[Position], size: int) -> list[pa.RecordBatch]:
    return [rows(positions[start : start + size]) for start in range(0, len(positions), size)]


EVERY = [(p, o, r) for p in range(4) for o in range(60) for r in range(2)]


@pytest.mark.parametrize("run_bytes", [1 << 30, 5_000, 1_000])
@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize("kind", ["in order", "by window", "shuffled", "backwards"])
def test_rows_come_out_in_order_and_each_once(kind: str, size: int, run_bytes: int) -> None:
    came = {
        "in order": EVERY,
        "by window": sorted(EVERY, key=lambda each: (each[1] // 10, each)),
        "shuffled": Random(3).sample(EVERY, len(EVERY)),
        "backwards": EVERY[::-1],
    }[kind]
    sorting = SortedRows(run_bytes, 500)
    for batch in in_batches(came, size):
        sorting.add(batch)
    found = [each for batch in sorting.in_order() for each in positions_of(batch)]
    assert found == EVERY
    sorting.clear()
    sorting.clear()


def test_values_stay_with_their_rows() -> None:
    sorting = SortedRows(2_000, 300)
    for batch in in_batches(EVERY[::-1], 11):
        sorting.add(batch)
    for batch in sorting.in_order():
        assert [each.strip() for each in batch["text"].to_pylist()] == [
            f"{each}" for each in positions_of(batch)
        ]


def test_nothing_gives_nothing() -> None:
    assert list(SortedRows().in_order()) == []


def test_rows_of_one_position_all_come_out() -> None:
    """Two lives of a topic have the same positions."""
    sorting = SortedRows(400, 100)
    for batch in in_batches([(0, n % 3, 0) for n in range(60)], 5):
        sorting.add(batch)
    found = [each for batch in sorting.in_order() for each in positions_of(batch)]
    assert found == [(0, n, 0) for n in range(3) for _ in range(20)]


def test_what_is_given_out_at_a_time_is_bounded() -> None:
    sorting = SortedRows(run_bytes=200_000, block_bytes=10_000)
    wide = [(0, offset, 0) for offset in range(3_000)]
    for start in range(0, 3_000, 100):
        sorting.add(rows(wide[start : start + 100], width=1_000))
    sizes = [batch.nbytes for batch in sorting.in_order()]
    assert sum(sizes) > 3_000_000
    assert max(sizes) <= 20_000, "one block of each run that has come so far"


def test_a_file_without_row_numbers_has_first_rows_only() -> None:
    batch = rows([(0, 2, 0), (0, 1, 0)]).drop_columns(["_row"])
    assert in_order(batch)["_offset"].to_pylist() == [1, 2]
    assert [keys_of(batch).at(n) for n in (0, 1)] == [(0, 2, 0), (0, 1, 0)]


def test_order_is_by_partition_then_offset_then_row() -> None:
    for before, after in pairwise(EVERY):
        assert keys_of(rows([before, after])).are_in_order()
        assert not keys_of(rows([after, before])).are_in_order()
