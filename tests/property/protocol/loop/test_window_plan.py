"""Planning any partitions: fair, within its cap, and nobody starves."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.loop.window_plan import plan_ranges
from tests.helpers.offset_plans import available, marks, plan

PARTITIONS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12)


@given(PARTITIONS, st.integers(1, 200), st.integers(0, 1000))
def test_a_plan_begins_at_the_watermarks_and_stays_within_its_cap(
    partitions: list[tuple[int, int]], cap: int, turn: int
) -> None:
    watermarks = [at for at, _ in partitions]
    latest = [at + waiting for at, waiting in partitions]
    planned = plan_ranges(marks(*watermarks), available(*latest), cap, turn)
    waiting_in_all = sum(waiting for _, waiting in partitions)
    assert sum(len(found) for found in planned) == min(cap, waiting_in_all)
    assert list(planned) == sorted(planned)
    for found in planned:
        assert not found.is_empty
        assert found.start == watermarks[found.partition]
        assert found.end <= latest[found.partition]


@given(PARTITIONS, st.integers(1, 200))
def test_every_waiting_partition_gets_its_share_when_the_cap_allows_one_each(
    partitions: list[tuple[int, int]], cap: int
) -> None:
    waiting = {p: size for p, (_, size) in enumerate(partitions) if size}
    if cap < len(waiting):
        return
    got = plan(tuple(at for at, _ in partitions), tuple(at + size for at, size in partitions), cap)
    assert got.keys() == waiting.keys()
    fair = cap // len(waiting) if waiting else 0
    assert all(got[p] >= min(size, fair) for p, size in waiting.items())


@given(st.integers(2, 9), st.integers(1, 8), st.integers(0, 100))
def test_no_partition_starves_when_there_are_more_of_them_than_records_to_take(
    partitions: int, cap: int, began: int
) -> None:
    """Goal: a small partition is served although large ones keep growing. Method: as many turns
    as there are partitions, one journal entry apart, with endless supply everywhere."""
    watermarks = [0] * partitions
    for turn in range(began, began + partitions):
        latest = [at + 1 if p == 0 else at + 1000 for p, at in enumerate(watermarks)]
        for found in plan_ranges(marks(*watermarks), available(*latest), cap, turn):
            watermarks[found.partition] = found.end
    assert min(watermarks) > 0
