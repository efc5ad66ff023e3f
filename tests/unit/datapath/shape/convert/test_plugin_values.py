"""What plug-ins on records may return for each type, and what makes a record bad."""

from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.datapath.shape.convert.plugin_values import Unfit, record_reader

MOMENT = pa.timestamp("us", tz="UTC")
POINT = pa.struct([pa.field("x", pa.int64(), nullable=False), ("y", pa.string())])
EAST = timezone(timedelta(hours=14))


class Colour(str):
    """A text that calls itself something else, as members of an Enum do."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"Colour.{self.upper()}"


def read(kind: pa.DataType, value: Any) -> Any:
    """A value on its way through the check and through Arrow."""
    schema = pa.schema([("v", kind)])
    record = record_reader(schema)({"v": value})
    return pa.array([record["v"]], kind).to_pylist()[0]


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        (pa.bool_(), True, True),
        (pa.bool_(), np.bool_(False), False),
        (pa.int64(), -(2**63), -(2**63)),
        (pa.int64(), np.int32(7), 7),
        (pa.float64(), 0.1, 0.1),
        (pa.float64(), 2**53, 2.0**53),
        (pa.string(), "ä", "ä"),
        (pa.string(), Colour("red"), "red"),
        (pa.binary(), bytearray(b"\xff"), b"\xff"),
        (pa.date32(), date(2026, 11, 16), date(2026, 11, 16)),
        (MOMENT, datetime(2026, 1, 1, 5, tzinfo=EAST), datetime(2025, 12, 31, 15, tzinfo=UTC)),
        (pa.timestamp("us"), datetime(2026, 1, 1, 5), datetime(2026, 1, 1, 5)),
        (pa.decimal128(5, 2), Decimal("1.5"), Decimal("1.50")),
        (pa.decimal128(5, 2), Decimal("1.500"), Decimal("1.50")),
        (pa.decimal128(5, 2), -999, Decimal("-999.00")),
        (pa.list_(pa.int64()), (1, None), [1, None]),
        (pa.list_(pa.int64()), np.array([1, 2]), [1, 2]),
        (pa.map_(pa.string(), pa.int64()), {"a": 1}, [("a", 1)]),
        (pa.map_(pa.string(), pa.int64()), [("a", 1), ("b", None)], [("a", 1), ("b", None)]),
        (POINT, OrderedDict(x=1), {"x": 1, "y": None}),
        (POINT, None, None),
    ],
)
def test_a_value_of_the_declared_type_is_kept(kind: pa.DataType, value: Any, kept: Any) -> None:
    found = read(kind, value)
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.bool_(), [1, 0, "true", 1.0]),
        (pa.int64(), [1.5, 1.0, True, "1", Decimal(1), 2**63, -(2**63) - 1, np.float64(1)]),
        (pa.float64(), [True, "1", Decimal("1.5"), 2**53 + 1, 10**400]),
        (pa.string(), [b"a", 1, "\ud800"]),
        (pa.binary(), ["a", 1, [1]]),
        (pa.date32(), [datetime(2026, 1, 1), 1, 1.5, "2026-01-01"]),
        (MOMENT, [date(2026, 1, 1), 1, 1.5, "2026-01-01T00:00:00Z", datetime(2026, 1, 1)]),
        (MOMENT, [datetime(1, 1, 1, tzinfo=EAST), np.datetime64("2026-01-01")]),
        (pa.timestamp("us"), [datetime(2026, 1, 1, tzinfo=UTC), 1]),
        (pa.decimal128(5, 2), [Decimal("1.005"), Decimal(1000), 10**3, 10**400, 1.5, True, "1"]),
        (pa.decimal128(5, 2), [Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity")]),
        (pa.decimal128(5, 2), [Decimal("1e999999"), Decimal("1e-999999")]),
        (pa.list_(pa.int64()), [{1, 2}, b"ab", "ab", range(3), [1.5], [True], np.array(1)]),
        (pa.map_(pa.string(), pa.int64()), [[("a",)], [1], ["ab"], {1: 1}, {None: 1}, {"a": 1.5}]),
        (POINT, [[("x", 1)], {"x": 1, "z": 2}, {"x": None}, {}, {"x": 1.5}, {1: 2}, "x"]),
        (pa.list_(POINT), [[{"x": 1, "z": 2}], [{"y": "a"}], [[("x", 1)]]]),
        (pa.map_(pa.string(), POINT), [{"a": {"x": 1, "z": 2}}]),
    ],
)
def test_a_value_of_another_type_is_not_changed_in_silence(
    kind: pa.DataType, values: list[Any]
) -> None:
    for value in values:
        with pytest.raises(Unfit):
            pytest.fail(f"{value!r} became {read(kind, value)!r}")


def test_it_is_told_where_a_value_is_of_another_type_and_not_which() -> None:
    schema = pa.schema([("who", pa.struct([("names", pa.list_(pa.string()))]))])
    with pytest.raises(Unfit, match=r"^who\.names\[\] is not a string$"):
        record_reader(schema)({"who": {"names": ["a", 5]}})
