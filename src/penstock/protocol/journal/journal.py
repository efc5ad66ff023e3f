"""A journal on a store: open it, append to it, read it. A book says what its entries mean."""

from typing import Generic

from penstock.api.store import Store
from penstock.errors import (
    ChainBroken,
    EntryImpossible,
    EntryMissing,
    EntryRefused,
    Fenced,
    JournalCut,
)
from penstock.model.envelope import Body, Claim, Envelope, Sealed
from penstock.model.layout import SHARD, Layout, number_in
from penstock.ports.store.create_once import create_once
from penstock.protocol.journal.book import B, Book, L, LoadedEntry
from penstock.protocol.journal.book_state import BookState, S
from penstock.protocol.journal.checkpoints import (
    FoundCheckpoint,
    newest_checkpoint,
    without_done,
)
from penstock.protocol.journal.every_book import apply, objection
from penstock.protocol.journal.markers import still_undone
from penstock.protocol.journal.wire import check_home, open_entry, seal
from penstock.protocol.journal.witnesses import Witnesses, check_witnesses
from penstock.runtime.surroundings import Surroundings

MAX_OVERTAKEN = 100  # how often others may take our number before we give up; each time is one fold


class Fold(Generic[S, L]):
    """The state of a journal as one process knows it, with the long part if it asked for it."""

    def __init__(self, state: S, inventory: L | None = None) -> None:
        self.state = state
        self.inventory = inventory
        self.checkpoint = state.number  # the newest one that is known; -1 for none


