"""Where one record went: from its offset to its window, and on to where its rows are now.

    1 window   the one that covers the offset, found by halving; else who gave the offset up
    2 fate     by the evidence of the window: no record there, quarantined, or perhaps in files
    3 trail    entries after it that rewrote or removed those files, or emptied the quarantine
    4 rows     the positions in the live files that may have it; in none of them: it was filtered

The third reads no entry if the files lie there and nothing has left the quarantine since.
"""

from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from penstock.api.later import Later
from penstock.audit.found_rows import FileRows
from penstock.model.entries import Replace, SealedEntry
from penstock.model.evidence import RangeEvidence
from penstock.model.manifest import QUARANTINE, Content
from penstock.model.ranges import OffsetSet, TopicPartition
from penstock.model.record_position import Position
from penstock.model.staged import StagedHandle
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState, PartitionState, is_pending
from penstock.status.file_trail import (
    FileTrail,
    LiveFiles,
    QuarantineTrail,
    Trails,
    facts_of,
)
from penstock.status.whereabouts import FilePlace, QuarantinePlace, RecordFate, Whereabouts

REPLACE = frozenset({"replace"})
AT_ONCE = 32  # files that are read side by side: some megabytes of each may be in memory
# Only this needs pyarrow; many questions are answered by the journal alone.
_UNTOLD = "its rows do not say which records they are"
_rows_at: Callable[..., FileRows] = Later("penstock.audit.rows_in_file:rows_at")


class RecordSearch:
    """Looks for records of one feed, in the journal as it is in `state`."""

    def __init__(self, journal: FeedJournal, state: FeedState, search: EntrySearch) -> None:
        self._journal = journal
        self._state = state
        self._search = search
        self._lake = LiveFiles(journal, state, search)

    def find(self, wanted: Position) -> tuple[Whereabouts, ...]:
        """What became of a record; one answer for each life of its topic, the present one first."""
        lives = list(self._lives(wanted))
        if not lives:
            return (_answer(wanted, "", "never_read"),)
        return tuple(self._find(wanted, topic_id, known) for topic_id, known in lives)

    def _lives(self, wanted: Position) -> Iterator[tuple[str, PartitionState]]:
        present = self._state.topics.get(wanted.topic, "")
        others = [topic_id for topic_id in self._state.partitions if topic_id != present]
        for topic_id in (present, *reversed(others)):
            known = self._state.partition(TopicPartition(topic_id, wanted.partition))
            if known is not None and known.topic == wanted.topic:
                yield topic_id, known

    def _find(self, wanted: Position, topic_id: str, known: PartitionState) -> Whereabouts:
        place = TopicPartition(topic_id, wanted.partition)
        mark = known.watermark
        if wanted.offset >= mark:
            return _answer(wanted, topic_id, "not_read", mark)
        found = self._search.covering(place, wanted.offset)
        if found is not None and wanted.offset in found.said:
            answer = self._in_window(wanted, topic_id, found.sealed)
            return msgspec.structs.replace(answer, watermark=mark)
        end = None if found is None else found.number
        given_up = self._search.given_up(place, wanted.offset, end)
        if given_up is None:
            return _answer(wanted, topic_id, "before_start", mark)
        return _answer(wanted, topic_id, "given_up", mark, given_up)

    def _in_window(self, wanted: Position, topic_id: str, sealed: SealedEntry) -> Whereabouts:
        """What became of an offset that a window has read."""
        content = self._journal.content_of(sealed.body)
        place = TopicPartition(topic_id, wanted.partition)
        seen = _evidence_of(content, place, wanted.offset)
        if seen is None or not _holds(seen.offsets, wanted.offset):
            return _answer(wanted, topic_id, "no_record", sealed=sealed)
        trails = Trails.begin(sealed, content, place, wanted.offset)
        rows = () if trails.records or seen.extra.count else self._only_row(wanted, trails.files)
        if not rows:
            trails.follow(self._lake, self._search)
            rows = tuple(self._rows(wanted, trails.files))
        broken = tuple(self._quarantined(wanted, trails.records))
        answer = _answer(wanted, topic_id, _fate(rows, broken, seen), sealed=sealed)
        return msgspec.structs.replace(answer, rows=rows, quarantined=broken)

    def _only_row(self, wanted: Position, trails: list[FileTrail]) -> tuple[FilePlace, ...]:
        """The row in a file that lies there, where no record of the range has several rows.

        Then nobody has to look what became of the other files that cover the offset.
        """
        self._lake.look_for(each.file for each in trails)
        live = [each for each in trails if self._lake.has(each.file)]
        for begin in range(0, len(live), AT_ONCE):
            places = self._rows(wanted, live[begin : begin + AT_ONCE])
            if found := tuple(each for each in places if each.row is not None):
                return found
        return ()

    def _rows(self, wanted: Position, trails: list[FileTrail]) -> Iterator[FilePlace]:
        """The rows that are there; of files that are not, that the record may have been there."""
        read = self._read_all(wanted, [each for each in trails if self._may_be_read(each)])
        for trail in trails:
            if trail.dataset == QUARANTINE:
                continue
            place = FilePlace(
                dataset=trail.dataset,
                file=trail.file.handle.final,
                state="retired" if trail.is_retired else "live",
                delivered_by=trail.delivered_by,
                taken=tuple(trail.taken),
            )
            if trail.is_retired:
                yield place
            elif is_pending(self._state, trail.delivered_by.entry, trail.dataset):
                yield msgspec.structs.replace(place, state="pending")
            else:
                yield from _rows_there(read[trail.file.handle.final], place)

    def _may_be_read(self, trail: FileTrail) -> bool:
        """True for files that should lie there."""
        is_pending_now = is_pending(self._state, trail.delivered_by.entry, trail.dataset)
        return not trail.is_retired and not is_pending_now

    def _read_all(self, wanted: Position, trails: list[FileTrail]) -> dict[str, FileRows]:
        """The rows of the record in each of these files, by name; some are read side by side."""
        found: dict[str, FileRows] = {}
        for begin in range(0, len(trails), AT_ONCE):
            some = trails[begin : begin + AT_ONCE]
            answers = self._journal.ask_all(partial(self._read, wanted), some)
            found |= {trail.file.handle.final: rows for trail, rows in answers}
        return found

    def _quarantined(
        self, wanted: Position, trails: list[QuarantineTrail]
    ) -> Iterator[QuarantinePlace]:
        """Where the record lies in the quarantine, or lay before it was replayed or dropped."""
        files = {f.file.handle.final: f for each in trails for f in each.files}
        there = [
            file
            for file in files.values()
            if not is_pending(self._state, file.delivered_by.entry, QUARANTINE)
        ]
        read = [(files[final], rows) for final, rows in self._read_all(wanted, there).items()]
        for trail in trails:
            place = QuarantinePlace(
                dataset=trail.records.dataset, number=trail.records.row, left_by=trail.left_by
            )
            hits = [
                msgspec.structs.replace(
                    place,
                    file=file.file.handle.final,
                    row=row.row,
                    reason=row.reason,
                    fingerprint=row.fingerprint,
                )
                for file, found in read
                for row in found.rows
                if (row.dataset, row.number) == (place.dataset, place.number)
            ]
            problem = next((found.problem for _, found in read if found.problem), "")
            yield hits[0] if hits else msgspec.structs.replace(place, problem=problem)

    def _read(self, wanted: Position, trail: FileTrail) -> FileRows:
        """The rows of the record in a file, also if the file was lost once and derived again."""
        look = partial(_rows_at, self._journal.store)
        found: FileRows = look(trail.file, self._state.files, wanted, trail.among)
        if found.is_changed:
            again = self._derived_again(trail)
            if again is not None:
                file = msgspec.structs.replace(trail.file, handle=again)
                return look(file, self._state.files, wanted, trail.among)
        return found

    def _derived_again(self, trail: FileTrail) -> StagedHandle | None:
        """The file that took the place of a lost one, which has the same name and other bytes."""
        number = trail.delivered_by.entry
        newest = None
        for sealed in self._search.of_kinds(REPLACE, number + 1, self._state.number + 1):
            if isinstance(sealed.body, Replace) and sealed.body.number == number:
                for each in self._journal.content_of(sealed.body).files:
                    newest = each.handle if each.handle.final == trail.file.handle.final else newest
        return newest


