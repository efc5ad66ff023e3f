"""What happened to files and quarantined records after the entry that brought them. Reads only."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import assert_never

from penstock.model.entries import (
    AnyBody,
    Bind,
    Compact,
    Deciding,
    Drop,
    Finalize,
    Gap,
    Generation,
    Park,
    Rebind,
    Replace,
    Replay,
    Retire,
    SealedEntry,
    Seek,
    Start,
    Unpark,
    Window,
)
from penstock.model.envelope import Claim, Seal
from penstock.model.manifest import QUARANTINE, Content, ManifestFile, RecordSet
from penstock.model.ranges import OffsetSet, TopicPartition
from penstock.protocol.feed_book.entry_search import TAKING, EntrySearch
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.status.whereabouts import EntryFacts


def facts_of(sealed: SealedEntry) -> EntryFacts:
    """What people are told of an entry: its kind, when and by whom."""
    body = sealed.body
    author, reason = _why(body)
    return EntryFacts(
        kind=kind_of(body),
        entry=sealed.number,
        at=sealed.entry.at,
        window=body.window if isinstance(body, Deciding) else "",
        author=author,
        reason=reason,
    )


def _why(body: AnyBody) -> tuple[str, str]:
    """Who decided it and why; owners give neither."""
    match body:
        case Gap() | Seek() | Rebind() | Unpark() | Drop() | Retire() | Compact():
            return body.author, body.reason
        case Replay() as replay:
            fixed = replay.corrections
            return replay.author, "" if fixed is None else fixed.reason
        case Bind() | Claim() | Seal() | Start() | Window() | Park() | Replace():
            return "", ""
        case Generation():
            return "", ""
        case Finalize() as finalize:
            return finalize.author, ""
        case _ as never:
            assert_never(never)


def kind_of(body: AnyBody) -> str:
    """The kind of an entry, as it stands in the journal."""
    return type(body).__name__.lower()


class LiveFiles:
    """Which files are live, as far as the store alone can tell.

    Whoever takes files away removes them, and until then owes their deletion. So a file that lies
    there, and that is no input of an entry with owed deletions, was taken by nobody.
    """

    def __init__(self, journal: FeedJournal, state: FeedState, search: EntrySearch) -> None:
        self.journal = journal
        self.state = state
        self._search = search
        self._going: set[str] | None = None
        self._known: dict[str, bool] = {}

    def has(self, file: ManifestFile) -> bool:
        """True for a file that is live for certain; False: only the journal can tell."""
        self.look_for([file])
        return self._known[file.handle.final]

    def look_for(self, files: Iterable[ManifestFile]) -> None:
        """Look for these files, side by side: a window may have hundreds."""
        if self._going is None:
            self._going = self._inputs_of_undone()
        going, store = self._going, self.journal.store
        new = sorted({each.handle.final for each in files} - self._known.keys())
        self._known |= dict.fromkeys(new, False)
        there = [final for final in new if final not in going]
        self._known |= self.journal.ask_all(lambda final: store.head(final) is not None, there)

    def _inputs_of_undone(self) -> set[str]:
        """Files that a decided entry removes, and that may still be there."""
        undone = sorted(self.state.owed)
        return {
            taken.final
            for sealed in self._search.among(TAKING, undone)
            for taken in self.journal.content_of(sealed.body).inputs
        }


@dataclass(slots=True)
class FileTrail:
    """A file that may have the record, and the entries that rewrote or removed those before it.

    `among` are the offsets that its entry wrote of the record's partition.
    """

    file: ManifestFile
    delivered_by: EntryFacts
    among: OffsetSet
    taken: list[EntryFacts] = field(default_factory=list)
    is_retired: bool = False

    @property
    def dataset(self) -> str:
        """The dataset of the file."""
        return self.file.dataset


@dataclass(slots=True)
class QuarantineTrail:
    """A record in the quarantine, its files there, and the entry that took it out again."""

    records: RecordSet
    files: list[FileTrail]
    left_by: EntryFacts | None = None


@dataclass(slots=True)
class Trails:
    """All that is followed for one offset of one partition."""

    place: TopicPartition
    offset: int
    begun_at: int
    files: list[FileTrail]
    records: list[QuarantineTrail]

    @classmethod
    def begin(
        cls, sealed: SealedEntry, content: Content, place: TopicPartition, offset: int
    ) -> "Trails":
        """What a window has made of the offset: files that cover it, and what was quarantined."""
        found = cls(place, offset, sealed.number, [], [])
        found.files = list(found._covering(sealed, content))
        refused = [each for each in found.files if each.dataset == QUARANTINE]
        found.records = [
            QuarantineTrail(part, refused) for part in content.quarantined if found._has(part)
        ]
        return found

    def follow(self, lake: "LiveFiles", search: EntrySearch) -> None:
        """Go through the entries that took something away since, until nothing is open any more.

        A record may leave the quarantine at any later time; a file that lies there is live.
        """
        for sealed in search.of_kinds(TAKING, self.begun_at + 1, self._last(lake) + 1):
            self._apply(sealed, lake.journal.content_of(sealed.body))
            if sealed.number >= self._last(lake):
                return

    def _last(self, lake: "LiveFiles") -> int:
        """The last entry that may have taken something of what is followed; -1: none may."""
        state = lake.state
        lake.look_for(each.file for each in self.files if not each.is_retired)
        found = [state.records_taken_at for each in self.records if each.left_by is None]
        is_open = any(not each.is_retired and not lake.has(each.file) for each in self.files)
        return max([*found, state.files_taken_at if is_open else -1])

    def _apply(self, sealed: SealedEntry, content: Content) -> None:
        taken = {each.final for each in content.inputs}
        for trail in [each for each in self.files if each.file.handle.final in taken]:
            if trail.is_retired:
                continue
            self._take(trail, sealed, content)
        for waiting in self.records:
            if waiting.left_by is None and any(
                _is_same(waiting.records, part) and self._has(part) for part in content.records
            ):
                waiting.left_by = facts_of(sealed)
                if isinstance(sealed.body, Replay | Generation):
                    self.files += self._new(self._covering(sealed, content))

    def _take(self, trail: FileTrail, sealed: SealedEntry, content: Content) -> None:
        """A file was rewritten or removed: its rows are in other files, or in none."""
        entry = facts_of(sealed)
        after = [
            FileTrail(each.file, each.delivered_by, each.among, [*trail.taken, entry])
            for each in self._covering(sealed, content)
            if each.dataset == trail.dataset
        ]
        if isinstance(sealed.body, Compact | Generation) and after:
            self.files.remove(trail)
            self.files += self._new(after)
        else:
            trail.taken.append(entry)
            trail.is_retired = True

    def _new(self, trails: Iterable[FileTrail]) -> list[FileTrail]:
        """Those that are not followed yet: several files may become one."""
        known = {each.file.handle.final for each in self.files}
        return [each for each in trails if each.file.handle.final not in known]

    def _covering(self, sealed: SealedEntry, content: Content) -> Iterator[FileTrail]:
        """The files that may have the offset; one without ranges may have any."""
        among = _written(content, self.place)
        for file in content.files:
            covers = [each.place == self.place and self.offset in each for each in file.ranges]
            if any(covers) or not covers:
                yield FileTrail(file, facts_of(sealed), among)

    def _has(self, part: RecordSet) -> bool:
        is_here = (part.topic_id, part.partition) == (self.place.topic_id, self.place.partition)
        return is_here and any(start <= self.offset < end for start, end in part.offsets.runs)


def _written(content: Content, place: TopicPartition) -> OffsetSet:
    """The offsets of one partition of which an entry has written rows, as far as it says."""
    read = _union(each.offsets for each in content.evidence if each.range.place == place)
    refused = _union(each.offsets for each in content.quarantined if _place_of(each) == place)
    return (read - refused) | _union(e.offsets for e in content.records if _place_of(e) == place)


def _union(sets: Iterable[OffsetSet]) -> OffsetSet:
    return OffsetSet.from_runs(run for each in sets for run in each.runs)


def _place_of(part: RecordSet) -> TopicPartition:
    return TopicPartition(part.topic_id, part.partition)


def _is_same(one: RecordSet, other: RecordSet) -> bool:
    return (one.dataset, one.row) == (other.dataset, other.row)
