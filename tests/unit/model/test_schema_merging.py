"""Versions of a schema that become one, and those that cannot."""

import msgspec
import pytest

from penstock.model.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT64,
    STRING,
    TIMESTAMP_MS,
    TIMESTAMP_US,
    FieldType,
    decimal_of,
    list_of,
    map_of,
    struct_of,
)
from penstock.model.schema_merging import Fields, Incompatible, first_version, merged
from tests.helpers.schema_fields import fields


def test_a_schema_that_is_covered_changes_nothing() -> None:
    known = fields(a=INT64, b=(STRING, True), c=struct_of(fields(d=DOUBLE)))
    assert merged(known, known) == known
    assert merged(known, fields(a=INT64, c=struct_of(fields(d=DOUBLE)))) == known


def test_a_new_field_is_a_new_column_behind_the_others_and_may_be_null() -> None:
    found = merged(fields(a=INT64), fields(new=STRING, a=INT64))
    assert [(f.name, f.type, f.nullable) for f in found] == [
        ("a", INT64, False),
        ("new", STRING, True),
    ]


def test_a_field_that_is_gone_keeps_its_column_which_may_be_null_now() -> None:
    found = merged(fields(a=INT64, gone=STRING), fields(a=INT64))
    assert [(f.name, f.nullable) for f in found] == [("a", False), ("gone", True)]


def test_fields_are_added_inside_structs_lists_and_maps() -> None:
    inner, wider = struct_of(fields(x=INT64)), struct_of(fields(y=STRING, x=INT64))
    for wrap in (lambda kind: kind, list_of, map_of, lambda kind: list_of(map_of(kind))):
        found = merged(fields(a=wrap(inner)), fields(a=wrap(wider)))
        kind = found[0].type
        while kind.item is not None:
            kind = kind.item
        assert [(f.name, f.nullable) for f in kind.fields] == [("x", False), ("y", True)]


def test_items_become_nullable_once_they_may_be_null() -> None:
    found = merged(fields(a=list_of(INT64, False)), fields(a=list_of(INT64, True)))
    assert found[0].type.item_nullable


def test_times_are_columns_of_microseconds_whatever_they_are_counted_in() -> None:
    known = first_version(fields(t=TIMESTAMP_MS, s=struct_of(fields(u=TIMESTAMP_MS))))
    assert known[0].type == TIMESTAMP_US
    assert merged(known, fields(t=TIMESTAMP_US, s=struct_of(fields(u=TIMESTAMP_US)))) == known


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (INT64, DOUBLE),
        (DOUBLE, INT64),
        (INT64, STRING),
        (STRING, BINARY),
        (BOOLEAN, INT64),
        (DATE, TIMESTAMP_US),
        (decimal_of(10, 2), decimal_of(12, 2)),
        (decimal_of(10, 2), decimal_of(10, 3)),
        (list_of(INT64), map_of(INT64)),
        (list_of(INT64), list_of(STRING)),
        (struct_of(fields(x=INT64)), struct_of(fields(x=STRING))),
        (struct_of(fields(x=INT64)), INT64),
    ],
)
def test_what_would_change_values_is_incompatible_and_says_where(
    before: FieldType, after: FieldType
) -> None:
    with pytest.raises(Incompatible) as caught:
        merged(fields(ok=INT64, a=before), fields(ok=INT64, a=after))
    assert caught.value.path.startswith("a")


def test_a_field_that_differs_only_by_case_gets_a_column_of_its_own() -> None:
    found = merged(fields(userId=INT64), fields(userid=STRING))
    assert [f.column for f in found] == ["userId", "userid__2"]


def test_merging_in_any_order_covers_both() -> None:
    one = fields(a=INT64, b=struct_of(fields(c=STRING)))
    two = fields(b=struct_of(fields(d=DOUBLE)), e=list_of(INT64))
    for first, second in ((one, two), (two, one)):
        both = merged(first_version(first), second)
        assert merged(both, one) == both
        assert merged(both, two) == both
        assert msgspec.json.decode(msgspec.json.encode(both), type=Fields) == both
