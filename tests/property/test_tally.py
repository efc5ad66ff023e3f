"""Evidence made from columns is the evidence made row by row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.evidence import Evidence
from penstock.model.ranges import OffsetSet
from penstock.writer.tally import Tally, positions, runs_of, sum_mod64

OFFSETS = st.lists(st.integers(0, 2**63 - 2), unique=True, max_size=50).map(sorted)


@given(st.text(min_size=1), st.integers(0, 2**31 - 1), OFFSETS)
def test_positions_as_columns_are_positions_row_by_row(
    topic: str, partition: int, offsets: list[int]
) -> None:
    wanted = Evidence.of_positions(topic, partition, offsets)
    assert positions(topic, partition, np.array(offsets, np.int64)) == wanted


@given(OFFSETS)
def test_runs_as_columns_are_the_same_set(offsets: list[int]) -> None:
    assert runs_of(np.array(offsets, np.int64)) == OffsetSet.of(offsets)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_a_sum_of_signed_hashes_wraps_at_64_bits(hashes: list[int]) -> None:
    assert sum_mod64(np.array(hashes, np.int64)) == sum(hashes) % 2**64


@given(st.lists(OFFSETS, max_size=4))
def test_a_tally_is_the_sum_of_its_batches(batches: list[list[int]]) -> None:
    tally = Tally("events", 3)
    for batch in batches:
        tally.add(np.array(batch, np.int64))
    every = [offset for batch in batches for offset in batch]
    assert tally.total() == Evidence.of_positions("events", 3, every)
