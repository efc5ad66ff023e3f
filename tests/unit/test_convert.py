"""Converters: what each step makes of fields and of columns."""

import hashlib
import hmac
from typing import Any

import pyarrow as pa
import pytest

from penstock.model.convert import Condition, ConvertSpec
from penstock.model.schema import BOOLEAN, DOUBLE, INT64, STRING, list_of, struct_of
from penstock.shape.convert import (
    ConvertImpossible,
    Flow,
    arrow_type,
    cast_type,
    convert,
    converted_fields,
)
from tests.unit.test_merging import fields

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
SECRETS = {"salt": b"pepper"}


def through(*steps: ConvertSpec, rows: list[dict[str, Any]] | None = None) -> Flow:
    schema = pa.schema([(each.column, arrow_type(each.type)) for each in FIELDS])
    batch = pa.RecordBatch.from_pylist(ROWS if rows is None else rows, schema=schema)
    flow = convert(steps, FIELDS, batch.columns, SECRETS)
    assert flow.fields == converted_fields(steps, FIELDS, SECRETS), "fields depend on fields alone"
    for each, column in zip(flow.fields, flow.columns, strict=True):
        assert column.type == arrow_type(each.type), each.name
        column.validate(full=True)
        assert len(column) == len(flow.rows)
    return flow


def table(flow: Flow) -> dict[str, list[Any]]:
    names = [each.column for each in flow.fields]
    return dict(zip(names, [column.to_pylist() for column in flow.columns], strict=True))


def test_fields_get_other_names_at_their_places() -> None:
    flow = through(ConvertSpec("rename", ("who", "device.os", "nothing"), ("email", "system", "x")))
    assert [each.name for each in flow.fields] == ["n", "email", "x", "device", "tags"]
    assert table(flow)["device"][0] == {"system": "ios", "build": 7}
    with pytest.raises(ConvertImpossible, match="two fields"):
        through(ConvertSpec("rename", ("who",), ("n",)))


def test_fields_are_dropped_or_kept_also_inside_others() -> None:
    flow = through(ConvertSpec("drop", ("who", "device.build", "a.b", "n.x")))
    assert table(flow)["device"] == [{"os": "ios"}, None, {"os": None}]
    assert "who" not in table(flow)
    assert "device" not in table(through(ConvertSpec("drop", ("device.build", "device.os"))))
    assert list(table(through(ConvertSpec("keep", ("x", "n", "none"))))) == ["n", "x"]


def test_constants_are_set_new_or_instead() -> None:
    flow = through(ConvertSpec("set", ("source", "n", "ok"), constants=("web", 7, True)))
    found = table(flow)
    assert found["source"] == ["web"] * 3
    assert found["n"] == [7] * 3
    assert next(each.type for each in flow.fields if each.name == "ok") == BOOLEAN


def test_what_is_inside_comes_out() -> None:
    found = table(through(ConvertSpec("flatten", ("device",))))
    assert (found["device_os"], found["device_build"]) == (["ios", None, None], [7, None, 8])
    with pytest.raises(ConvertImpossible, match="it is a int64"):
        through(ConvertSpec("flatten", ("n",)))


def test_texts_are_masked_and_nulls_stay() -> None:
    found = table(through(ConvertSpec("mask", ("who", "n"), ("4", ""))))
    assert found["who"] == ["***.org", "***12", None]
    assert found["n"] == ["***", None, "***"]


def test_equal_values_have_equal_hashes_and_no_other_has() -> None:
    found = table(through(ConvertSpec("hash", ("who", "n"), ("salt", "salt"))))
    wanted = hmac.new(b"pepper", b"ann@example.org", hashlib.sha256).hexdigest()
    assert found["who"][0] == wanted
    assert found["who"][2] is None
    assert found["n"][0] != found["n"][2]
    with pytest.raises(ConvertImpossible, match="hash tags"):
        through(ConvertSpec("hash", ("tags",), ("salt",)))


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        (Condition("n", one_of=(1, 7)), [0]),
        (Condition("who", fits="[0-9]+"), [1]),
        (Condition("who", fits="ann"), []),
        (Condition("who", null=True), [2]),
        (Condition("who", null=False), [0, 1]),
        (Condition("none", null=True), [0, 1, 2]),
        (Condition("none", one_of=("x",)), []),
        (Condition("device.build", least=8), [2]),
        (Condition("x", most=1.5), [0]),
        (Condition("n", least=1, most=2), [0]),
        (Condition("n", multiple_of=3), [2]),
        (Condition("x", multiple_of=1), []),
        (Condition("who", least=1), []),
        (Condition("device", one_of=("x",)), []),
        (Condition("device", null=False), [0, 2]),
        (Condition("x", one_of=(2, None)), [1, 2]),
    ],
)
def test_rows_that_do_not_fulfil_a_condition_are_filtered(
    condition: Condition, kept: list[int]
) -> None:
    flow = through(ConvertSpec("filter", conditions=(condition,)))
    assert flow.rows.tolist() == kept
    gone = [row for part in flow.filtered for row in part.tolist()]
    assert sorted([*kept, *gone]) == [0, 1, 2]
    assert flow.bad == []


def test_a_value_that_cannot_be_cast_makes_its_record_bad_alone() -> None:
    flow = through(ConvertSpec("cast", ("who", "x"), ("int64", "string")))
    assert flow.rows.tolist() == [1, 2]
    assert [(bad.index, bad.reason) for bad in flow.bad] == [(0, "CAST_FAILED")]
    assert table(flow)["who"] == [12, None]
    assert table(flow)["x"] == [None, "2"]


def test_bad_and_filtered_rows_are_numbered_as_in_the_batch() -> None:
    flow = through(
        ConvertSpec("filter", conditions=(Condition("n", null=True),)),
        ConvertSpec("cast", ("who",), ("boolean",)),
    )
    assert flow.rows.tolist() == []
    assert [part.tolist() for part in flow.filtered] == [[0, 2]]
    assert [bad.index for bad in flow.bad] == [1]


@pytest.mark.parametrize("word", ["decimal(10, 2)", "date", "timestamp", "boolean", "double"])
def test_types_are_known_by_their_words(word: str) -> None:
    assert cast_type(word).kind == word.partition("(")[0].replace("timestamp", "timestamp_us")


@pytest.mark.parametrize("word", ["", "int", "decimal(1)", "decimal(a, b)", "list"])
def test_other_words_are_no_types(word: str) -> None:
    with pytest.raises(ConvertImpossible):
        cast_type(word)


def test_no_rows_stay_no_rows() -> None:
    flow = through(ConvertSpec("mask", ("who",), ("",)), rows=[])
    assert flow.rows.tolist() == []
