"""Appends an entry while an owner runs: under the owner's epoch, without a claim."""

from collections.abc import Callable

from penstock.errors import EntryRefused, Fenced, PenstockError
from penstock.model.entries import (
    AnyBody,
    Compact,
    Deciding,
    Drop,
    Finalize,
    Replay,
    Retire,
    SealedEntry,
)
from penstock.model.names import epoch_of, window_id
from penstock.ports.store.discard_windows import discard_windows
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.halted_objects import carry_halted
from penstock.protocol.feed_book.inventory_writer import INVENTORY_EVERY, update_inventory
from penstock.protocol.publish.finisher import Finisher
from penstock.protocol.publish.groups import leave_tail_mark
from penstock.runtime.surroundings import Surroundings

TRIES = 5
BESIDE_A_HALT = (
    Replay,
    Drop,
    Compact,
    Retire,
    Finalize,
)  # they move no watermark and let nothing go

Build = Callable[[FeedFold, str], AnyBody]


def decide_for_command(
    journal: FeedJournal,
    around: Surroundings,
    build: Build,
    known: FeedFold | None = None,
    *,
    deep: bool = True,
    window: str = "",
) -> SealedEntry:
    """Build a body on a fresh fold and append it in the epoch of that fold.

    The fold is `deep` unless the body consumes nothing: then it needs no inventory.

    `build` gets the fold and a window id to stage under: at first the given `window`, if that is of
    the epoch. When an owner claims meanwhile, what was
    staged belongs to a dead epoch: it is discarded, and everything is built again. When another
    entry has consumed an input first, the journal refuses the entry, and this raises. A deep fold
    of the caller is brought up to date instead of folding all entries again; afterwards it
    includes the decision.
    """
    overtaken: PenstockError | None = None
    for _ in range(TRIES):
        fold = known = _up_to_date(journal, known, deep=deep)
        epoch, finalized_at = fold.state.epoch, fold.state.finalized_at
        if not window or epoch_of(window) != epoch or overtaken is not None:
            window = new_window(epoch, around)
        body = build(fold, window)
        try:
            sealed = journal.append(fold, body, epoch)
        except Fenced as error:
            discard(journal, window, body)
            overtaken = error
            continue
        except EntryRefused as error:
            discard(journal, window, body)
            if fold.state.finalized_at == finalized_at:
                raise
            overtaken = error  # days became final meanwhile: what is late has to be marked
            continue
        leave_tail_mark(journal, sealed.number, sealed.sha256)
        if isinstance(sealed.body, Deciding):
            content = journal.content_of(sealed.body)
            Finisher(journal, fold, around, epoch).finish_fresh(sealed, content)
        _keep_inventory(journal, around, fold)
        _keep_halt(journal, sealed, epoch)
        return sealed
    raise EntryRefused("command", f"it was overtaken {TRIES} times; last: {overtaken}")


def new_window(epoch: int, around: Surroundings) -> str:
    """An id for what a command stages."""
    return window_id(epoch, f"x{around.nonce()[:12]}")


def _keep_inventory(journal: FeedJournal, around: Surroundings, fold: FeedFold) -> None:
    """Spare the next command a long fold. The decision stands whatever comes of this."""
    inventory = fold.inventory
    if inventory is None or fold.state.number - inventory.kept_number < INVENTORY_EVERY:
        return
    try:
        update_inventory(journal, around)
    except PenstockError as error:
        journal.notices.append(f"the inventory checkpoint was not brought up to date: {error}")


def _keep_halt(journal: FeedJournal, sealed: SealedEntry, epoch: int) -> None:
    """Let a feed that was halted stay so, if the entry changes nothing about the cause."""
    if not isinstance(sealed.body, BESIDE_A_HALT):
        return
    try:
        carry_halted(journal, epoch, sealed.number)
    except PenstockError as error:
        journal.notices.append(
            f"that the feed is halted could not be written down again; the next run does: {error}"
        )


def _up_to_date(journal: FeedJournal, known: FeedFold | None, *, deep: bool) -> FeedFold:
    if known is None:
        return journal.open(deep=deep)
    journal.fold_on(known)
    journal.see_done(known.state)
    return known


def discard(journal: FeedJournal, window: str, body: AnyBody) -> None:
    """Remove the staged files of a command whose entry was certainly not written."""
    journal.forget(body)
    discard_staged(journal, window)


def discard_staged(journal: FeedJournal, window: str) -> None:
    """Remove the staged files of a window that certainly no entry names."""
    layout = journal.layout
    discard_windows(journal.store, layout.staging, layout.data_prefixes, {window})
