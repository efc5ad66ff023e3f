"""The journal of one feed: a journal with the feed's book, and the content of its entries."""

import hashlib
from typing import TypeAlias, TypeVar

import msgspec

from penstock.api.store import Store
from penstock.model.entries import AnyBody, Bind, Deciding, FeedBody, Replay
from penstock.model.layout import Layout
from penstock.model.manifest import Content, ManifestRef
from penstock.ports.store.create_once import create_once
from penstock.protocol.feed_book.contents import read_content
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.journal import Fold, Journal
from penstock.runtime.surroundings import Surroundings

FeedFold: TypeAlias = Fold[FeedState, Inventory]

D = TypeVar("D", bound=Deciding)


class FeedJournal(Journal[FeedState, FeedBody, Inventory]):
    """The entries of one feed."""

    def __init__(self, store: Store, layout: Layout, lake: str, around: Surroundings) -> None:
        super().__init__(FEED_BOOK, store, layout, lake, around)

    def bind(self, fold: FeedFold, cluster_id: str, files: str) -> None:
        """Write entry 0 if this feed is new. Two first starts race; one binds, both go on."""
        self.begin(fold, Bind(cluster_id, files))

    def with_content(self, body: D, content: Content) -> D:
        """The body with its content inline, or in a manifest object when it is large."""
        if not content.is_large:
            return msgspec.structs.replace(body, content=content, manifest=None)
        data = msgspec.json.encode(content)
        key = self.layout.manifest(f"{body.window}-{self._around.nonce()[:12]}")
        create_once(self.store, key, data)
        ref = ManifestRef(key, hashlib.sha256(data).hexdigest())
        return msgspec.structs.replace(body, content=None, manifest=ref)

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
