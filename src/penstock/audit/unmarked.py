"""Finds entries whose done markers are gone, although something later proves that they were done.

Without its marker an entry looks decided but not visible yet, and its files would not be checked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.audit.receipt import Difference
from penstock.errors import EntryNewer, JournalError
from penstock.model.lanes import datasets_in
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.book_state import UndoneEntry, is_named
from penstock.protocol.journal.checkpoints import FoundCheckpoint, newest_checkpoint
from penstock.protocol.journal.markers import Marker, still_undone


@dataclass(frozen=True, slots=True)
class DoneBefore:
    """What can prove that a group was done although it has no marker.

    `checkpoint` was read before the markers were, so all parts that it calls done had a marker.
    The parts of one dataset and lane are marked in journal order. So if one has a marker, those of
    older entries had one too.
    """

    checkpoint: FoundCheckpoint[FeedState] | None
    marks: Mapping[int, Marker]  # the parts that the markers of each entry may name

    def newest_marked(self, state: FeedState) -> dict[str, int]:
        """By part the last entry that is proven done."""
        newest: dict[str, int] = {}
        for number, mark in sorted(self.marks.items()):
            waiting = {*_parts(state.undone, number), *_parts(state.owed, number)}
            newest |= {part: number for part in mark.groups if part not in waiting}
        return newest

    def by_checkpoint(self, undone: UndoneEntry) -> set[str]:
        """The parts that were done when the checkpoint was made."""
        if self.checkpoint is None or undone.number > self.checkpoint.number:
            return set()
        open_then = self.checkpoint.undone.get(undone.number, ())
        return {part for part in undone.parts if not is_named(part, open_then)}


def find_checkpoint(journal: FeedJournal) -> FoundCheckpoint[FeedState] | None:
    """The newest checkpoint. Opening the journal reports a damaged one."""
    try:
        return newest_checkpoint(journal, list_keys(journal.store, journal.layout.checkpoints))
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
    newest = before.newest_marked(state) if with_later else {}
    found: list[Difference] = []

    def still_open(undone: UndoneEntry) -> list[str]:
        by_checkpoint = before.by_checkpoint(undone)
        by_later = {part for part in undone.parts if newest.get(part, -1) > undone.number}
        if not by_checkpoint and not by_later:
            return undone.parts
        # It may have been marked between the two listings.
        left = still_undone(journal.segments, journal.layout, undone)
        gone = [part for part in left if part in by_checkpoint | by_later]
        if gone:
            proof = (
                f"the checkpoint of entry {before.checkpoint.number}"
                if before.checkpoint is not None and by_checkpoint & set(gone)
                else f"the marker of entry {max(newest[part] for part in gone)}"
            )
            found.append(_difference(journal, undone.number, gone, proof))
        return [part for part in left if part not in gone]

    state.keep_undone(still_open)
    yield from found


def _parts(entries: Mapping[int, UndoneEntry], number: int) -> list[str]:
    found = entries.get(number)
    return [] if found is None else found.parts


def _difference(journal: FeedJournal, number: int, gone: list[str], proof: str) -> Difference:
    words = f"the done marker of entry {number} for {', '.join(datasets_in(gone))} is gone"
    key = journal.layout.marker(number)
    return Difference("journal", f"{words}; {proof} proves that there was one", key, entry=number)
