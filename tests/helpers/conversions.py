"""A few rows that go through converters."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.datapath.shape.convert.converters import convert, converted_fields
from penstock.datapath.shape.convert.flow import Flow, Given, Origin
from penstock.model.arrow_types import arrow_type
from penstock.model.convert_spec import ConvertSpec
from penstock.model.encryption_keys import Keys
from penstock.model.schema import (
    DOUBLE,
    INT64,
    STRING,
    FieldType,
    list_of,
    struct_of,
)
from tests.helpers.schema_fields import fields

FIELDS = fields(
    n=(INT64, True),
    who=(STRING, True),
    x=(DOUBLE, True),
    device=(struct_of(fields(os=(STRING, True), build=(INT64, True))), True),
    tags=(list_of(STRING), True),
)
ROWS: list[dict[str, Any]] = [
    {"n": 1, "who": "ann@example.org", "x": 1.5, "device": {"os": "ios", "build": 7}, "tags": []},
    {"n": None, "who": "12", "x": None, "device": None, "tags": None},
    {"n": 3, "who": None, "x": 2.0, "device": {"os": None, "build": 8}, "tags": []},
]  # fmt: skip
KEY = bytes(range(32))
KEYS = Keys({("hash", "salt"): b"pepper", ("encrypt", "key"): KEY})


def through(
    *steps: ConvertSpec,
    rows: list[dict[str, Any]] | None = None,
    rest: Sequence[str | None] | None = None,
    origin: Origin | None = None,
) -> Flow:
    schema = pa.schema([(each.column, arrow_type(each.type)) for each in FIELDS])
    batch = pa.RecordBatch.from_pylist(ROWS if rows is None else rows, schema=schema)
    place = origin or Origin("d", "id", 0, np.arange(100, 100 + batch.num_rows))
    given = Given(KEYS, place)
    texts = None if rest is None else pa.array(rest, pa.string())
    flow = convert(steps, FIELDS, batch.columns, given, texts)
    assert flow.fields == converted_fields(steps, FIELDS, given), "fields depend on fields alone"
    check_conserved(flow, batch.num_rows)
    for each, column in zip(flow.fields, flow.columns, strict=True):
        assert column.type == arrow_type(each.type), each.name
        column.validate(full=True)
        assert len(column) == len(flow.rows)
    return flow


def check_conserved(flow: Flow, count: int) -> None:
    """Every row is kept, filtered or bad, and only one of these."""
    gone = [row for part in flow.filtered for row in part.tolist()]
    bad = [record.index for record in flow.bad]
    assert sorted([*flow.rows.tolist(), *gone, *bad]) == list(range(count))


def table(flow: Flow) -> dict[str, list[Any]]:
    names = [each.column for each in flow.fields]
    return dict(zip(names, [column.to_pylist() for column in flow.columns], strict=True))


def cast(kind: FieldType, word: str, column: Any) -> tuple[list[Any], list[int]]:
    """The values that went, and the places of those that did not."""
    if isinstance(column, list):
        column = pa.array(column, arrow_type(kind))
    step = ConvertSpec("cast", ("v",), (word,))
    origin = Origin("d", "id", 0, np.arange(len(column)))
    flow = convert([step], fields(v=(kind, True)), [column], Given(origin=origin))
    assert {bad.reason for bad in flow.bad} <= {"CAST_FAILED"}
    return flow.columns[0].to_pylist(), [bad.index for bad in flow.bad]
