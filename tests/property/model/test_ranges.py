"""Laws of offset ranges and offset sets, held against plain Python sets."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.ranges import OffsetRange, OffsetSet, TopicPartition

BOUNDS = st.tuples(st.integers(0, 60), st.integers(0, 60)).map(lambda pair: (min(pair), max(pair)))
RUNS = st.lists(BOUNDS, max_size=8)
OFFSETS = st.frozensets(st.integers(0, 60), max_size=40)


@st.composite
def ranges(draw: st.DrawFn) -> OffsetRange:
    """Ranges that often share their partition, so that the laws about neighbours are met."""
    start, end = draw(BOUNDS)
    topic = draw(st.sampled_from(["t", "u"]))
    return OffsetRange(topic, f"id-{topic}", draw(st.integers(0, 1)), start, end)


def plain(covered: OffsetRange) -> set[tuple[TopicPartition, int]]:
    """The positions of a range, as a set."""
    return {(covered.place, offset) for offset in range(covered.start, covered.end)}


@given(ranges(), st.data())
def test_the_parts_of_a_split_range_join_to_the_same_range(
    covered: OffsetRange, data: st.DataObject
) -> None:
    at = data.draw(st.integers(covered.start, covered.end))
    left, right = covered.split(at)
    assert left.join(right) == covered
    assert right.follows(left)
    assert len(left) + len(right) == len(covered)
    assert not left.overlaps(right)


@given(ranges(), st.integers(-5, 70))
def test_a_range_is_not_split_outside_itself(covered: OffsetRange, at: int) -> None:
    if covered.start <= at <= covered.end:
        return
    with pytest.raises(ValueError, match="outside"):
        covered.split(at)


@given(ranges(), ranges())
def test_overlap_means_a_common_offset_and_is_symmetric(
    one: OffsetRange, other: OffsetRange
) -> None:
    assert one.overlaps(other) == other.overlaps(one) == bool(plain(one) & plain(other))


@given(ranges(), ranges())
def test_a_range_follows_another_when_nothing_lies_between_and_nothing_is_shared(
    one: OffsetRange, other: OffsetRange
) -> None:
    same_place = one.place == other.place
    assert other.follows(one) == (same_place and other.start == one.end)
    if other.follows(one):
        assert plain(one.join(other)) == plain(one) | plain(other)
    else:
        with pytest.raises(ValueError, match="does not follow"):
            one.join(other)


@given(ranges(), st.integers(0, 60))
def test_a_range_contains_the_offsets_it_counts(covered: OffsetRange, offset: int) -> None:
    assert (offset in covered) == (offset in range(covered.start, covered.end))
    assert len(covered) == len(plain(covered))
    assert covered.is_empty == (not plain(covered))


@pytest.mark.parametrize(("partition", "start", "end"), [(-1, 0, 1), (0, -1, 1), (0, 2, 1)])
def test_what_is_no_range_cannot_be_made_or_read(partition: int, start: int, end: int) -> None:
    with pytest.raises(ValueError, match="not an offset range"):
        OffsetRange("t", "i", partition, start, end)
    text = f'{{"topic":"t","topic_id":"i","partition":{partition},"start":{start},"end":{end}}}'
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=OffsetRange)
    if partition >= 0:
        with pytest.raises(ValueError, match="not an offset range"):
            OffsetRange("t", "i", partition, 0, 0).with_bounds(start, end)


@given(OFFSETS)
def test_an_offset_set_holds_exactly_its_offsets_in_order(offsets: frozenset[int]) -> None:
    made = OffsetSet.of(offsets)
    assert list(made) == sorted(offsets)
    assert len(made) == len(offsets)
    assert msgspec.json.decode(msgspec.json.encode(made), type=OffsetSet) == made


@given(OFFSETS, OFFSETS)
def test_set_operations_are_those_of_plain_sets(one: frozenset[int], other: frozenset[int]) -> None:
    a, b = OffsetSet.of(one), OffsetSet.of(other)
    assert set(a | b) == one | other
    assert set(a - b) == one - other
    assert set(a & b) == one & other
    assert a.issubset(b) == (one <= other)


@given(RUNS, RUNS)
def test_what_is_left_of_long_runs_is_what_plain_sets_leave(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    a, b = OffsetSet.from_runs(one), OffsetSet.from_runs(other)
    assert set(a - b) == set(a) - set(b)


class Watched(tuple[tuple[int, int], ...]):
    """Runs that count how many of them were handed out by number."""

    looked = 0

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        self.looked += len(found) if isinstance(key, slice) else 1
        return found


def test_taking_many_runs_away_looks_at_each_of_them_a_few_times() -> None:
    """Goal: 200,000 broken records with a good one between take no minutes to drop."""
    runs = tuple((at, at + 1) for at in range(0, 2_000, 2))
    holes = Watched(runs)
    assert (OffsetSet(runs) - OffsetSet(holes)).runs == ()
    assert holes.looked <= 4 * len(runs)


@given(OFFSETS, OFFSETS)
def test_equal_sets_have_equal_runs_however_they_were_made(
    one: frozenset[int], other: frozenset[int]
) -> None:
    """Goal: equality of values is equality of sets. Method: reach the same set in two ways."""
    a, b = OffsetSet.of(one), OffsetSet.of(other)
    assert (a - b) | (a & b) == a
    assert a | b == b | a == OffsetSet.of(one | other)


@given(RUNS)
def test_from_runs_joins_what_touches_or_overlaps_and_forgets_what_is_empty(
    runs: list[tuple[int, int]],
) -> None:
    made = OffsetSet.from_runs(runs)
    assert set(made) == {offset for start, end in runs for offset in range(start, end)}
    for (_, end), (start, _) in zip(made.runs, made.runs[1:], strict=False):
        assert end < start


@given(OFFSETS, ranges())
def test_a_set_lies_within_a_range_when_all_its_offsets_do(
    offsets: frozenset[int], covered: OffsetRange
) -> None:
    wanted = all(offset in covered for offset in offsets)
    assert OffsetSet.of(offsets).within(covered) == wanted


@pytest.mark.parametrize(
    "runs",
    [((1, 1),), ((2, 1),), ((-1, 1),), ((0, 2), (2, 3)), ((0, 3), (2, 4)), ((5, 6), (0, 1))],
)
def test_runs_that_are_empty_touching_overlapping_or_unsorted_are_refused(
    runs: tuple[tuple[int, int], ...],
) -> None:
    with pytest.raises(ValueError, match="sorted, separate and non-empty"):
        OffsetSet(runs)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode({"runs": runs}), type=OffsetSet)


def test_a_long_set_is_shown_in_short() -> None:
    shown = str(OffsetSet.of(range(0, 40, 2)))
    assert shown.startswith("[0, 1), [2, 3)")
    assert shown.endswith("and 15 more runs")
