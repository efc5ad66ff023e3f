"""Paths with types: which tree they are, and which of them disagree."""

import pytest

from penstock.model.event_paths import steps_of
from penstock.model.pinned_types import PinsDisagree, feed_types, type_tree
from penstock.model.schema import INT64, TEXT_OF_JSON, TEXT_OF_SCALARS, PinnedTypes
from penstock.model.spec import DatasetSpec, DecodeSpec, FeedSpec


def test_a_path_is_a_list_of_names_and_items() -> None:
    assert list(steps_of("a.items[][].id")) == ["a", "items", None, None, "id"]


def test_a_tree_has_what_its_paths_settle() -> None:
    tree = type_tree((("user.id", "string"), ("items[].n", "int64"), ("raw", "json")))
    assert (tree.fields["user"].container, tree.fields["items"].container) == ("struct", "list")
    for path, kind in (("user.id", TEXT_OF_SCALARS), ("items[].n", INT64), ("raw", TEXT_OF_JSON)):
        found = tree.at(path)
        assert found is not None
        assert found.type == kind
    assert tree.at("user.name") is None
    assert tree.at("raw.id.x") is None


DISAGREE: dict[str, PinnedTypes] = {
    "a type inside a type": (("a", "json"), ("a.b", "string")),
    "a type around a type": (("a.b", "string"), ("a", "json")),
    "an object that is a list": (("a.b", "string"), ("a[].b", "string")),
    "a time in a list": (("a[].at", "timestamp"),),
}


@pytest.mark.parametrize("types", DISAGREE.values(), ids=DISAGREE)
def test_paths_that_disagree_are_refused(types: PinnedTypes) -> None:
    with pytest.raises(PinsDisagree):
        type_tree(types)


def test_types_of_a_dataset_go_before_those_of_the_feed() -> None:
    feed = FeedSpec(
        name="f",
        decode=DecodeSpec(types=(("id", "string"), ("n", "int64"))),
        datasets=(DatasetSpec("a b", types=(("id", "int64"),)), DatasetSpec("c")),
    )
    types = feed_types(feed)
    for dataset, wanted in (("a%20b", INT64), ("c", TEXT_OF_SCALARS), ("d", TEXT_OF_SCALARS)):
        assert types.of(dataset).fields["id"].type == wanted
        assert types.of(dataset).fields["n"].type == INT64
