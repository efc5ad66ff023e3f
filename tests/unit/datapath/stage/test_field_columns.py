"""Columns of a writer as event times, and as names of datasets and directories."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from penstock.datapath.shape.event_time.event_time import (
    TIME_MISSING,
    TIME_UNREADABLE,
)
from penstock.datapath.stage.field_columns import times_of, values_of
from penstock.model.spec import TimeSpec

UINT64 = pa.decimal128(20, 0)
SPEC = TimeSpec(field="ts", unit="ms")
AT_MS = 1_763_200_000_000
NOW_S = 1.8e9


def decimals(*values: int | str | None, kind: pa.DataType = UINT64) -> pa.Array:
    return pa.array([None if value is None else Decimal(value) for value in values], kind)


@pytest.mark.parametrize("largest", [AT_MS, 2**64 - 1], ids=["of 63 bits", "of 64 bits"])
def test_a_decimal_without_a_scale_is_a_time_as_a_whole_number_is(largest: int) -> None:
    """The largest one takes all of the column another way."""
    kafka_ms = np.full(3, 1_700_000_000_000)
    found = times_of(decimals(AT_MS, None, largest), kafka_ms, SPEC, NOW_S)
    assert found.micros[0] == AT_MS * 1_000
    reasons = {bad.index: bad.reason for bad in found.bad}
    beyond = {} if largest == AT_MS else {2: TIME_UNREADABLE}
    assert reasons == {1: TIME_MISSING} | beyond


@pytest.mark.parametrize("largest", [7, 2**64 - 1])
def test_a_decimal_without_a_scale_names_datasets_and_directories(largest: int) -> None:
    values = values_of(decimals(7, None, largest))
    assert values == [7, None, largest]
    assert all(value is None or type(value) is int for value in values)


def test_a_decimal_with_a_scale_names_nothing() -> None:
    assert values_of(decimals("1.50", None, kind=pa.decimal128(9, 2))) == [None, None]


@pytest.mark.parametrize(
    "column",
    [
        decimals("1.50", None, kind=pa.decimal128(9, 2)),
        pa.array([{"at": AT_MS}, None]),
        pa.array([[AT_MS], None]),
        pa.array([[("at", AT_MS)], None], pa.map_(pa.string(), pa.int64())),
        pa.array([b"1", None]),
        pa.array([True, None]),
        pa.array(["", None]),
    ],
    ids=lambda column: str(column.type),
)
def test_a_value_of_a_kind_without_times_is_unreadable_and_null_is_missing(
    column: pa.Array,
) -> None:
    stamps = np.full(2, 1_700_000_000_000)
    found = times_of(column, stamps, SPEC, NOW_S)
    assert [bad.reason for bad in found.bad] == [TIME_UNREADABLE, TIME_MISSING]
    spec = TimeSpec(field="ts", unit="ms", missing="1970-01-01", unreadable="kafka")
    found = times_of(column, stamps, spec, NOW_S)
    assert (found.bad, found.micros.tolist()) == ([], [1_700_000_000_000_000, 0])


def test_all_digits_of_38_are_a_name() -> None:
    assert values_of(decimals("9" * 38, kind=pa.decimal128(38, 0))) == [int("9" * 38)]
