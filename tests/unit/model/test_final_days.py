"""Which directories of a file are final, and in which order they become so."""

import pytest

from penstock.model.final_days import Frontier, Level, dataset_of_directory, levels_of, newly_final

DAY = "feed/a/day=2026-11-15"
HOUR = f"{DAY}/hour=07"


@pytest.mark.parametrize(
    ("final", "wanted"),
    [
        (f"{DAY}/x.parquet", [("2026-11-15", DAY)]),
        (f"{HOUR}/x.parquet", [("2026-11-15", DAY), ("2026-11-15T07", HOUR)]),
        (f"{HOUR}/minute=05/x", [("2026-11-15", DAY), ("2026-11-15T07", HOUR)]),
        ("feed/a/by_x=1/day=2026-11-15/x", [("2026-11-15", "feed/a/by_x=1/day=2026-11-15")]),
        (f"{DAY}/hour=24/x", [("2026-11-15", DAY)]),
        ("feed/a/day=2026-13-15/hour=07/x", []),
        ("feed/a/hour=07/x", []),
        ("feed/a/x", []),
    ],
)
def test_a_file_lies_in_the_directory_of_a_day_and_perhaps_of_an_hour(
    final: str, wanted: list[tuple[str, str]]
) -> None:
    assert [(level.label, level.directory) for level in levels_of(final)] == wanted


@pytest.mark.parametrize(
    ("frontier", "wanted"),
    [
        (Frontier(), []),
        (Frontier("2026-11-15"), []),
        (Frontier("2026-11-16"), [DAY]),
        (Frontier("2026-11-15", "2026-11-15T07"), []),
        (Frontier("2026-11-15", "2026-11-15T08"), [HOUR]),
        (Frontier("2026-11-16", "2026-11-15T08"), [HOUR, DAY]),
    ],
)
def test_what_lies_before_the_frontier_is_final_the_hour_first(
    frontier: Frontier, wanted: list[str]
) -> None:
    assert frontier.final_directories(f"{HOUR}/x") == wanted


@pytest.mark.parametrize(
    ("frontier", "is_in_form"),
    [
        (Frontier(), False),
        (Frontier("2026-11-15"), True),
        (Frontier("", "2026-11-15T07"), True),
        (Frontier("2026-11-31"), False),
        (Frontier("", "2026-11-15T24"), False),
        (Frontier("", "2026-11-15"), False),
        (Frontier("2026-11-15", "2026-11"), False),
    ],
)
def test_a_frontier_names_days_and_hours_of_the_calendar(
    frontier: Frontier, is_in_form: bool
) -> None:
    assert frontier.is_in_form is is_in_form


def test_days_sort_behind_their_hours_and_before_those_of_the_next() -> None:
    levels = [Level("2026-11-15", "b"), Level("2026-11-16T00", "c", is_hour=True)]
    levels += [Level("2026-11-15T23", "a", is_hour=True)]
    assert [level.directory for level in sorted(levels, key=Level.order)] == ["a", "b", "c"]


def test_hours_of_days_that_were_final_are_not_asked_for_any_more() -> None:
    new = Frontier("2026-11-16", "2026-11-16T00")
    final = f"{HOUR}/x"
    assert [level.label for level in newly_final(Frontier(), new, final)] == [
        "2026-11-15",
        "2026-11-15T07",
    ]
    assert list(newly_final(Frontier("2026-11-16"), new, final)) == []
    assert [level.label for level in newly_final(Frontier("", "2026-11-15T08"), new, final)] == [
        "2026-11-15"
    ]


def test_a_directory_tells_its_dataset() -> None:
    assert dataset_of_directory(HOUR) == "a"
