"""The few facts of single entries that metrics need, read once each and kept."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from penstock.model.entries import Counts, LastRecord
from penstock.model.ranges import OffsetRange
from penstock.model.window_cost import WindowCost
from penstock.protocol.feed_book.feed_journal import FeedJournal

MOST_KEPT = 4_000  # entries; what is dropped is read again when it is needed
WALK = 200  # how many entries are looked at to find a window


class BriefBody(msgspec.Struct, frozen=True):
    """A body of any kind; only a window has the other fields."""

    kind: str
    window: str = ""
    ranges: tuple[OffsetRange, ...] = ()
    counts: Counts = Counts()
    last_records: tuple[LastRecord, ...] = ()
    cost: WindowCost | None = None


class BriefEntry(msgspec.Struct, frozen=True):
    """An entry without what is to be published."""

    number: int
    at: str
    epoch: int
    body: BriefBody

    @property
    def is_window(self) -> bool:
        """True for a window that an owner decided."""
        return self.body.kind == "window"

    @property
    def at_s(self) -> float | None:
        """When it was decided; None if the time cannot be read."""
        try:
            return datetime.fromisoformat(self.at).timestamp()
        except ValueError:
            return None

    @property
    def newest_ms(self) -> int | None:
        """The newest time of a last record of its ranges."""
        times = [each.timestamp_ms for each in self.body.last_records]
        return max((each for each in times if each >= 0), default=None)


_decoder = msgspec.json.Decoder(BriefEntry)


class BriefEntries:
    """Entries of one journal. An entry never changes, so what was read once stays true."""

    def __init__(self, journal: FeedJournal) -> None:
        self._journal = journal
        self._kept: dict[int, BriefEntry] = {}

    def some(self, numbers: Sequence[int]) -> list[BriefEntry]:
        """These entries, which were folded before; new ones are read side by side."""
        missing = [number for number in numbers if number not in self._kept]
        if len(self._kept) + len(missing) > MOST_KEPT:
            self._kept = {number: self._kept[number] for number in numbers if number in self._kept}
        self._kept |= dict(self._journal.ask_all(self._read, missing))
        return [self._kept[number] for number in numbers]

    def windows_before(self, end: int, most: int = WALK) -> Iterator[BriefEntry]:
        """Windows below an entry, the newest first, among as many entries as may be looked at."""
        step = 1
        lowest = max(end - most, 0)
        while end > lowest:
            low = max(end - step, lowest)
            for entry in reversed(self.some(range(low, end))):
                if entry.is_window:
                    yield entry
            end, step = low, min(step * 4, 64)

    def _read(self, number: int) -> BriefEntry:
        raw = self._journal.store.read(self._journal.layout.entry(number))
        try:
            return _decoder.decode(raw or b"")
        except (msgspec.MsgspecError, ValueError):
            self._journal.require(number)  # its checks say what is wrong
            raise
