"""JSON with a schema of its own: references, what fits and what does not."""

import json
from typing import Any

import pyarrow as pa
import pytest

from penstock.api.codec import DecodedBatch
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.json.schema_reader import json_schema_reader
from penstock.model.registered_schema import RegisteredSchema

WHO = {"type": "object", "properties": {"id": {"type": "integer"}}}
CLICK = {
    "title": "Click",
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "who": {"$ref": "#/definitions/who"},
        "others": {"type": "array", "items": {"$ref": "people.json#/$defs/who"}},
    },
    "required": ["n"],
    "definitions": {"who": WHO},
}
PEOPLE = {"$defs": {"who": WHO}}


def registered(schema: Any, **others: Any) -> RegisteredSchema:
    references = tuple((f"{name}.json", json.dumps(each)) for name, each in others.items())
    return RegisteredSchema("json", json.dumps(schema), references)


def read(*values: bytes, skipped: int = 0) -> DecodedBatch:
    reader = json_schema_reader(registered(CLICK, people=PEOPLE))
    return reader.read(pa.array(values, pa.binary()), skipped)


def test_what_a_schema_refers_to_is_part_of_it() -> None:
    reader = json_schema_reader(registered(CLICK, people=PEOPLE))
    assert reader.name == "Click"
    assert [field.name for field in reader.fields] == ["n", "who", "others"]
    kind = reader.fields[2].type.item
    assert kind is not None
    assert [field.name for field in kind.fields] == ["id"]


def test_records_are_read_behind_their_ids_and_what_has_no_column_is_kept() -> None:
    good = b'{"n": 1, "who": {"id": 2}, "others": [{"id": 3}]}'
    found = read(
        b"\0\0\0\0\1" + good,
        b"\0\0\0\0\1" + b'{"n": "x"}',
        b"\0\0\0\0\1",
        b"\0\0\0\0\1" + b'{"n": 4, "new": [1]}',
        skipped=5,
    )
    assert found.good.tolist() == [0, 3]
    assert found.batch.to_pylist() == [
        {"n": 1, "who": {"id": 2}, "others": [{"id": 3}]},
        {"n": 4, "who": None, "others": None},
    ]
    assert found.rest is not None
    assert found.rest.to_pylist() == [None, '{"new":[1]}']
    assert [(bad.index, bad.reason) for bad in found.bad] == [(1, "WRONG_TYPE"), (2, "EMPTY")]
    assert read(good).rest is None


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ([], "describes nothing"),
        ({"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}, "where nothing is"),
        ({"type": "object", "properties": {"a": {"$ref": "x.json"}}}, "is not known"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "contains itself"),
    ],
)
def test_references_that_lead_nowhere_are_told(schema: Any, why: str) -> None:
    with pytest.raises(SchemaUnsupported, match=why):
        json_schema_reader(registered(schema))


def test_a_field_may_be_called_like_a_word_of_json_schema() -> None:
    kind = {"type": "string"}
    names = ["definitions", "$defs", "$ref", "properties", "default", "enum", "const"]
    inner = {"type": "object", "properties": dict.fromkeys(names, kind), "required": names}
    root = {"type": "object", "properties": {"o": inner} | dict.fromkeys(names, kind)}
    reader = json_schema_reader(registered(root))
    assert [field.name for field in reader.fields] == ["o", *names]
    assert [field.name for field in reader.fields[0].type.fields] == names
    event = {"o": dict.fromkeys(names, "x")} | dict.fromkeys(names, "y")
    found = reader.read(pa.array([json.dumps(event).encode()], pa.binary()), 0)
    assert (found.bad, found.rest) == ([], None)
    assert found.batch.to_pylist()[0]["definitions"] == "y"


def test_what_only_looks_like_a_reference_is_a_value() -> None:
    kind = {"type": "string", "default": {"$ref": "#/nowhere"}, "examples": [{"$ref": "x.json"}]}
    reader = json_schema_reader(registered({"type": "object", "properties": {"a": kind}}))
    assert [field.name for field in reader.fields] == ["a"]


def test_a_small_schema_cannot_become_a_large_one() -> None:
    """Each level refers twice to the next: thirty of them would be a thousand million parts."""
    levels: dict[str, Any] = {
        f"l{n}": {
            "type": "object",
            "properties": {side: {"$ref": f"#/definitions/l{n + 1}"} for side in "ab"},
        }
        for n in range(30)
    }
    levels["l30"] = {"type": "integer"}
    root = {**levels["l0"], "definitions": levels}
    with pytest.raises(SchemaUnsupported, match="too far"):
        json_schema_reader(registered(root))
