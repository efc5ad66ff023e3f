"""Charts of anything at all: well formed, inside their frame, and harmless to a terminal."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from penstock.charts.svg_charts import Axes, Bar, Series, bar_chart, line_chart
from penstock.charts.terminal_charts import ASCII, BLOCKS, Marks, _columns, text_bars, text_grid

numbers = st.floats(allow_nan=True, allow_infinity=True)

words = st.text(st.characters(exclude_categories=()), max_size=40)

bars = st.builds(Bar, words, numbers, words, st.integers(0, 9))


@given(st.lists(bars, max_size=8), st.booleans())
def test_any_bars_make_a_well_formed_picture(found: list[Bar], log: bool) -> None:
    ElementTree.fromstring(bar_chart("t", found, log=log))


@given(
    st.lists(
        st.builds(Series, words, st.lists(st.tuples(numbers, numbers), max_size=5)), max_size=4
    )
)
def test_any_lines_make_a_well_formed_picture(found: list[Series]) -> None:
    for axes in (Axes(), Axes("types", "seconds", log_x=True, log_y=True)):
        ElementTree.fromstring(line_chart("t", found, axes))


@given(st.lists(bars, max_size=8), st.integers(20, 200), st.sampled_from([BLOCKS, ASCII]))
def test_terminal_bars_fit_and_cannot_drive_the_terminal(
    found: list[Bar], width: int, marks: Marks
) -> None:
    for each in text_bars(found, width, marks):
        assert _columns(each) <= width
        assert each.isprintable()
        assert marks is BLOCKS or each.isascii()


@given(
    st.lists(words, max_size=6, unique=True),
    st.lists(words, max_size=12, unique=True),
    st.integers(24, 200),
    st.sampled_from([BLOCKS, ASCII]),
    st.data(),
)
def test_a_terminal_grid_fits_and_cannot_drive_the_terminal(
    rows: list[str], columns: list[str], width: int, marks: Marks, data: st.DataObject
) -> None:
    places = [(row, column) for row in rows for column in columns]
    values = {place: data.draw(numbers) for place in places[:20]}
    for each in text_grid(rows, columns, values, width, marks):
        assert _columns(each) <= width
        assert each.isprintable()
        assert marks is BLOCKS or each.isascii()
