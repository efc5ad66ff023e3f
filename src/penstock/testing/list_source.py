"""A source whose records are lists in memory, and whose tasks run in this process.

`ListCluster` is what is out there: topics, and whatever happens to them. It lives longer than a
run, as brokers do. `ListSource` is one feed's way to it. Nothing fails unless a test says so.
"""

import base64
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, NoReturn

import pyarrow as pa

from penstock.api.source import (
    RECORD_COLUMNS,
    REPORT,
    TOPIC_COLUMN,
    ReadFailed,
    ReadRequest,
    SourceUnavailable,
    Task,
)
from penstock.model.ranges import TOO_LARGE, OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.window import Available, PartitionOffsets, Place, TopicOffsets

BATCH_ROWS = 3  # so that a task gets several batches of a few records
MOST_BYTES = 16 * 1024  # of a record, where nobody knows of larger ones
BEGAN_MS = 1_800_000_000_000

Moment = Literal["before", "middle", "after"]  # of a read: its tasks, their batches


class ListedRecord(NamedTuple):
    """A record of a list. Without a timestamp it is a second later than the one before it."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None

    @property
    def size_bytes(self) -> int:
        """How large it is, with key and headers."""
        headers = sum(len(value or b"") for _, value in self.headers)
        return len(self.value or b"") + len(self.key or b"") + headers


class TaskDied(Exception):
    """A task ended, and its job with it."""


def die(why: str = "the task was killed") -> NoReturn:
    """For `on_read`: the job fails here."""
    raise TaskDied(why)


@dataclass
class Log:
    """One partition: what was ever written, where the log starts, and what is gone from it.

    At a `compacted` offset there is no record, which is not a loss. A `lost` one should be there.
    """

    records: list[ListedRecord] = field(default_factory=list)
    start: int = 0
    compacted: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    is_led: bool = True

    def read(self, start: int, end: int) -> Iterator[tuple[int, ListedRecord]]:
        """The records of a range, while they are there."""
        for offset in range(start, end):
            if offset < self.start or offset >= len(self.records) or offset in self.lost:
                raise TaskDied(f"offset {offset} is gone")
            if offset not in self.compacted:
                yield offset, self.records[offset]

    def timestamp(self, offset: int) -> int:
        """When a record was written."""
        own = self.records[offset].timestamp_ms
        return BEGAN_MS + 1000 * offset if own is None else own


class ListCluster:
    """Topics in memory, and hands that do to them what happens to real ones."""

    def __init__(self, cluster_id: str = "list-cluster-1") -> None:
        self.cluster_id = cluster_id
        self.is_down = False
        self.cores = 2  # how many tasks are said to run at once
        self.exported: dict[str, dict[Place, int]] = {}
        self.retention_s: dict[str, float] = {}
        self.reads: list[ReadRequest] = []
        self._topics: dict[str, tuple[str, list[Log]]] = {}
        self._ids = itertools.count(1)
        self._acts: list[tuple[Moment, int, Callable[[], object]]] = []

    def create_topic(self, topic: str, partitions: int = 1) -> str:
        """Create a topic; its id, which no other topic ever had."""
        topic_id = f"{topic}-id-{next(self._ids)}"
        self._topics[topic] = topic_id, [Log() for _ in range(partitions)]
        return topic_id

    def delete_topic(self, topic: str) -> None:
        """Delete a topic with all its records."""
        del self._topics[topic]

    def append(self, topic: str, partition: int, *records: ListedRecord | bytes) -> None:
        """Write records to the end of a partition."""
        made = [ListedRecord(each) if isinstance(each, bytes) else each for each in records]
        self.log(topic, partition).records += made

    def expire(self, topic: str, partition: int, before: int) -> None:
        """Let the log of a partition start at `before`, as retention does."""
        self.log(topic, partition).start = before

    def compact(self, topic: str, partition: int, *offsets: int) -> None:
        """Take records away as a cleaner does; what is left keeps its offset."""
        self.log(topic, partition).compacted |= set(offsets)

    def lose(self, topic: str, partition: int, *offsets: int) -> None:
        """Lose records that the log says are there: reading them fails."""
        self.log(topic, partition).lost |= set(offsets)

    def recover(self, topic: str, partition: int) -> None:
        """Bring lost records back."""
        self.log(topic, partition).lost.clear()

    def cut(self, topic: str, partition: int, end: int) -> None:
        """Let the log of a partition end at `end`, as after an unclean election."""
        del self.log(topic, partition).records[end:]

    def lead(self, topic: str, partition: int, is_led: bool) -> None:
        """Give a partition a leader, or take it away."""
        self.log(topic, partition).is_led = is_led

    def on_read(self, moment: Moment, act: Callable[[], object], nth: int = 1) -> None:
        """Let something happen at the nth read from now on.

        Before its tasks, in the middle of their records, or after them, when what they report is
        not yet returned. An act may raise: see `die`.
        """
        self._acts.append((moment, len(self.reads) + nth, act))

    def happen(self, moment: Moment) -> None:
        """Do what is due in the present read."""
        due = [each for each in self._acts if each[:2] == (moment, len(self.reads))]
        self._acts = [each for each in self._acts if each not in due]
        for _, _, act in due:
            act()

    def unmet(self) -> int:
        """How many acts were never due, so that a test can notice a script that missed."""
        return len(self._acts)

    def topics(self) -> Mapping[str, tuple[str, list[Log]]]:
        """Every topic: its id and its partitions. Raises `SourceUnavailable`."""
        if self.is_down:
            raise SourceUnavailable("The list of records", "it is down, as it was told")
        return self._topics

    def log(self, topic: str, partition: int) -> Log:
        """One partition."""
        return self._topics[topic][1][partition]


class ListSource:
    """One feed's records of a `ListCluster`.

    Also exports lag, resolves times, hashes records, and tells how long they are kept.
    """

    kind = "list"

    def __init__(self, feed: FeedSpec, cluster: ListCluster) -> None:
        self._feed = feed
        self._cluster = cluster

    def tasks_at_once(self) -> int:
        """As many as the test wants."""
        return self._cluster.cores

    def look(self) -> Available:
        """What the feed's topics hold now."""
        topics = []
        unreadable: dict[Place, str] = {}
        for name, (topic_id, logs) in sorted(self._cluster.topics().items()):
            if not self._feed.wants(name):
                continue
            led = {number: log for number, log in enumerate(logs) if log.is_led}
            offsets = {p: PartitionOffsets(log.start, len(log.records)) for p, log in led.items()}
            topics.append(TopicOffsets(name, topic_id, offsets))
            for number in range(len(logs)):
                if number not in led:
                    unreadable[name, number] = "it has no leader"
        return Available(self._cluster.cluster_id, tuple(topics), unreadable)

    def read(self, request: ReadRequest, task: Task) -> list[bytes]:
        """Run the tasks one after the other, in this process."""
        self._cluster.reads.append(request)
        try:
            self._cluster.happen("before")
            reports = [
                report
                for ranges in _tasks(request)
                for batch in task(self._batches(request, ranges))
                for report in batch[REPORT].to_pylist()
            ]
            self._cluster.happen("after")
        except Exception as error:  # a task that raises fails the job, whatever it raises
            raise ReadFailed(request.name, f"{type(error).__name__}: {error}") from error
        return reports

    def hashes(self, ranges: tuple[OffsetRange, ...]) -> dict[OffsetRange, int]:
        """The hash of the record at each of these single offsets, where there still is one."""
        found = {}
        for one in ranges:
            log = self._cluster.log(one.topic, one.partition)
            try:
                for offset, record in log.read(one.start, one.end):
                    found[one] = content_hash(offset, record) % 2**64
            except TaskDied as error:
                raise ReadFailed("at the watermarks", str(error)) from error
        return found

    def offset_at(self, topic: str, partition: int, time_ms: int) -> int:
        """The first offset at or after a time, or the log's end."""
        log = self._cluster.topics()[topic][1][partition]
        there = range(log.start, len(log.records))
        late = (offset for offset in there if log.timestamp(offset) >= time_ms)
        return next(late, len(log.records))

    def export_offsets(self, reader: str, offsets: Mapping[Place, int]) -> None:
        """Keep them where a test can look."""
        self._cluster.topics()
        self._cluster.exported[reader] = dict(offsets)

    def group_offsets(self, group: str) -> dict[Place, int]:
        """What a reader has exported, or what a test has put there."""
        self._cluster.topics()
        return dict(self._cluster.exported.get(group, {}))

    def retention_s(self, topics: Sequence[str]) -> dict[str, float]:
        """What a test has said of these topics."""
        self._cluster.topics()
        known = self._cluster.retention_s
        return {topic: known[topic] for topic in topics if topic in known}

    def close(self) -> None:
        """Nothing to let go of."""

    def _batches(
        self, request: ReadRequest, ranges: Iterable[OffsetRange]
    ) -> Iterator[pa.RecordBatch]:
        """The records of some ranges, a few at a time."""
        has_topics = len({covered.topic for covered in request.ranges}) > 1
        most_bytes = None if request.largest_bytes > MOST_BYTES else MOST_BYTES
        for covered in ranges:
            log = self._cluster.log(covered.topic, covered.partition)
            records = log.read(covered.start, covered.end)
            while some := list(itertools.islice(records, BATCH_ROWS)):
                rows = [_row(covered, log, at, record, most_bytes) for at, record in some]
                batch = pa.RecordBatch.from_pylist(rows, schema=RECORD_COLUMNS)
                if has_topics:
                    names = pa.array([covered.topic] * len(rows), TOPIC_COLUMN.type)
                    batch = batch.add_column(0, TOPIC_COLUMN, names)
                yield batch
                self._cluster.happen("middle")


