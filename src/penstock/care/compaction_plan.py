"""Which small files become which larger ones. Pure.

Files of one directory, topic and generation go together. Small ones are taken in the order in which
they were delivered, as many as the target has room for. What would not help is left: a file that
is near the target, a file alone, too few files that do not fill one yet, and a file that is larger
than all that would join it. So every byte is rewritten a few times at most, however often files
are compacted on the way.
"""

from collections.abc import Iterable, Iterator, Sequence

from penstock.model.debt import Debt
from penstock.model.names import CompactedName, parse_name, window_order, windows_in
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.spec import FeedSpec
from penstock.model.value import Value

NEAR = 0.75  # a file of this share of the target is left as it is
MOST_INPUTS = 1_000  # of one new file; its entry names them, and its task has them on its disk
MOST_OF_ENTRY = 2_000  # inputs of one entry; a directory with more is done by several
WORDS_BYTES = 32 << 10  # for ranges in a footer


class FileSize(Value, frozen=True):
    """A live file: its final name, the entry that delivered it, and how large it is."""

    final: str
    number: int
    size_bytes: int


class CompactionPolicy(Value, frozen=True):
    """When files are worth rewriting, and how large they become."""

    target_bytes: int = 256_000_000
    min_files: int = 8


def policy_of(feed: FeedSpec) -> CompactionPolicy:
    """When files of a feed are worth rewriting, by its configuration."""
    return CompactionPolicy(feed.compact.target_bytes, feed.compact.min_files)


class PlannedFile(Value, frozen=True):
    """One new file: the files that it is made of, in the order of their entries."""

    inputs: tuple[FileSize, ...]

    @property
    def size_bytes(self) -> int:
        """The bytes of all inputs."""
        return sum(each.size_bytes for each in self.inputs)


class PlannedDirectory(Value, frozen=True):
    """What one entry rewrites: files of one directory."""

    directory: str
    files: tuple[PlannedFile, ...]

    @property
    def dataset(self) -> str:
        """The dataset whose directory it is, or is below."""
        return self.directory.split("/")[1]

    @property
    def inputs(self) -> tuple[FileSize, ...]:
        """All files that go."""
        return tuple(each for file in self.files for each in file.inputs)

    @property
    def size_bytes(self) -> int:
        """The bytes of all files that go."""
        return sum(each.size_bytes for each in self.files)


def debt_of(plans: Iterable[PlannedDirectory]) -> Debt:
    """What all of them rewrite together."""
    return Debt.total(Debt(len(each.inputs), each.size_bytes) for each in plans)


def plan_directories(
    files: Iterable[FileSize], policy: CompactionPolicy
) -> Iterator[PlannedDirectory]:
    """The directories in which something is worth rewriting, in name order.

    A directory of very many files comes more than once, each time with others of them. Files
    whose names no version of Penstock gives are left alone.
    """
    together: dict[tuple[str, int, str], list[FileSize]] = {}
    for each in files:
        directory, _, name = each.final.rpartition("/")
        parsed = parse_name(name)
        if parsed is not None:
            key = (directory, parsed.generation, parsed.topic)
            together.setdefault(key, []).append(each)
    planned: dict[str, list[PlannedFile]] = {}
    for (directory, _, _), mine in sorted(together.items()):
        planned.setdefault(directory, []).extend(new_files(mine, policy))
    for directory, made in planned.items():
        yield from _entries(directory, made)


def _entries(directory: str, files: Sequence[PlannedFile]) -> Iterator[PlannedDirectory]:
    """New files of one directory by entry."""
    waiting: list[PlannedFile] = []
    for file in files:
        count = sum(len(each.inputs) for each in (*waiting, file))
        if waiting and count > MOST_OF_ENTRY:
            yield PlannedDirectory(directory, tuple(waiting))
            waiting = []
        waiting.append(file)
    if waiting:
        yield PlannedDirectory(directory, tuple(waiting))


def new_files(files: Iterable[FileSize], policy: CompactionPolicy) -> Iterator[PlannedFile]:
    """The new files that files of one directory, topic and generation are worth."""
    near = NEAR * policy.target_bytes
    small = sorted(
        (each for each in files if each.size_bytes < near),
        key=lambda each: (each.number, each.final),
    )
    waiting: list[FileSize] = []
    size = 0
    for each in small:
        if waiting and (
            size + each.size_bytes > policy.target_bytes or len(waiting) == MOST_INPUTS
        ):
            yield from _worth_it(waiting, policy)
            waiting, size = [], 0
        waiting.append(each)
        size += each.size_bytes
    yield from _worth_it(waiting, policy)


def _worth_it(files: list[FileSize], policy: CompactionPolicy) -> Iterator[PlannedFile]:
    """A new file of these, if that helps; perhaps without those that are much larger."""
    size = sum(each.size_bytes for each in files)
    if size >= NEAR * policy.target_bytes:
        if len(files) > 1:
            yield PlannedFile(tuple(files))
        return
    by_size = sorted(files, key=lambda each: each.size_bytes)
    while by_size and by_size[-1].size_bytes > size - by_size[-1].size_bytes:
        size -= by_size.pop().size_bytes
    left = set(by_size)
    if len(left) >= max(policy.min_files, 2):
        yield PlannedFile(tuple(each for each in files if each in left))


def name_of(
    inputs: Sequence[str], group: int, window: str, suffix: str, taken: Iterable[str] = ()
) -> CompactedName:
    """The name of a file that is made of others; all of these have names that can be parsed.

    `taken` are the names of the files of the same entry: of two that cover the same windows, the
    later one says which of them it is.
    """
    parsed = [name for each in inputs if (name := parse_name(each)) is not None]
    spans = [windows_in(name) for name in parsed]
    first = min((span[0] for span in spans), key=window_order)
    last = max((span[1] for span in spans), key=window_order)
    name = CompactedName(parsed[0].generation, parsed[0].topic, first, last, 0, window, suffix)
    if str(name) in set(taken):
        return CompactedName(name.generation, name.topic, first, last, group, window, suffix)
    return name


def joined_ranges(ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    """Ranges in order, with those joined that touch or overlap: the same offsets, fewer ranges."""
    places: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
    for each in ranges:
        place = (each.topic, each.topic_id, each.partition)
        places.setdefault(place, []).append((each.start, each.end))
    found: list[OffsetRange] = []
    for (topic, topic_id, partition), runs in sorted(places.items()):
        whole = OffsetSet.from_runs(runs).runs or ((runs[0][0], runs[0][0]),)
        found += [OffsetRange(topic, topic_id, partition, start, end) for start, end in whole]
    return tuple(found)


def hull(ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    """One range for each partition, from its first offset to its last."""
    places: dict[tuple[str, str, int], list[OffsetRange]] = {}
    for each in ranges:
        places.setdefault((each.topic, each.topic_id, each.partition), []).append(each)
    return tuple(
        mine[0].with_bounds(min(each.start for each in mine), max(each.end for each in mine))
        for _, mine in sorted(places.items())
    )
