"""Schemas as values: names of columns, what is refused, and their form in the lake."""

import msgspec
import pytest

from penstock.model.schema import (
    BOOLEAN,
    DOUBLE,
    INT64,
    STRING,
    TIMESTAMP_MS,
    DatasetSchema,
    Field,
    FieldType,
    column_for,
    count_fields,
    decimal_of,
    list_of,
    map_of,
    struct_of,
    with_columns,
)


def _columns(*names: str, top: bool = True) -> list[str]:
    fields = with_columns([(name, INT64, True) for name in names], top=top)
    return [field.column for field in fields]


def test_a_plain_name_is_its_own_column() -> None:
    assert _columns("user_id", "naïve", "a b") == ["user_id", "naïve", "a b"]


def test_directory_keys_get_an_underscore_whatever_their_case() -> None:
    assert _columns("day", "Hour", "minute", "days") == ["day_", "Hour_", "minute_", "days"]


def test_what_could_be_the_directory_key_of_a_field_begins_differently() -> None:
    assert _columns("by_a", "By_A", "_by_a", "bya") == [
        "field_by_a", "field_By_A__2", "field_by_a_", "bya",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="by_a"):
        DatasetSchema("d", 1, False, (Field("by_a", "by_a", INT64),))


def test_a_leading_underscore_moves_to_the_end() -> None:
    assert _columns("_id", "__v", "_", "", "_day") == ["id_", "v_", "field_", "field___2", "day_"]


def test_names_that_differ_only_by_case_get_numbers() -> None:
    assert _columns("userId", "userid", "USERID") == ["userId", "userid__2", "USERID__3"]


def test_nested_names_are_only_told_apart_by_case() -> None:
    assert _columns("day", "_id", "Day", top=False) == ["day", "_id", "Day__2"]


def test_a_field_that_is_added_never_renames_one_that_exists() -> None:
    kept = with_columns([("userid", STRING, True)], top=True)
    fields = with_columns([("userId", STRING, True)], kept=kept, top=True)
    assert [field.column for field in fields] == ["userid", "userId__2"]
    assert column_for("day", {"day_"}, top=True) == "day___2"


def test_a_schema_lists_the_fields_that_were_renamed() -> None:
    fields = with_columns([("day", INT64, True), ("a", INT64, True)], top=True)
    assert [field.name for field in DatasetSchema("d", 1, False, fields).renamed()] == ["day"]


@pytest.mark.parametrize("column", ["", "_x", "day", "Hour"])
def test_a_schema_refuses_columns_that_are_ours(column: str) -> None:
    with pytest.raises(ValueError, match="cannot be a column"):
        DatasetSchema("d", 1, False, (Field("x", column, INT64),))


def test_a_schema_refuses_columns_that_differ_only_by_case() -> None:
    fields = (Field("a", "a", INT64), Field("A", "A", INT64))
    with pytest.raises(ValueError, match="by case"):
        DatasetSchema("d", 1, False, fields)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "list"},
        {"kind": "int64", "item": INT64},
        {"kind": "struct"},
        {"kind": "string", "fields": (Field("a", "a", INT64),)},
        {"kind": "decimal", "precision": 39},
        {"kind": "decimal", "precision": 0},
        {"kind": "decimal", "precision": 2, "scale": 3},
        {"kind": "timestamp_us", "unit_us": 0},
    ],
)
def test_a_type_refuses_parts_that_do_not_go_together(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"decimal|timestamp|together"):
        FieldType(**wrong)  # type: ignore[arg-type]


def test_a_schema_survives_its_journey_as_json() -> None:
    inner = with_columns([("x", DOUBLE, True), ("X", BOOLEAN, False)], top=False)
    entries = [
        ("a", list_of(struct_of(inner), False), True),
        ("b", map_of(decimal_of(10, 2)), False),
        ("_t", TIMESTAMP_MS, True),
    ]
    schema = DatasetSchema("d", 3, True, with_columns(entries, top=True))
    assert msgspec.json.decode(msgspec.json.encode(schema), type=DatasetSchema) == schema
    assert hash(schema) == hash(
        msgspec.json.decode(msgspec.json.encode(schema), type=DatasetSchema)
    )
    assert count_fields(schema.fields) == 5


def test_a_schema_with_a_word_nobody_knows_is_not_read() -> None:
    text = b'{"dataset":"d","version":1,"declared":false,"fields":[],"more":1}'
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=DatasetSchema)
