"""The year of `make bench-year`, a few days of it: its figures are what lies there."""

from dataclasses import replace

import pytest

from bench.year import BOUNDS, Day, Shape, Year, broken_bounds, picture, steady

SHAPE = Shape(windows=60, datasets=4, days=15, each=4, retain_days=4, seal_days=1)


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Year:
    return Year(tmp_path_factory.mktemp("year"), SHAPE)


@pytest.fixture(scope="module")
def days(year: Year) -> list[Day]:
    return list(year.days())


def test_days_are_delivered_compacted_retired_and_cleaned(days: list[Day]) -> None:
    """Each day has 4 windows of 4 files; on two of the days a process dies.

    Days begin at eight in the morning: two windows of each are of the next day.
    """
    assert [day.windows for day in days] == [4 * day.day for day in days]
    assert [day.delivered for day in days[:4]] == [16, 32, 48, 64]
    assert [day.live for day in days[1:4]] == [16, 20, 24]
    assert all(day.delivered == 72 and day.live == 24 for day in days[5:])
    assert BOUNDS[0].most(SHAPE) < 72, "without compaction the bound would not be kept"
    assert [day.staged for day in days] == [0] * 15
    assert broken_bounds(days, SHAPE) == []
    assert len(steady(days, SHAPE)) == 9


def test_all_of_it_is_proven_in_the_end(year: Year, days: list[Day]) -> None:
    """Only this test looks at the lake; in the end it takes a file away."""
    assert len(days) == SHAPE.days
    assert year.differences() == []
    next(iter(sorted(year.place.rglob("kind1/**/*.parquet")))).unlink()
    shallow, deep, *rows = year.differences()
    assert (shallow[:14], deep[:11]) == ("shallow audit:", "deep audit:")
    assert rows


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
