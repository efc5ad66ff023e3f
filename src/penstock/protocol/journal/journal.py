"""A journal on a store: open it, append to it, read it. A book says what its entries mean."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic

from penstock.api.store import Store
from penstock.errors import (
    ChainBroken,
    EntryImpossible,
    EntryRefused,
    Fenced,
    JournalCut,
    OutcomeUnknown,
    StoreUnavailable,
)
from penstock.model.envelope import GENESIS, Body, Claim, Common, Envelope, Seal, Sealed
from penstock.model.layout import Layout
from penstock.ports.store.create_once import create_once
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.journal.book import B, Book, L, LoadedEntry
from penstock.protocol.journal.book_state import BookState, S, UndoneEntry
from penstock.protocol.journal.checkpoints import (
    FoundCheckpoint,
    newest_checkpoint,
    without_done,
)
from penstock.protocol.journal.entry_reader import EntryReader
from penstock.protocol.journal.every_book import apply, objection
from penstock.protocol.journal.journal_place import check_bound, check_named, settle_place
from penstock.protocol.journal.markers import still_undone
from penstock.protocol.journal.read_entries import R, T, ask_all, entry_bytes
from penstock.protocol.journal.sealed_numbers import counts
from penstock.protocol.journal.segments import Segments
from penstock.protocol.journal.wire import check_home, open_entry, seal
from penstock.protocol.journal.witnesses import Witnesses, check_witnesses
from penstock.runtime.surroundings import Acts, Surroundings

QUESTIONS_AT_ONCE = 1_000  # whose answers are small, such as markers
MAX_OVERTAKEN = 100  # how often others may take our number before we give up; each time is one fold


def nobody_objects() -> None:
    """Whoever wants to claim may."""


class Fold(Generic[S, L]):
    """The state of a journal as one process knows it, with the long part if it asked for it."""

    def __init__(self, state: S, inventory: L | None = None) -> None:
        self.state = state
        self.inventory = inventory
        self.checkpoint = state.number  # the newest one that is known; -1 for none


@dataclass(frozen=True, slots=True)
class KeptLong(Generic[L]):
    """The long part of the state up to an entry, as a checkpoint has it; up to -1 it is empty.

    `keys` are objects that each are named after an entry: witnesses that the journal had it.
    """

    number: int
    sha256: str
    long: L
    keys: tuple[str, ...] = ()


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
        self.segments = Segments(store, layout)
        self._reader = EntryReader(store, layout, around, self.segments, self.opened)
        self.notices: list[str] = []

    def empty_fold(self, *, deep: bool = False) -> Fold[S, L]:
        """The fold of no entry at all; with the long part of the state when `deep`."""
        long = self.book.long if deep else None
        return Fold(self.book.empty(), None if long is None else long.empty())

    def open(self, *, deep: bool = False) -> Fold[S, L]:
        """Fold the journal from its newest checkpoint; with the long part when `deep`."""
        return self.open_with(self.newest_long() if deep else None)

    def open_from_first(self) -> Fold[S, L]:
        """Fold every entry with the long part, and judge each one, whatever checkpoints say."""
        return self._fold_to_tail(self.empty_fold(deep=True), None, self._checkpoints()[0])

    def open_with(self, kept: KeptLong[L] | None) -> Fold[S, L]:
        """Fold the journal from its newest checkpoint, and onto this long part if there is one."""
        keys, found = self._checkpoints()
        return self._fold_to_tail(self._fold_to(found), kept, keys)

    def newest_long(self) -> KeptLong[L] | None:
        """The long part that is nearest to the tail; a book may keep checkpoints of it."""
        long = self.book.long
        return None if long is None else KeptLong(-1, GENESIS, long.empty())

    def long_checkpoint(self) -> int | None:
        """The entry of the newest usable checkpoint of the long part; -1 if there is none yet.

        None in a book that keeps none.
        """
        return None

    def _checkpoints(self) -> tuple[list[str], FoundCheckpoint[S] | None]:
        """The names of the checkpoints, and the newest that is good; it is judged in every case."""
        keys = list_keys(self.store, self.layout.checkpoints)
        return keys, newest_checkpoint(self, keys)

    def _fold_to_tail(
        self, fold: Fold[S, L], kept: KeptLong[L] | None, checkpoints: list[str]
    ) -> Fold[S, L]:
        """Fold what follows, and compare the tail with what could prove a longer journal.

        Such witnesses are looked at before the tail is read, so that an entry appended meanwhile
        can only make the tail longer than its witnesses.
        """
        named = [*checkpoints, *(kept.keys if kept is not None else ())]
        known = fold.state.number
        seen = Witnesses.look(self.store, self.layout, known, named, self.segments)
        place = check_named(self, listed=seen.has_place)
        if kept is not None:
            self._add_long(fold, kept)
        self.fold_on(fold)
        check_bound(self, fold.state, place)
        check_witnesses(self, fold.state, seen)
        self.see_done(fold.state)
        return fold

    def _add_long(self, fold: Fold[S, L], kept: KeptLong[L]) -> None:
        """Bring the state and the long part to the same entry, whichever is behind."""
        if kept.number > fold.state.number:
            self.fold_on(fold, up_to=kept.number)
        else:
            kept = self.fold_long(kept, up_to=fold.state.number)
        if kept.number == fold.state.number:  # otherwise witnesses lie beyond the tail
            key = self.layout.entry(kept.number)
            check_chain(key, fold.state.sha256, kept.sha256)
        fold.inventory = kept.long

    def fold_long(self, kept: KeptLong[L], up_to: int | None = None) -> KeptLong[L]:
        """Fold entries onto the long part alone; the chain and the long part judge them."""
        number, sha256 = kept.number, kept.sha256
        for sealed in self.entries_after(number, up_to):
            key = self.layout.entry(sealed.number)
            check_chain(key, sha256, sealed.entry.previous)
            loaded = self._load_onto(kept.long, sealed.body)
            why = None if loaded is None else loaded.objection(sealed.entry, {})
            if why is not None:
                raise EntryImpossible(key, why)
            if loaded is not None:
                loaded.apply(sealed.entry)
            number, sha256 = sealed.number, sealed.sha256
        return KeptLong(number, sha256, kept.long, kept.keys)

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
        for sealed in self.entries_after(fold.state.number, up_to):
            loaded = self._load(fold, sealed.body)
            self._judge(fold, sealed, loaded)
            self._apply(fold, sealed, loaded)

    def has_more(self, fold: Fold[S, L]) -> bool:
        """Whether an entry follows those that are known. One small request, for who asks often."""
        if self.segments.covers(fold.state.number + 1):
            return True
        return self.store.head(self.layout.entry(fold.state.number + 1)) is not None

    def entries_after(self, number: int, up_to: int | None = None) -> Iterator[Sealed[B]]:
        """The entries after a number in order, each checked on its own; many are read at once."""
        return self._reader.entries_after(number, up_to)

    def see_done(self, state: S) -> None:
        """Take every part that a marker proves done out of the state's undone ones."""
        undone = list(state.to_look_up())
        answers = self.ask_all(partial(still_undone, self.segments, self.layout), undone)
        found = {(each.number, *each.parts): left for each, left in answers}
        state.keep_undone(lambda each: found.get((each.number, *each.parts), each.parts))

    def ask_all(self, ask: Callable[[T], R], asked: Sequence[T]) -> Iterator[tuple[T, R]]:
        """Put small questions to the store side by side; the answers come in order."""
        return ask_all(self._around, ask, asked, QUESTIONS_AT_ONCE)

    def read(self, number: int, sha256: str = "") -> Sealed[B] | None:
        """One entry, checked on its own; None when there is none with this number.

        With the hash that it is known by, an entry that has it is taken wherever it lies.
        """
        if sha256 and not self.segments.covers(number):
            raw = self.segments.original(number)
            if raw is not None and (sealed := self.opened(number, raw)).sha256 == sha256:
                return sealed
        [raw] = self.entry_bytes([number])
        return None if raw is None else self.opened(number, raw)

    def entry_bytes(
        self, numbers: Sequence[int], do_all: Callable[[Acts], None] | None = None
    ) -> list[bytes | None]:
        """The bytes of some entries, wherever they lie; None for numbers without an entry."""
        return entry_bytes(self.segments, numbers, do_all or self._around.do_all)

    def opened(self, number: int, raw: bytes) -> Sealed[B]:
        """An entry of its bytes, checked on its own."""
        key = self.layout.entry(number)
        sealed = open_entry(self.book, key, number, raw)
        check_home(key, sealed.entry, self.layout.feed, self.lake, self.layout.incarnation)
        return sealed

    def require(self, number: int, sha256: str = "") -> Sealed[B]:
        """An entry that was folded before, so it must be there; `sha256` as for `read`."""
        sealed = self.read(number, sha256)
        if sealed is None:
            raise JournalCut(self.layout.entry(number), number - 1)
        return sealed

    def append(
        self,
        fold: Fold[S, L],
        body: B | Common,
        epoch: int,
        require: Callable[[], None] = nobody_objects,
    ) -> Sealed[B]:
        """Decide: make `body` the next entry, or raise without having written anything.

        Losing the number to somebody else is normal: fold what came, and try again if the
        decision is still valid. A newer claim ends it (`Fenced`), an invalid decision as well
        (`EntryRefused`). `OutcomeUnknown` means exactly that: look again after a restart. Under a
        number that was sealed meanwhile nothing is decided, although nothing lies there. `require`
        is for claims: see `claim`.
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
            if entry.number == 1:
                settle_place(self, entry.previous, self.sleep)
            key = self.layout.entry(entry.number)
            found = self._create_if(require, key, data)
            if found is None and self._counts(entry.number, data):
                sealed = Sealed(entry, sha256)
                self._apply(fold, sealed, loaded)
                return sealed
            self.fold_on(fold)
        raise EntryRefused(type(body).__name__.lower(), f"others were faster {MAX_OVERTAKEN} times")

    def _create_if(self, require: Callable[[], None], key: str, data: bytes) -> bytes | None:
        """As `create`, and `require` is called right before each try; after a pause once more."""

        def pause_and_look(seconds: float) -> None:
            self.sleep(seconds)
            try:
                require()
            except StoreUnavailable as error:  # an earlier try may have landed
                raise OutcomeUnknown("create", key, str(error)) from error

        require()
        return create_once(self.store, key, data, pause_and_look)

    def _counts(self, number: int, data: bytes) -> bool:
        """Whether an entry that was just created is the journal's own: see `counts`."""
        is_ours, notice = counts(self.store, self.layout, self.segments, number, data, self.sleep)
        self.notices += [notice] if notice else []
        return is_ours

    def create(self, key: str, data: bytes) -> bytes | None:
        """As `create_once`, with pauses between its tries."""
        return create_once(self.store, key, data, self.sleep)

    def sleep(self, seconds: float) -> None:
        """Wait, as our surroundings do."""
        self._around.sleep(seconds)

    def begin(self, fold: Fold[S, L], first: B) -> None:
        """Write entry 0 if this journal is new. Two first starts race; one binds, both go on."""
        while fold.state.is_new:
            try:
                self.append(fold, first, epoch=0)
            except (EntryRefused, Fenced):
                if fold.state.is_new:
                    raise

    def claim(
        self, fold: Fold[S, L], owner: str, require: Callable[[], None] = nobody_objects
    ) -> int:
        """Become the owner: append a claim with the next epoch, and return it.

        `require` says whether it should own this at all, and may raise. It is called right before
        each request that may write the claim, so that nothing lies between: not the fold of what
        others wrote meanwhile, no pause after a request without an answer, and not the question
        where the journal lies. When it raises after such a request, that one may land yet.
        """
        for _ in range(MAX_OVERTAKEN):
            epoch = fold.state.epoch + 1
            try:
                self.append(fold, Claim(owner), epoch, require)
            except (Fenced, EntryRefused):
                continue  # somebody claimed this epoch first: take the one after
            return epoch
        raise EntryRefused("claim", f"others were faster {MAX_OVERTAKEN} times")

    def _next_entry(self, state: S, body: B | Common, epoch: int, nonce: str) -> Envelope[B]:
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

    def _load(self, fold: Fold[S, L], body: B | Common) -> LoadedEntry[B] | None:
        """What the long part needs of an entry, if the fold has that part; owners never do."""
        return self._load_onto(fold.inventory, body)

    def _load_onto(self, long: L | None, body: B | Common) -> LoadedEntry[B] | None:
        if self.book.long is None or long is None:
            return None
        return self.book.long.load(long, self.store, body)

    def _check_valid(
        self, fold: Fold[S, L], entry: Envelope[B], loaded: LoadedEntry[B] | None
    ) -> None:
        why = self._objection(fold, entry, loaded, fold.state.undone)
        why = why or self.book.append_objection(fold.state, entry)
        if why is not None:
            raise EntryRefused(type(entry.body).__name__.lower(), why)

    def _judge(self, fold: Fold[S, L], sealed: Sealed[B], loaded: LoadedEntry[B] | None) -> None:
        key = self.layout.entry(sealed.number)
        check_chain(key, fold.state.sha256, sealed.entry.previous)
        # What was done when this was decided cannot be told any more; its author had to know.
        why = self._objection(fold, sealed.entry, loaded, {})
        if why is not None:
            raise EntryImpossible(key, why)

    def _objection(
        self,
        fold: Fold[S, L],
        entry: Envelope[B],
        loaded: LoadedEntry[B] | None,
        undone: Mapping[int, UndoneEntry],
    ) -> str | None:
        why = objection(self.book, fold.state, entry)
        if why is None and loaded is not None:
            why = loaded.objection(entry, undone)
        return why

    def _apply(self, fold: Fold[S, L], sealed: Sealed[B], loaded: LoadedEntry[B] | None) -> None:
        apply(self.book, fold.state, sealed)
        if isinstance(sealed.body, Seal):
            self.segments.note(sealed.body.last)
        if loaded is not None:
            loaded.apply(sealed.entry)


def check_chain(key: str, wanted: str, found: str) -> None:
    """Every entry names the hash of the one before it."""
    if wanted != found:
        raise ChainBroken(key, wanted, found)
