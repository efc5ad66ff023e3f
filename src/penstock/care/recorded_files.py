"""Live files as the entries that delivered them record them: sizes, checksums, ranges, schemas."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from penstock.model.entries import Deciding
from penstock.model.manifest import ManifestFile
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.runtime.surroundings import Surroundings

DELIVERING = frozenset({"window", "replay", "compact", "generation"})
REPLACING = frozenset({"replace"})
MOST_KEPT = 256  # entries whose files are remembered: directories share windows


class RecordedFiles:
    """Looks up live files in the journal. Used by one thread."""

    def __init__(self, journal: FeedJournal, around: Surroundings) -> None:
        self._journal = journal
        self._around = around
        self._kept: OrderedDict[int, dict[str, ManifestFile]] = OrderedDict()

    def of(self, wanted: Mapping[str, int], last: int) -> dict[str, ManifestFile]:
        """Files by final name, given the entries that delivered them; `last` is the newest one."""
        self._read(sorted(set(wanted.values()) - self._kept.keys()), last)
        found = {
            final: self._kept[number][final]
            for final, number in wanted.items()
            if final in self._kept[number]
        }
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return found

    def derived_again(self, wanted: Mapping[str, int], last: int) -> dict[str, ManifestFile]:
        """Those of the files that were lost once and made again: these have other bytes.

        It is only asked for when a file is not as its own entry says, because the entries that
        replace files are found by reading all that came later.
        """
        found: dict[str, ManifestFile] = {}
        search = EntrySearch(self._journal, last, self._around.do_all)
        for sealed in search.of_kinds(REPLACING, min(wanted.values(), default=0), last + 1):
            content = self._journal.content_of(sealed.body)
            found |= {f.handle.final: f for f in content.files if f.handle.final in wanted}
        return found

    def _read(self, numbers: Iterable[int], last: int) -> None:
        search = EntrySearch(self._journal, last, self._around.do_all)
        for sealed in search.among(DELIVERING, list(numbers)):
            if isinstance(sealed.body, Deciding):
                content = self._journal.content_of(sealed.body)
                files = {each.handle.final: each for each in content.files}
                self._kept[sealed.number] = files
