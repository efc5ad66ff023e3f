"""Which of many new fields a dataset takes up, when some of them cannot be."""

import pytest

from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.schemas.growth import Fields, possible_growth
from penstock.model.schema import DatasetSchema, FieldType

CODEC = JsonDecoder()
KNOWN = CODEC.infer([b'{"a": 1, "s": {"x": 1}, "l": [{"x": 1}]}'], "d")
PAYLOAD = b'{"b": 1, "B": 2, "s": {"y": 1, "z": {"q": 1}}, "l": [{"y": 2}], "c": "", "n": {"m": 1}}'
GROWN = CODEC.promote(KNOWN, [PAYLOAD])


def names(fields: Fields, path: str = "") -> set[str]:
    found = set()
    for each in fields:
        found |= {path + each.name} | names(inside(each.type), f"{path}{each.name}.")
    return found


def inside(kind: FieldType) -> Fields:
    return kind.fields if kind.item is None else inside(kind.item)


def growth_without(*refused: str) -> Fields:
    return possible_growth(
        KNOWN.fields, GROWN.fields, lambda fields: not names(fields) & set(refused)
    )


def test_all_new_fields_are_taken_when_they_can_be() -> None:
    assert growth_without() == GROWN.fields


@pytest.mark.parametrize("refused", sorted(names(GROWN.fields) - names(KNOWN.fields)))
def test_a_field_that_cannot_be_is_left_out_alone(refused: str) -> None:
    found = growth_without(refused)
    whole = {"s.z.q": "s.z", "n.m": "n"}.get(refused, refused)
    gone = {each for each in names(GROWN.fields) if (each + ".").startswith(whole + ".")}
    assert names(found) == names(GROWN.fields) - gone
    DatasetSchema("d", 2, False, found)  # columns are told apart


def test_columns_are_named_as_if_the_field_had_never_come() -> None:
    assert [each.column for each in GROWN.fields if each.name == "B"] == ["B__2"]
    assert [each.column for each in growth_without("b") if each.name == "B"] == ["B"]


def test_of_two_that_exclude_each_other_the_first_is_taken() -> None:
    found = possible_growth(
        KNOWN.fields, GROWN.fields, lambda fields: not {"b", "c"} <= names(fields)
    )
    assert names(GROWN.fields) - names(found) == {"c"}


def test_what_cannot_be_at_all_leaves_the_known_fields() -> None:
    assert possible_growth(KNOWN.fields, GROWN.fields, lambda _: False) == KNOWN.fields