def content_hash(offset: int, record: ListedRecord) -> int:
    """64 bits, with a sign, of all that makes a record what it is."""
    parts = [b"-" if part is None else b"+" + part for part in (record.key, record.value)]
    text = b"%d:%d:" % (offset, len(parts[0])) + b"".join(parts)
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big", signed=True)


def _tasks(request: ReadRequest) -> list[tuple[OffsetRange, ...]]:
    """The ranges of each task. Where nobody says, each range has its own."""
    return list(request.tasks) or [(covered,) for covered in request.ranges]


def _row(
    covered: OffsetRange, log: Log, offset: int, record: ListedRecord, most_bytes: int | None
) -> dict[str, object]:
    is_too_large = most_bytes is not None and record.size_bytes > most_bytes
    return {
        "partition": TOO_LARGE if is_too_large else covered.partition,
        "offset": offset,
        "timestamp": log.timestamp(offset),
        "key": None if is_too_large else record.key,
        "value": None if is_too_large else record.value,
        "headers": None if is_too_large else _headers(record),
        "hash": content_hash(offset, record),
    }


def _headers(record: ListedRecord) -> str | None:
    """The headers as text, as Spark writes them."""
    told = [
        {"key": key} if value is None else {"key": key, "value": base64.b64encode(value).decode()}
        for key, value in record.headers
    ]
    return json.dumps(told, separators=(",", ":")) if told else None
