"""Which files and ranges must be examined together to explain wrong files. Pure.

Several datasets share the offsets of one range, and compacted files may share several ranges. An
area is closed: every file with an offset of the area belongs to it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.audit.check_file import FileOrder
from penstock.audit.explain import MOST_POSITIONS, AreaOrder, RecordedRange
from penstock.model.evidence import RangeEvidence
from penstock.model.ranges import OffsetRange, TopicPartition

# Beyond this many areas the files are only named, because working out offsets takes time.
MOST_AREAS = 100


@dataclass(frozen=True, slots=True)
class Areas:
    """The areas to work out, and the files that are left out, with the reason."""

    orders: list[AreaOrder]
    left_out: dict[str, str]


def areas_of(
    files: list[FileOrder],
    reads: Iterable[RangeEvidence],
    replayed: Iterable[RangeEvidence],
    wrong: set[str],
) -> Areas:
    """The areas of the wrong files; each file is in one area."""
    by_place = _by_place(files)
    recorded: dict[TopicPartition, list[RecordedRange]] = {}
    for is_of_replay, evidence in ((False, reads), (True, replayed)):
        for seen in evidence:
            part = RecordedRange(seen.range, seen.offsets, seen.rows, is_of_replay)
            recorded.setdefault(seen.range.place, []).append(part)
    found = Areas([], {})
    done: set[str] = set()
    for file in files:
        if file.final not in wrong or file.final in done or not file.ranges:
            continue
        members = _closed(file, by_place)
        done |= set(members)
        suspects = tuple(sorted(wrong & set(members)))
        ranges = {part for member in members.values() for part in member.ranges}
        read = tuple(_recorded(ranges, recorded))
        positions = sum(each.positions(len(each.rows)) for each in read)
        if len(found.orders) == MOST_AREAS:
            found.left_out.update(
                dict.fromkeys(suspects, f"those of {MOST_AREAS} other areas were")
            )
        elif positions > MOST_POSITIONS:
            words = f"its ranges have {positions:,} positions; the limit is {MOST_POSITIONS:,}"
            found.left_out.update(dict.fromkeys(suspects, words))
        else:
            found.orders.append(AreaOrder(read, tuple(members.values()), suspects))
    return found


def _by_place(files: list[FileOrder]) -> dict[TopicPartition, list[FileOrder]]:
    found: dict[TopicPartition, list[FileOrder]] = {}
    for file in files:
        for place in {part.place for part in file.ranges}:
            found.setdefault(place, []).append(file)
    return found


def _closed(
    first: FileOrder, by_place: dict[TopicPartition, list[FileOrder]]
) -> dict[str, FileOrder]:
    """A file with all files that share an offset with it, directly or through others."""
    members = {first.final: first}
    fresh = [first]
    while fresh:
        ranges = {part for file in fresh for part in file.ranges}
        fresh = []
        for part in ranges:
            for file in by_place[part.place]:
                if file.final not in members and any(part.overlaps(r) for r in file.ranges):
                    members[file.final] = file
                    fresh.append(file)
    return members


def _recorded(
    ranges: set[OffsetRange], recorded: dict[TopicPartition, list[RecordedRange]]
) -> Iterator[RecordedRange]:
    """The recorded offsets of an area."""
    for place in sorted({part.place for part in ranges}):
        for each in recorded.get(place, ()):
            if any(each.range.overlaps(part) for part in ranges):
                yield each
