"""Plans of compactions: every file at most once, never too large, and never without a use."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.care.compaction_plan import (
    MOST_OF_ENTRY,
    NEAR,
    CompactionPolicy,
    FileSize,
    debt_of,
    hull,
    joined_ranges,
    name_of,
    new_files,
    plan_directories,
)
from penstock.model.names import CompactedName, FileName, parse_name
from penstock.model.ranges import OffsetRange, OffsetSet

POLICY = CompactionPolicy(target_bytes=1_000, min_files=4)
SIZES = st.lists(st.integers(1, 1_200) | st.integers(1, 60), max_size=60)


def file(number: int, size: int, directory: str = "feed/a/day=2026-11-15") -> FileSize:
    name = FileName(0, "events", 0, number, number + 1, f"1-{number}", "zstd.parquet")
    return FileSize(f"{directory}/{name}", number, size)


def files(*sizes: int) -> list[FileSize]:
    return [file(number, size) for number, size in enumerate(sizes)]


def planned(*sizes: int) -> list[list[int]]:
    """The sizes of the inputs of every new file."""
    return [[each.size_bytes for each in one.inputs] for one in new_files(files(*sizes), POLICY)]


@given(SIZES)
def test_a_file_goes_into_one_new_file_at_most_and_none_becomes_too_large(sizes: list[int]) -> None:
    made = list(new_files(files(*sizes), POLICY))
    taken = [each for one in made for each in one.inputs]
    assert len(set(taken)) == len(taken)
    for one in made:
        assert len(one.inputs) > 1
        assert one.size_bytes <= POLICY.target_bytes
        assert all(each.size_bytes < NEAR * POLICY.target_bytes for each in one.inputs)
        assert list(one.inputs) == sorted(one.inputs, key=lambda each: each.number)


@given(SIZES)
def test_a_new_file_is_full_or_made_of_many_of_which_none_outweighs_the_others(
    sizes: list[int],
) -> None:
    for one in new_files(files(*sizes), POLICY):
        if one.size_bytes < NEAR * POLICY.target_bytes:
            assert len(one.inputs) >= POLICY.min_files
            largest = max(each.size_bytes for each in one.inputs)
            assert largest <= one.size_bytes - largest


@given(SIZES)
def test_files_come_to_rest(sizes: list[int]) -> None:
    """Compacting again and again ends, because what is made is larger than what it is made of."""
    now, number = files(*sizes), len(sizes)
    for _ in range(len(sizes) + 1):
        made = list(new_files(now, POLICY))
        if not made:
            return
        for one in made:
            now = [each for each in now if each not in one.inputs]
            now.append(file(number, one.size_bytes))
            number += 1
    raise AssertionError("it goes on for ever")


def test_what_would_not_help_is_not_done() -> None:
    assert planned() == []
    assert planned(10) == []
    assert planned(10, 10, 10) == [], "too few"
    assert planned(900, 800, 950, 760) == [], "near the target"
    assert planned(600, 5, 5, 5) == [], "a large one for the sake of a few bytes"


def test_what_helps_is_done() -> None:
    assert planned(10, 10, 10, 10) == [[10, 10, 10, 10]]
    assert planned(400, 500) == [[400, 500]], "two that fill one"
    assert planned(600, 5, 5, 5, 5) == [[5, 5, 5, 5]], "the large one stays"
    assert planned(*[100] * 25) == [[100] * 10, [100] * 10, [100] * 5]


def test_every_byte_is_rewritten_a_few_times_only() -> None:
    """An hour of small files after the other: what is there already is not copied each time."""
    now: list[FileSize] = []
    number = rewritten = 0
    for _ in range(1_000):
        now.append(file(number, 1))
        number += 1
        for one in list(new_files(now, CompactionPolicy(10_000, 4))):
            rewritten += one.size_bytes
            now = [each for each in now if each not in one.inputs]
            now.append(file(number, one.size_bytes))
            number += 1
    assert sum(each.size_bytes for each in now) == 1_000
    assert len(now) <= 30
    assert rewritten <= 10 * 1_000


@given(SIZES, SIZES)
def test_directories_topics_and_generations_are_apart(one: list[int], other: list[int]) -> None:
    both = [
        *(file(number, size, "feed/a/day=1") for number, size in enumerate(one)),
        *(file(number, size, "feed/a/day=2") for number, size in enumerate(other)),
    ]
    plans = list(plan_directories(both, POLICY))
    for plan in plans:
        assert all(each.final.startswith(f"{plan.directory}/") for each in plan.inputs)
    expected = [
        *new_files(both[: len(one)], POLICY),
        *new_files(both[len(one) :], POLICY),
    ]
    assert [each for plan in plans for each in plan.files] == expected
    assert debt_of(plans).files == sum(len(each.inputs) for each in expected)


def test_a_directory_of_very_many_files_is_done_by_several_entries() -> None:
    many = [file(number, 1) for number in range(3 * MOST_OF_ENTRY)]
    plans = list(plan_directories(many, POLICY))
    assert len(plans) == 3
    assert all(len(plan.inputs) <= MOST_OF_ENTRY for plan in plans)
    assert {each for plan in plans for each in plan.inputs} == set(many)


def test_files_of_strangers_are_left_alone() -> None:
    strange = [FileSize(f"feed/a/part-{n}.parquet", n, 1) for n in range(9)]
    assert list(plan_directories(strange, POLICY)) == []


def test_a_new_file_is_named_after_the_first_and_the_last_window() -> None:
    inputs = [
        "feed/a/0_t_0_5-6_2-1.rows",
        "feed/a/0_t_c1-9-1-12_2-xab.rows",
        "feed/a/0_t_0..3_g1_1-10.rows",
    ]
    name = name_of(inputs, 3, "2-xcd", "rows")
    assert name == CompactedName(0, "t", "1-9", "2-1", 0, "2-xcd", "rows")
    again = name_of(inputs, 3, "2-xcd", "rows", {str(name)})
    assert again.group == 3
    assert parse_name(str(again)) == again


RANGES = st.lists(
    st.builds(
        lambda partition, start, count: OffsetRange("t", "id", partition, start, start + count),
        st.integers(0, 2),
        st.integers(0, 40),
        st.integers(1, 10),
    ),
    min_size=1,
)


def offsets(ranges: tuple[OffsetRange, ...] | list[OffsetRange]) -> dict[int, OffsetSet]:
    found: dict[int, OffsetSet] = {}
    for each in ranges:
        known = found.get(each.partition, OffsetSet())
        found[each.partition] = known | OffsetSet(((each.start, each.end),))
    return found


@given(RANGES)
def test_joined_ranges_are_the_same_offsets_in_order(ranges: list[OffsetRange]) -> None:
    joined = joined_ranges(ranges)
    assert offsets(joined) == offsets(ranges)
    assert list(joined) == sorted(joined)
    assert not any(after.follows(before) for before, after in pairwise(joined))


@given(RANGES)
def test_a_hull_has_one_range_for_each_partition(ranges: list[OffsetRange]) -> None:
    found = hull(ranges)
    assert [each.partition for each in found] == sorted({each.partition for each in ranges})
    for each in ranges:
        assert any(each.lies_in(whole) for whole in found)
