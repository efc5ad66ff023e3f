"""Casts of any number: what goes comes back as the same."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.schema import DOUBLE, decimal_of
from tests.helpers.conversions import cast


@given(st.lists(st.decimals(-(10**13), 10**13, places=2, allow_nan=False), max_size=5))
def test_fifteen_digits_always_fit(values: list[Decimal]) -> None:
    assert cast(decimal_of(25, 2), "double", values) == ([float(each) for each in values], [])


@given(st.lists(st.decimals(-(10**17), 10**17, places=3, allow_nan=False), max_size=5))
def test_more_digits_go_where_they_come_back(values: list[Decimal]) -> None:
    lost = [place for place, each in enumerate(values) if Decimal(repr(float(each))) != each]
    assert cast(decimal_of(25, 3), "double", values)[1] == lost


@given(st.floats(allow_nan=False))
def test_the_text_of_a_double_is_read_as_the_same(value: float) -> None:
    ((text,), _) = cast(DOUBLE, "string", [value])
    assert float(text) == value


@given(st.integers(-(2**53), 2**53))
def test_a_whole_number_has_one_text_in_both_types(value: int) -> None:
    assert cast(DOUBLE, "string", [float(value)]) == ([str(value)], [])
