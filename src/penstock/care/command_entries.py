"""Appends an entry while an owner runs: under the owner's epoch, without a claim."""

from collections.abc import Callable

from penstock.errors import EntryRefused, Fenced
from penstock.model.entries import AnyBody, Deciding, SealedEntry
from penstock.model.names import window_id
from penstock.ports.store.discard_windows import discard_windows
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.publish.finisher import Finisher
from penstock.protocol.publish.groups import leave_tail_mark
from penstock.runtime.surroundings import Surroundings

TRIES = 5

Build = Callable[[FeedFold, str], AnyBody]


def decide_for_command(
    journal: FeedJournal, around: Surroundings, build: Build, known: FeedFold | None = None
) -> SealedEntry:
    """Build a body on a fresh, deep fold and append it in the epoch of that fold.

    `build` gets the fold and a window id to stage under. When an owner claims meanwhile, what was
    staged belongs to a dead epoch: it is discarded, and everything is built again. When another
    entry has consumed an input first, the journal refuses the entry, and this raises. A deep fold
    of the caller is brought up to date instead of folding all entries again; afterwards it
    includes the decision.
    """
    fenced: Fenced | None = None
    for _ in range(TRIES):
        fold = known = _up_to_date(journal, known)
        epoch = fold.state.epoch
        window = window_id(epoch, f"x{around.nonce()[:12]}")
        body = build(fold, window)
        try:
            sealed = journal.append(fold, body, epoch)
        except Fenced as error:
            discard(journal, window, body)
            fenced = error
            continue
        except EntryRefused:
            discard(journal, window, body)
            raise
        leave_tail_mark(journal, sealed.number, sealed.sha256)
        if isinstance(sealed.body, Deciding):
            content = journal.content_of(sealed.body)
            Finisher(journal, fold, around, epoch).finish_fresh(sealed, content)
        return sealed
    raise EntryRefused("command", f"the owner changed {TRIES} times; last: {fenced}")


def _up_to_date(journal: FeedJournal, known: FeedFold | None) -> FeedFold:
    if known is None:
        return journal.open(deep=True)
    journal.fold_on(known)
    journal.see_done(known.state)
    return known


def discard(journal: FeedJournal, window: str, body: AnyBody) -> None:
    """Remove the staged files of a command whose entry was certainly not written."""
    journal.forget(body)
    discard_windows(journal.store, journal.layout.staging, {window})
