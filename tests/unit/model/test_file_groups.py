"""File groups: what a plan says about a window's ranges, and what it cannot say."""

import pytest

from penstock.model.file_groups import (
    Cut,
    FilePlan,
    file_groups,
    name_of_part,
    parts_by_ranges,
    ranges_as_words,
)
from penstock.model.ranges import OffsetRange

A0, A1, A2 = (OffsetRange("a", "id-a", partition, 10, 20) for partition in range(3))
B0 = OffsetRange("b", "id-b", 0, 0, 5)
RANGES = (A0, A1, A2, B0)


def test_a_plan_of_an_older_format_has_a_group_for_each_range() -> None:
    groups = file_groups(RANGES, FilePlan())
    assert [group.ranges for group in groups] == [(A0,), (A1,), (A2,), (B0,)]
    assert [group.number for group in groups] == [0, 1, 2, 3]


def test_ranges_of_a_group_come_together_and_a_cut_makes_two_parts_of_it() -> None:
    first, second = file_groups(RANGES, FilePlan((3, 1), (Cut(1, 14), Cut(2, 10))))
    early, late = A1.split(14)
    assert first.parts == ((A0, early), (late,), (A2,))
    assert first.ranges == (A0, A1, A2)
    assert second.parts == ((B0,),)
    assert parts_by_ranges((first, second))[A0, early] == 0


def test_names_of_parts_tell_offsets_of_one_range_and_partitions_of_several() -> None:
    early, late = A1.split(14)
    assert name_of_part(2, "1-7", 5, (A0, early), "zstd.parquet") == "2_a_0..1_g5_1-7.zstd.parquet"
    assert name_of_part(2, "1-7", 5, (late,), "zstd.parquet") == "2_a_1_14-20_1-7.zstd.parquet"
    assert ranges_as_words((A0, early)) == "a/0:10-20,a/1:10-14"


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (FilePlan((3,)), "have 3 ranges, and it has 4"),
        (FilePlan((5,)), "have 5 ranges, and it has 4"),
        (FilePlan((4, 0)), "have 4 ranges, and it has 4"),
        (FilePlan((4,)), "several topics"),
        (FilePlan((), (Cut(4, 0),)), "outside of its ranges"),
        (FilePlan((), (Cut(-1, 15),)), "outside of its ranges"),
        (FilePlan((), (Cut(0, 20),)), "outside of its ranges"),
        (FilePlan((), (Cut(0, 9),)), "outside of its ranges"),
        (FilePlan((), (Cut(1, 15), Cut(0, 15))), "not in order"),
        (FilePlan((), (Cut(0, 15), Cut(0, 15))), "not in order"),
        (FilePlan((3, 1), (Cut(0, 10),)), "begins with a cut"),
    ],
)
def test_a_plan_that_cannot_be_that_of_its_window_is_refused(plan: FilePlan, why: str) -> None:
    found = plan.objection(RANGES)
    assert found is not None
    assert why in found
    with pytest.raises(ValueError, match=r"range|topics|order|cut"):
        file_groups(RANGES, plan)
