"""The content of a feed's entries: in the entry, packed if long; in a manifest object if large."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from penstock.api.store import Store
from penstock.errors import EntryDamaged, ManifestDamaged
from penstock.model.entries import AnyBody, Deciding, Drop, Entry
from penstock.model.manifest import Content, ManifestRef
from penstock.model.packing import unpack
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.journal.book_state import UndoneEntry

_decoder = msgspec.json.Decoder(Content)


def read_content(store: Store, body: AnyBody) -> Content:
    """The content of an entry's body, from wherever it lies."""
    if isinstance(body, Drop):
        return body.content
    if not isinstance(body, Deciding):
        return Content()
    if body.packed is not None:
        return _unpacked(body.packed, body.window)
    if body.manifest is not None:
        return _from_manifest(store, body.manifest)
    return body.content or Content()


def _unpacked(packed: bytes, window: str) -> Content:
    try:
        return _decoder.decode(unpack(packed))
    except ValueError as error:  # also of msgspec
        why = f"the content of window {window} cannot be read: {error}"
        raise EntryDamaged(window, why) from error


def _from_manifest(store: Store, ref: ManifestRef) -> Content:
    raw = store.read(ref.key)
    if raw is None:
        raise ManifestDamaged(ref.key, "it is gone")
    if hashlib.sha256(raw).hexdigest() != ref.sha256:
        raise ManifestDamaged(ref.key, "its hash is wrong")
    try:
        return _decoder.decode(unpack(raw) if ref.packed else raw)
    except ValueError as error:  # also of msgspec
        raise ManifestDamaged(ref.key, f"it is not a manifest: {error}") from error


@dataclass(frozen=True, slots=True)
class LoadedContent:
    """The content of one entry, and the inventory that judges it and takes it in."""

    inventory: Inventory
    content: Content

    @classmethod
    def load(cls, inventory: Inventory, store: Store, body: AnyBody) -> "LoadedContent":
        """Read the content of an entry, once, and the part of it that the inventory is about."""
        return cls(inventory, inventory.part_of(read_content(store, body)))

    def objection(self, entry: Entry, undone: Mapping[int, UndoneEntry]) -> str | None:
        """Why the entry may not consume what it names, or None."""
        return self.inventory.objection(entry, self.content, undone)

    def apply(self, entry: Entry) -> None:
        """Take the entry's files and records in, and out."""
        self.inventory.apply(entry, self.content)