class Journal(Generic[S, B, L]):
    """The entries of one journal. All writing goes through `append`, which is the commit point."""

    def __init__(
        self, book: Book[S, B, L], store: Store, layout: Layout, lake: str, around: Surroundings
    ) -> None:
        self.book = book
        self.store = store
        self.layout = layout
        self.lake = lake
        self._around = around
        self.notices: list[str] = []

    def empty_fold(self, *, deep: bool = False) -> Fold[S, L]:
        """The fold of no entry at all; with the long part of the state when `deep`."""
        long = self.book.long if deep else None
        return Fold(self.book.empty(), None if long is None else long.empty())

    def open(self, *, deep: bool = False) -> Fold[S, L]:
        """Fold the journal: from the newest checkpoint, or from nothing when `deep`.

        Whatever could prove that the journal was longer is looked at before the tail is read, so
        that an entry appended meanwhile can only make the tail longer than its witnesses.
        """
        checkpoints = self.store.list_after(self.layout.checkpoints)
        found = newest_checkpoint(self, checkpoints)  # also judges it, for deep folds too
        fold = self.empty_fold(deep=True) if deep else self._fold_to(found)
        seen = Witnesses.look(self.store, self.layout, fold.state.number, checkpoints)
        self.fold_on(fold)
        check_witnesses(self, fold.state, seen)
        self.see_done(fold.state)
        return fold

    def _fold_to(self, found: FoundCheckpoint[S] | None) -> Fold[S, L]:
        """The fold up to a checkpoint's entry; of no entry when there is no checkpoint."""
        if found is None:
            return self.empty_fold()
        if found.state is not None:
            return Fold(found.state)
        fold = self.empty_fold()  # what the older fold did not know is in the entries
        self.fold_on(fold, up_to=found.number)
        without_done(fold.state, found)
        return fold

    def fold_on(self, fold: Fold[S, L], up_to: int | None = None) -> None:
        """Fold every entry after the ones already known. Stops at the first that cannot be true."""
        while fold.state.number != up_to:
            sealed = self._read_next(fold.state.number + 1)
            if sealed is None:
                return
            loaded = self._load(fold, sealed.body)
            self._judge(fold, sealed, loaded)
            self._apply(fold, sealed, loaded)

    def see_done(self, state: S) -> None:
        """Take every group that a marker proves done out of the state's undone ones."""
        state.keep_undone(lambda undone: still_undone(self.store, self.layout, undone))

    def read(self, number: int) -> Sealed[B] | None:
        """One entry, checked on its own; None when there is none with this number."""
        key = self.layout.entry(number)
        raw = self.store.read(key)
        if raw is None:
            return None
        sealed = open_entry(self.book, key, number, raw)
        check_home(key, sealed.entry, self.layout.feed, self.lake, self.layout.incarnation)
        return sealed

    def require(self, number: int) -> Sealed[B]:
        """An entry that was folded before, so it must be there."""
        sealed = self.read(number)
        if sealed is None:
            raise JournalCut(self.layout.entry(number), number - 1)
        return sealed

    def append(self, fold: Fold[S, L], body: B | Claim, epoch: int) -> Sealed[B]:
        """Decide: make `body` the next entry, or raise without having written anything.

        Losing the number to somebody else is normal: fold what came, and try again if the
        decision is still valid. A newer claim ends it (`Fenced`), an invalid decision as well
        (`EntryRefused`). `OutcomeUnknown` means exactly that: look again after a restart.
        """
        long = self.book.long
        if long is not None and fold.inventory is None and long.consumes(body):
            raise ValueError("what consumes files or records can only be judged on a deep fold")
        nonce = self._around.nonce()
        loaded = self._load(fold, body)
        for _ in range(MAX_OVERTAKEN):
            entry = self._next_entry(fold.state, body, epoch, nonce)
            self._check_fenced(fold.state, entry)
            self._check_valid(fold, entry, loaded)
            data, sha256 = seal(entry)
            if create_once(self.store, self.layout.entry(entry.number), data) is None:
                sealed = Sealed(entry, sha256)
                self._apply(fold, sealed, loaded)
                return sealed
            self.fold_on(fold)
        raise EntryRefused(type(body).__name__.lower(), f"others were faster {MAX_OVERTAKEN} times")

    def begin(self, fold: Fold[S, L], first: B) -> None:
        """Write entry 0 if this journal is new. Two first starts race; one binds, both go on."""
        while fold.state.is_new:
            try:
                self.append(fold, first, epoch=0)
            except (EntryRefused, Fenced):
                if fold.state.is_new:
                    raise

    def claim(self, fold: Fold[S, L], owner: str) -> int:
        """Become the owner: append a claim with the next epoch, and return it."""
        for _ in range(MAX_OVERTAKEN):
            epoch = fold.state.epoch + 1
            try:
                self.append(fold, Claim(owner), epoch)
            except (Fenced, EntryRefused):
                continue  # somebody claimed this epoch first: take the one after
            return epoch
        raise EntryRefused("claim", f"others were faster {MAX_OVERTAKEN} times")

    def _next_entry(self, state: S, body: B | Claim, epoch: int, nonce: str) -> Envelope[B]:
        return Envelope(
            format=self.book.format,
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

    def _check_fenced(self, state: BookState, entry: Envelope[Body]) -> None:
        """An owner of an older epoch stops here, whatever it wanted to decide."""
        mine = entry.epoch - 1 if isinstance(entry.body, Claim) else entry.epoch
        if state.epoch > mine:
            raise Fenced(self.layout.feed, mine, state.epoch, state.owner)

    def _load(self, fold: Fold[S, L], body: B | Claim) -> LoadedEntry[B] | None:
        """What the long part needs of an entry, if the fold has that part; owners never do."""
        if self.book.long is None or fold.inventory is None:
            return None
        return self.book.long.load(fold.inventory, self.store, body)

    def _check_valid(
        self, fold: Fold[S, L], entry: Envelope[B], loaded: LoadedEntry[B] | None
    ) -> None:
        why = self._objection(fold, entry, loaded, frozenset(fold.state.undone))
        if why is not None:
            raise EntryRefused(type(entry.body).__name__.lower(), why)

    def _judge(self, fold: Fold[S, L], sealed: Sealed[B], loaded: LoadedEntry[B] | None) -> None:
        key = self.layout.entry(sealed.number)
        check_chain(key, fold.state.sha256, sealed.entry.previous)
        # What was done when this was decided cannot be told any more; its author had to know.
        why = self._objection(fold, sealed.entry, loaded, frozenset())
        if why is not None:
            raise EntryImpossible(key, why)

    def _objection(
        self,
        fold: Fold[S, L],
        entry: Envelope[B],
        loaded: LoadedEntry[B] | None,
        undone: frozenset[int],
    ) -> str | None:
        why = objection(self.book, fold.state, entry)
        if why is None and loaded is not None:
            why = loaded.objection(entry, undone)
        return why

    def _apply(self, fold: Fold[S, L], sealed: Sealed[B], loaded: LoadedEntry[B] | None) -> None:
        apply(self.book, fold.state, sealed)
        if loaded is not None:
            loaded.apply(sealed.entry)

    def _read_next(self, number: int) -> Sealed[B] | None:
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


def check_chain(key: str, wanted: str, found: str) -> None:
    """Every entry names the hash of the one before it."""
    if wanted != found:
        raise ChainBroken(key, wanted, found)
