"""Charts: every number is there, text cannot do harm, and nothing leaves its frame."""

import math
import re
from xml.etree import ElementTree

import pytest

from penstock.charts.svg_charts import (
    Axes,
    Bar,
    Mark,
    Series,
    Span,
    bar_chart,
    heat_table,
    line_chart,
    timeline,
)
from penstock.charts.svg_pieces import brief, log_ticks, ticks
from penstock.charts.terminal_charts import (
    ASCII,
    BLOCKS,
    marks_for,
    text_bars,
    text_grid,
)

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "<script>alert('x')</script>&\"\x1b[2J\x00\u202e\ud800\n"
DAYS = ["2026-11-09", "2026-11-10", "2026-11-11"]


def pictures(name: str) -> list[str]:
    """One of each kind, with this name wherever text may stand."""
    return [
        bar_chart(name, [Bar(name, 3, name), Bar("b", 1)], name, [name]),
        line_chart(name, [Series(name, [(1, 2), (3, 4)]), Series("b", [])], Axes(name, name)),
        heat_table(name, [name], [name], {(name, name): 3}),
        timeline(name, [Span(name, 0, 3, name)], [Mark(1, name)], [name]),
    ]


def texts(picture: str) -> list[str]:
    """All that is written in a picture, tips included."""
    tree = ElementTree.fromstring(picture)
    return [node.text or "" for node in tree.iter() if node.tag in {f"{SVG}text", f"{SVG}title"}]


@pytest.mark.parametrize("picture", pictures(NASTY), ids=["bars", "lines", "heat", "timeline"])
def test_text_from_elsewhere_is_only_text(picture: str) -> None:
    assert "<script" not in picture
    assert re.search(r"[\x00-\x09\x0b-\x1f\u202e\ud800]", picture) is None
    assert any("\\x1b[2J\\x00\\u202e" in each for each in texts(picture))


@pytest.mark.parametrize("picture", pictures("plain"), ids=["bars", "lines", "heat", "timeline"])
def test_a_picture_needs_nothing_from_elsewhere_and_has_two_schemes(picture: str) -> None:
    assert "prefers-color-scheme:dark" in picture
    assert re.findall(r"https?://[^\"]+", picture) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in picture


def test_a_bar_chart_shows_every_number_and_the_longest_bar_is_the_largest() -> None:
    picture = bar_chart("Rows", [Bar("click", 1200), Bar("order", 300)], "rows")
    assert {"1,200 rows", "300 rows", "click", "order"} <= set(texts(picture))
    widths = [float(width) for width in re.findall(r'width="([\d.]+)" height="18.0"', picture)]
    assert widths[0] == pytest.approx(4 * widths[1], rel=0.01)


def test_a_log_scale_keeps_small_bars_visible() -> None:
    picture = bar_chart("Fates", [Bar("written", 1_000_000), Bar("refused", 10)], log=True)
    widths = [float(width) for width in re.findall(r'width="([\d.]+)" height="18.0"', picture)]
    assert widths[1] > 20


def test_a_line_has_a_gap_where_a_point_is_not_a_number() -> None:
    points = [(1.0, 1.0), (2.0, 2.0), (3.0, math.nan), (4.0, 4.0), (5.0, 5.0)]
    picture = line_chart("Lag", [Series("lag", points)])
    assert picture.count("<polyline") == 2
    assert picture.count("<circle") == 4


def test_a_log_axis_leaves_out_what_it_cannot_show() -> None:
    picture = line_chart("Speed", [Series("a", [(0, 5), (10, 0), (10, 5), (1000, 50)])], LOG)
    assert picture.count("<circle") == 2


LOG = Axes("types", "seconds", log_x=True, log_y=True)


def test_a_heat_table_is_darker_where_there_is_more_and_empty_where_there_is_nothing() -> None:
    picture = heat_table("Rows", ["click"], DAYS, {("click", DAYS[0]): 100, ("click", DAYS[1]): 10})
    strengths = [float(found) for found in re.findall(r'fill-opacity="([\d.]+)"', picture)]
    assert len(strengths) == 2
    assert strengths[0] > strengths[1]
    assert "click, 2026-11-09: 100" in texts(picture)


def test_a_grid_of_six_types_and_seven_days_has_numbers_in_80_columns() -> None:
    days = [f"11-{day:02}" for day in range(9, 16)]
    values = {("click", day): 1234.0 * at for at, day in enumerate(days)}
    head, click = text_grid(["click"], days, values, 80)
    assert head.split() == days
    assert "1.23k" in click
    assert "██ 7.4k" in click


def test_a_bar_of_very_little_is_still_a_bar() -> None:
    lines = text_bars([Bar("written", 1_000_000), Bar("refused", 1)], 60)
    assert "▏" in lines[1]


def test_ascii_is_used_where_blocks_cannot_be_printed() -> None:
    assert marks_for("utf-8") is BLOCKS
    assert [marks_for(name) for name in ("ascii", "latin-1", None, "no-such")] == [ASCII] * 4
    assert text_bars([Bar("ü", 2), Bar("b", 1)], 30, ASCII)[0].startswith("\\xfc  ###")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (950, "950"), (1234, "1.23k"), (999_999, "1M"), (4.1e6, "4.1M"), (math.nan, "?")],
)
def test_brief_numbers(value: float, shown: str) -> None:
    assert brief(value) == shown


def test_ticks_cover_the_numbers() -> None:
    assert ticks(0, 97) == [0, 20, 40, 60, 80, 100]
    assert ticks(5, 5)[0] <= 5 <= ticks(5, 5)[-1]
    assert log_ticks(3, 2000) == [1, 10, 100, 1000, 10000]
