"""A few odd values among many usual ones do not cost a field its column."""

import json
from typing import Any

import pyarrow as pa
import pytest

from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.model.pinned_types import FeedTypes, type_tree
from penstock.model.schema import DOUBLE, INT64, STRING, FieldType, list_of, struct_of, with_columns

CODEC = JsonDecoder()
OF_NUMBERS = struct_of(with_columns([("a", INT64, True)], top=False))


def payloads(values: list[Any]) -> list[bytes]:
    return [json.dumps({"n": 1, "x": each}).encode() for each in values]


def learned(values: list[Any]) -> FieldType | None:
    """The type that the field `x` is given."""
    found = {field.name: field.type for field in CODEC.infer(payloads(values), "d").fields}
    return found.get("x")


@pytest.mark.parametrize(
    ("usual", "odd", "wanted"),
    [
        (7, "n/a", INT64),
        ("a text", 7, STRING),
        (0.5, True, DOUBLE),
        ([1, 2], "1,2", list_of(INT64)),
        ({"a": 1}, "{}", OF_NUMBERS),
        ([{"a": 1}], {"a": 1}, list_of(OF_NUMBERS)),
        ([1, 2], [1, "b"], list_of(INT64)),
    ],
)
def test_one_odd_value_among_ten_leaves_the_column_of_the_others(
    usual: Any, odd: Any, wanted: FieldType
) -> None:
    values = [odd] + [usual] * 9
    assert learned(values) == wanted
    assert learned(values[::-1]) == wanted
    assert learned([odd, *values]) is None  # two of eleven are too many


def test_the_odd_value_is_in_rest_and_counted_and_the_others_are_in_the_column() -> None:
    values = payloads([1, 2, 3, 4, 5, "n/a", 6, 7, 8, 9])
    decoded = CODEC.decode(pa.array(values, pa.binary()), CODEC.infer(values, "d"))
    assert decoded.batch["x"].to_pylist() == [1, 2, 3, 4, 5, None, 6, 7, 8, 9]
    assert decoded.batch["_rest"].to_pylist() == [None] * 5 + ['{"x":"n/a"}'] + [None] * 4
    assert decoded.counts.misfits == {("x", "int64", "string"): (1, 5)}


def test_integers_and_fractions_count_as_numbers_together() -> None:
    assert learned(["n/a", *[1, 0.5] * 5]) == DOUBLE


def test_values_that_say_nothing_are_not_counted() -> None:
    assert learned(["n/a", 1, 2, *[None, [], {}] * 20]) is None


def test_lists_that_are_mixed_in_every_record_get_no_column() -> None:
    """Else the column would be null in all of them: items of a list fit all or not at all."""
    assert learned([[1] * 20 + ["b"]] * 20) is None


def test_conflicts_inside_of_an_object_that_is_settled_are_settled_too() -> None:
    values = ["gone"] + [{"a": "n/a"}] + [{"a": 1}] * 18
    assert learned(values) == OF_NUMBERS


def test_a_field_with_two_kinds_in_conflict_does_not_hide_another() -> None:
    mixed = [{"a": 1, "b": "x"}] * 5 + [{"a": 1, "b": 2}] * 14 + [{"a": "n/a"}]
    assert learned(mixed) == OF_NUMBERS


def test_what_the_configuration_settles_stays() -> None:
    types = FeedTypes(type_tree((("x.a", "string"),)))
    schema = JsonDecoder(types=types).infer(payloads([{"a": 1, "b": "n/a"}] + [{"b": 1}] * 9), "d")
    (inner,) = [field.type for field in schema.fields if field.name == "x"]
    found = {field.name: (field.type.kind, field.type.accepts) for field in inner.fields}
    assert found == {"a": ("string", "scalars"), "b": ("int64", "")}


def test_a_column_that_files_have_keeps_its_type_and_an_object_grows_beside_an_odd_value() -> None:
    schema = CODEC.infer(payloads([{"a": 1}]), "d")
    grown = CODEC.promote(schema, payloads(["odd"] + [{"a": 1, "b": "new"}] * 9))
    (x,) = [field.type for field in grown.fields if field.name == "x"]
    assert [(field.name, field.type) for field in x.fields] == [("a", INT64), ("b", STRING)]
