"""Sealing: old entries and their markers are packed into one object, and the originals deleted.

    1 pack     the segment is created, if absent, under the name of its first entry
    2 decide   a `seal` entry names the segment with its hash
    3 delete   the originals go

A death after 1 leaves a segment that the next round compares with the originals and decides. A
death after 2 or in 3 leaves originals that count for nothing; the next round deletes them before it
seals more. The clock only says what is worth sealing. No step is part of a window.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from sys import maxsize

from penstock.errors import (
    EntryMissing,
    EntryRefused,
    Fenced,
    JournalError,
    OutcomeUnknown,
)
from penstock.model.envelope import GENESIS, Body, Seal, Sealed
from penstock.model.layout import SHARD, Layout, number_in
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.journal.book import B, L
from penstock.protocol.journal.book_state import S, sealed_to
from penstock.protocol.journal.errors import SegmentDamaged
from penstock.protocol.journal.journal import Fold, Journal, check_chain
from penstock.protocol.journal.markers import Marker, check_marker, create_marker
from penstock.protocol.journal.segment_objects import (
    PackedEntry,
    Segment,
    read_segment,
    segment_bytes,
)

MOST_ENTRIES = 10_000  # of one segment
MOST_BYTES = 64 << 20  # of one segment before it is packed: readers hold it in memory
AT_ONCE = 256  # entries that are read side by side


@dataclass(frozen=True, slots=True)
class SealPolicy:
    """What is sealed: entries older than `age_s`, so many in one segment.

    Fewer than `most` are sealed only when the oldest has waited for another such time, so that a
    quiet journal has few segments, too.
    """

    age_s: float
    most: int = MOST_ENTRIES
    most_bytes: int = MOST_BYTES


def seal_old(
    journal: Journal[S, B, L],
    policy: SealPolicy,
    epoch: int,
    now_s: float,
    *,
    thorough: bool = False,
) -> Seal | None:
    """One round: delete what the newest seal has left, and seal what is old enough.

    For the owner of `epoch`, on any thread but with a journal of its own; any number of times, and
    however late. If `thorough`, what sleepers have left under older sealed numbers goes, too.
    Returns the seal that was decided, or None. Raises what the store or a damaged journal raises;
    no window depends on it.
    """
    fold = journal.open()
    if fold.state.epoch != epoch:
        return None
    if fold.state.seal is not None:
        delete_originals(journal, fold.state.seal)
        if thorough:
            delete_strays(journal, fold.state.seal)
    first = sealed_to(fold.state) + 1
    try:
        segment = _segment_for(journal, fold, policy, now_s)
    except JournalError:
        journal.fold_on(fold)
        if sealed_to(fold.state) >= first:
            return None  # somebody else has sealed these meanwhile, so they were not all there
        raise
    if segment is None:
        return None
    seal = Seal(first, segment.last, journal.layout.segment(first), segment.sha256)
    try:
        sealed = journal.append(fold, seal, epoch)
    except (EntryRefused, Fenced):
        return None  # somebody else has sealed these, or owns this now
    mark = Marker(sealed.number, sealed.sha256)
    create_marker(journal.store, journal.layout.tail(sealed.number), mark, journal.sleep)
    delete_originals(journal, seal)
    return seal


def sealable_to(journal: Journal[S, B, L], fold: Fold[S, L]) -> int:
    """The last entry that may be sealed: below all checkpoints, and below all that is not done.

    Nobody who starts from the newest checkpoints reads it again, and no marker of it is awaited.
    """
    limits = [fold.checkpoint, *(each.number for each in fold.state.waiting())]
    long = journal.long_checkpoint()
    return min(limits if long is None else [*limits, long]) - 1


def _segment_for(
    journal: Journal[S, B, L], fold: Fold[S, L], policy: SealPolicy, now_s: float
) -> Segment | None:
    """The next segment: the one that somebody has left, or a new one; None if it is too early."""
    first, limit = sealed_to(fold.state) + 1, sealable_to(journal, fold)
    if journal.segments.covers(first):
        found = journal.segments.segment(first)
        if found.last <= limit:
            _compare(journal, found)
            return found
        return None
    last = _ripe_to(journal, first, limit, policy, now_s)
    if last is None:
        return None
    packed = pack_entries(journal, first, last, policy.most_bytes)
    key = journal.layout.segment(first)
    other = journal.create(key, segment_bytes(first, packed)[0])
    journal.segments.look()
    found = journal.segments.segment(first)
    if other is not None:
        _compare(journal, found)
    return found


def _ripe_to(
    journal: Journal[S, B, L], first: int, limit: int, policy: SealPolicy, now_s: float
) -> int | None:
    """The last of the entries that are old enough for a segment; None if they are too few."""
    end = min(limit, first + policy.most - 1)
    if end < first:
        return None
    begun_s = written_s(journal.require(first))
    if begun_s > now_s - policy.age_s:
        return None
    if end - first + 1 == policy.most and is_old(journal, end, now_s - policy.age_s):
        return end
    if begun_s > now_s - 2 * policy.age_s:
        return None
    low, high = first, end
    while low < high:
        middle = (low + high + 1) // 2
        if is_old(journal, middle, now_s - policy.age_s):
            low = middle
        else:
            high = middle - 1
    return low


def is_old(journal: Journal[S, B, L], number: int, before_s: float) -> bool:
    """True for an entry that was written before a time, by the clock of its writer."""
    return written_s(journal.require(number)) <= before_s


def written_s(sealed: Sealed[Body]) -> float:
    """When an entry was written; 0 where its time cannot be read."""
    try:
        return datetime.fromisoformat(sealed.entry.at).timestamp()
    except ValueError:
        return 0.0


def pack_entries(
    journal: Journal[S, B, L], first: int, last: int, most_bytes: int = MOST_BYTES
) -> list[PackedEntry]:
    """Entries and their markers as they lie there, with their hashes and the chain checked.

    The chain is checked up to the entry after them, so that they are what their successors name.
    """
    previous = GENESIS if first == 0 else journal.require(first - 1).sha256
    packed: list[PackedEntry] = []
    size = 0
    marked = marker_keys(journal, first, last)
    for sealed, entry in _packed(journal, first, last, marked):
        check_chain(journal.layout.entry(sealed.number), previous, sealed.entry.previous)
        previous = sealed.sha256
        packed.append(entry)
        size += len(entry.entry)
        if size >= most_bytes:
            break
    after = journal.require(first + len(packed))
    check_chain(journal.layout.entry(after.number), previous, after.entry.previous)
    return packed


def _packed(
    journal: Journal[S, B, L], first: int, last: int, marked: dict[int, list[str]]
) -> Iterator[tuple[Sealed[B], PackedEntry]]:
    for begin in range(first, last + 1, AT_ONCE):
        numbers = range(begin, min(begin + AT_ONCE, last + 1))
        keys = [key for number in numbers for key in marked.get(number, ())]
        markers = dict(journal.ask_all(journal.store.read, keys))
        for number, raw in journal.ask_all(journal.segments.original, numbers):
            if raw is None:
                raise EntryMissing(journal.layout.entry(number), journal.layout.entry(last + 1))
            sealed = journal.opened(number, raw)
            found = {
                part_in(journal.layout, key): text
                for key in marked.get(number, ())
                if (text := _marker_text(key, markers[key], sealed)) is not None
            }
            yield sealed, PackedEntry(raw.decode(), found.pop("", None), found)


def _marker_text(key: str, raw: bytes | None, sealed: Sealed[Body]) -> str | None:
    if raw is None:
        return None
    check_marker(key, raw, sealed.number, sealed.sha256)
    return raw.decode()


def _compare(journal: Journal[S, B, L], segment: Segment) -> None:
    """A segment that nobody has decided yet must hold the entries as they still lie there.

    Its markers may be fewer: all parts were done when it was packed, and what came since repeats.
    """
    mine = pack_entries(journal, segment.first, segment.last, most_bytes=maxsize)
    if [each.entry for each in mine] != [each.entry for each in segment.entries]:
        why = "no entry names it, and it does not hold the entries as they lie in the journal"
        raise SegmentDamaged(journal.layout.segment(segment.first), why)


def delete_originals(journal: Journal[S, B, L], seal: Seal) -> None:
    """Delete the entries and markers that a decided seal covers. Any number of times, by anyone.

    The segment is read back first: it holds what will lie nowhere else.
    """
    keys = original_keys(journal, seal.first, seal.last)
    if not keys:
        return
    found = read_segment(seal.key, seal.first, journal.store.read(seal.key))
    if (found.last, found.sha256) != (seal.last, seal.sha256):
        raise SegmentDamaged(seal.key, "it is not the one that its seal names")
    _delete(journal, keys)


def delete_strays(journal: Journal[S, B, L], newest: Seal) -> None:
    """Delete what lies under numbers of older seals than the newest: nobody reads it.

    Their originals went before the newest was decided. What is there now was written by somebody
    who slept meanwhile, and who died before it could remove it.
    """
    keys = original_keys(journal, 0, newest.first - 1)
    for number in {key_number(journal.layout, key) for key in keys}:
        journal.segments.covering(number)  # raises if the segment cannot be read
    _delete(journal, keys)


def _delete(journal: Journal[S, B, L], keys: list[str]) -> None:
    left = journal.store.delete_all(keys)
    if left:
        why = f"{len(left)} of {len(keys)} sealed entries and markers may still be there"
        raise OutcomeUnknown("delete", min(left), why)


def original_keys(journal: Journal[S, B, L], first: int, last: int) -> list[str]:
    """Entries and markers of these numbers that lie where they were created."""
    layout = journal.layout
    keys = [
        key
        for shard in shards_of(layout.journal, layout, first, last)
        for key in list_keys(journal.store, shard)
        if (number := number_in(key.rpartition("/")[2])) is not None and first <= number <= last
    ]
    marked = marker_keys(journal, first, last)
    return keys + [key for number in sorted(marked) for key in marked[number]]


def marker_keys(journal: Journal[S, B, L], first: int, last: int) -> dict[int, list[str]]:
    """The markers of these entries that lie where they were created, by entry."""
    layout = journal.layout
    found: dict[int, list[str]] = {}
    for shard in shards_of(layout.done, layout, first, last):
        for key in list_keys(journal.store, shard):
            number = number_in(key.removeprefix(f"{shard}/").split("/")[0])
            if number is not None and first <= number <= last:
                found.setdefault(number, []).append(key)
    return found


def shards_of(room: str, layout: Layout, first: int, last: int) -> list[str]:
    """The directories in which these numbers lie."""
    return [layout.shard(room, each * SHARD) for each in range(first // SHARD, last // SHARD + 1)]


def key_number(layout: Layout, key: str) -> int:
    """The number of the entry that a key of an entry or marker is about."""
    name = key.removeprefix(f"{layout.done}/").removeprefix(f"{layout.journal}/").split("/")[1]
    return number_in(name) or 0


def part_in(layout: Layout, key: str) -> str:
    """The part in the name of a marker; empty for the first marker of an entry."""
    names = key.removeprefix(f"{layout.done}/").split("/")[2:]
    return names[0].removesuffix(".json") if names else ""
