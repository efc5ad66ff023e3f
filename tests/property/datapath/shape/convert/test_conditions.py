"""A condition means the same for columns as for single values, and as plain Python says."""

import re
from datetime import date
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.shape.convert.conditions import fulfils, fulfils_values
from penstock.model.convert_spec import Condition

INTS = st.integers(-(2**63), 2**63 - 1)
HUGE = st.integers(1, 2_000).map(lambda digits: (-1) ** digits * 10**digits)
FLOATS = st.floats(allow_nan=True, allow_infinity=True)
NUMBERS = st.one_of(st.integers(-5, 5), INTS, st.sampled_from([0.0, 1.5, -2.0, 1e300]))
CONSTANTS = st.one_of(st.none(), st.booleans(), NUMBERS, st.sampled_from(["", "a", "1", "true"]))
CENTS = st.one_of(
    st.integers(-9, 9),
    st.integers(-999, 999).map(lambda cents: cents / 100),
    st.sampled_from(["1", "-2.50", "7.000", "0.001"]),
)
COLUMNS = st.one_of(
    st.tuples(st.just(pa.int64()), st.lists(st.none() | st.integers(-5, 5) | INTS)),
    st.tuples(st.just(pa.float64()), st.lists(st.none() | st.sampled_from([0.0, 1.5]) | FLOATS)),
    st.tuples(st.just(pa.bool_()), st.lists(st.none() | st.booleans())),
    st.tuples(
        st.just(pa.string()),
        st.lists(st.none() | st.sampled_from(["a", "1", "true"]) | st.text(max_size=3)),
    ),
)
CONDITIONS = st.builds(
    Condition,
    path=st.just("p"),
    one_of=st.lists(CONSTANTS, max_size=3).map(tuple),
    fits=st.sampled_from(["", "a*", "-?[0-9]+", "true|false"]),
    null=st.sampled_from([None, None, True, False]),
    least=st.none() | NUMBERS,
    most=st.none() | NUMBERS,
    multiple_of=st.none() | st.integers(1, 4),
)


@given(COLUMNS, CONDITIONS)
def test_columns_and_values_agree(column: tuple[Any, list[Any]], condition: Condition) -> None:
    kind, values = column
    found = fulfils(pa.array(values, kind), condition).tolist()
    assert fulfils_values(values, condition).tolist() == found
    assert found == [by_hand(value, condition) for value in values]


@given(st.lists(st.none() | st.booleans() | INTS | HUGE | FLOATS | st.text(max_size=2)), CONDITIONS)
def test_a_value_is_judged_alone(values: list[Any], condition: Condition) -> None:
    alone = [bool(fulfils_values([value], condition)[0]) for value in values]
    assert fulfils_values(values, condition).tolist() == alone


def test_what_has_no_text_is_there_and_fulfils_nothing_else() -> None:
    values = [{"a": 1}, [1], None]
    assert fulfils_values(values, Condition("p", null=False)).tolist() == [True, True, False]
    for asked in (Condition("p", fits=".*"), Condition("p", least=0), Condition("p", one_of=("",))):
        assert not fulfils_values(values[:2], asked).any()


def test_whole_numbers_beyond_64_bits_are_numbers() -> None:
    assert fulfils_values([2**70, -(2**70)], Condition("p", least=2**69)).tolist() == [True, False]
    assert fulfils_values([2**63 - 1], Condition("p", most=2**70)).tolist() == [True]
    assert fulfils_values([2**63 - 1], Condition("p", least=2**70)).tolist() == [False]


def test_whole_numbers_beyond_all_fractions_are_numbers() -> None:
    huge = [10**400, -(10**400)]
    assert fulfils_values(huge, Condition("p", least=1)).tolist() == [True, False]
    assert fulfils_values(huge, Condition("p", one_of=(1, 10**400))).tolist() == [True, False]
    assert not fulfils_values(huge, Condition("p", multiple_of=1)).any()


@given(
    st.lists(st.none() | st.decimals(-99, 99, places=2)), st.lists(CENTS, min_size=1, max_size=4)
)
def test_decimals_are_compared_as_numbers(values: list[Any], wanted: list[Any]) -> None:
    condition = Condition("p", one_of=tuple(wanted))
    numbers = [Decimal(str(each)) for each in wanted]
    for kind in (pa.decimal128(4, 2), pa.decimal128(38, 2), pa.decimal128(20, 10)):
        found = fulfils(pa.array(values, kind), condition).tolist()
        assert found == [value is not None and value in numbers for value in values]


