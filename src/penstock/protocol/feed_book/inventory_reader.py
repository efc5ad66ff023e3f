"""Opens an inventory from its newest checkpoint. Shards are read when they are needed.

Without a root there is no checkpoint. A shard that is missing or wrong is never taken as empty: it
is made again from an older root, or from nothing, and the entries up to its own root.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, TypeAlias

from penstock.errors import ChainBroken, JournalCut
from penstock.model.envelope import GENESIS
from penstock.model.layout import Layout, number_in
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.inventory_objects import (
    InventoryRoot,
    Shard,
    ShardRef,
    read_root,
    read_shard,
)
from penstock.protocol.feed_book.shard_names import Wanted, dataset_in
from penstock.protocol.journal.journal import KeptLong

if TYPE_CHECKING:
    from penstock.protocol.feed_book.feed_journal import FeedJournal

KeptInventory: TypeAlias = KeptLong[Inventory]


def newest_inventory(journal: "FeedJournal", wanted: Wanted | None = None) -> KeptInventory:
    """The inventory of the newest good root, or an empty one up to entry -1."""
    keys = list_keys(journal.store, journal.layout.inventory_roots)
    return inventory_at(InventoryRoots(journal, keys), None, wanted)


def newest_whole_root(journal: "FeedJournal") -> int:
    """The entry of the newest good root if all of its shards are there; otherwise -1."""
    keys = list_keys(journal.store, journal.layout.inventory_roots)
    root = InventoryRoots(journal, keys).newest()
    if root is None:
        return -1
    there = set(list_keys(journal.store, journal.layout.inventory_shards))
    return root.number if all(ref_key(journal.layout, r) in there for r in root.shards) else -1


def inventory_at(
    roots: "InventoryRoots", below: int | None, wanted: Wanted | None = None
) -> KeptInventory:
    """The inventory of the newest good root below an entry, with nothing loaded yet."""
    keys, root = tuple(roots.keys), roots.newest(below)
    if root is None:
        return KeptLong(-1, GENESIS, Inventory(wanted=wanted), keys)
    return KeptLong(
        root.number, root.sha256, Inventory(RootShards(roots, root, wanted), wanted), keys
    )


def ref_key(layout: Layout, ref: ShardRef) -> str:
    """The key of the shard that a root lists."""
    return layout.inventory_shard(ref.number, ref.sha256)


class InventoryRoots:
    """The roots of a journal's inventory, each read when it is asked for."""

    def __init__(self, journal: "FeedJournal", keys: list[str]) -> None:
        self.journal = journal
        self.keys = keys

    def newest(self, below: int | None = None) -> InventoryRoot | None:
        """The newest good root below an entry, or of all."""
        for key in reversed(self.keys):
            number = number_in(key.rpartition("/")[2])
            if number is None or (below is not None and number >= below):
                continue
            root = self._read(key, number)
            if root is not None:
                return root
        return None

    def _read(self, key: str, number: int) -> InventoryRoot | None:
        """A root that is whole and belongs to this journal; it only saves time."""
        journal = self.journal
        raw = journal.store.read(key)
        if raw is None:
            return None  # newer ones were left meanwhile, and this one removed
        root = read_root(key, raw)
        if root is None or root.number != number:
            journal.notices.append(f"the inventory root {key!r} is damaged and was passed over")
            return None
        sealed = journal.read(root.number, root.sha256)
        if sealed is None:
            return None  # it lies beyond the tail; as a witness it will stop whoever opens this
        if sealed.sha256 != root.sha256:
            raise ChainBroken(journal.layout.entry(root.number), root.sha256, sealed.sha256)
        return root

    def read_shards(self, root: InventoryRoot, refs: Iterable[ShardRef]) -> list[Shard]:
        """These shards of a root; what is lost of them is folded again."""
        found: list[Shard] = []
        lost: set[str] = set()
        for ref, shard in self.journal.ask_all(self._read_shard, list(refs)):
            if isinstance(shard, Shard):
                found.append(shard)
            else:
                lost.add(ref.name)
                key = ref_key(self.journal.layout, ref)
                self.journal.notices.append(
                    f"the inventory shard {key!r} was folded again: {shard}"
                )
        return found + self._folded_again(root, lost) if lost else found

    def _read_shard(self, ref: ShardRef) -> Shard | str:
        key = ref_key(self.journal.layout, ref)
        raw = self.journal.store.read(key)
        return "it is gone" if raw is None else read_shard(key, raw, ref)

    def _folded_again(self, root: InventoryRoot, names: Collection[str]) -> list[Shard]:
        """Shards as they were at a root, from an older one or from entry 0."""
        older = inventory_at(self, root.number, names.__contains__)
        whole = self.journal.fold_long(older, up_to=root.number)
        key = self.journal.layout.entry(root.number)
        if whole.number != root.number:
            raise JournalCut(key, whole.number)
        if whole.sha256 != root.sha256:
            raise ChainBroken(key, root.sha256, whole.sha256)
        return whole.long.shards(names)


class RootShards:
    """The wanted shards of one root, for an inventory that takes each of them once."""

    def __init__(self, roots: InventoryRoots, root: InventoryRoot, wanted: Wanted | None) -> None:
        self._roots = roots
        self._root = root
        self.waiting: dict[str, ShardRef] = {
            ref.name: ref for ref in root.shards if wanted is None or wanted(ref.name)
        }

    @property
    def number(self) -> int:
        """The entry of the root."""
        return self._root.number

    @property
    def datasets(self) -> set[str]:
        """The datasets of all its shards of files."""
        return {dataset_in(ref.name) for ref in self._root.shards} - {""}

    def take(self, names: Iterable[str]) -> list[Shard]:
        """Read these shards; they are not waiting any more once all were read."""
        wanted = [self.waiting[name] for name in sorted(names) if name in self.waiting]
        if not wanted:
            return []
        found = self._roots.read_shards(self._root, wanted)
        for ref in wanted:
            del self.waiting[ref.name]
        return found
