"""The journal as an auditor reads it: the inventory, and with it the fate of every offset."""

from collections.abc import Callable, Iterable

from penstock.audit.balance import window_differences
from penstock.audit.coverage import Coverage
from penstock.audit.receipt import Difference, GivenUp
from penstock.journal.inventory import Inventory
from penstock.journal.journal import Fold, Journal
from penstock.journal.state import JournalState
from penstock.model.entries import (
    Drop,
    Entry,
    Gap,
    Generation,
    PartitionStart,
    Rebind,
    Replay,
    Retire,
    Seek,
    Start,
    Window,
)
from penstock.model.evidence import Evidence
from penstock.model.manifest import QUARANTINE, Content, RecordSet
from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.model.value import Value

Progress = Callable[[str, int, int], None]  # what is done, how much of it, of how much


class Recorded(Value, frozen=True):
    """What the journal recorded about a live file, beyond what the inventory keeps."""

    size_bytes: int
    ranges: tuple[OffsetRange, ...]


class Ledger(Inventory):
    """An inventory that also keeps account of each partition, while entries are folded into it."""

    def __init__(self, on_entry: Callable[[int], None] = lambda _number: None) -> None:
        super().__init__()
        self.coverage: dict[TopicPartition, Coverage] = {}
        self.recorded: dict[str, Recorded] = {}
        self.drops: list[GivenUp] = []
        self.differences: list[Difference] = []
        self.written = Evidence()  # rows that were ever written to datasets
        self.removed = Evidence()  # rows of them that retention or a new generation took away
        self._on_entry = on_entry

    def apply(self, entry: Entry, content: Content) -> None:
        """Take an entry into the account, then into the inventory."""
        self._account(entry, content)
        for taken in content.inputs:
            self.recorded.pop(taken.final, None)
        super().apply(entry, content)
        for file in content.files:  # those of a `replace` too: they take the place of lost ones
            self.recorded[file.handle.final] = Recorded(file.handle.size_bytes, file.ranges)
        self._on_entry(entry.number)

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
            case Gap() as gap:
                self.differences += self._at(gap.range.place).give_up(entry.number, gap)
            case Seek() as seek:
                self.differences += self._at(seek.place).seek(entry.number, seek)
            case Replay():
                self._write(content)
                self._leave_quarantine(content.records)
            case Drop() as drop:
                self._drop(entry.number, drop)
            case Retire() | Generation():
                self._remove(content)
                self._write(content)
            case _:
                pass  # kinds that settle the fate of no offset

    def _start(self, starts: Iterable[PartitionStart]) -> None:
        for start in starts:
            self.coverage[start.place] = Coverage.begin(start)

    def _window(self, number: int, window: Window, content: Content) -> None:
        self.differences += window_differences(number, window, content)
        for covered in window.ranges:
            self.differences += self._at(covered.place).cover(number, covered)
        for seen in content.evidence:
            self._at(seen.range.place).count(seen)
        self._write(content)

    def _write(self, content: Content) -> None:
        self.written += Evidence.total(
            file.evidence for file in content.files if file.dataset != QUARANTINE
        )

    def _remove(self, content: Content) -> None:
        self.removed += Evidence.total(
            self.files[taken.final].evidence
            for taken in content.inputs
            if taken.dataset != QUARANTINE
        )

    def _leave_quarantine(self, records: tuple[RecordSet, ...]) -> None:
        """Records that were delivered after all."""
        for part in records:
            coverage = self._at(TopicPartition(part.topic_id, part.partition))
            coverage.quarantined -= len(part.offsets)
            coverage.written += len(part.offsets)

    def _drop(self, number: int, drop: Drop) -> None:
        for part in drop.content.records:
            count = len(part.offsets)
            coverage = self._at(TopicPartition(part.topic_id, part.partition))
            coverage.quarantined -= count
            coverage.dropped += count
            span = _span(part)
            self.drops.append(GivenUp("drop", number, span, count, drop.author, drop.reason))

    def _at(self, place: TopicPartition) -> Coverage:
        return self.coverage[place]  # the rules refuse whatever is of a partition without a start


def _span(records: RecordSet) -> OffsetRange:
    """From the first of these records to the last."""
    runs = records.offsets.runs or ((0, 0),)
    return OffsetRange(records.topic, records.topic_id, records.partition, runs[0][0], runs[-1][1])


def open_ledger(
    journal: Journal, progress: Progress = lambda _what, _done, _of: None
) -> tuple[JournalState, Ledger]:
    """Fold the journal from entry 0 into a ledger: every hash, every rule, every manifest.

    The plain opening comes first, because it looks at whatever could prove that the journal was
    longer; and it tells how long it is.
    """
    known = journal.open().state
    total = known.number + 1
    ledger = Ledger(lambda number: progress("entries", number + 1, max(total, number + 1)))
    fold = Fold(JournalState(), ledger)
    journal.fold_on(fold)
    journal.see_done(fold.state)
    return fold.state, ledger
