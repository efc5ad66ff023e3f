"""An inventory from any root and the entries after it is the inventory of all entries.

Method: random lives of a feed with windows, broken records, compactions, retirements and drops;
roots are left at random places, shards and roots are lost or damaged at random; whoever opens the
inventory then must find what a fold from entry 0 finds, also shard by shard.
"""

from hypothesis import given
from hypothesis import strategies as st

from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.inventory_reader import InventoryRoots, inventory_at
from penstock.protocol.feed_book.inventory_writer import update_inventory
from penstock.protocol.feed_book.shard_names import file_shard, of_dataset, of_quarantine
from tests.helpers.inventory_stories import OPS, InventoryStory, facts
from tests.helpers.journals import LAYOUT
from tests.simulator.programs import surroundings

AROUND = surroundings("keeper")
HAPPENINGS = (*OPS, *OPS, "root", "root", "reopen", "lose a shard", "lose a root", "spoil")

stories = st.lists(
    st.tuples(st.sampled_from(HAPPENINGS), st.integers(0, 50)), min_size=5, max_size=40
)


def lived(happenings: list[tuple[str, int]]) -> InventoryStory:
    story = InventoryStory()
    for what, choice in happenings:
        if what == "root":
            update_inventory(story.journal, AROUND, every=1)
        elif what == "reopen":
            story.reopen()
        elif what == "lose a shard":
            _lose(story, LAYOUT.inventory_shards, choice)
        elif what == "lose a root":
            _lose(story, LAYOUT.inventory_roots, choice)
        elif what == "spoil":
            _lose(story, LAYOUT.inventory_shards, choice, b"{}")
        else:
            story.happen(what, choice)
    return story


def _lose(story: InventoryStory, prefix: str, choice: int, instead: bytes | None = None) -> None:
    """Somebody removes an object, or overwrites it."""
    keys = list_keys(story.store, prefix)
    if keys:
        story.store.shelf = story.store.shelf.with_object(keys[choice % len(keys)], instead)


@given(stories)
def test_an_inventory_from_a_checkpoint_is_that_of_all_entries(
    happenings: list[tuple[str, int]],
) -> None:
    story = lived(happenings)
    wanted = facts(story.journal.open_from_first().inventory)
    assert facts(story.journal.open(deep=True).inventory) == wanted
    assert facts(story.fold.inventory) == wanted, "the writer went on all the time"


@given(stories)
def test_every_root_gives_the_same_inventory(happenings: list[tuple[str, int]]) -> None:
    story = lived([*happenings, ("root", 0)])
    journal = story.journal
    wanted = facts(journal.open_from_first().inventory)
    keys = list_keys(story.store, LAYOUT.inventory_roots)
    for below in [int(key[-25:-5]) + 1 for key in keys]:
        kept = inventory_at(InventoryRoots(journal, keys), below)
        assert facts(journal.open_with(kept).inventory) == wanted


@given(stories, st.sampled_from(["a", "b", "c", ""]), st.sampled_from(["", "1", "2"]))
def test_a_partial_inventory_is_that_part_of_the_whole(
    happenings: list[tuple[str, int]], dataset: str, day: str
) -> None:
    story = lived(happenings)
    files, records, quarantine = facts(story.journal.open_from_first().inventory)
    wanted = of_dataset(dataset, day)
    some = story.journal.open_partial(wanted).inventory
    part = {final: live for final, live in files.items() if wanted(file_shard(final))}
    assert facts(some)[:2] == (part, {})
    broken = story.journal.open_partial(of_quarantine).inventory
    assert isinstance(broken, Inventory)
    assert (broken.records, broken.quarantine) == (records, quarantine)


@given(stories)
def test_the_sums_of_a_root_are_those_of_its_files(happenings: list[tuple[str, int]]) -> None:
    story = lived([*happenings, ("window", 0), ("root", 0)])
    files, records, _ = facts(story.journal.open_from_first().inventory)
    root = InventoryRoots(story.journal, list_keys(story.store, LAYOUT.inventory_roots)).newest()
    assert root is not None
    of_files = [ref for ref in root.shards if ref.name.startswith("files/")]
    assert sum(ref.count for ref in of_files) == len(files)
    rows = sum(ref.evidence.count for ref in of_files)
    assert rows == sum(live.evidence.count for live in files.values())
    left = sum(ref.count for ref in root.shards) - len(files)
    assert left == sum(map(len, records.values()))
