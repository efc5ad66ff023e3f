"""Removes staged files of dead epochs. Claims nothing, decides nothing, may run at any time."""

from penstock.model.names import epoch_of, is_window_id
from penstock.model.staged import StagedRef
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState


def clean(journal: FeedJournal) -> int:
    """Remove staged files that no entry can name any more; returns how many.

    Also sweeps what dead writers of the store itself have left.
    """
    found = garbage(journal)
    for ref in found:
        journal.store.discard(ref)
    journal.store.sweep()
    return len(found)


def garbage(journal: FeedJournal) -> list[StagedRef]:
    """The staged files that no entry can name any more.

    A decision that names staged files of an older epoch must already be in the journal, because
    its owner is fenced. So a staged file that no undone entry names is garbage. Nothing of the
    newest epoch is, because its owner may have staged files and not decided yet.
    """
    state = journal.open().state
    staged = list(journal.store.list_staged(journal.layout.staging))
    return [ref for ref in staged if is_garbage(state, ref)]


def is_garbage(state: FeedState, ref: StagedRef) -> bool:
    """True for a staged file of a dead epoch that no undone or parked entry needs."""
    if not is_window_id(ref.window):
        return False
    return is_of_dead_epoch(state, ref) and not is_referenced(state, ref)


def is_of_dead_epoch(state: FeedState, ref: StagedRef) -> bool:
    """True when a newer claim has fenced the epoch that staged it."""
    return epoch_of(ref.window) < state.epoch


def is_referenced(state: FeedState, ref: StagedRef) -> bool:
    """True when it was staged for an entry that still has groups to publish."""
    return any(undone.window == ref.window for undone in state.undone.values())
