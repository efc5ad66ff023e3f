"""Paths: names with dots, brackets and backslashes of their own lead back to the same names."""

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.event_paths import ITEMS, path_below, steps_of

NAMES = st.text("ab.[]\\ ", min_size=1)


@given(st.lists(st.one_of(NAMES, st.none()), min_size=1))
def test_a_path_leads_back_to_its_names(steps: list[str | None]) -> None:
    steps = ["top", *steps]
    path = reduce(lambda at, step: at + ITEMS if step is None else path_below(at, step), steps, "")
    assert list(steps_of(path)) == steps
