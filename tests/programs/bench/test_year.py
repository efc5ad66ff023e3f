"""The year of `make bench-year`, a few days of it: its figures are what lies there."""

from dataclasses import replace

import pytest

from bench.year import BOUNDS, Day, Shape, Year, broken_bounds, picture, steady

SHAPE = Shape(windows=60, datasets=4, days=15, each=2, retain_days=4, seal_days=1)


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> list[Day]:
    return list(Year(tmp_path_factory.mktemp("year"), SHAPE).days())


def test_days_are_delivered_retired_and_cleaned(days: list[Day]) -> None:
    """Each day has 4 windows of 2 files; on two of the days a process dies."""
    assert [day.windows for day in days] == [4 * day.day for day in days]
    assert [day.live for day in days[:4]] == [8, 16, 24, 32]
    assert all(32 <= day.live <= 48 for day in days[4:])
    assert [day.staged for day in days] == [0] * 15
    assert broken_bounds(days, SHAPE) == []
    assert len(steady(days, SHAPE)) == 9


@pytest.mark.parametrize(
    "name", ["live", "in_directories", "staged", "journal", "segments", "others", "open_requests"]
)
def test_a_figure_that_grows_breaks_its_bound(days: list[Day], name: str) -> None:
    grown = replace(days[-1], **{name: 10**6})
    assert len(broken_bounds([*days, grown], SHAPE)) >= 1
    assert len(BOUNDS) == 7


def test_the_picture_has_three_charts(days: list[Day]) -> None:
    drawn = picture(days)
    assert drawn.count("<title>") > 3 * 15
    assert "Objects of the journal" in drawn
