"""Finds entries whose done markers are gone, although something later proves that they were done.

Without its marker an entry looks decided but not visible yet, and its files would not be checked.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from penstock.audit.receipt import Difference
from penstock.errors import EntryNewer, JournalError
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState, Undone
from penstock.protocol.journal.checkpoints import FoundCheckpoint, newest_checkpoint
from penstock.protocol.journal.markers import Marker, still_undone


@dataclass(frozen=True, slots=True)
class DoneBefore:
    """What can prove that a group was done although it has no marker.

    `checkpoint` was read before the markers were, so all groups that it calls done had a marker.
    An owner finishes all older entries first, except those of datasets that were ever `parked`. So
    every group of an entry before one with a marker had a marker too.
    """

    checkpoint: FoundCheckpoint[FeedState] | None
    marks: Mapping[int, Marker]  # the groups that the markers of each entry may name
    parked: Set[str]

    def newest_marked(self, state: FeedState) -> int:
        """The last entry with a marker for a group; -1 when there is none."""
        return max(
            (
                number
                for number, mark in self.marks.items()
                if number not in state.undone or len(state.undone[number].groups) < len(mark.groups)
            ),
            default=-1,
        )

    def by_checkpoint(self, undone: Undone) -> set[str]:
        """The groups that were done when the checkpoint was made."""
        if self.checkpoint is None or undone.number > self.checkpoint.number:
            return set()
        return set(undone.groups) - set(self.checkpoint.undone.get(undone.number, ()))

    def by_later(self, undone: Undone, newest: int) -> set[str]:
        """The groups that were done before a later entry was."""
        return set(undone.groups) - self.parked if undone.number < newest else set()


def find_checkpoint(journal: FeedJournal) -> FoundCheckpoint[FeedState] | None:
    """The newest checkpoint. Opening the journal reports a damaged one."""
    try:
        return newest_checkpoint(journal, journal.store.list_after(journal.layout.checkpoints))
    except EntryNewer:
        raise
    except JournalError:
        return None


def gone_markers(
    journal: FeedJournal, state: FeedState, before: DoneBefore, *, with_later: bool
) -> Iterator[Difference]:
    """The differences for missing done markers; their groups count as done, so files must exist.

    Without `with_later`, markers are not used as witnesses, because some of them are forged.
    """
    newest = before.newest_marked(state) if with_later else -1
    for undone in list(state.undone.values()):
        by_checkpoint, by_later = before.by_checkpoint(undone), before.by_later(undone, newest)
        if not by_checkpoint and not by_later:
            continue
        # It may have been marked between the two listings.
        undone.groups = still_undone(journal.store, journal.layout, undone)
        gone = [name for name in undone.groups if name in by_checkpoint | by_later]
        if gone:
            proof = (
                f"the checkpoint of entry {before.checkpoint.number}"
                if before.checkpoint is not None and by_checkpoint & set(gone)
                else f"the marker of entry {newest}"
            )
            yield _difference(journal, undone.number, gone, proof)
        undone.groups = [name for name in undone.groups if name not in gone]
        if not undone.groups:
            del state.undone[undone.number]


def _difference(journal: FeedJournal, number: int, gone: list[str], proof: str) -> Difference:
    words = f"the done marker of entry {number} for {', '.join(sorted(gone))} is gone"
    key = journal.layout.marker(number)
    return Difference("journal", f"{words}; {proof} proves that there was one", key, entry=number)
