"""Which payloads a task shows the driver, so that it can learn a schema."""

from itertools import pairwise

import pyarrow as pa
import pytest

from penstock.datapath.stage.samples import SAMPLE_BYTES, SAMPLE_ROWS, TASK_BYTES, Sampling


def numbered(first: int, count: int, size: int = 8) -> pa.Array:
    return pa.array([f"{number:0{size}}".encode() for number in range(first, first + count)])


def sampled(*batches: pa.Array) -> list[int]:
    """The numbers of the payloads that are taken of one new dataset."""
    samples = Sampling()
    for batch in batches:
        samples.add_new("a", batch)
    [found] = samples.all()
    return [int(payload) for payload in found.payloads]


def test_the_first_payloads_are_taken_and_the_others_at_even_distances() -> None:
    """Goal: the type of a column does not depend on the first records alone."""
    found = sampled(numbered(0, 100_000))
    assert found[:SAMPLE_ROWS] == list(range(SAMPLE_ROWS))
    later = found[SAMPLE_ROWS:]
    assert SAMPLE_ROWS // 2 <= len(later) <= SAMPLE_ROWS
    assert len({after - before for before, after in pairwise(later)}) == 1
    assert later[-1] > 99_000


def test_few_payloads_are_all_taken() -> None:
    assert sampled(numbered(0, 10), numbered(10, 5)) == list(range(15))
    assert sampled(numbered(0, SAMPLE_ROWS + 7)) == list(range(SAMPLE_ROWS + 7))


@pytest.mark.parametrize("size", [1, 37, 1_000, 9_999])
def test_how_records_come_in_batches_does_not_matter(size: int) -> None:
    """Goal: a task that is tried again teaches the same."""
    batches = [numbered(first, min(size, 12_345 - first)) for first in range(0, 12_345, size)]
    assert sampled(*batches) == sampled(numbered(0, 12_345))


def test_large_payloads_are_bounded_by_their_size() -> None:
    samples = Sampling()
    for first in range(0, 400, 20):
        samples.add_new("a", numbered(first, 20, size=20_000))
    [found] = samples.all()
    assert sum(map(len, found.payloads)) <= 2 * SAMPLE_BYTES
    assert int(found.payloads[-1][-8:]) > 300


def test_all_datasets_of_a_task_are_bounded_together() -> None:
    samples = Sampling()
    for number in range(100):
        samples.add_new(f"d{number}", numbered(0, 60, size=20_000))
    taken = samples.all()
    assert len(taken) == 100
    sizes = [sum(map(len, each.payloads)) for each in taken]
    assert min(sizes) >= 20_000
    assert sum(sizes) <= TASK_BYTES + 100 * 20_000