def _rows_there(found: FileRows, place: FilePlace) -> Iterator[FilePlace]:
    if found.is_untold:
        yield msgspec.structs.replace(place, problem=_UNTOLD)
    if found.problem:
        yield msgspec.structs.replace(place, state="missing", problem=found.problem)
    for each in found.rows:
        yield msgspec.structs.replace(place, row=each.row, number=each.number)


def _answer(
    wanted: Position,
    topic_id: str,
    fate: RecordFate,
    watermark: int = 0,
    sealed: SealedEntry | None = None,
) -> Whereabouts:
    return Whereabouts(
        topic=wanted.topic,
        topic_id=topic_id,
        partition=wanted.partition,
        offset=wanted.offset,
        fate=fate,
        watermark=watermark,
        decided_by=None if sealed is None else facts_of(sealed),
    )


def _evidence_of(content: Content, place: TopicPartition, offset: int) -> RangeEvidence | None:
    return next(
        (each for each in content.evidence if each.range.place == place and offset in each.range),
        None,
    )


def _holds(offsets: OffsetSet, offset: int) -> bool:
    return any(start <= offset < end for start, end in offsets.runs)


def _fate(
    rows: tuple[FilePlace, ...], broken: tuple[QuarantinePlace, ...], seen: RangeEvidence
) -> RecordFate:
    """The fate of a record that was read: the best place of any of its rows."""
    states = {each.state for each in rows}
    if any(each.state in {"live", "pending"} and not each.problem for each in rows):
        return "delivered"
    if any(each.left_by is None for each in broken):
        return "quarantined"
    if "live" in states:  # in one of several files that cannot tell which
        return "untold" if seen.filtered.count else "delivered"
    if "missing" in states:
        return "missing"
    if any(each.left_by is not None and each.left_by.kind == "drop" for each in broken):
        return "given_up"
    if "retired" in states:
        return "retired"
    return "filtered" if seen.filtered.count else "missing"
