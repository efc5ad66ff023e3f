"""The journal of one feed: a journal with the feed's book, and the content of its entries."""

import hashlib
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import msgspec

from penstock.api.store import Store
from penstock.model.entries import AnyBody, Bind, Deciding, FeedBody, Replay, SealedEntry
from penstock.model.layout import Layout
from penstock.model.manifest import Content, ManifestRef
from penstock.model.packing import is_worth_packing, pack
from penstock.protocol.feed_book.contents import read_content
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.inventory import Inventory, consumes
from penstock.protocol.feed_book.inventory_reader import newest_inventory, newest_whole_root
from penstock.protocol.feed_book.shard_names import Wanted
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.journal import Fold, Journal, KeptLong, nobody_objects
from penstock.runtime.surroundings import Surroundings

FeedFold: TypeAlias = Fold[FeedState, Inventory]

D = TypeVar("D", bound=Deciding)


class FeedJournal(Journal[FeedState, FeedBody, Inventory]):
    """The entries of one feed."""

    def __init__(self, store: Store, layout: Layout, lake: str, around: Surroundings) -> None:
        super().__init__(FEED_BOOK, store, layout, lake, around)

    def newest_long(self) -> KeptLong[Inventory]:
        """The inventory of its newest checkpoint, of which nothing is loaded yet."""
        return newest_inventory(self)

    def long_checkpoint(self) -> int:
        """The entry of the newest inventory root whose shards are all there; -1 for none."""
        return newest_whole_root(self)

    def open_partial(self, wanted: Wanted) -> FeedFold:
        """A fold with the wanted shards of the inventory, to read and not to consume."""
        return self.open_with(newest_inventory(self, wanted))

    def append(
        self,
        fold: FeedFold,
        body: AnyBody,
        epoch: int,
        require: Callable[[], None] = nobody_objects,
    ) -> SealedEntry:
        """As every journal; what consumes is judged on all shards that it touches."""
        if fold.inventory is not None and not fold.inventory.is_whole and consumes(body):
            raise ValueError("what consumes files or records needs the whole inventory")
        return super().append(fold, body, epoch, require)

    def bind(self, fold: FeedFold, cluster_id: str, files: str) -> None:
        """Write entry 0 if this feed is new. Two first starts race; one binds, both go on."""
        self.begin(fold, Bind(cluster_id, files))

    def with_content(self, body: D, content: Content) -> D:
        """The body with its content: inline, packed when long, in a manifest object when large."""
        plain = msgspec.json.encode(content)
        if content.is_large:
            ref = self._create_manifest(body.window, plain)
            return msgspec.structs.replace(body, content=None, packed=None, manifest=ref)
        if is_worth_packing(plain):
            return msgspec.structs.replace(body, content=None, packed=pack(plain), manifest=None)
        return msgspec.structs.replace(body, content=content, packed=None, manifest=None)

    def _create_manifest(self, window: str, plain: bytes) -> ManifestRef:
        data = pack(plain)
        key = self.layout.manifest(f"{window}-{self._around.nonce()[:12]}")
        self.create(key, data)
        return ManifestRef(key, hashlib.sha256(data).hexdigest(), packed=True)

    def content_of(self, body: AnyBody) -> Content:
        """The content of an entry's body, from wherever it lies."""
        return read_content(self.store, body)

    def forget(self, body: AnyBody) -> None:
        """Remove the objects of a body that is known not to have been decided.

        They are its manifest object, and the corrected records of a replay.
        """
        if isinstance(body, Deciding) and body.manifest is not None:
            self.store.delete(body.manifest.key)
        if isinstance(body, Replay) and body.corrections is not None:
            for each in body.corrections.files:
                self.store.delete(each.key)
