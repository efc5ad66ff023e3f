"""Lanes and the order of files: what is long begins first, and every second is in one lane."""

from pathlib import Path

import pytest

from tests.helpers.lanes import (
    finish_s,
    group_of,
    in_order,
    lane_of,
    read_stored,
    still_there,
    store,
    table,
)


@pytest.mark.parametrize(
    ("file", "lane"),
    [
        ("tests/unit/audit/test_deep.py", "unit"),
        ("tests/property/model/test_names.py", "property"),
        ("tests/tidy/test_rooms.py", "tidy"),
        ("tests/integration/test_slice.py", "integration: kafka, spark"),
        ("tests/integration/test_demo.py", "integration: demo"),
        ("tests/integration/s3/test_stores.py", "integration: s3"),
        ("tests/test_alone.py", "other"),
    ],
)
def test_a_file_has_the_lane_of_its_folder_or_component(file: str, lane: str) -> None:
    assert lane_of(file) == lane


def test_files_of_one_mark_stay_together_and_others_are_groups_of_their_own() -> None:
    assert group_of("tests/integration/test_slice.py", "kafka") == "kafka"
    assert group_of("tests/unit/audit/test_deep.py", None) == "unit/audit/test_deep"


def test_the_longest_group_begins_first_and_unknown_files_count_little() -> None:
    groups = {"new": ["n"], "b": ["b1", "b2"], "a": ["a1"], "c": ["c1"]}
    assert in_order(groups, {"a1": 4.0, "b1": 3.0, "b2": 2.0, "c1": 4.0}) == ["b", "a", "c", "new"]


def test_workers_end_together_when_the_longest_begins_first() -> None:
    seconds = [1.0, 2.0, 3.0, 6.0]
    assert finish_s(sorted(seconds, reverse=True), 2) == 6.0
    assert finish_s(seconds, 2) == 8.0
    assert finish_s([], 2) == 0.0


def test_what_is_stored_comes_back_without_what_is_short(tmp_path: Path) -> None:
    place = tmp_path / "durations.json"
    assert read_stored(place) == {}
    store({"b": 2.04, "a": 0.5, "short": 0.1}, place)
    assert read_stored(place) == {"a": 0.5, "b": 2.0}


def test_files_that_are_gone_are_not_stored_again(tmp_path: Path) -> None:
    (tmp_path / "here.py").touch()
    assert still_there({"here.py": 1.0, "gone.py": 2.0}, tmp_path) == {"here.py": 1.0}


def test_the_table_has_every_lane_and_the_sum() -> None:
    lines = table({"unit": 2.0, "integration: demo": 40.0}, {"unit": 1.5})
    assert [line.split() for line in lines] == [
        ["lane", "wall", "s", "cpu", "s"],
        ["integration:", "demo", "40.0", "0.0"],
        ["unit", "2.0", "1.5"],
        ["sum", "42.0", "1.5"],
    ]