KINDS = st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p)))
BOUNDS = st.one_of(
    st.integers(-99_999, 99_999).map(lambda cents: cents / 100),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
)


@given(KINDS, st.lists(st.none() | st.integers(-(10**38), 10**38)), BOUNDS | st.none(), st.data())
def test_decimals_are_bounded_by_exactly_what_is_written(
    kind: tuple[int, int], whole: list[int | None], bound: int | float | None, data: st.DataObject
) -> None:
    digits, scale = kind
    cut = [None if n is None else (n % 10**digits if n > 0 else -(-n % 10**digits)) for n in whole]
    values = [None if n is None else Decimal(n).scaleb(-scale, Context(prec=100)) for n in cut]
    there = [float(value) for value in values if value is not None]
    wanted = bound if bound is not None else data.draw(st.sampled_from([0, *there]))
    column, exact = pa.array(values, pa.decimal128(digits, scale)), Decimal(str(wanted))
    least = fulfils(column, Condition("p", least=wanted)).tolist()
    assert least == [value is not None and value >= exact for value in values]
    most = fulfils(column, Condition("p", most=wanted)).tolist()
    assert most == [value is not None and value <= exact for value in values]


@pytest.mark.parametrize(
    ("value", "asked", "passes"),
    [
        ("0.35", Condition("p", most=0.35), True),
        ("70218.43", Condition("p", least=70218.43, most=70218.43), True),
        ("99999999999999999.99", Condition("p", least=100000000000000000), False),
        ("99.99", Condition("p", most=1e300), True),
        ("99.99", Condition("p", least=-1e300), True),
        ("99.99", Condition("p", least=1e300), False),
        ("0.01", Condition("p", least=5e-324), True),
        ("0.00", Condition("p", least=5e-324), False),
    ],
)
def test_a_bound_of_decimals_holds_for_everyday_values(
    value: str, asked: Condition, passes: bool
) -> None:
    column = pa.array([Decimal(value), None], pa.decimal128(38, 2))
    assert fulfils(column, asked).tolist() == [passes, False]


def test_what_is_no_decimal_of_a_column_is_none_of_its_values() -> None:
    column = pa.array([Decimal("10.00"), None], pa.decimal128(4, 2))
    others = (
        10.005,
        10**50,
        1e300,
        float("nan"),
        float("inf"),
        "ten",
        "",
        "NaN",
        "1e999999999",
        True,
    )
    assert not fulfils(column, Condition("p", one_of=others)).any()
    assert fulfils(column, Condition("p", one_of=(*others, "10"))).tolist() == [True, False]
    assert fulfils(column, Condition("p", one_of=(*others, None))).tolist() == [False, True]


@given(st.sampled_from([1, 1.5, True, Decimal("1.5"), date(2026, 1, 1)]))
def test_an_expression_fits_texts_alone(value: Any) -> None:
    assert not fulfils(pa.array([value]), Condition("p", fits=".*")).any()


def by_hand(value: Any, condition: Condition) -> bool:
    """The same, as one would say it for one value."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    good = condition.null is None or (value is None) == condition.null
    if condition.one_of:
        good &= any(_is_equal(value, wanted) for wanted in condition.one_of)
    if condition.fits:
        good &= isinstance(value, str) and bool(re.fullmatch(condition.fits, value))
    if condition.least is not None:
        good &= is_number and value >= condition.least
    if condition.most is not None:
        good &= is_number and value <= condition.most
    if condition.multiple_of is not None:
        good &= is_number and isinstance(value, int) and value % condition.multiple_of == 0
    return good


def _is_equal(value: Any, wanted: Any) -> bool:
    if value is None or wanted is None:
        return value is wanted
    if isinstance(value, str):
        return value == (wanted if isinstance(wanted, str) else _said(wanted))
    same_kind = isinstance(value, bool) == isinstance(wanted, bool) and not isinstance(wanted, str)
    return same_kind and bool(value == wanted)


def _said(wanted: Any) -> str:
    return str(wanted).lower() if isinstance(wanted, bool) else str(wanted)
