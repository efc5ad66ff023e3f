"""The journal for an audit: the inventory, and what became of every offset."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import assert_never

import msgspec

from penstock.audit.balance import window_differences
from penstock.audit.coverage import Coverage
from penstock.audit.inventory_roots import find_roots, root_differences
from penstock.audit.receipt import Corrected, Difference, GivenUp
from penstock.audit.unmarked import DoneBefore, find_checkpoint, gone_markers
from penstock.errors import EntryNewer, JournalCut, JournalError, JournalMissing, MarkerWrong
from penstock.model.entries import (
    Bind,
    Compact,
    CorrectedFile,
    Drop,
    Entry,
    Finalize,
    Gap,
    Generation,
    Park,
    PartitionStart,
    Rebind,
    Replace,
    Replay,
    Retire,
    Seek,
    Start,
    Unpark,
    Window,
)
from penstock.model.envelope import Claim, Seal
from penstock.model.evidence import Evidence, RangeEvidence, lowest_rows
from penstock.model.manifest import QUARANTINE, Content, RecordSet
from penstock.model.ranges import OffsetRange, OffsetSet, TopicPartition
from penstock.model.value import Value
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.fold import parts_to_mark
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.book_state import UndoneEntry
from penstock.protocol.journal.errors import WrongJournal
from penstock.protocol.journal.journal import Fold
from penstock.protocol.journal.markers import Marker, still_undone

Progress = Callable[
    [str, int, int], None
]  # what is being done, how much is done, how much there is


class Recorded(Value, frozen=True):
    """What the journal recorded about a live file, beyond what the inventory keeps."""

    size_bytes: int
    ranges: tuple[OffsetRange, ...]
    checksum: str = ""
    window: str = ""  # empty if the footer names none: compacted or replayed files


class CorrectedRecords(Value, frozen=True):
    """The corrected records that an entry delivered, and the files with their bytes."""

    number: int
    files: tuple[CorrectedFile, ...]
    records: tuple[RecordSet, ...]


class Ledger(Inventory):
    """An inventory that also accounts for the offsets of each partition while it is folded."""

    def __init__(
        self, on_entry: Callable[[int], None] = lambda _number: None, *, keeps_reading: bool = False
    ) -> None:
        super().__init__()
        self.decided: dict[int, str] = {}  # when each entry was decided, by the clock of its writer
        self.reads: list[tuple[int, RangeEvidence]] = []  # of windows, if they are to be kept
        self.replayed: list[RangeEvidence] = []  # likewise: the records of replays
        self.refused: dict[int, tuple[RecordSet, ...]] = {}  # likewise: the records named
        self._keeps_reading = keeps_reading
        self.coverage: dict[TopicPartition, Coverage] = {}
        self.recorded: dict[str, Recorded] = {}
        self.drops: list[GivenUp] = []
        self.corrected: list[Corrected] = []
        self.corrections: list[CorrectedRecords] = []
        self.configs: dict[str, int] = {}  # digests of configurations, and the first entry of each
        self.seals: dict[int, Seal] = {}  # by the number of their entries
        self._parts: dict[int, tuple[str, ...]] = {}  # of all entries that publish something
        self._hashes: dict[int, str] = {}  # of these entries, as their successors name them
        self.differences: list[Difference] = []
        self.written = Evidence()  # all rows that were ever written to datasets
        self.removed = Evidence()  # rows of them that retention or a new generation removed
        self.gathered: Counter[str] = Counter()  # rows by dataset, of files over several partitions
        self._on_entry = on_entry

    def apply(self, entry: Entry, content: Content) -> None:
        """Apply an entry to the account, then to the inventory."""
        self._account(entry, content)
        for taken in content.inputs:
            self.recorded.pop(taken.final, None)
        super().apply(entry, content)
        self.decided[entry.number] = entry.at
        if self._parts.get(entry.number - 1):
            self._hashes[entry.number - 1] = entry.previous
        self._parts[entry.number] = parts_to_mark(entry.body)
        window = entry.body.window if isinstance(entry.body, Window | Replace) else ""
        for file in content.files:  # including those of a `replace`, which replace lost files
            handle = file.handle
            self.recorded[handle.final] = Recorded(
                handle.size_bytes, file.ranges, handle.checksum, window
            )
        self._on_entry(entry.number)

    def marks(self, tail_hash: str) -> dict[int, Marker]:
        """What the markers of each entry may say; `tail_hash` is that of the last entry."""
        return {
            number: Marker(number, self._hashes.get(number, tail_hash), parts)
            for number, parts in self._parts.items()
            if parts
        }

    def rows(self) -> Evidence:
        """All rows of the live files of datasets."""
        return Evidence.total(
            live.evidence for live in self.files.values() if live.dataset != QUARANTINE
        )

    def _account(self, entry: Entry, content: Content) -> None:
        match entry.body:
            case Start() as start:
                self._start(start.partitions)
            case Rebind() as rebind:
                self._start(rebind.partitions)
            case Window() as window:
                self._window(entry.number, window, content)
                self._shaped(entry.number, window.config)
            case Gap() as gap:
                self.differences += self._at(gap.range.place).give_up(entry.number, gap)
            case Seek() as seek:
                self.differences += self._at(seek.place).seek(entry.number, seek)
            case Replay() as replay:
                self._write(content)
                self._leave_quarantine(entry.number, content)
                self._correct(entry.number, replay, content)
                self._shaped(entry.number, replay.config)
            case Drop() as drop:
                self._drop(entry.number, drop)
            case Retire() | Generation():
                self._remove(content)
                self._write(content)
            case Seal() as seal:
                self.seals[entry.number] = seal
            case Bind() | Claim() | Park() | Unpark() | Replace() | Compact() | Finalize():
                pass  # they do not change the account of any offset
            case _ as never:
                assert_never(never)

    def _start(self, starts: Iterable[PartitionStart]) -> None:
        for start in starts:
            self.coverage[start.place] = Coverage.begin(start)

    def _window(self, number: int, window: Window, content: Content) -> None:
        self.differences += window_differences(number, window, content)
        for covered in window.ranges:
            self.differences += self._at(covered.place).cover(number, covered)
        for seen in content.evidence:
            if seen.range.place in self.coverage:  # otherwise wrong sums were reported already
                self._at(seen.range.place).count(seen)
        if self._keeps_reading:
            self.reads += [(number, seen) for seen in content.evidence]
            self.refused[number] = content.quarantined
        self._write(content)

    def _shaped(self, number: int, config: str) -> None:
        """Note the configuration that an entry names; older formats name none."""
        if config:
            self.configs.setdefault(config, number)

    def _write(self, content: Content) -> None:
        for file in content.files:
            if file.dataset == QUARANTINE:
                continue
            places = {covered.place for covered in file.ranges}
            if len(places) > 1:
                self.gathered[file.dataset] += file.evidence.count
            elif places <= self.coverage.keys():  # a forged file may belong to no partition
                for place in places:
                    self.coverage[place].deliver(file.dataset, file.evidence.count)
        self.written += Evidence.total(
            file.evidence for file in content.files if file.dataset != QUARANTINE
        )

    def _remove(self, content: Content) -> None:
        self.removed += Evidence.total(
            self.files[taken.final].evidence
            for taken in content.inputs
            if taken.dataset != QUARANTINE
        )

    def _leave_quarantine(self, number: int, content: Content) -> None:
        """Account for replayed records; only now it is known which become several rows."""
        for part, coverage in self._taken(number, content):
            coverage.quarantined -= len(part.offsets)
            coverage.written += len(part.offsets)
        for seen in content.evidence:
            if seen.range.place in self.coverage:  # otherwise the rows would not add up
                coverage = self._at(seen.range.place)
                coverage.extra += seen.extra.count
                coverage.written += seen.extra.count
        if self._keeps_reading:
            self.replayed += _replayed(content)

    def _correct(self, number: int, replay: Replay, content: Content) -> None:
        """Account for records whose contents were corrected; they keep their positions."""
        if replay.corrections is None:
            return
        count = sum(len(part.offsets) for part in content.records)
        reason = replay.corrections.reason
        self.corrected.append(Corrected(number, count, replay.author, reason))
        named = CorrectedRecords(number, replay.corrections.files, content.records)
        self.corrections.append(named)

    def _drop(self, number: int, drop: Drop) -> None:
        for part, coverage in self._taken(number, drop.content):
            count = len(part.offsets)
            coverage.quarantined -= count
            coverage.dropped += count
            span = _span(part)
            self.drops.append(GivenUp("drop", number, span, count, drop.author, drop.reason))

    def _taken(self, number: int, content: Content) -> Iterator[tuple[RecordSet, Coverage]]:
        """The records that an entry removes from the quarantine, with their partitions.

        A forged window may have named records of a partition that never started.
        """
        for part in content.records:
            coverage = self.coverage.get(TopicPartition(part.topic_id, part.partition))
            if coverage is None:
                words = f"it consumes records of {part.topic}/{part.partition}, which has no start"
                self.differences.append(Difference("offsets", words, entry=number))
            else:
                yield part, coverage

    def _at(self, place: TopicPartition) -> Coverage:
        return self.coverage[place]  # the rules refuse entries about a partition without a start


def _replayed(content: Content) -> Iterator[RangeEvidence]:
    """The records of a replay by partition, with the row numbers that they may have."""
    offsets: dict[tuple[str, str, int], OffsetSet] = {}
    rows: dict[TopicPartition, set[int]] = {}
    for part in content.records:
        place = (part.topic, part.topic_id, part.partition)
        offsets[place] = offsets.get(place, OffsetSet()) | part.offsets
        rows.setdefault(TopicPartition(*place[1:]), set()).add(part.row)
    for seen in content.evidence:
        rows.setdefault(seen.range.place, set()).update(seen.rows)
    for place, found in offsets.items():
        if found.runs:
            covered = OffsetRange(*place, found.runs[0][0], found.runs[-1][1])
            numbers = lowest_rows(rows[covered.place] - {0})
            yield msgspec.structs.replace(RangeEvidence.empty(covered), offsets=found, rows=numbers)


def _span(records: RecordSet) -> OffsetRange:
    """The range from the first of these records to the last."""
    runs = records.offsets.runs or ((0, 0),)
    return OffsetRange(records.topic, records.topic_id, records.partition, runs[0][0], runs[-1][1])


def open_ledger(
    journal: FeedJournal,
    progress: Progress = lambda _what, _done, _of: None,
    *,
    keeps_reading: bool = False,
) -> tuple[FeedState, Ledger]:
    """Fold the journal from entry 0 into a ledger: every hash, every rule, every manifest.

    Raises the error of a damaged journal.
    """
    opened = read_ledger(journal, progress, keeps_reading=keeps_reading)
    if opened.damage:
        raise opened.damage[0]
    return opened.state, opened.ledger


@dataclass(frozen=True, slots=True)
class Opened:
    """The journal as far as it could be read, and what is wrong with it.

    `marks` are the groups that the markers of each entry may name. `unmarked` has the differences
    for missing markers. `is_whole` is false when the journal could not be read to its end.
    """

    state: FeedState
    ledger: Ledger
    damage: list[JournalError]
    marks: dict[int, Marker]
    unmarked: list[Difference]
    is_whole: bool = True


def read_ledger(
    journal: FeedJournal,
    progress: Progress = lambda _what, _done, _of: None,
    *,
    keeps_reading: bool = False,
) -> Opened:
    """Like `open_ledger`, but returns damage together with what could be read.

    The plain opening comes first, because it checks all witnesses that could prove that the journal
    was longer, and finds its length. A newer format is not damage, and raises; nor is a journal
    that the lake does not name, beside which all files would look like strangers.
    """
    damage: list[JournalError] = []
    total = 0
    checkpoint = find_checkpoint(journal)  # before any marker is read
    try:
        total = journal.open().state.number + 1
    except (EntryNewer, WrongJournal):
        raise
    except JournalError as error:
        damage.append(error)
    roots = find_roots(journal, damage)

    def on_entry(number: int) -> None:
        progress("entries", number + 1, max(total, number + 1))
        ledger.differences += root_differences(journal, roots, number, ledger)

    ledger = Ledger(on_entry, keeps_reading=keeps_reading)
    fold: FeedFold = Fold(FeedState(), ledger)
    try:
        journal.fold_on(fold)
    except EntryNewer:
        raise
    except JournalError as error:
        if str(error) not in map(str, damage):
            damage.append(error)
        damage += marker_damage(journal, fold.state, known=set(map(str, damage)))
        return Opened(fold.state, ledger, damage, {}, [], is_whole=False)
    marks = ledger.marks(fold.state.sha256)
    damage += marker_damage(journal, fold.state, known=set(map(str, damage)))
    before = DoneBefore(checkpoint, marks)
    is_marked = not any(isinstance(error, MarkerWrong) for error in damage)
    unmarked = list(gone_markers(journal, fold.state, before, with_later=is_marked))
    # Without witnesses, a truncated journal looks complete.
    is_cut = any(isinstance(error, JournalCut | JournalMissing) for error in damage)
    return Opened(fold.state, ledger, damage, marks, unmarked, is_whole=not is_cut)


def marker_damage(journal: FeedJournal, state: FeedState, known: set[str]) -> list[JournalError]:
    """Find out what is done, as `Journal.see_done`; markers that fit no entry are returned."""
    damage: list[JournalError] = []
    look = partial(_open_parts, journal)
    undone = list(state.to_look_up())
    found = {(each.number, *each.parts): left for each, left in journal.ask_all(look, undone)}

    def still_open(undone: UndoneEntry) -> list[str]:
        left = found.get((undone.number, *undone.parts), undone.parts)
        if not isinstance(left, MarkerWrong):
            return left
        if str(left) not in known:
            damage.append(left)
            known.add(str(left))
        return []  # it says that everything is visible, so the files are checked

    state.keep_undone(still_open)
    return damage


def _open_parts(journal: FeedJournal, undone: UndoneEntry) -> list[str] | MarkerWrong:
    try:
        return still_undone(journal.segments, journal.layout, undone)
    except MarkerWrong as error:
        return error
