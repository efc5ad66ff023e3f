"""One feed's journal on a store: open it, append to it, and read what it decided."""

import hashlib
from typing import TypeVar

import msgspec

from penstock.api.store import Store
from penstock.errors import (
    ChainBroken,
    EntryImpossible,
    EntryMissing,
    EntryRefused,
    Fenced,
    JournalCut,
    ManifestDamaged,
)
from penstock.model.entries import (
    FORMAT,
    AnyBody,
    Bind,
    Claim,
    Deciding,
    Drop,
    Entry,
    SealedEntry,
)
from penstock.model.layout import SHARD, Layout, number_in
from penstock.model.manifest import Content, ManifestRef
from penstock.ports.store.create_once import create_once
from penstock.protocol.journal.checkpoints import (
    FoundCheckpoint,
    newest_checkpoint,
    without_done,
)
from penstock.protocol.journal.fold import apply
from penstock.protocol.journal.inventory import Inventory, consumes
from penstock.protocol.journal.markers import still_undone
from penstock.protocol.journal.rules import objection
from penstock.protocol.journal.state import FeedState
from penstock.protocol.journal.wire import check_home, open_entry, seal
from penstock.protocol.journal.witnesses import Witnesses, check_witnesses
from penstock.runtime.surroundings import Surroundings

MAX_OVERTAKEN = 100  # how often others may take our number before we give up; each time is one fold

D = TypeVar("D", bound=Deciding)

_content_decoder = msgspec.json.Decoder(Content)


class Fold:
    """The state of a journal as one process knows it, with the inventory if it asked for it."""

    def __init__(self, state: FeedState, inventory: Inventory | None) -> None:
        self.state = state
        self.inventory = inventory
        self.checkpoint = state.number  # the newest one that is known; -1 for none

    @classmethod
    def empty(cls) -> "Fold":
        """The fold of no entry at all."""
        return cls(FeedState(), None)


