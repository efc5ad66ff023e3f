"""Which files and ranges must be looked at together to tell what is wrong with some of them. Pure.

Several datasets share the offsets of one range, and compacted files may share several ranges. An
area is closed: every file that holds an offset of it is part of it.
"""

from collections.abc import Iterable, Iterator

from penstock.audit.check_file import FileOrder
from penstock.audit.explain import AreaOrder, RecordedRange
from penstock.model.evidence import RangeEvidence
from penstock.model.ranges import OffsetRange, TopicPartition

# Beyond these the files are named, and their offsets are not worked out: memory has an end, and so
# has the patience of whoever reads the receipt.
MOST_AREAS = 100
MOST_OFFSETS = 20_000_000


def areas_of(
    files: list[FileOrder], reads: Iterable[tuple[int, RangeEvidence]], wrong: set[str]
) -> list[AreaOrder]:
    """The areas of the files that are wrong, each file in one of them."""
    by_place = _by_place(files)
    recorded: dict[TopicPartition, list[RangeEvidence]] = {}
    for _, seen in reads:
        recorded.setdefault(seen.range.place, []).append(seen)
    areas: list[AreaOrder] = []
    done: set[str] = set()
    for file in files:
        if file.final not in wrong or file.final in done or not file.ranges:
            continue
        if len(areas) == MOST_AREAS:
            break
        members = _closed(file, by_place)
        done |= set(members)
        ranges = {part for member in members.values() for part in member.ranges}
        read = tuple(_recorded(ranges, recorded))
        if sum(len(each.offsets) * (1 + len(each.rows)) for each in read) <= MOST_OFFSETS:
            suspects = tuple(sorted(wrong & set(members)))
            areas.append(AreaOrder(read, tuple(members.values()), suspects))
    return areas


def _by_place(files: list[FileOrder]) -> dict[TopicPartition, list[FileOrder]]:
    found: dict[TopicPartition, list[FileOrder]] = {}
    for file in files:
        for place in {part.place for part in file.ranges}:
            found.setdefault(place, []).append(file)
    return found


def _closed(
    first: FileOrder, by_place: dict[TopicPartition, list[FileOrder]]
) -> dict[str, FileOrder]:
    """A file, and all that share an offset with it, or with one that does."""
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
    ranges: set[OffsetRange], recorded: dict[TopicPartition, list[RangeEvidence]]
) -> Iterator[RecordedRange]:
    """What was read from the ranges of an area."""
    for place in sorted({part.place for part in ranges}):
        for seen in recorded.get(place, ()):
            if any(seen.range.overlaps(part) for part in ranges):
                yield RecordedRange(seen.range, seen.offsets, seen.rows)
