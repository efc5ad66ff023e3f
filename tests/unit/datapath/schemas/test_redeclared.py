"""A schema file that changes: columns that exist keep their name and type for ever."""

import json
from typing import Any

import pyarrow as pa
import pytest

from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.schemas.dataset_schemas import DatasetSchemas
from penstock.datapath.schemas.errors import SchemaRefused
from penstock.datapath.stage.shred_plan import Samples
from penstock.errors import EntryDamaged
from penstock.model.layout import Layout
from penstock.model.schema import DatasetSchema
from penstock.model.spec import DatasetSpec, FeedSpec, RouteSpec
from penstock.testing.memory_store import MemoryStore

NULLABLE = ["null", "long"]


def record(**fields: Any) -> dict[str, Any]:
    named = [{"name": name, "type": kind} for name, kind in fields.items()]
    return {"type": "record", "name": "r", "fields": named}


def shelf_of(store: MemoryStore, **fields: Any) -> DatasetSchemas:
    """What a run has with a file of these fields; with none there is no file."""
    dataset = DatasetSpec(route="click")
    if fields:
        text = json.dumps(record(**fields))
        dataset = DatasetSpec(route="click", schema_kind="avsc", schema_text=text)
    route = RouteSpec("field", "type")
    feed = FeedSpec(name="events", topics=("t",), route=route, datasets=(dataset,))
    return DatasetSchemas(store, Layout("events"), feed)


def next_of(store: MemoryStore, **fields: Any) -> DatasetSchema:
    return shelf_of(store, **fields).known["click"]


def columns(schema: DatasetSchema) -> list[tuple[str, str, bool]]:
    return [(field.column, field.type.kind, field.nullable) for field in schema.fields]


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ("long", "string", "n"),
        ("long", "double", "n"),
        ("double", "long", "n"),
        ({"type": "array", "items": "long"}, {"type": "array", "items": "string"}, r"n\[\]"),
        (record(a="long"), record(a="string"), r"n\.a"),
        ("long", {"type": "long", "logicalType": "timestamp-millis"}, "n"),
    ],
)
def test_a_file_that_gives_a_column_another_type_is_refused(
    before: Any, after: Any, path: str
) -> None:
    store = MemoryStore()
    first = next_of(store, n=before)
    kept = dict(store.shelf.objects)
    with pytest.raises(SchemaRefused, match=f"'click'.*at {path}, it was.*Restore the file"):
        next_of(store, n=after)
    assert store.shelf.objects == kept, "nothing is written down of it"
    assert next_of(store, n=before) == first


def test_a_field_that_the_file_has_no_more_keeps_its_column() -> None:
    store = MemoryStore()
    next_of(store, a="long", b="string", c="long")
    second = next_of(store, c="long", a="long")
    wanted = [("a", "int64", False), ("b", "string", True), ("c", "int64", False)]
    assert (second.version, columns(second)) == (2, wanted)
    assert next_of(store, c="long", a="long") == second, "the same file is no new version"
    with pytest.raises(SchemaRefused):
        next_of(store, a="long", b="long", c="long")
    third = next_of(store, a="long", b="string", c="long")
    assert (third.version, columns(third)[1]) == (3, ("b", "string", False))


def test_fields_are_added_also_inside_others_with_columns_of_their_own() -> None:
    store = MemoryStore()
    next_of(store, o=record(x="long"), a="long")
    second = next_of(store, A="string", a=NULLABLE, o=record(X="long", y="long"))
    assert columns(second) == [
        ("o", "struct", False),
        ("a", "int64", True),
        ("A__2", "string", False),
    ]
    inner = second.fields[0].type.fields
    assert [(field.column, field.nullable) for field in inner] == [
        ("x", True),
        ("X__2", False),
        ("y", False),
    ]


@pytest.mark.parametrize("unit", ["millis", "micros"])
def test_another_unit_of_a_time_is_how_records_are_read_from_then_on(unit: str) -> None:
    store = MemoryStore()
    next_of(store, a="long")
    for each in ("millis", "micros", unit):
        time = {"type": "long", "logicalType": f"timestamp-{each}"}
        schema = next_of(store, a="long", t=time, l={"type": "array", "items": time})
    count = 1_763_200_000_000 if unit == "millis" else 1_763_200_000_000_000
    event = json.dumps({"a": 1, "t": count, "l": [count]}).encode()
    batch = JsonDecoder().decode(pa.array([event]), schema).batch
    assert batch["t"].cast(pa.int64()).to_pylist() == [1_763_200_000_000_000]
    assert batch["l"].flatten().cast(pa.int64()).to_pylist() == [1_763_200_000_000_000]


def test_a_file_for_a_dataset_that_was_learned_keeps_what_was_learned() -> None:
    store = MemoryStore()
    shelf = shelf_of(store)
    shelf.learn([Samples("click", True, (b'{"a":1,"seen":"x"}',))])
    second = next_of(store, a="long", b=NULLABLE)
    assert (second.version, second.declared) == (2, True)
    assert columns(second) == [
        ("a", "int64", False),
        ("seen", "string", True),
        ("b", "int64", True),
    ]
    with pytest.raises(SchemaRefused):
        next_of(store, a="string")


@pytest.mark.parametrize("raw", [b"", b"{}", b'{"dataset": "\xff", "version": 1}', b"\xff"])
def test_a_damaged_schema_in_the_lake_is_told_by_its_name(raw: bytes) -> None:
    store = MemoryStore()
    next_of(store, a="long")
    [place] = store.shelf.objects
    store.shelf = store.shelf.with_object(place, raw)
    with pytest.raises(EntryDamaged, match=place):
        next_of(store, a="long")
