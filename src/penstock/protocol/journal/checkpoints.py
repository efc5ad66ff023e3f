"""Checkpoints: the fold up to an entry, so that the next start folds less. They decide nothing.

A checkpoint carries the number of the fold that made it. A state of an older fold may lack what the
present one knows, so it is not taken over: the entries are folded again from the first, and only
what the checkpoint proves (which parts were done by then) is taken from it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

import msgspec

from penstock.api.store import Store
from penstock.errors import ChainBroken, EntryNewer, JournalError, OutcomeUnknown
from penstock.model.layout import Layout, number_in
from penstock.ports.store.create_once import Sleep, create_once, without_waiting
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.journal.book import B, Book, L
from penstock.protocol.journal.book_state import (
    Checkpoint,
    S,
    UndoneEntry,
    is_named,
    sealed_to,
)
from penstock.protocol.journal.markers import KEPT, old_ones
from penstock.protocol.journal.wire import seal, unseal

if TYPE_CHECKING:
    from penstock.protocol.journal.journal import Journal


class _FoldOnly(msgspec.Struct):
    """Just the number of the fold. The first version wrote none."""

    fold: int = 1


class _Groups(msgspec.Struct):
    """The parts of an entry that were not done; every fold has called them `groups`."""

    groups: tuple[str, ...]


class _Proof(msgspec.Struct):
    """What the state of every fold so far has told, whatever else is in it.

    Deletions are `owed` since fold 4; before, they were a part of what was undone.
    """

    number: int
    sha256: str
    undone: dict[int, _Groups]
    owed: dict[int, _Groups] = {}


class _AnyCheckpoint(msgspec.Struct):
    """A checkpoint of any fold."""

    state: _Proof


_fold_decoder = msgspec.json.Decoder(_FoldOnly)
_any_decoder = msgspec.json.Decoder(_AnyCheckpoint)


@dataclass(frozen=True, slots=True)
class FoundCheckpoint(Generic[S]):
    """A whole checkpoint: the entry it names, the parts that were not done then, by entry.

    `state` is None when an older fold made it.
    """

    number: int
    sha256: str
    undone: dict[int, tuple[str, ...]]
    state: S | None = None


def read_checkpoint(book: Book[S, B, L], key: str, raw: bytes) -> FoundCheckpoint[S] | None:
    """What a checkpoint says; None when it is damaged, because it only saves time.

    Raises `EntryNewer` for one of a newer fold: whoever wrote it has written entries, too.
    """
    try:
        plain, _ = unseal(key, raw)
        fold = _fold_decoder.decode(plain).fold
        if fold > book.fold:
            raise EntryNewer(key, fold, book.fold)
        proof = _any_decoder.decode(plain).state
        whole = book.checkpoints.decode(plain) if fold == book.fold else None
    except EntryNewer:
        raise
    except (JournalError, msgspec.MsgspecError):
        return None
    if whole is not None and seal(whole)[0] != raw:
        return None  # a field is missing, and no default may stand in for it
    undone = {number: each.groups for number, each in proof.undone.items()}
    for number, each in proof.owed.items():
        undone[number] = (*undone.get(number, ()), *each.groups)
    state = None if whole is None else whole.state
    return FoundCheckpoint(proof.number, proof.sha256, undone, state)


def newest_checkpoint(journal: "Journal[S, B, L]", keys: list[str]) -> FoundCheckpoint[S] | None:
    """The newest checkpoint that is whole and belongs to this journal, of any fold."""
    store, layout = journal.store, journal.layout
    for key in reversed(keys):
        if number_in(key.rpartition("/")[2]) is None:
            continue
        raw = store.read(key)
        if raw is None:
            continue  # a newer one was left meanwhile, and this one removed
        found = read_checkpoint(journal.book, key, raw)
        if found is None:
            journal.notices.append(f"the checkpoint {key!r} is damaged and was passed over")
            continue
        if found.state is not None:
            journal.segments.note(sealed_to(found.state))
        sealed = journal.read(found.number, found.sha256)
        if sealed is None:
            continue  # it lies beyond the tail; as a witness it will stop the feed by that
        if sealed.sha256 != found.sha256:
            raise ChainBroken(layout.entry(found.number), found.sha256, sealed.sha256)
        return found
    return None


def without_done(state: S, older: FoundCheckpoint[S]) -> None:
    """Take out of a state, folded up to the checkpoint's entry, what was done by then."""

    def still_open(undone: UndoneEntry) -> list[str]:
        open_then = older.undone.get(undone.number, ())
        return [part for part in undone.parts if is_named(part, open_then)]

    state.keep_undone(still_open)


@dataclass(frozen=True, slots=True)
class SealedCheckpoint:
    """A checkpoint as it will lie in the lake; the state it was made of may go on meanwhile."""

    number: int
    data: bytes


def seal_checkpoint(book: Book[S, B, L], state: S) -> SealedCheckpoint:
    """The checkpoint of a state. Pure."""
    data, _ = seal(Checkpoint(book.fold, state))
    return SealedCheckpoint(state.number, data)


def leave_checkpoint(
    store: Store, layout: Layout, checkpoint: SealedCheckpoint, sleep: Sleep = without_waiting
) -> None:
    """Leave the fold for the next start. Harmless however late: the newest checkpoint is taken."""
    create_once(store, layout.checkpoint(checkpoint.number), checkpoint.data, sleep)


def prune_marks(store: Store, layout: Layout) -> None:
    """Remove all but the newest few checkpoints and tail marks. Any number of times, by anyone.

    Only what has newer ones beside it is removed, and numbers never return, so the newest stays
    however late a removal comes.
    """
    keys = old_ones(list_keys(store, layout.checkpoints), KEPT)
    keys += old_ones(list_keys(store, layout.tails), KEPT)
    left = store.delete_all(keys)
    if left:
        why = f"{len(left)} of {len(keys)} old checkpoints and tail marks may still be there"
        raise OutcomeUnknown("delete", min(left), why)


def write_checkpoint(journal: "Journal[S, B, L]", state: S) -> None:
    """Leave the fold for the next start, and remove all but the newest few."""
    leave_checkpoint(journal.store, journal.layout, seal_checkpoint(journal.book, state))
    prune_marks(journal.store, journal.layout)
