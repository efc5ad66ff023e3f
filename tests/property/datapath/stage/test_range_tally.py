"""Evidence made from columns is the evidence made row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.stage.range_tally import Tally
from penstock.evidence import position_columns
from penstock.evidence.position_columns import (
    offsets_in,
    position_hashes,
    positions,
    runs_of,
    set_evidence,
    sum_mod64,
)
from penstock.model.evidence import Evidence, position_hash
from penstock.model.ranges import OffsetSet

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


@given(st.lists(st.tuples(st.integers(0, 2**63 - 2), st.integers(0, 1_000)), max_size=20))
def test_several_rows_of_a_record_have_hashes_of_their_own(places: list[tuple[int, int]]) -> None:
    offsets = np.array([offset for offset, _ in places], np.int64)
    rows = np.array([row for _, row in places], np.int64)
    wanted = [position_hash("events", 1, offset, row) for offset, row in places]
    assert position_hashes("events", 1, offsets, rows).tolist() == wanted


RUNS = st.lists(st.tuples(st.integers(0, 10_000), st.integers(1, 40)), max_size=8)


@given(RUNS, st.integers(1, 50))
def test_the_evidence_of_a_set_does_not_depend_on_the_size_of_the_pieces(
    runs: list[tuple[int, int]], piece: int
) -> None:
    offsets = OffsetSet.from_runs((start, start + length) for start, length in runs)
    assert offsets_in(offsets).tolist() == list(offsets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(position_columns, "PIECE", piece)
        assert set_evidence("t", 0, offsets) == Evidence.of_positions("t", 0, offsets)
