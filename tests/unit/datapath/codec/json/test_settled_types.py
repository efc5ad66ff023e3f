"""Learning with types that the configuration settles: no conflict, and no type by chance."""

import pyarrow as pa
import pytest

from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.model.pinned_types import FeedTypes, type_tree
from penstock.model.schema import (
    BOOLEAN,
    DOUBLE,
    INT64,
    STRING,
    TEXT_OF_JSON,
    TEXT_OF_SCALARS,
    TIME_OF_SCALARS,
    FieldType,
    PinnedType,
    PinnedTypes,
    list_of,
)


def decoder(*types: tuple[str, PinnedType]) -> JsonDecoder:
    return JsonDecoder(types=FeedTypes(type_tree(types)))


def learned(types: PinnedTypes, *samples: bytes) -> dict[str, FieldType]:
    schema = decoder(*types).infer(samples, "d")
    return {each.name: each.type for each in schema.fields}


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("string", TEXT_OF_SCALARS),
        ("int64", INT64),
        ("double", DOUBLE),
        ("boolean", BOOLEAN),
        ("timestamp", TIME_OF_SCALARS),
        ("json", TEXT_OF_JSON),
    ],
)
@pytest.mark.parametrize("sample", [b"17", b'"C-17"', b"true", b'{"x":1}', b"[1]", b"1e400"])
def test_a_named_field_gets_its_type_from_any_value(
    word: PinnedType, kind: FieldType, sample: bytes
) -> None:
    assert learned((("a", word),), b'{"a":%s}' % sample) == {"a": kind}


def test_a_named_field_is_never_in_conflict() -> None:
    samples = [b'{"a":17}', b'{"a":"C-17"}', b'{"a":{"b":1}}', b'{"a":null}']
    assert learned((), *samples) == {}
    assert learned((("a", "string"),), *samples) == {"a": TEXT_OF_SCALARS}


@pytest.mark.parametrize("sample", [b"null", b"[]", b"{}", b'{"x":null}'])
def test_what_says_nothing_makes_no_column(sample: bytes) -> None:
    assert learned((("a", "json"),), b'{"a":%s}' % sample) == {}


def test_types_reach_into_objects_and_lists() -> None:
    types: PinnedTypes = (("user.id", "string"), ("items[].sku", "json"), ("tags[]", "string"))
    found = learned(
        types,
        b'{"user":{"id":1},"items":[{"sku":1,"n":2}],"tags":[1,"b"]}',
        b'{"user":5,"items":"none","tags":{"x":1}}',
    )
    assert [(each.name, each.type) for each in found["user"].fields] == [("id", TEXT_OF_SCALARS)]
    item = found["items"].item
    assert item is not None
    assert [(each.name, each.type) for each in item.fields] == [("sku", TEXT_OF_JSON), ("n", INT64)]
    assert found["tags"] == list_of(TEXT_OF_SCALARS)


def test_a_field_in_conflict_gets_a_column_once_it_is_named() -> None:
    samples = [b'{"n":1,"a":17}', b'{"n":1,"a":"C-17"}', b'{"n":1,"a":[1,"x"]}']
    schema = JsonDecoder().infer(samples, "d")
    assert [each.name for each in schema.fields] == ["n"]
    named = decoder(("a", "json"))
    decoded = named.decode(pa.array(samples[2:], pa.binary()), schema)
    assert (decoded.unknown, decoded.unknown_at) == (("a",), (0,))
    grown = named.promote(schema, samples)
    assert [(each.name, each.type) for each in grown.fields] == [("n", INT64), ("a", TEXT_OF_JSON)]


def test_without_types_nothing_changes() -> None:
    assert learned((), b'{"a":"x","b":1}') == {"a": STRING, "b": INT64}
