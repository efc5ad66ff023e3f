"""Brings the inventory checkpoint of a feed up to date, beside the loop. It decides nothing.

Only the shards that the entries since the last root touch are read and written; the new root names
the others as they are. Shards come first, the root last. A death in between leaves shards that no
root names; they are removed when the roots that are kept have become newer than them.
"""

from collections.abc import Collection, Iterable
from functools import partial

from penstock.api.later import Later
from penstock.model.evidence import Evidence
from penstock.model.layout import Layout, number_in
from penstock.ports.store.create_once import create_once
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.inventory_objects import (
    InventoryRoot,
    Shard,
    ShardRef,
    root_bytes,
    shard_bytes,
)
from penstock.protocol.feed_book.inventory_reader import (
    InventoryRoots,
    KeptInventory,
    inventory_at,
    ref_key,
)
from penstock.runtime.surroundings import Surroundings

INVENTORY_EVERY = 500  # entries between two roots
MOST_AT_ONCE = 2_000  # entries folded for one root, so that an old journal does not fill the memory
KEPT_ROOTS = 3  # the newest would do; the others are for shards that are lost, and for slow readers
# Computed on columns; a feed without broken records never needs it.
_records_evidence = Later("penstock.evidence.position_columns:records_evidence")


def update_inventory(
    journal: FeedJournal, around: Surroundings, every: int = INVENTORY_EVERY
) -> int | None:
    """Leave a root for the newest entries, if there are enough; returns its entry, or None.

    May run at any time, in any number of processes, and be repeated: roots of the same entry are
    the same. Raises what the store or a damaged journal raises; nothing depends on it.
    """
    roots = _listed_roots(journal)
    tail = newest_number(list_keys(journal.store, journal.layout.tails))
    if tail < newest_number(roots.keys) + max(every, 1):
        return None
    last, left = roots.newest(), None
    while left is None or left < tail:
        base = inventory_at(roots, None if last is None else last.number + 1)
        folded = journal.fold_long(base, up_to=min(base.number + MOST_AT_ONCE, tail))
        if folded.number <= base.number:
            return left
        last = write_root(journal, around, folded, () if last is None else last.shards)
        left = last.number
        roots = _listed_roots(journal)
        prune_inventory(journal, around, roots)
    return left


def _listed_roots(journal: FeedJournal) -> InventoryRoots:
    return InventoryRoots(journal, list_keys(journal.store, journal.layout.inventory_roots))


def newest_number(keys: Iterable[str]) -> int:
    """The greatest number among the names of numbered objects; -1 for none."""
    return max((number_in(key.rpartition("/")[2]) or 0 for key in keys), default=-1)


def write_root(
    journal: FeedJournal, around: Surroundings, folded: KeptInventory, known: tuple[ShardRef, ...]
) -> InventoryRoot:
    """Create the shards that changed or are gone, and then the root that names all."""
    inventory, layout = folded.long, journal.layout
    there = set(list_keys(journal.store, layout.inventory_shards))
    kept = {
        ref.name: ref
        for ref in known
        if ref.name not in inventory.changed and ref_key(layout, ref) in there
    }
    changed = inventory.changed | {ref.name for ref in known if ref.name not in kept}
    made = create_shards(journal, around, folded.number, inventory.shards(changed))
    refs = tuple(sorted((*kept.values(), *made), key=lambda ref: ref.name))
    root = InventoryRoot(folded.number, folded.sha256, refs)
    create_once(journal.store, layout.inventory_root(root.number), root_bytes(root))
    return root


def create_shards(
    journal: FeedJournal, around: Surroundings, number: int, shards: Iterable[Shard]
) -> list[ShardRef]:
    """Create objects for these shards, side by side; whoever was first wrote the same content."""
    refs: list[ShardRef] = []
    acts = []
    for shard in shards:
        ref, data = shard_ref(shard, number)
        refs.append(ref)
        acts.append(partial(_create, journal, ref_key(journal.layout, ref), data))
    around.do_all(acts)
    return refs


def _create(journal: FeedJournal, key: str, data: bytes) -> None:
    create_once(journal.store, key, data)


def shard_ref(shard: Shard, number: int) -> tuple[ShardRef, bytes]:
    """How a root lists a shard that is written for an entry, and the bytes of its object."""
    data, sha256 = shard_bytes(shard)
    return ShardRef(shard.name, number, sha256, *sums_of(shard)), data


def sums_of(shard: Shard) -> tuple[int, Evidence]:
    """The number of files or records of a shard, and the sum of their evidence."""
    if shard.records:
        count = sum(len(part.offsets) for part in shard.records)
        return count, _records_evidence(shard.records) if count else Evidence()
    return len(shard.files), Evidence.total(file.evidence for file in shard.files)


def prune_inventory(journal: FeedJournal, around: Surroundings, roots: InventoryRoots) -> None:
    """Remove all but the newest good roots, and then the shards that none of these names.

    A shard that was written for a newer entry than the oldest of these roots stays in any case:
    its root may be about to come.
    """
    kept: list[InventoryRoot] = []
    while len(kept) < KEPT_ROOTS:
        root = roots.newest(kept[-1].number if kept else None)
        if root is None:
            return
        kept.append(root)
    oldest, layout = kept[-1].number, journal.layout
    _delete_all(journal, around, [key for key in roots.keys if _is_before(key, oldest)])
    named = named_shards(layout, kept)
    unnamed = [
        key
        for key in list_keys(journal.store, layout.inventory_shards)
        if key not in named and is_shard_before(layout, key, oldest)
    ]
    _delete_all(journal, around, unnamed)


def named_shards(layout: Layout, roots: Iterable[InventoryRoot]) -> set[str]:
    """The keys of all shards that some of these roots name."""
    return {ref_key(layout, ref) for root in roots for ref in root.shards}


def _is_before(key: str, oldest: int) -> bool:
    number = number_in(key.rpartition("/")[2])
    return number is not None and number < oldest


def is_shard_before(layout: Layout, key: str, oldest: int) -> bool:
    """True for a shard that was written for an entry before this one; false for strangers."""
    number, dash, sha256 = key.removeprefix(f"{layout.inventory_shards}/").partition("-")
    found = number_in(number)
    return bool(dash) and found is not None and found < oldest and sha256.endswith(".json")


def _delete_all(journal: FeedJournal, around: Surroundings, keys: Collection[str]) -> None:
    around.do_all([partial(journal.store.delete, key) for key in keys])
