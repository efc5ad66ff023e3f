"""Removes what nobody needs any more. Claims nothing, decides nothing, may run at any time.

Nothing of the newest epoch is touched, because its owner and commands may be about to decide it;
only that owner itself can say which of its windows are settled.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.care.unnamed_objects import unnamed_objects
from penstock.errors import OutcomeUnknown
from penstock.model.cleaned import Cleaned
from penstock.model.names import epoch_of, is_window_id
from penstock.model.staged import StagedRef
from penstock.ports.store.discard_windows import discard_each
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.halted_objects import void_halts
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.tidying import OwnWindows

NOT_AN_OWNER = OwnWindows()


@dataclass(frozen=True, slots=True)
class Garbage:
    """What can be removed, by kind; the kinds are those of `Cleaned`."""

    staged: tuple[StagedRef, ...] = ()
    abandoned: tuple[StagedRef, ...] = ()
    manifests: tuple[str, ...] = ()
    corrections: tuple[str, ...] = ()
    halted: tuple[str, ...] = ()


def clean(
    journal: FeedJournal, own: OwnWindows = NOT_AN_OWNER, *, thorough: bool = False
) -> Cleaned:
    """Remove what is garbage; also sweeps what dead writers of the store itself have left.

    All of it is tried before the first error is raised; repeating it is always safe.
    """
    store, found = journal.store, garbage(journal, own, thorough=thorough)
    objects = (*found.manifests, *found.corrections, *found.halted)
    left = store.delete_all(objects)
    discard_each(store, (*found.staged, *found.abandoned))
    leftovers = store.sweep()
    if left:
        why = f"{len(left)} of {len(objects)} objects that nobody needs may still be there"
        raise OutcomeUnknown("delete", min(left), why)
    return Cleaned(
        len(found.staged),
        len(found.abandoned),
        len(found.manifests),
        len(found.corrections),
        len(found.halted),
        leftovers,
    )


def garbage(
    journal: FeedJournal, own: OwnWindows = NOT_AN_OWNER, *, thorough: bool = False
) -> Garbage:
    """What no entry needs or can name any more. Changes nothing.

    A decision that names anything of an older epoch must already be in the journal, because its
    author is fenced. So what no undone entry needs, and no entry names, is garbage. `thorough` also
    looks for unused objects of epochs that were over long ago, which reads the whole journal.
    """
    state = journal.open().state
    staged = list(_staged(journal))

    def is_over(window: str) -> bool:
        return is_garbage(state, window)

    manifests, corrections = unnamed_objects(journal, state, is_over, thorough=thorough)
    return Garbage(
        staged=tuple(ref for ref in staged if is_over(ref.window)),
        abandoned=tuple(ref for ref in staged if own.is_garbage(ref.window)),
        manifests=manifests,
        corrections=corrections,
        halted=void_halts(journal, state),
    )


def staged_of_newest(journal: FeedJournal) -> tuple[int, int]:
    """The newest epoch, and how many staged files of it no decided window needs. Changes nothing.

    Its owner or a command may still decide them. If they are dead, a newer claim shows it.
    """
    state = journal.open().state
    windows = (ref.window for ref in _staged(journal))
    return state.epoch, sum(
        is_window_id(window)
        and epoch_of(window) == state.epoch
        and not is_referenced(state, window)
        for window in windows
    )


def _staged(journal: FeedJournal) -> Iterable[StagedRef]:
    """What is staged for the windows of this journal."""
    layout = journal.layout
    return journal.store.list_staged(layout.staging, layout.data_prefixes)


def is_garbage(state: FeedState, window: str) -> bool:
    """True for a window of a dead epoch that no undone or parked entry has."""
    if not is_window_id(window):
        return False
    return is_of_dead_epoch(state, window) and not is_referenced(state, window)


def is_of_dead_epoch(state: FeedState, window: str) -> bool:
    """True when a newer claim has fenced the epoch in which a window was planned."""
    return epoch_of(window) < state.epoch


def is_referenced(state: FeedState, window: str) -> bool:
    """True when an entry of this window still has groups to publish."""
    return any(undone.window == window for undone in state.undone.values())
