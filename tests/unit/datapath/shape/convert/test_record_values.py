"""What `set` takes from a record: its times, where it comes from, its key, its headers."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.datapath.shape.convert.flow import Flow, Origin
from penstock.model.convert_spec import Condition, ConvertSpec, RecordSource, RecordValue
from penstock.model.schema import BINARY, DATE, INT64, STRING, TIMESTAMP_US, FieldType
from tests.helpers.conversions import table, through
from tests.helpers.shredding import header

AT = datetime(2026, 11, 15, 23, 30, 0, 5, UTC)
STAMP = datetime(2026, 11, 16, 12, tzinfo=UTC)
EVENT_US = int(AT.timestamp() * 1_000_000)
ORIGIN = Origin(
    "d",
    "id",
    3,
    np.array([100, 101, 102]),
    topic="orders",
    event_us=np.array([EVENT_US] * 3),
    kafka_ms=np.array([int(STAMP.timestamp() * 1000), -1, 2**62]),
    keys=pa.array([b"17", None, b"\xff"], pa.binary()),
    headers=pa.array([header("trace", "a-1"), None, '[{"key": "trace"}]'], pa.string()),
    zone="Europe/Berlin",
)


def taken(source: RecordSource, kind: str, name: str = "") -> tuple[FieldType, list[Any], Flow]:
    """A new field for the three rows: its type, its values, and the flow."""
    value = RecordValue(source, kind, name)
    step = ConvertSpec("set", ("made",), constants=(None,), from_record=(value,))
    flow = through(step, origin=ORIGIN)
    found = next(each for each in flow.fields if each.name == "made")
    return found.type, table(flow)["made"], flow


@pytest.mark.parametrize(
    ("source", "kind", "type_", "expected"),
    [
        ("time", "timestamp", TIMESTAMP_US, [AT] * 3),
        ("time", "date", DATE, [date(2026, 11, 16)] * 3),  # in Berlin it is the next day
        ("time", "int64", INT64, [EVENT_US] * 3),
        ("time", "string", STRING, ["2026-11-15 23:30:00.000005Z"] * 3),
        ("timestamp", "timestamp", TIMESTAMP_US, [STAMP, None, None]),
        ("timestamp", "date", DATE, [date(2026, 11, 16), None, None]),
        ("topic", "string", STRING, ["orders"] * 3),
        ("partition", "int64", INT64, [3] * 3),
        ("partition", "string", STRING, ["3"] * 3),
        ("offset", "int64", INT64, [100, 101, 102]),
        ("key", "bytes", BINARY, [b"17", None, b"\xff"]),
        ("header", "string", STRING, ["a-1", None, None]),
        ("header", "bytes", BINARY, [b"a-1", None, None]),
    ],
)
def test_a_field_is_set_from_the_record(
    source: RecordSource, kind: str, type_: FieldType, expected: list[Any]
) -> None:
    found, values, flow = taken(source, kind, "trace" if source == "header" else "")
    assert (found, values) == (type_, expected)
    assert flow.bad == []


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("string", "17"), ("int64", 17), ("double", 17.0), ("decimal(5, 2)", Decimal("17.00"))],
)
def test_a_key_that_does_not_fit_the_type_refuses_its_record_alone(
    kind: str, expected: object
) -> None:
    _, values, flow = taken("key", kind)
    assert values == [expected, None]
    assert [(bad.index, bad.reason) for bad in flow.bad] == [(2, "CAST_FAILED")]
    assert "made: the key is not" in flow.bad[0].detail


def test_the_first_header_of_a_name_counts_and_broken_ones_are_absent() -> None:
    twice = json.dumps([{"key": "h", "value": "YQ=="}, {"key": "h", "value": "Yg=="}])
    origin = Origin(
        offsets=np.arange(3), headers=pa.array([twice, "no json", '[{"key":"h","value":"*"}]'])
    )
    value = RecordValue("header", "string", "h")
    step = ConvertSpec("set", ("made",), constants=(None,), from_record=(value,))
    assert table(through(step, origin=origin))["made"] == ["a", None, None]


def test_what_was_set_takes_the_place_of_a_field_and_can_be_filtered_by() -> None:
    steps = (
        ConvertSpec(
            "set",
            ("who", "x"),
            constants=(None, 1),
            from_record=(RecordValue("offset", "int64"), None),
        ),
        ConvertSpec("filter", conditions=(Condition("who", least=101),)),
        ConvertSpec(
            "set", ("again",), constants=(None,), from_record=(RecordValue("offset", "int64"),)
        ),
    )
    flow = through(*steps, origin=ORIGIN)
    assert [each.name for each in flow.fields] == ["n", "who", "x", "device", "tags", "again"]
    assert (table(flow)["who"], table(flow)["x"]) == ([101, 102], [1, 1])
    assert table(flow)["again"] == [101, 102]
    assert [rows.tolist() for rows in flow.filtered] == [[0]]
