"""The files of a backup feed that hold the records of some ranges. Reads only."""

from collections.abc import Iterable, Iterator

import msgspec

from penstock.model.manifest import QUARANTINE
from penstock.model.ranges import OffsetRange
from penstock.protocol.feed_book.entry_search import EntrySearch, Found
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState, is_pending
from penstock.status.file_trail import FileTrail, LiveFiles, Trails
from penstock.status.whereabouts import Backup, BackupFile, FileState


class BackupSearch:
    """Looks for ranges of a topic in another feed, whose windows were cut elsewhere."""

    def __init__(self, journal: FeedJournal, state: FeedState, search: EntrySearch) -> None:
        self._journal = journal
        self._state = state
        self._search = search
        self._lake = LiveFiles(journal, state, search)

    def find(self, feed: str, ranges: Iterable[OffsetRange]) -> Backup:
        """The files, each once, in the order of the ranges."""
        files: dict[str, BackupFile] = {}
        missing: list[OffsetRange] = []
        for wanted in ranges:
            at = wanted.start
            for found in self._windows(wanted):
                if found.said.start > at:
                    missing.append(_piece(wanted, at, found.said.start))
                at = found.said.end
                files |= {each.file: each for each in self._files(found, wanted)}
            if at < wanted.end:
                missing.append(_piece(wanted, at, wanted.end))
        return Backup(feed=feed, files=tuple(files.values()), missing=tuple(missing))

    def _windows(self, wanted: OffsetRange) -> Iterator[Found[OffsetRange]]:
        """The windows that have read something of a range, in order."""
        at = wanted.start
        while at < wanted.end:
            found = self._search.covering(wanted.place, at)
            if found is None or found.said.start >= wanted.end:
                return
            yield found
            at = found.said.end

    def _files(self, found: Found[OffsetRange], wanted: OffsetRange) -> Iterator[BackupFile]:
        """Where the rows of one window are now."""
        content = self._journal.content_of(found.sealed.body)
        offset = max(found.said.start, wanted.start)
        trails = Trails.begin(found.sealed, content, wanted.place, offset)
        trails.follow(self._lake, self._search)
        for trail in trails.files:
            if trail.dataset != QUARANTINE:
                entry = trail.delivered_by
                final = trail.file.handle.final
                yield BackupFile(file=final, state=self._state_of(trail), delivered_by=entry)

    def _state_of(self, trail: FileTrail) -> FileState:
        if trail.is_retired:
            return "retired"
        if is_pending(self._state, trail.delivered_by.entry, trail.dataset):
            return "pending"
        return "live" if self._lake.has(trail.file) else "missing"


def _piece(whole: OffsetRange, start: int, end: int) -> OffsetRange:
    return msgspec.structs.replace(whole, start=start, end=end)
