"""The content of a feed's entries: in the entry, or in a manifest object when it is large."""

import hashlib
from dataclasses import dataclass

import msgspec

from penstock.api.store import Store
from penstock.errors import ManifestDamaged
from penstock.model.entries import AnyBody, Deciding, Drop, Entry
from penstock.model.manifest import Content
from penstock.protocol.feed_book.inventory import Inventory

_decoder = msgspec.json.Decoder(Content)


def read_content(store: Store, body: AnyBody) -> Content:
    """The content of an entry's body, from wherever it lies."""
    if isinstance(body, Drop):
        return body.content
    if not isinstance(body, Deciding):
        return Content()
    if body.manifest is None:
        return body.content or Content()
    raw = store.read(body.manifest.key)
    if raw is None:
        raise ManifestDamaged(body.manifest.key, "it is gone")
    if hashlib.sha256(raw).hexdigest() != body.manifest.sha256:
        raise ManifestDamaged(body.manifest.key, "its hash is wrong")
    try:
        return _decoder.decode(raw)
    except msgspec.MsgspecError as error:
        raise ManifestDamaged(body.manifest.key, f"it is no manifest: {error}") from error


@dataclass(frozen=True, slots=True)
class LoadedContent:
    """The content of one entry, and the inventory that judges it and takes it in."""

    inventory: Inventory
    content: Content

    @classmethod
    def load(cls, inventory: Inventory, store: Store, body: AnyBody) -> "LoadedContent":
        """Read the content of an entry, once."""
        return cls(inventory, read_content(store, body))

    def objection(self, entry: Entry, undone: frozenset[int]) -> str | None:
        """Why the entry may not consume what it names, or None."""
        return self.inventory.objection(entry, self.content, undone)

    def apply(self, entry: Entry) -> None:
        """Take the entry's files and records in, and out."""
        self.inventory.apply(entry, self.content)
