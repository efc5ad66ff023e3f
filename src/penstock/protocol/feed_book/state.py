"""The opening state: what an owner must know to go on. Folded from entries, never written ahead.

It holds no file list, so it stays small however old the journal is; `inventory` has the files.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from penstock.model.entries import Counts
from penstock.model.envelope import GENESIS, Seal
from penstock.model.final_days import Frontier
from penstock.model.lanes import dataset_of, part_of
from penstock.model.learned import Learned
from penstock.model.ranges import TopicPartition
from penstock.model.read_ways import ReadWays
from penstock.model.window_cost import Spent
from penstock.protocol.journal.book_state import UndoneEntry, keep_open

FOLD = 5  # raised when the state gets another form, or when other state comes of the same entries


class PartitionState(msgspec.Struct, forbid_unknown_fields=True):
    """How far one partition is decided.

    `watermark` is the next offset to read. `floor` is the lowest offset that a seek may go back
    to: everything below it was delivered, or lies between delivered offsets. `first_offset` is
    where reading began, `last_window` the window that covered the partition last.
    `largest_timestamp_ms` is the largest timestamp of its records: see `LastRecord`.
    """

    topic: str
    watermark: int
    first_offset: int
    floor: int = 0
    last_offset: int = -1
    last_hash: int = 0
    last_timestamp_ms: int = -1
    last_window: str = ""
    largest_timestamp_ms: int = -1


class Undone(msgspec.Struct, forbid_unknown_fields=True):
    """A decided entry with parts whose steps are not all proven. In the lake they are `groups`."""

    number: int
    sha256: str
    window: str
    parts: list[str] = msgspec.field(name="groups")
    replaced_by: list[int] = []


class Owed(msgspec.Struct, forbid_unknown_fields=True):
    """A decided entry with files to delete: the parts that no marker proves, and from when on."""

    number: int
    sha256: str
    window: str
    parts: list[str] = msgspec.field(name="groups")
    not_before_s: float = 0.0


class LateRows(msgspec.Struct, forbid_unknown_fields=True):
    """Rows of a dataset that came after their day or hour was final, in how many entries.

    `number`, `window` and `at` are the last of these entries, its window and its time.
    """

    rows: int = 0
    entries: int = 0
    number: int = -1
    window: str = ""
    at: str = ""


class FeedState(msgspec.Struct, forbid_unknown_fields=True):
    """The fold of the entries 0 to `number`.

    `undone` are entries with files that are not proven visible, `owed` those with deletions that
    are not proven. `parked` has the cause by part; datasets that wait for an operator are also
    `stopped`. `directories` are the recorded directory keys of datasets, `settings` what the file
    said in the last window; both are empty where only older formats were written. `ways` says by
    dataset how the records of all windows since format 3 were read. `left_quarantine` are the
    records that were delivered or given up after they were quarantined. `files_taken_at` is the
    last entry that took files away, `records_taken_at` the last that took records out of the
    quarantine; -1: none did. `learned` is what recent windows were like, `learned_datasets` and
    `learned_topics` the same by dataset and topic; `spent_datasets` and `spent_topics` are the
    sums of what all windows took. Windows without a cost, of older formats, have no part in these:
    `costed_windows` counts those that have one.
    `kept` are the values that plug-ins kept with the last window that had some. `refused` counts
    all records that windows since format 4 have put into the quarantine, by dataset and reason.
    `seal` is the newest one. `final` says by dataset which days and hours are final,
    `finalized_at` which entry said so last, and `late` what came after that, by dataset.
    """

    number: int = -1
    sha256: str = GENESIS
    cluster_id: str = ""
    files: str = "parquet"
    epoch: int = 0
    owner: str = ""
    topics: dict[str, str] = {}
    partitions: dict[str, dict[int, PartitionState]] = {}
    schemas: dict[str, int] = {}
    parked: dict[str, str] = {}
    stopped: list[str] = []
    undone: dict[int, Undone] = {}
    owed: dict[int, Owed] = {}
    windows: int = 0
    counts: Counts = Counts()
    last_window: str = ""
    last_window_at: str = ""
    last_counts: Counts = Counts()
    recent_read: int = 0
    recent_bytes: int = 0
    recent_largest: int = 0
    directories: dict[str, tuple[str, ...]] = {}
    settings: dict[str, str] = {}
    ways: dict[str, ReadWays] = {}
    left_quarantine: int = 0
    files_taken_at: int = -1
    records_taken_at: int = -1
    learned: Learned = Learned()
    learned_datasets: dict[str, Learned] = {}
    learned_topics: dict[str, Learned] = {}
    costed_windows: int = 0
    spent_datasets: dict[str, Spent] = {}
    spent_topics: dict[str, Spent] = {}
    kept: dict[str, str] = {}
    refused: dict[str, dict[str, int]] = {}
    seal: Seal | None = None
    final: dict[str, Frontier] = {}
    finalized_at: int = -1
    late: dict[str, LateRows] = {}

    @property
    def record_bytes(self) -> float:
        """The mean size of recent records; 0 when none was read yet."""
        return max(self.recent_bytes / self.recent_read, 1.0) if self.recent_read else 0.0

    @property
    def is_new(self) -> bool:
        """True when there is no journal yet."""
        return self.number < 0

    @property
    def parked_datasets(self) -> dict[str, str]:
        """The datasets of which a lane is parked, with the cause of the first."""
        return {dataset_of(part): why for part, why in sorted(self.parked.items(), reverse=True)}

    def to_look_up(self) -> Iterable[Undone | Owed]:
        """The entries whose markers may say more than the state: not those that are all parked."""
        return [each for each in self.waiting() if any(p not in self.parked for p in each.parts)]

    def waiting_parts(self) -> set[str]:
        """The parts that some entry still has to do, by name."""
        return {part for each in self.waiting() for part in each.parts}

    def waiting(self) -> list[Undone | Owed]:
        """The entries with something left to do: files to show, or to delete."""
        return [*self.undone.values(), *self.owed.values()]

    def keep_undone(self, still_open: Callable[[UndoneEntry], list[str]]) -> None:
        """Keep of each undone entry the parts that `still_open` returns."""
        keep_open(self.undone, still_open)
        keep_open(self.owed, still_open)

    def partition(self, place: TopicPartition) -> PartitionState | None:
        """What is known of a partition; None before its `start` entry."""
        return self.partitions.get(place.topic_id, {}).get(place.partition)

    def known_partitions(self) -> Iterator[tuple[str, int, PartitionState]]:
        """Topic, number and state of every partition of the topics as they are bound now."""
        for topic, topic_id in sorted(self.topics.items()):
            for partition, known in sorted(self.partitions.get(topic_id, {}).items()):
                yield topic, partition, known

    def watermarks(self) -> dict[TopicPartition, int]:
        """The next offset to read of every partition of the topics as they are bound now."""
        return {
            TopicPartition(topic_id, partition): known.watermark
            for topic_id in self.topics.values()
            for partition, known in self.partitions.get(topic_id, {}).items()
        }

    def open_parts(self, number: int) -> tuple[str, ...]:
        """The parts of an undone entry that may be worked on: all but the parked ones."""
        undone = self.undone.get(number)
        if undone is None:
            return ()
        return tuple(part for part in undone.parts if part not in self.parked)


def datasets_with_days(state: FeedState) -> list[str]:
    """The datasets that can become complete, as far as entries have recorded their directories."""
    known = {name for name, keys in state.directories.items() if "day" in keys}
    return sorted(known | state.final.keys())


def has_undone(state: FeedState, dataset: str) -> bool:
    """True while anything that was decided of a dataset is not proven: files, or deletions."""
    return any(dataset_of(part) == dataset for each in state.waiting() for part in each.parts)


def is_pending(state: FeedState, number: int, dataset: str) -> bool:
    """True while nothing proves that the files of this group of an entry are visible."""
    undone = state.undone.get(number)
    return undone is not None and part_of(dataset) in undone.parts
