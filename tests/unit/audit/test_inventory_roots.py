"""An audit compares inventory checkpoints with the entries that they stand for."""

import msgspec
import pytest

from penstock.audit.ledger import open_ledger, read_ledger
from penstock.errors import ChainBroken, EntryNewer
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.inventory_objects import (
    INVENTORY_FORMAT,
    InventoryRoot,
    RootObject,
    read_root,
    root_bytes,
)
from penstock.protocol.feed_book.inventory_writer import update_inventory
from penstock.protocol.journal.wire import seal
from tests.helpers.inventory_stories import InventoryStory, told_story
from tests.helpers.journals import LAYOUT
from tests.simulator.programs import surroundings

LIFE = [("window", 0), ("broken", 1), ("window", 2), ("compact", 0), ("drop", 0), ("window", 4)]


def with_roots() -> InventoryStory:
    story = told_story(LIFE)
    for choice in range(3):
        update_inventory(story.journal, surroundings("keeper"), every=1)
        story.happen("window", choice)
    return story


def found(story: InventoryStory) -> list[str]:
    _, ledger = open_ledger(story.journal)
    return [each.found for each in ledger.differences if "inventory" in each.found]


def edited(story: InventoryStory, **changes: object) -> str:
    """Replace the newest root by another one that is whole; its key."""
    key = list_keys(story.store, LAYOUT.inventory_roots)[-1]
    root = read_root(key, story.store.shelf.objects[key])
    assert root is not None
    other = msgspec.structs.replace(root, **changes)
    story.store.shelf = story.store.shelf.with_object(key, root_bytes(other))
    return key


def newest(story: InventoryStory) -> InventoryRoot:
    key = list_keys(story.store, LAYOUT.inventory_roots)[-1]
    root = read_root(key, story.store.shelf.objects[key])
    assert root is not None
    return root


def test_good_roots_are_no_difference_nor_is_a_lost_shard() -> None:
    story = with_roots()
    assert found(story) == []
    for key in list_keys(story.store, LAYOUT.inventory_shards):
        story.store.delete(key)
    assert found(story) == []


def test_a_root_without_one_of_its_shards_is_a_difference() -> None:
    story = with_roots()
    left, *shards = newest(story).shards
    edited(story, shards=tuple(shards))
    number = newest(story).number
    words = f"the inventory checkpoint of entry {number} differs from the entries in '{left.name}'"
    assert found(story) == [words]


def test_a_root_with_other_sums_is_a_difference() -> None:
    story = with_roots()
    first, *shards = newest(story).shards
    edited(story, shards=(msgspec.structs.replace(first, count=first.count + 1), *shards))
    assert found(story)


def test_a_root_of_another_entry_is_damage_of_the_journal() -> None:
    story = with_roots()
    edited(story, sha256="0" * 64)
    assert [type(error) for error in read_ledger(story.journal).damage] == [ChainBroken]


def test_a_root_of_a_newer_version_asks_for_an_upgrade() -> None:
    story = with_roots()
    state = story.fold.state
    newer = RootObject(INVENTORY_FORMAT + 1, state.number, state.sha256, ())
    story.store.create(LAYOUT.inventory_root(state.number), seal(newer)[0])
    with pytest.raises(EntryNewer):
        read_ledger(story.journal)
