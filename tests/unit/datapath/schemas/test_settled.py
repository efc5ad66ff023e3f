"""Types that are settled late: what a dataset with columns takes, and what is refused."""

from datetime import UTC, datetime

import msgspec
import pytest

from penstock.datapath.schemas.dataset_schemas import DatasetSchemas
from penstock.datapath.schemas.errors import SchemaRefused
from penstock.datapath.schemas.learning import Learning
from penstock.datapath.schemas.schema_objects import stored_schemas
from penstock.model.convert_spec import ConvertSpec
from penstock.model.layout import Layout
from penstock.model.schema import (
    INT64,
    TEXT_OF_SCALARS,
    DatasetSchema,
    Field,
    FieldType,
    PinnedTypes,
    list_of,
    text_of,
)
from penstock.model.spec import DecodeSpec, FeedSpec
from penstock.model.stored_schema import decode_schema, encode_schema
from penstock.ports.store.list_keys import list_keys
from penstock.testing.memory_store import MemoryStore
from tests.helpers.shredding import BY_TYPE, an_event, shred

LAYOUT = Layout("f")


def typed(*types: tuple[str, str]) -> FeedSpec:
    pinned: PinnedTypes = msgspec.convert(types, PinnedTypes)
    return msgspec.structs.replace(BY_TYPE, decode=DecodeSpec(types=pinned))


def delivered(store: MemoryStore, feed: FeedSpec, *events: bytes) -> Learning:
    """A lake that has learned some events."""
    learning = Learning(store, LAYOUT, feed, None)
    learning.learn([shred(feed, events, learning.schemas.known).report])
    return learning


def test_an_id_that_is_a_number_or_a_text_is_one_column() -> None:
    feed, store = typed(("id", "string"), ("made", "timestamp")), MemoryStore()
    events = [
        an_event("order", id=17, made=1794726300),
        an_event("order", id="C-17", made="2026-11-15T07:05:00Z"),
        an_event("order", id=None, made="?"),
    ]
    learning = delivered(store, feed, *events)
    rows = shred(feed, events, learning.schemas.known).rows("order")
    assert [row["id"] for row in rows] == ["17", "C-17", None]
    moment = datetime(2026, 11, 15, 7, 5, tzinfo=UTC)
    assert [row["made"] for row in rows] == [moment, moment, None]
    assert [row["_rest"] for row in rows] == [None, None, '{"made":"?"}']


def test_a_column_of_texts_takes_numbers_from_then_on() -> None:
    store = MemoryStore()
    delivered(store, BY_TYPE, an_event("order", id="C-17"))
    known = DatasetSchemas(store, LAYOUT, typed(("id", "string"))).known["order"]
    assert known.version == 2
    assert {each.name: each.type for each in known.fields}["id"] == TEXT_OF_SCALARS
    again = DatasetSchemas(store, LAYOUT, BY_TYPE).known["order"]
    assert again == known  # what a column accepts is not taken back


@pytest.mark.parametrize(
    ("types", "why"),
    [
        (("id", "string"), "at id, it was int64 and is now string"),
        (("user.at", "timestamp"), "at user.at, it was string and is now timestamp"),
        (("name", "json"), "at name, it was string and is now json"),
        (("id.x", "string"), "at id, it was int64 and is now a struct"),
        (("items[].n", "double"), "at items[].n, it was int64 and is now double"),
        (("user", "json"), "at user, it was struct and is now json"),
    ],
)
def test_another_type_for_a_delivered_column_asks_for_another_feed(
    types: tuple[str, str], why: str
) -> None:
    store = MemoryStore()
    event = an_event("order", id=1, name="x", user={"at": "now"}, items=[{"n": 1}])
    delivered(store, BY_TYPE, event)
    before = len(stored_schemas(store, LAYOUT.schemas))
    with pytest.raises(SchemaRefused) as caught:
        DatasetSchemas(store, LAYOUT, typed(types))
    assert why in str(caught.value)
    assert "read the topics with a feed of another name" in str(caught.value)
    assert len(stored_schemas(store, LAYOUT.schemas)) == before


def test_a_type_for_a_field_without_a_column_is_free() -> None:
    store = MemoryStore()
    mixed = [an_event("order", id=1), an_event("order", id="C-1")]
    delivered(store, BY_TYPE, *mixed)
    feed = typed(("id", "string"), ("later", "json"))
    learning = delivered(store, feed, *mixed)
    kinds = {each.name: each.type for each in learning.schemas.known["order"].fields}
    assert kinds["id"] == TEXT_OF_SCALARS
    rows = shred(feed, mixed, learning.schemas.known).rows("order")
    assert [row["id"] for row in rows] == ["1", "C-1"]


def test_the_type_that_a_column_has_anyway_changes_nothing() -> None:
    store = MemoryStore()
    delivered(store, BY_TYPE, an_event("order", id=1))
    known = DatasetSchemas(store, LAYOUT, typed(("id", "int64"))).known["order"]
    assert known.version == 1
    assert {each.name: each.type for each in known.fields}["id"] == INT64


def test_a_stored_schema_says_its_format_only_where_it_needs_to() -> None:
    store = MemoryStore()
    delivered(store, typed(("id", "string")), an_event("order", id=1), an_event("plain", n=1))
    raw = {key.split("/")[-2]: store.read(key) or b"" for key in list_keys(store, LAYOUT.schemas)}
    assert (b'"format":2' in raw["order"], b"format" in raw["plain"]) == (True, False)


def casting(*types: tuple[str, str]) -> FeedSpec:
    step = ConvertSpec("cast", ("id",), ("string",))
    return msgspec.structs.replace(typed(*types), convert=(step,))


def test_a_converted_dataset_is_judged_by_the_columns_of_its_files() -> None:
    """Goal: after `cast: {id: string}` files have a text, so the type `string` is no change."""
    store = MemoryStore()
    delivered(store, casting(), an_event("order", id=1, n=1))
    feed = casting(("id", "string"))
    schemas = DatasetSchemas(store, LAYOUT, feed)
    kinds = {each.name: each.type for each in schemas.known["order"].fields}
    assert kinds["id"] == TEXT_OF_SCALARS
    in_files = schemas.file_schemas.known["order"]
    assert {each.name: each.type.kind for each in in_files.fields}["id"] == "string"
    with pytest.raises(SchemaRefused, match="at n, it was int64 and is now string"):
        DatasetSchemas(store, LAYOUT, casting(("n", "string")))


def test_only_schemas_with_texts_of_some_scalars_have_the_newest_format() -> None:
    def stored(kind: FieldType) -> bytes:
        fields = (Field("a", "a", list_of(kind)),)
        schema = DatasetSchema("d", 1, declared=True, fields=fields)
        assert decode_schema(encode_schema(schema)) == schema
        return encode_schema(schema)

    assert b"format" not in stored(INT64)
    assert b'"format":2' in stored(TEXT_OF_SCALARS)
    assert b'"format":3' in stored(text_of({"integer", "string"}))
