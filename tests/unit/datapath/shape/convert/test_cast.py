"""Casts that would lose something in silence make their record bad; all others go."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.model.schema import (
    BINARY,
    DATE,
    DOUBLE,
    INT64,
    STRING,
    TIMESTAMP_US,
    FieldType,
    decimal_of,
)
from tests.helpers.conversions import cast

DIGITS = 0.12345678901234567
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
LAST_US = 253_402_300_799_999_999  # of the year 9999
FIRST_US = -62_135_596_800_000_000


@pytest.mark.parametrize(
    ("kind", "word", "values", "kept"),
    [
        (INT64, "boolean", [0, 2, 1, None, -1], [False, True, None]),
        (DOUBLE, "boolean", [0.0, 0.5, 1.0, None, float("nan")], [False, True, None]),
        (INT64, "double", [2**53, 2**53 + 1, -(2**53), None], [2.0**53, -(2.0**53), None]),
        (STRING, "int64", ["26", "0x1A", "0X1a", None, "x", "007"], [26, None, 7]),
        (BINARY, "int64", [b"26", b"0x1A"], [26]),
        (STRING, "double", ["1.5", "1e400", "-1e400", "nan", "inf", "Infinity", None], [1.5, None]),
        (STRING, "double", ["1e-400", "0", "-0.0e5", "0e9", "1e-5"], [0.0, 0.0, 0.0, 1e-5]),
        (STRING, "double", ["9007199254740992", "-009007199254740993"], [2.0**53]),
        (STRING, "double", ["10000000000000000", "1e16", "0.12345678901234567"], [1e16, DIGITS]),
        (INT64, "timestamp", [0, LAST_US + 1, FIRST_US - 1, None], [EPOCH, None]),
        (STRING, "timestamp", ["2026-11-16T12:00:00Z", "0000-12-31T23:59:59Z"], [NOON]),
        (STRING, "date", ["2026-11-16", "0000-12-31", "0001-01-01"], [NOON.date(), date(1, 1, 1)]),
        (TIMESTAMP_US, "date", [NOON, None], [NOON.date(), None]),
    ],
)  # fmt: skip
def test_a_value_that_would_become_another_is_bad(
    kind: FieldType, word: str, values: list[Any], kept: list[Any]
) -> None:
    found, bad = cast(kind, word, values)
    assert found == kept
    assert len(bad) == len(values) - len(kept)


def test_times_go_up_to_the_ends_of_the_calendar() -> None:
    found, bad = cast(INT64, "timestamp", [FIRST_US, LAST_US])
    assert [each.year for each in found] == [1, 9999]
    assert not bad
    far = pa.array([2_932_897, 0, -719_163], pa.int32()).view(pa.date32())
    assert cast(DATE, "timestamp", far)[1] == [0, 2]
    late = pa.array([LAST_US + 1, 0], pa.int64()).view(pa.timestamp("us", tz="UTC"))
    assert cast(TIMESTAMP_US, "date", late)[1] == [0]


def test_a_decimal_becomes_a_double_that_still_shows_its_digits() -> None:
    values = [
        Decimal("1.10"),
        Decimal("12345678901234567890.12"),
        None,
        Decimal("-1234567890123.45"),
    ]
    assert cast(decimal_of(25, 2), "double", values) == ([1.1, None, -1234567890123.45], [1])
    assert cast(decimal_of(38, 38), "double", [Decimal("0.1")]) == ([0.1], [])
    assert cast(decimal_of(38, 0), "double", [Decimal(10**37), Decimal(10**37 + 1)]) == (
        [1e37],
        [1],
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.0, "5"),
        (-0.0, "0"),
        (123456789012.0, "123456789012"),
        (-(2.0**53), "-9007199254740992"),
        (1e16, "1e+16"),
        (0.1, "0.1"),
        (None, None),
    ],
)
def test_a_whole_double_has_the_text_of_the_whole_number(
    value: float | None, text: str | None
) -> None:
    assert cast(DOUBLE, "string", [value]) == ([text], [])


def test_the_text_of_a_small_decimal_has_an_exponent() -> None:
    values = [Decimal(word) for word in ("0", "0.0000001", "0.000001", "0.5")]
    texts = ["0E-10", "1.000E-7", "0.0000010000", "0.5000000000"]
    assert cast(decimal_of(20, 10), "string", values) == (texts, [])
    assert cast(decimal_of(10, 2), "string", [Decimal(0), Decimal("0.5")]) == (["0.00", "0.50"], [])
