"""File groups: which ranges of a window share files, and where those files are cut. Pure values.

A file group is a run of ranges of one topic. Its task writes one file for each dataset and
directory, with the rows of all its ranges. Where a file would become too large, a cut divides the
group into parts, and each part has files of its own. All of it is planned before anything is read
and stands in the window's entry: whoever derives lost files again makes the same ones, on any
number of cores.
"""

from collections.abc import Iterable, Iterator, Sequence

from penstock.model.names import FileName, GatheredName, encode_component
from penstock.model.ranges import OffsetRange
from penstock.model.value import Value

NO_GROUP = -1  # the number in files of replays, of compactions, and of formats before 4


class Cut(Value, frozen=True, order=True):
    """Files of a group end before this offset of one of the window's ranges, and others begin.

    `range` is the number of the range in the window, from 0. At the first offset of a range the
    cut lies between that range and the one before.
    """

    range: int
    offset: int


class FilePlan(Value, frozen=True):
    """How the rows of a window are laid out in files.

    `groups` has a number for each file group: how many of the window's ranges, in their order,
    belong to it. Empty: each range is a group by itself, as in formats before 4. `format` and
    `compression` are those of data files; empty in older formats.
    """

    groups: tuple[int, ...] = ()
    cuts: tuple[Cut, ...] = ()
    format: str = ""
    compression: str = ""

    def objection(self, ranges: Sequence[OffsetRange]) -> str | None:
        """Why this cannot be the plan of a window with these ranges, or None."""
        if self.groups and (min(self.groups) < 1 or sum(self.groups) != len(ranges)):
            return f"its file groups have {sum(self.groups)} ranges, and it has {len(ranges)}"
        if list(self.cuts) != sorted(set(self.cuts)):
            return "its cuts are not in order"
        for cut in self.cuts:
            if not 0 <= cut.range < len(ranges) or cut.offset not in ranges[cut.range]:
                return f"a file is cut at offset {cut.offset}, outside of its ranges"
        for first, end in self._spans(len(ranges)):
            if len({each.topic_id for each in ranges[first:end]}) > 1:
                return "a file group has ranges of several topics"
            if Cut(first, ranges[first].start) in self.cuts:
                return "a file group begins with a cut"
        return None

    def _spans(self, count: int) -> Iterator[tuple[int, int]]:
        """The numbers of the ranges of each group, half open."""
        first = 0
        for size in self.groups or (1,) * count:
            yield first, first + size
            first += size


class FileGroup(Value, frozen=True):
    """One file group: its number in the window, and the ranges of each of its parts.

    The parts are in order, and so are the ranges of a part. A range that is cut has a piece in each
    of two or more parts.
    """

    number: int
    parts: tuple[tuple[OffsetRange, ...], ...]

    @property
    def topic(self) -> str:
        """The one topic that all of its ranges are of."""
        return self.parts[0][0].topic

    @property
    def ranges(self) -> tuple[OffsetRange, ...]:
        """Its ranges, whole."""
        found: list[OffsetRange] = []
        for each in (piece for part in self.parts for piece in part):
            if found and each.follows(found[-1]):
                found[-1] = found[-1].join(each)
            else:
                found.append(each)
        return tuple(found)


def file_groups(ranges: Sequence[OffsetRange], plan: FilePlan) -> tuple[FileGroup, ...]:
    """The file groups of a window, in order. Raises `ValueError` if the plan does not fit."""
    why = plan.objection(ranges)
    if why is not None:
        raise ValueError(why)
    return tuple(
        FileGroup(number, tuple(_parts(ranges, range(first, end), plan.cuts)))
        for number, (first, end) in enumerate(plan._spans(len(ranges)))
    )


def _parts(
    ranges: Sequence[OffsetRange], members: Iterable[int], cuts: tuple[Cut, ...]
) -> Iterator[tuple[OffsetRange, ...]]:
    """The parts of one group, whose ranges have these numbers."""
    part: list[OffsetRange] = []
    for number in members:
        rest = ranges[number]
        for cut in (each for each in cuts if each.range == number):
            before, rest = rest.split(cut.offset)
            if not before.is_empty:
                part.append(before)
            yield tuple(part)
            part = []
        part.append(rest)
    yield tuple(part)


def parts_by_ranges(groups: Iterable[FileGroup]) -> dict[tuple[OffsetRange, ...], int]:
    """The number of the group of each part, by the part's ranges."""
    return {part: group.number for group in groups for part in group.parts}


def name_of_part(
    generation: int, window: str, group: int, part: Sequence[OffsetRange], suffix: str
) -> str:
    """The last part of the final name of a file over some ranges of one topic.

    Over one range it says which offsets the file covers, over several which partitions.
    """
    first, last = part[0], part[-1]
    topic = encode_component(first.topic)
    if len(part) == 1:
        name = FileName(generation, topic, first.partition, first.start, first.end, window, suffix)
        return str(name)
    partitions = first.partition, last.partition
    return str(GatheredName(generation, topic, *partitions, group, window, suffix))


def ranges_as_words(ranges: Sequence[OffsetRange]) -> str:
    """Ranges as the footer of a file has them: `topic/partition:start-end`, by commas."""
    return ",".join(f"{each.topic}/{each.partition}:{each.start}-{each.end}" for each in ranges)
