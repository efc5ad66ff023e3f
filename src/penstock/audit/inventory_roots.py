"""Compares inventory checkpoints with the entries that they stand for.

Commands judge by these checkpoints what may be consumed, so a wrong one could let a file be taken
twice. A shard that is gone is not a difference: whoever needs it folds it again.
"""

from collections.abc import Iterator, Mapping

from penstock.audit.receipt import Difference
from penstock.errors import EntryNewer, JournalError
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.inventory_objects import InventoryRoot, ShardRef
from penstock.protocol.feed_book.inventory_reader import InventoryRoots
from penstock.protocol.feed_book.inventory_writer import shard_ref
from penstock.protocol.feed_book.shard_names import file_shard, records_shard


def find_roots(journal: FeedJournal, damage: list[JournalError]) -> dict[int, InventoryRoot]:
    """The good roots, by entry; one that names another entry than the journal's is damage."""
    roots = InventoryRoots(journal, list_keys(journal.store, journal.layout.inventory_roots))
    found: dict[int, InventoryRoot] = {}
    below: int | None = None
    try:
        while (root := roots.newest(below)) is not None:
            found[root.number] = root
            below = root.number
    except EntryNewer:
        raise
    except JournalError as error:
        damage.append(error)
    return found


def root_differences(
    journal: FeedJournal, roots: Mapping[int, InventoryRoot], number: int, inventory: Inventory
) -> Iterator[Difference]:
    """What the root of an entry, if there is one, says otherwise than the entries up to it."""
    root = roots.get(number)
    if root is None:
        return
    wanted = {ref.name: _facts(ref) for ref in _refs_of(inventory, number)}
    found = {ref.name: _facts(ref) for ref in root.shards}
    wrong = sorted(
        name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)
    )
    if wrong:
        words = f"the inventory checkpoint of entry {number} differs from the entries in"
        shown = ", ".join(map(repr, wrong[:5])) + (", ..." if len(wrong) > 5 else "")
        key = journal.layout.inventory_root(number)
        yield Difference("journal", f"{words} {shown}", key, entry=number)


def _facts(ref: ShardRef) -> tuple[str, int, object]:
    """What must be the same whenever the shard was written."""
    return ref.sha256, ref.count, ref.evidence


def _refs_of(inventory: Inventory, number: int) -> Iterator[ShardRef]:
    names = {file_shard(final) for final in inventory.files}
    names |= {records_shard(key[1], key[2]) for key in inventory.records}
    for shard in inventory.shards(names):
        yield shard_ref(shard, number)[0]
