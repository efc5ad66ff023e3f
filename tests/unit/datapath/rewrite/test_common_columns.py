"""The columns that files of several schema versions have together, and rows that get them."""

import pyarrow as pa
import pytest

from penstock.datapath.rewrite.common_columns import NotCommon, common_schema, with_columns_of

POINT, GROWN = (
    pa.struct([("x", pa.int64())]),
    pa.struct([("x", pa.int64()), ("y", pa.string())]),
)
OLD = pa.schema([("a", pa.int64()), ("at", POINT)])
NEW = pa.schema([("a", pa.int64()), ("at", GROWN), ("b", pa.date32())])


def test_the_newest_schema_says_the_order_and_older_columns_come_last() -> None:
    extra = pa.schema([("_key", pa.binary()), ("a", pa.int64())])
    assert common_schema([NEW, OLD, extra]).names == ["a", "at", "b", "_key"]
    assert common_schema([OLD, NEW]).field("at").type == NEW.field("at").type


def test_notes_of_files_are_not_carried_on() -> None:
    noted = pa.schema([pa.field("a", pa.int64(), False, {"PARQUET:field_id": "1"})], {"w": "x"})
    found = common_schema([noted])
    assert found.metadata is None
    assert found.field("a").metadata is None
    assert found.field("a").nullable
    encoded = pa.schema([("a", pa.dictionary(pa.int32(), pa.string()))])
    assert common_schema([encoded]).field("a").type == pa.string()


def test_older_rows_get_nulls_also_inside_columns() -> None:
    rows = pa.RecordBatch.from_pydict({"a": [1, 2], "at": [{"x": 1}, None]}, OLD)
    found = with_columns_of(rows, common_schema([NEW, OLD]))
    assert found.to_pylist() == [
        {"a": 1, "at": {"x": 1, "y": None}, "b": None},
        {"a": 2, "at": None, "b": None},
    ]


def test_lists_and_maps_grow_inside() -> None:
    old = pa.schema(
        [("l", pa.list_(OLD.field("at").type)), ("m", pa.map_(pa.string(), OLD.field("at").type))]
    )
    new = pa.schema(
        [("l", pa.list_(NEW.field("at").type)), ("m", pa.map_(pa.string(), NEW.field("at").type))]
    )
    rows = pa.RecordBatch.from_pydict({"l": [[{"x": 1}], None], "m": [[("k", {"x": 2})], []]}, old)
    found = with_columns_of(rows.slice(0, 2), common_schema([new, old]))
    assert found.to_pylist() == [
        {"l": [{"x": 1, "y": None}], "m": [("k", {"x": 2, "y": None})]},
        {"l": None, "m": []},
    ]


def test_a_row_without_a_number_is_the_first_of_its_record() -> None:
    rows = pa.RecordBatch.from_pydict({"a": [1, 2]})
    schema = pa.schema([("a", pa.int64()), ("_row", pa.int32())])
    assert with_columns_of(rows, schema)["_row"].to_pylist() == [0, 0]


@pytest.mark.parametrize(
    ("one", "other", "where"),
    [
        (pa.int64(), pa.string(), "the column a is"),
        (pa.list_(pa.int64()), pa.list_(pa.string()), r"the column a\[\] is"),
        (pa.struct([("x", pa.int64())]), pa.struct([("x", pa.date32())]), r"the column a\.x is"),
        (pa.decimal128(5, 1), pa.decimal128(5, 2), "the column a is"),
    ],
)
def test_two_types_have_nothing_in_common(one: pa.DataType, other: pa.DataType, where: str) -> None:
    with pytest.raises(NotCommon, match=where):
        common_schema([pa.schema([("a", one)]), pa.schema([("a", other)])])


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(NotCommon, match="two columns of one name"):
        common_schema([pa.schema([("a", pa.int64()), ("a", pa.int64())])])
