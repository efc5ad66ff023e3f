"""Planning files by volume: which ranges share files, and where files are cut. Pure.

The number of files of a window grows with its bytes and with the cores that write them, not with
the number of Kafka partitions. Ranges of different topics never share a file.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal

from penstock.model.file_groups import Cut, FilePlan
from penstock.model.ranges import OffsetRange
from penstock.model.value import Value
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.topic_plan import RecordSizes, sizes_in

GROUP_BYTES = 64_000_000  # so many bytes of records are worth a task, and files, of their own
MOST_PARTS = 100  # of a group, however small files are wanted: cuts stand in every entry
LIKELY_BYTES = 500.0  # of a record, before any was read


class FilePolicy(Value, frozen=True):
    """What a feed says about its files.

    `gather`: "auto" lets ranges share files by volume, "partition" gives each range its own. A file
    that would become larger than `target_bytes` is cut; 0: never. `format` and `compression` are
    those of data files.
    """

    gather: Literal["auto", "partition"] = "partition"
    target_bytes: int = 0
    format: str = ""
    compression: str = ""


class Volumes(Value, frozen=True):
    """What recent windows have taught: how large records are, and how large their files.

    `file_share` is the size of the files of the largest dataset, for each byte of records; of all
    datasets where a feed reads several topics, since one of these may be all of a topic.
    """

    sizes: RecordSizes = RecordSizes()
    file_share: float = 1.0

    def of(self, covered: OffsetRange) -> float:
        """The bytes of records that a range should have; never nothing."""
        return max(len(covered), 1) * (self.sizes.of(covered.topic) or LIKELY_BYTES)


def volumes_in(state: FeedState) -> Volumes:
    """The volumes that the windows of a feed have shown."""
    return Volumes(sizes_in(state), _file_share(state))


def _file_share(state: FeedState) -> float:
    if state.learned.read_bytes <= 0:
        return 1.0
    written = [each.written_bytes for each in state.learned_datasets.values()]
    largest = max(written, default=0.0) if len(state.learned_topics) == 1 else sum(written)
    return largest / state.learned.read_bytes if largest else 1.0


def plan_files(
    ranges: Sequence[OffsetRange], volumes: Volumes, policy: FilePolicy, cores: int | None
) -> FilePlan:
    """The files of a window with these ranges, which are in order.

    `cores` is how many tasks can run at once; None if nobody knows, and then no range shares files.
    """
    sizes = [volumes.of(each) for each in ranges]
    if policy.gather == "partition" or cores is None:
        groups = [1] * len(ranges)
    else:
        groups = _gathered(ranges, sizes, max(cores, 1))
    cuts = tuple(_cuts(ranges, sizes, groups, policy.target_bytes / (volumes.file_share or 1.0)))
    is_gathered = any(count > 1 for count in groups)
    recorded = tuple(groups) if is_gathered else ()
    return FilePlan(recorded, cuts, policy.format, policy.compression)


def _gathered(ranges: Sequence[OffsetRange], sizes: Sequence[float], cores: int) -> list[int]:
    """How many ranges are in each group: runs of one topic, of about the same volume."""
    whole = sum(sizes)
    wanted = min(math.ceil(whole / GROUP_BYTES), cores)
    groups: list[int] = []
    numbered = groupby(range(len(ranges)), key=lambda number: ranges[number].topic_id)
    for _, members in numbered:
        mine = [sizes[number] for number in members]
        share = round(wanted * sum(mine) / whole)
        groups += _runs(mine, min(max(share, 1), len(mine)))
    return groups


def _runs(sizes: Sequence[float], count: int) -> Iterator[int]:
    """The lengths of at most so many runs: each item goes where its middle lies."""
    whole, before = sum(sizes), 0.0
    places = []
    for size in sizes:
        places.append(min(int((before + size / 2) * count / whole), count - 1))
        before += size
    return (len(list(run)) for _, run in groupby(places))


def _cuts(
    ranges: Sequence[OffsetRange],
    sizes: Sequence[float],
    groups: Iterable[int],
    most_bytes: float,
) -> Iterator[Cut]:
    """Where files are cut, so that no part of a group has more bytes of records than this.

    The parts of a group are of one size, and no more than there may be.
    """
    first = 0
    for count in groups:
        members = range(first, first + count)
        first += count
        whole = sum(sizes[number] for number in members)
        parts = min(math.ceil(whole / most_bytes), MOST_PARTS) if most_bytes > 0 else 1
        yield from _even_cuts(ranges, sizes, members, [whole * n / parts for n in range(1, parts)])


def _even_cuts(
    ranges: Sequence[OffsetRange],
    sizes: Sequence[float],
    members: range,
    marks: Sequence[float],
) -> Iterator[Cut]:
    """Cuts of one group after so many bytes each. Marks within one record give one cut."""
    found: set[Cut] = set()
    before = 0.0
    for number in members:
        covered, size = ranges[number], sizes[number]
        for mark in marks:
            if before <= mark < before + size:
                offset = covered.start + int(len(covered) * (mark - before) / size)
                found.add(Cut(number, min(offset, covered.end - 1)))
        before += size
    found.discard(Cut(members[0], ranges[members[0]].start))
    yield from sorted(found)
