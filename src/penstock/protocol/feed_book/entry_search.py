"""Finding one entry in a long journal without folding it: by halving, over what only grows.

Epochs never fall, an owner counts its windows, and the windows of a partition cover ever higher
offsets: a seek never goes back over what was delivered. So one look in the middle tells in which
half an entry lies. Where the entry in the middle says nothing, those before it are looked at, in
batches that grow.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar, assert_never

import msgspec

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
from penstock.model.names import epoch_of, is_window_id
from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.runtime.surroundings import Acts

FEW, MOST_AT_ONCE, MANY = 16, 64, 1_024  # entries that are read at once
TAKING = frozenset({"compact", "retire", "generation", "replay", "drop"})
OF_COMMANDS = frozenset({"compact", "retire", "generation", "replay"})

T = TypeVar("T")


class _Kind(msgspec.Struct):
    """Just the kind of a body."""

    kind: str


class _KindOnly(msgspec.Struct):
    """Just the kind of an entry."""

    body: _Kind


_kind_decoder = msgspec.json.Decoder(_KindOnly)


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """An entry, and what it says about the question."""

    sealed: SealedEntry
    said: T

    @property
    def number(self) -> int:
        """The number of the entry."""
        return self.sealed.number


class EntrySearch:
    """Questions to the entries 0 to `last` of a journal. `do_all` reads several at once."""

    def __init__(self, journal: FeedJournal, last: int, do_all: Callable[[Acts], None]) -> None:
        self._journal = journal
        self._last = last
        self._do_all = do_all

    def window(self, window: str) -> SealedEntry | None:
        """The entry of a window or of a command, by its id; None if there is none."""
        if not is_window_id(window):
            return None
        epoch, word = epoch_of(window), window.partition("-")[2]
        begin = self._first(0, self._end, lambda sealed: sealed.entry.epoch >= epoch)
        if begin is None or begin.sealed.entry.epoch != epoch:
            return None
        after = self._first(begin.number, self._end, lambda sealed: sealed.entry.epoch > epoch)
        end = self._end if after is None else after.number
        if word.isdigit():
            found = self._first(begin.number, end, lambda each: _is_from(each, int(word)))
            return found.sealed if found is not None and _is_named(found.sealed, window) else None
        named = (s for s in self.of_kinds(OF_COMMANDS, begin.number, end) if _is_named(s, window))
        return next(named, None)

    def covering(self, place: TopicPartition, offset: int) -> Found[OffsetRange] | None:
        """The window that covers an offset of a partition, with its range; or None.

        If the offset lies between two windows, that is the one after it, whose range begins later.
        """

        def is_past(sealed: SealedEntry) -> bool | None:
            covered = range_of(sealed, place)
            return None if covered is None else covered.end > offset

        found = self._first(0, self._end, is_past)
        if found is None:
            return None
        covered = range_of(found.sealed, place)
        return None if covered is None else Found(found.sealed, covered)

    def given_up(
        self, place: TopicPartition, offset: int, before: int | None
    ) -> SealedEntry | None:
        """The last gap or seek over an offset, before the entry `before`; None if there is none.

        Nothing of a partition's offset is decided before the window that covered those below it.
        """
        for sealed in self.back(self._end if before is None else before):
            if range_of(sealed, place) is not None:
                return None
            if _gives_up(sealed.body, place, offset):
                return sealed
        return None

    def back(self, end: int, begin: int = 0) -> Iterator[SealedEntry]:
        """The entries from the one before `end` down to `begin`, read in batches that grow."""
        size = 1
        while end > begin:
            low = max(end - size, begin)
            yield from reversed(self._read(range(low, end)))
            end, size = low, min(size * 4, MOST_AT_ONCE)

    def of_kinds(self, kinds: frozenset[str], begin: int, end: int) -> Iterator[SealedEntry]:
        """The entries of these kinds from `begin` to the one before `end`.

        Of all others only the kind is decoded: windows are many, and may name many files.
        """
        size = FEW
        while begin < end:
            numbers = range(begin, min(begin + size, end))
            begin, size = numbers.stop, min(size * 4, MANY)
            yield from self.among(kinds, numbers)

    def since(self, time_s: float) -> int:
        """The number of the first entry that was written at or after a time; the end if none was.

        Times are those of the owners' clocks. Where these were set back, entries near that moment
        may be told from the wrong side of it.
        """
        found = self._first(0, self._end, lambda sealed: written_s(sealed) >= time_s)
        return self._end if found is None else found.number

    def in_brief(self, begin: int, read_one: Callable[[bytes], T]) -> Iterator[T]:
        """What `read_one` makes of the bytes of each entry from `begin` on, in batches that grow.

        What it cannot read is read as a whole entry, whose checks say why.
        """

        def brief(number: int, raw: bytes) -> T:
            try:
                return read_one(raw)
            except (msgspec.MsgspecError, ValueError):
                self._journal.require(number)
                raise

        size = FEW
        while begin < self._end:
            numbers = range(begin, min(begin + size, self._end))
            begin, size = numbers.stop, min(size * 4, MANY)
            raws = self._bytes(numbers)
            yield from (brief(number, raw) for number, raw in zip(numbers, raws, strict=True))

    def among(self, kinds: frozenset[str], numbers: Sequence[int]) -> list[SealedEntry]:
        """Those of these entries that are of these kinds, in order."""
        found = zip(numbers, self._bytes(numbers), strict=True)
        return [self._opened(n, raw) for n, raw in found if self._kind(n, raw) in kinds]

    @property
    def _end(self) -> int:
        return self._last + 1

    def _first(
        self, begin: int, end: int, is_past: Callable[[SealedEntry], bool | None]
    ) -> Found[None] | None:
        """The first entry for which `is_past`, which is None where an entry says nothing."""
        found: SealedEntry | None = None
        while begin < end:
            middle = (begin + end) // 2
            telling = next(
                (s for s in self.back(middle + 1, begin) if is_past(s) is not None), None
            )
            if telling is not None and is_past(telling):
                found, end = telling, telling.number
            else:
                begin = middle + 1
        return None if found is None else Found(found, None)

    def _read(self, numbers: Sequence[int]) -> list[SealedEntry]:
        found = zip(numbers, self._bytes(numbers), strict=True)
        return [self._opened(number, raw) for number, raw in found]

    def _opened(self, number: int, raw: bytes) -> SealedEntry:
        """An entry of its bytes; one that is not there is asked for by itself, which says why."""
        return self._journal.opened(number, raw) if raw else self._journal.require(number)

    def _kind(self, number: int, raw: bytes) -> str:
        """The kind of an entry; where it cannot be read, the checks of a whole entry say why."""
        try:
            return _kind_decoder.decode(raw).body.kind
        except (msgspec.MsgspecError, ValueError):
            self._journal.require(number)
            raise

    def _bytes(self, numbers: Sequence[int]) -> list[bytes]:
        """The bytes of these entries in their order, read at once; empty where none is."""
        return [raw or b"" for raw in self._journal.entry_bytes(numbers, self._do_all)]


def written_s(sealed: SealedEntry) -> float:
    """When an entry was written, in seconds; 0 where its time cannot be read."""
    try:
        return datetime.fromisoformat(sealed.entry.at).timestamp()
    except ValueError:
        return 0.0


def range_of(sealed: SealedEntry, place: TopicPartition) -> OffsetRange | None:
    """What a window covers of a partition; None for other entries."""
    if not isinstance(sealed.body, Window):
        return None
    return next((each for each in sealed.body.ranges if each.place == place), None)


def _gives_up(body: AnyBody, place: TopicPartition, offset: int) -> bool:
    """True when an entry passes over an offset that was not delivered."""
    match body:
        case Gap() as gap:
            return gap.range.place == place and offset in gap.range
        case Seek() as seek:
            return seek.place == place and seek.from_offset <= offset < seek.to_offset
        case Bind() | Claim() | Seal() | Start() | Window() | Rebind() | Park() | Unpark():
            return False
        case Replay() | Drop() | Replace() | Compact() | Retire() | Finalize() | Generation():
            return False
        case _ as never:
            assert_never(never)


def _is_from(sealed: SealedEntry, sequence: int) -> bool | None:
    """Whether a window of an owner has this number in its epoch, or a later one."""
    body = sealed.body
    if not isinstance(body, Window):
        return None
    word = body.window.partition("-")[2]
    return int(word) >= sequence if word.isdigit() else None


def _is_named(sealed: SealedEntry, window: str) -> bool:
    return isinstance(sealed.body, Deciding) and sealed.body.window == window
