"""Files of groups without a done marker: staged, visible already, or lost."""

from collections.abc import Iterator

from penstock.audit.lake_files import OddNames
from penstock.audit.ledger import read_ledger
from penstock.audit.receipt import Difference
from penstock.model.entries import SealedEntry, Window
from penstock.model.lanes import part_of
from penstock.model.manifest import ManifestFile
from penstock.model.value import Value
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState, Undone


class WaitingFile(Value, frozen=True):
    """A file of a group without a done marker. Only a window's file can be derived again."""

    number: int
    file: ManifestFile
    is_of_window: bool

    @property
    def words(self) -> str:
        """The message that it is lost, and what the next run does."""
        what = f"decided and lost: neither staged nor visible, with {self.file.evidence.count} rows"
        if self.is_of_window:
            return f"{what}; the next run derives it again, if Kafka still has its ranges"
        return f"{what}; it cannot be derived again, and the next run stops there"


def waiting_files(journal: FeedJournal, state: FeedState) -> Iterator[WaitingFile]:
    """Every file of the undone groups, with its last staged name."""
    for number, undone in sorted(state.undone.items()):
        sealed = journal.require(number)
        is_of_window = isinstance(sealed.body, Window)
        for file in _files(journal, sealed, undone):
            yield WaitingFile(number, file, is_of_window)


def _files(journal: FeedJournal, sealed: SealedEntry, undone: Undone) -> Iterator[ManifestFile]:
    replaced = {
        file.handle.final: file
        for number in undone.replaced_by
        for file in journal.content_of(journal.require(number).body).files
    }
    for file in journal.content_of(sealed.body).files:
        if part_of(file.dataset) in undone.parts:
            yield replaced.get(file.handle.final, file)


def lost_files(journal: FeedJournal, state: FeedState, odd: OddNames) -> Iterator[Difference]:
    """Differences for decided files that are neither staged nor visible.

    While an owner runs, both places may look empty: a file was published and compacted since the
    journal was read, or it was derived and staged again. Both are in the journal before they
    happen. So the journal is read again, and a file is lost only if it still waits in the same
    place there and is not found a second time.
    """
    suspects = {each.file.handle.final: each for each in _lost(journal, state, odd)}
    if not suspects:
        return
    now = read_ledger(journal)
    for each in _lost(journal, now.state if now.is_whole else state, odd):
        final, ranges = each.file.handle.final, each.file.ranges
        if suspects.get(final) == each:
            yield Difference("file_missing", each.words, final, ranges, each.number)


def _lost(journal: FeedJournal, state: FeedState, odd: OddNames) -> Iterator[WaitingFile]:
    """The files that are not found. A file at a final name is checked elsewhere."""
    for each in waiting_files(journal, state):
        handle = each.file.handle
        if odd.at(handle.final) or journal.store.head(handle.final) is not None:
            continue
        if journal.store.look(handle).is_lost:
            yield each