class Journal:
    """The entries of one feed. All writing goes through `append`, which is the commit point."""

    def __init__(self, store: Store, layout: Layout, lake: str, around: Surroundings) -> None:
        self.store = store
        self.layout = layout
        self.lake = lake
        self._around = around
        self.notices: list[str] = []

    def open(self, *, deep: bool = False) -> Fold:
        """Fold the journal: from the newest checkpoint, or from nothing when `deep`.

        Whatever could prove that the journal was longer is looked at before the tail is read, so
        that an entry appended meanwhile can only make the tail longer than its witnesses.
        """
        checkpoints = self.store.list_after(self.layout.checkpoints)
        found = newest_checkpoint(self, checkpoints)  # also judges it, for deep folds too
        fold = Fold(FeedState(), Inventory()) if deep else self._begin(found)
        seen = Witnesses.look(self.store, self.layout, fold.state.number, checkpoints)
        self.fold_on(fold)
        check_witnesses(self, fold.state, seen)
        self.see_done(fold.state)
        return fold

    def _begin(self, found: FoundCheckpoint | None) -> Fold:
        """The fold up to a checkpoint's entry; of no entry when there is no checkpoint."""
        if found is None:
            return Fold.empty()
        if found.state is not None:
            return Fold(found.state, None)
        fold = Fold.empty()  # what the older fold did not know is in the entries
        self.fold_on(fold, up_to=found.number)
        without_done(fold.state, found)
        return fold

    def fold_on(self, fold: Fold, up_to: int | None = None) -> None:
        """Fold every entry after the ones already known. Stops at the first that cannot be true."""
        while fold.state.number != up_to:
            sealed = self._read_next(fold.state.number + 1)
            if sealed is None:
                return
            content = self._content_for(fold, sealed.body)
            self._judge(fold, sealed, content)
            self._apply(fold, sealed, content)

    def see_done(self, state: FeedState) -> None:
        """Take every group that a marker proves done out of the state's undone ones."""
        for undone in list(state.undone.values()):
            undone.groups = still_undone(self.store, self.layout, undone)
            if not undone.groups:
                del state.undone[undone.number]

    def read(self, number: int) -> SealedEntry | None:
        """One entry, checked on its own; None when there is none with this number."""
        key = self.layout.entry(number)
        raw = self.store.read(key)
        if raw is None:
            return None
        sealed = open_entry(key, number, raw)
        check_home(key, sealed.entry, self.layout.feed, self.lake, self.layout.incarnation)
        return sealed

    def require(self, number: int) -> SealedEntry:
        """An entry that was folded before, so it must be there."""
        sealed = self.read(number)
        if sealed is None:
            raise JournalCut(self.layout.entry(number), number - 1)
        return sealed

    def append(self, fold: Fold, body: AnyBody, epoch: int) -> SealedEntry:
        """Decide: make `body` the next entry, or raise without having written anything.

        Losing the number to somebody else is normal: fold what came, and try again if the
        decision is still valid. A newer claim ends it (`Fenced`), an invalid decision as well
        (`EntryRefused`). `OutcomeUnknown` means exactly that: look again after a restart.
        """
        if consumes(body) and fold.inventory is None:
            raise ValueError("what consumes files or records can only be judged on a deep fold")
        nonce = self._around.nonce()
        content = self._content_for(fold, body)
        for _ in range(MAX_OVERTAKEN):
            entry = self._next_entry(fold.state, body, epoch, nonce)
            self._check_fenced(fold.state, entry)
            self._check_valid(fold, entry, content)
            data, sha256 = seal(entry)
            if create_once(self.store, self.layout.entry(entry.number), data) is None:
                sealed = SealedEntry(entry, sha256)
                self._apply(fold, sealed, content)
                return sealed
            self.fold_on(fold)
        raise EntryRefused(type(body).__name__.lower(), f"others were faster {MAX_OVERTAKEN} times")

    def bind(self, fold: Fold, cluster_id: str, files: str) -> None:
        """Write entry 0 if this feed is new. Two first starts race; one binds, both go on."""
        while fold.state.is_new:
            try:
                self.append(fold, Bind(cluster_id, files), epoch=0)
            except (EntryRefused, Fenced):
                if fold.state.is_new:
                    raise

    def claim(self, fold: Fold, owner: str) -> int:
        """Become the owner: append a claim with the next epoch, and return it."""
        for _ in range(MAX_OVERTAKEN):
            epoch = fold.state.epoch + 1
            try:
                self.append(fold, Claim(owner), epoch)
            except (Fenced, EntryRefused):
                continue  # somebody claimed this epoch first: take the one after
            return epoch
        raise EntryRefused("claim", f"others were faster {MAX_OVERTAKEN} times")

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
        if isinstance(body, Drop):
            return body.content
        if not isinstance(body, Deciding):
            return Content()
        if body.manifest is None:
            return body.content or Content()
        raw = self.store.read(body.manifest.key)
        if raw is None:
            raise ManifestDamaged(body.manifest.key, "it is gone")
        if hashlib.sha256(raw).hexdigest() != body.manifest.sha256:
            raise ManifestDamaged(body.manifest.key, "its hash is wrong")
        try:
            return _content_decoder.decode(raw)
        except msgspec.MsgspecError as error:
            raise ManifestDamaged(body.manifest.key, f"it is no manifest: {error}") from error

    def forget(self, body: AnyBody) -> None:
        """Remove the manifest object of a body that is known not to have been decided."""
        if isinstance(body, Deciding) and body.manifest is not None:
            self.store.delete(body.manifest.key)

    def _next_entry(self, state: FeedState, body: AnyBody, epoch: int, nonce: str) -> Entry:
        return Entry(
            format=FORMAT,
            number=state.number + 1,
            feed=self.layout.feed,
            lake=self.lake,
            incarnation=self.layout.incarnation,
            epoch=epoch,
            nonce=nonce,
            previous=state.sha256,
            at=self._around.timestamp(),
            body=body,
        )

    def _check_fenced(self, state: FeedState, entry: Entry) -> None:
        """An owner of an older epoch stops here, whatever it wanted to decide."""
        mine = entry.epoch - 1 if isinstance(entry.body, Claim) else entry.epoch
        if state.epoch > mine:
            raise Fenced(self.layout.feed, mine, state.epoch, state.owner)

    def _content_for(self, fold: Fold, body: AnyBody) -> Content | None:
        """The content, where somebody keeps an inventory; owners never load it."""
        return None if fold.inventory is None else self.content_of(body)

    def _check_valid(self, fold: Fold, entry: Entry, content: Content | None) -> None:
        why = _objection(fold, entry, content, frozenset(fold.state.undone))
        if why is not None:
            raise EntryRefused(type(entry.body).__name__.lower(), why)

    def _judge(self, fold: Fold, sealed: SealedEntry, content: Content | None) -> None:
        key = self.layout.entry(sealed.number)
        check_chain(key, fold.state.sha256, sealed.entry.previous)
        # What was done when this was decided cannot be told any more; its author had to know.
        why = _objection(fold, sealed.entry, content, frozenset())
        if why is not None:
            raise EntryImpossible(key, why)

    def _apply(self, fold: Fold, sealed: SealedEntry, content: Content | None) -> None:
        apply(fold.state, sealed)
        if fold.inventory is not None and content is not None:
            fold.inventory.apply(sealed.entry, content)

    def _read_next(self, number: int) -> SealedEntry | None:
        """The entry after the last known one; None at the tail, never at a hole.

        The listing may be strange or stale: it is only asked whether something lies beyond, and
        what was appended between the two looks is read then.
        """
        sealed = self.read(number)
        if sealed is not None:
            return sealed
        later = self._first_after(number)
        if later is None:
            return None
        sealed = self.read(number)
        if sealed is None:
            raise EntryMissing(self.layout.entry(number), later)
        return sealed

    def _first_after(self, number: int) -> str | None:
        """The next entry that is there, in this shard or the one after it; strangers are not."""
        here = self.layout.shard(self.layout.journal, number)
        beyond = self.layout.shard(self.layout.journal, number + SHARD)
        keys = self.store.list_after(here, self.layout.entry(number))
        keys += self.store.list_after(beyond)
        return next((key for key in keys if number_in(key.rpartition("/")[2]) is not None), None)


def _objection(
    fold: Fold, entry: Entry, content: Content | None, undone: frozenset[int]
) -> str | None:
    why = objection(fold.state, entry)
    if why is None and fold.inventory is not None and content is not None:
        why = fold.inventory.objection(entry, content, undone)
    return why


def check_chain(key: str, wanted: str, found: str) -> None:
    """Every entry names the hash of the one before it."""
    if wanted != found:
        raise ChainBroken(key, wanted, found)
