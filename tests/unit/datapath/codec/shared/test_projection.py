"""Columns of a writer in a dataset that has more of them."""

from typing import Any

import pyarrow as pa
import pytest

from penstock.datapath.codec.shared.projection import project
from penstock.datapath.codec.shared.shapes import shape_of
from penstock.model.schema import (
    DOUBLE,
    INT64,
    STRING,
    DatasetSchema,
    FieldType,
    list_of,
    map_of,
    struct_of,
)
from penstock.model.schema_merging import Fields, first_version, merged
from tests.helpers.schema_fields import fields

NARROW = fields(x=(INT64, True))
WIDE = fields(y=(STRING, True), x=(INT64, True), z=(DOUBLE, True))


def batch_of(have: Fields, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    schema = pa.schema([(f.column, shape_of(f.type, "").arrow) for f in have])
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def projected(have: Fields, known: Fields, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    schema = DatasetSchema("d", 1, declared=True, fields=merged(first_version(known), have))
    found: list[dict[str, Any]] = project(batch_of(have, rows), have, schema).to_pylist()
    return found


def test_fields_of_other_writers_are_null_and_the_order_is_the_datasets() -> None:
    found = projected(NARROW, WIDE, [{"x": 1}, {"x": None}])
    assert list(found[0]) == ["y", "x", "z", "_rest"]
    assert found == [
        {"y": None, "x": 1, "z": None, "_rest": None},
        {"y": None, "x": None, "z": None, "_rest": None},
    ]


@pytest.mark.parametrize("slice_at", [0, 2])
def test_nested_values_get_the_fields_of_other_writers_too(slice_at: int) -> None:
    narrow, wide = struct_of(NARROW), struct_of(WIDE)
    have = fields(s=(narrow, True), l=(list_of(narrow), True), m=(map_of(narrow), True))
    known = fields(s=(wide, True), l=(list_of(wide), True), m=(map_of(wide), True))
    rows: list[dict[str, Any]] = [
        {"s": {"x": 1}, "l": [{"x": 2}, None], "m": [("k", {"x": 3}), ("n", None)]},
        {"s": None, "l": None, "m": None},
        {"s": {"x": None}, "l": [], "m": []},
        {"s": {"x": 7}, "l": [{"x": 8}], "m": [("k", {"x": 9})]},
    ]
    schema = DatasetSchema("d", 1, declared=True, fields=known)
    batch = batch_of(have, rows).slice(slice_at)
    found = project(batch, have, schema).to_pylist()

    def widened(value: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if value is None else {"y": None, "x": value["x"], "z": None}

    for row, got in zip(rows[slice_at:], found, strict=True):
        assert got["s"] == widened(row["s"])
        assert got["l"] == (None if row["l"] is None else [widened(each) for each in row["l"]])
        wanted = None if row["m"] is None else [(key, widened(each)) for key, each in row["m"]]
        assert got["m"] == wanted


def test_what_lies_behind_a_null_list_stays_there() -> None:
    """Arrow allows items that belong to a null, as under a struct that was made null."""
    items = pa.array([{"x": 1}, {"x": 666}, {"x": 3}], shape_of(struct_of(NARROW), "").arrow)
    starts = pa.array([0, 1, 2, 3], pa.int32())
    lists = pa.ListArray.from_arrays(starts, items, mask=pa.array([False, True, False]))
    have = fields(l=(list_of(struct_of(NARROW)), True))
    schema = DatasetSchema("d", 1, declared=True, fields=fields(l=(list_of(struct_of(WIDE)), True)))
    found = project(pa.RecordBatch.from_arrays([lists], ["l"]), have, schema).to_pylist()
    assert [row["l"] and row["l"][0]["x"] for row in found] == [1, None, 3]


def test_no_rows_are_no_rows() -> None:
    kind: FieldType = list_of(struct_of(NARROW))
    assert projected(fields(a=kind), fields(a=list_of(struct_of(WIDE))), []) == []
