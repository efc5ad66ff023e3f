# ruff: noqa: S101  -- these are tests; they assert
"""The contract of every source, as test classes to inherit from.

    class TestMySource(SourceContract, HashesContract):
        @pytest.fixture
        def world(self) -> SourceWorld: ...

`SourceContract` is what every source must give; the other classes are what only some can do, for
those that can. Each test has topics of its own, so that one world may serve all of them.
"""

import itertools
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, Protocol

import pyarrow as pa
import pytest

from penstock.api.source import (
    ANY_SIZE,
    MOST_KEPT,
    RECORD_COLUMNS,
    REPORT,
    TOPIC_COLUMN,
    CancelsReads,
    ExportsLag,
    HashesLastRecords,
    KeepsValue,
    ReadFailed,
    ReadRequest,
    ReadsGroupOffsets,
    ResolvesStarts,
    Source,
    TellsRetention,
)
from penstock.model.ranges import TOO_LARGE, OffsetRange
from penstock.model.window import PartitionOffsets, TopicOffsets
from penstock.testing.list_source import ListedRecord

HEADERS = (("trace", b"\x00\xff"), ("trace", b""), ("none", None))
HEADERS_TEXT = '[{"key":"trace","value":"AP8="},{"key":"trace","value":""},{"key":"none"}]'
LARGE = b"x" * 500_000
PATIENCE_S = 60.0  # of a read that nobody ends
AGAIN_S = 0.1  # between two calls that end a read
TIME_MS = 1_700_000_000_000

_numbers = itertools.count(1)


class SourceWorld(Protocol):
    """What the source reads from, and hands that change it."""

    def open(self, *topics: str) -> Source:
        """A new source, of a feed that wants these topics."""
        ...

    def create_topic(self, topic: str, partitions: int = 1) -> object:
        """Create a topic that is empty."""
        ...

    def delete_topic(self, topic: str) -> None:
        """Delete a topic with all its records."""
        ...

    def append(self, topic: str, partition: int, *records: ListedRecord) -> None:
        """Write records to the end of a partition."""
        ...

    def expire(self, topic: str, partition: int, before: int) -> None:
        """Let the log of a partition start at `before`."""
        ...


def echo(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task that reports what it was given, each batch by itself."""
    for batch in batches:
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, batch.schema) as told:
            told.write_batch(batch)
        report = pa.array([stream.getvalue().to_pybytes()], pa.binary())
        yield pa.RecordBatch.from_arrays([report], names=[REPORT])


def echo_once(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task that reports which partitions it was given records of, as one text."""
    met = sorted({number for batch in batches for number in batch["partition"].to_pylist()})
    text = ",".join(map(str, met)).encode()
    yield pa.RecordBatch.from_arrays([pa.array([text], pa.binary())], names=[REPORT])


def failing(batches: Iterable[pa.RecordBatch]) -> NoReturn:
    """A task that does not get to its end."""
    next(iter(batches))
    raise ValueError("this task fails on purpose")


def waiting(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task that takes very long, unless its read is ended."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        time.sleep(AGAIN_S)
    yield from echo_once(batches)


def read(source: Source, *ranges: OffsetRange, largest_bytes: int = 0) -> list[pa.RecordBatch]:
    """The batches that tasks are given for some ranges."""
    reports = source.read(ReadRequest("1-1", ranges, largest_bytes), echo)
    return [batch for each in reports for batch in pa.ipc.open_stream(each).read_all().to_batches()]


def rows(batches: Sequence[pa.RecordBatch]) -> list[dict[str, object]]:
    """The records of batches, in the order in which they came."""
    return [row for batch in batches for row in batch.to_pylist()]


def columns(batches: Sequence[pa.RecordBatch]) -> list[str]:
    """Names and types of the columns, which are the same in all batches."""
    (found,) = {tuple(columns_of(batch.schema)) for batch in batches}
    return list(found)


def columns_of(fields: Iterable[pa.Field]) -> list[str]:
    """Names and types of columns."""
    return [f"{each.name} {each.type}" for each in fields]


def a_topic(source: Source, name: str) -> TopicOffsets:
    """One topic, as the source sees it now."""
    (found,) = [topic for topic in source.look().topics if topic.topic == name]
    return found


def covering(source: Source, topic: str, start: int, end: int, partition: int = 0) -> OffsetRange:
    """A range of a topic as it is now."""
    return OffsetRange(topic, a_topic(source, topic).topic_id, partition, start, end)


def some_records(count: int, first: int = 0) -> list[ListedRecord]:
    """Small records of which no two are alike."""
    return [
        ListedRecord(b'{"n": %d}' % number, b"k%d" % number, (), TIME_MS + 1000 * number)
        for number in range(first, first + count)
    ]


class WithTopics:
    """The fixtures of all contracts."""

    @pytest.fixture
    def topic(self, world: SourceWorld) -> str:
        """An empty topic of two partitions."""
        name = f"contract-{next(_numbers)}"
        world.create_topic(name, partitions=2)
        return name

    @pytest.fixture
    def source(self, world: SourceWorld, topic: str) -> Iterator[Source]:
        """A source of that topic."""
        source = world.open(topic)
        yield source
        source.close()


class SourceContract(WithTopics):
    """All that a source must give, tried on a real one."""

    def test_a_look_tells_what_the_source_is_and_what_there_is(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        world.create_topic(f"{topic}-other")
        world.append(topic, 0, *some_records(5))
        seen, again = source.look(), world.open(topic).look()
        assert seen == again
        assert seen.cluster_id
        assert source.kind
        assert [each.topic for each in seen.topics] == [topic]
        assert seen.topics[0].topic_id
        assert seen.topics[0].partitions == {0: PartitionOffsets(0, 5), 1: PartitionOffsets(0, 0)}
        assert seen.unreadable == {}

    def test_a_look_sees_what_came_and_what_went(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        source.look()
        world.append(topic, 0, *some_records(5))
        world.expire(topic, 0, before=2)
        assert a_topic(source, topic).partitions[0] == PartitionOffsets(2, 5)

    def test_a_topic_made_again_has_another_id_and_one_that_is_gone_is_absent(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        before = source.look()
        world.delete_topic(topic)
        assert source.look().topics == ()
        world.create_topic(topic)
        after = source.look()
        assert after.cluster_id == before.cluster_id
        assert after.topics[0].topic_id != before.topics[0].topic_id

    def test_a_task_gets_exactly_the_records_of_its_range_in_order(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        world.append(topic, 0, *some_records(9))
        batches = read(source, covering(source, topic, 2, 6))
        assert columns(batches) == columns_of(RECORD_COLUMNS)
        found = rows(batches)
        assert [row["offset"] for row in found] == [2, 3, 4, 5]
        assert [row["value"] for row in found] == [b'{"n": %d}' % n for n in (2, 3, 4, 5)]
        assert [row["key"] for row in found] == [b"k%d" % n for n in (2, 3, 4, 5)]
        assert [row["timestamp"] for row in found] == [TIME_MS + 1000 * n for n in (2, 3, 4, 5)]
        assert {row["partition"] for row in found} == {0}

    def test_nothing_and_empty_are_told_apart_in_values_keys_and_headers(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        shapes = [ListedRecord(None, b"k"), ListedRecord(b"", b""), ListedRecord(b"v", None)]
        shapes.append(ListedRecord(b"v", None, HEADERS))
        world.append(topic, 0, *shapes)
        found = rows(read(source, covering(source, topic, 0, 4)))
        assert [row["value"] for row in found] == [None, b"", b"v", b"v"]
        assert [row["key"] for row in found] == [b"k", b"", None, None]
        assert [row["headers"] for row in found] == [None, None, None, HEADERS_TEXT]

    def test_a_second_read_gives_the_same_records_with_the_same_hashes(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        world.append(topic, 0, *some_records(5), *some_records(5))
        covered = covering(source, topic, 0, 10)
        first = rows(read(source, covered))
        assert rows(read(world.open(topic), covered)) == first
        assert len({row["hash"] for row in first}) == 10  # the offset is part of it

    def test_records_of_several_topics_say_which_they_are_of(
        self, world: SourceWorld, topic: str
    ) -> None:
        other = f"{topic}-other"
        world.create_topic(other)
        world.append(topic, 1, *some_records(2))
        world.append(other, 0, *some_records(1))
        source = world.open(topic, other)
        ranges = covering(source, topic, 0, 2, partition=1), covering(source, other, 0, 1)
        batches = read(source, *ranges)
        assert columns(batches) == columns_of([TOPIC_COLUMN, *RECORD_COLUMNS])
        found = sorted((row["topic"], row["partition"], row["offset"]) for row in rows(batches))
        assert found == sorted([(topic, 1, 0), (topic, 1, 1), (other, 0, 0)])
        source.close()

    def test_every_range_is_read_by_one_task_and_few_tasks_take_several(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        for partition in (0, 1):
            world.append(topic, partition, *some_records(3))
        ranges = tuple(covering(source, topic, 0, 3, partition) for partition in (0, 1))
        each = source.read(ReadRequest("1-1", ranges), echo_once)
        assert sorted(b",".join(filter(None, each)).split(b",")) == [b"0", b"1"]
        (one,) = source.read(ReadRequest("1-1", ranges, tasks=(ranges,)), echo_once)
        assert one == b"0,1"

    def test_tasks_get_the_ranges_that_are_asked_for_and_no_others(
        self, world: SourceWorld, topic: str
    ) -> None:
        """Ranges that come together share files, so that one in another task fails the window."""
        wide = f"{topic}-wide"
        world.create_topic(wide, partitions=5)
        for partition in range(5):
            world.append(wide, partition, *some_records(3))
        source = world.open(wide)
        ranges = tuple(covering(source, wide, 0, 3, partition) for partition in range(5))
        tasks = (ranges[0:2], ranges[2:3], ranges[3:5])
        found = source.read(ReadRequest("1-1", ranges, tasks=tasks), echo_once)
        assert sorted(filter(None, found)) == [b"0,1", b"2", b"3,4"]
        source.close()

    def test_a_record_that_is_gone_fails_the_read_and_is_not_left_out(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        world.append(topic, 0, *some_records(9))
        covered = covering(source, topic, 0, 9)
        world.expire(topic, 0, before=4)
        with pytest.raises(ReadFailed):
            read(source, covered)
        assert len(rows(read(source, covered.with_bounds(4, 9)))) == 5

    def test_a_task_that_fails_fails_the_read(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        world.append(topic, 0, *some_records(3))
        covered = covering(source, topic, 0, 3)
        with pytest.raises(ReadFailed, match="1-7"):
            source.read(ReadRequest("1-7", (covered,)), failing)
        assert len(rows(read(source, covered))) == 3

    def test_a_large_record_comes_whole_or_says_that_it_did_not(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        world.append(topic, 0, *some_records(1), ListedRecord(LARGE))
        covered = covering(source, topic, 0, 2)
        marked = rows(read(source, covered))[1]
        assert (marked["partition"], marked["value"]) in [(0, LARGE), (TOO_LARGE, None)]
        whole = rows(read(source, covered, largest_bytes=ANY_SIZE))[1]
        assert (whole["partition"], whole["value"]) == (0, LARGE)
        assert whole["hash"] == marked["hash"]

    def test_closing_twice_is_no_harm(self, world: SourceWorld, topic: str) -> None:
        source = world.open(topic)
        source.close()  # before it was used
        source.look()
        source.close()
        source.close()


class HashesContract(WithTopics):
    """For a source that can tell whether a log was cut and filled again."""

    def test_a_record_has_the_hash_that_it_had_when_it_was_read(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        assert isinstance(source, HashesLastRecords)
        for partition in (0, 1):
            world.append(topic, partition, *some_records(4, first=10 * partition))
        world.expire(topic, 1, before=3)
        first, last = (covering(source, topic, 3, 4, partition) for partition in (0, 1))
        found = source.hashes((first, last))
        assert found.keys() == {first, last}
        for one in (first, last):
            (row,) = rows(read(source, one))
            assert isinstance(row["hash"], int)
            assert found[one] == row["hash"] % 2**64


class StartsContract(WithTopics):
    """For a source that can tell which record is the first of a time."""

    @pytest.mark.parametrize(
        ("after_ms", "offset"), [(-1, 0), (0, 0), (1, 1), (1000, 1), (1001, 2), (9000, 3)]
    )
    def test_a_time_means_the_first_record_at_or_after_it(
        self, world: SourceWorld, source: Source, topic: str, after_ms: int, offset: int
    ) -> None:
        assert isinstance(source, ResolvesStarts)
        world.append(topic, 0, *some_records(3))
        assert source.offset_at(topic, 0, TIME_MS + after_ms) == offset


class GroupsContract(WithTopics):
    """For a source that knows how far its readers are, and has a place to write it down."""

    def test_the_offsets_of_a_group_are_those_that_it_wrote_last(
        self, source: Source, topic: str
    ) -> None:
        assert isinstance(source, ExportsLag)
        assert isinstance(source, ReadsGroupOffsets)
        source.export_offsets(f"group-{topic}", {(topic, 0): 3})
        source.export_offsets(f"group-{topic}", {(topic, 0): 7})
        assert dict(source.group_offsets(f"group-{topic}")) == {(topic, 0): 7}

    def test_a_group_that_nobody_knows_has_no_offsets(self, source: Source, topic: str) -> None:
        assert isinstance(source, ReadsGroupOffsets)
        assert dict(source.group_offsets(f"nobody-{topic}")) == {}


class KeepsContract(WithTopics):
    """For a source that keeps a text with every window."""

    def test_what_it_keeps_is_a_short_text_that_it_takes_back(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        assert isinstance(source, KeepsValue)
        world.append(topic, 0, *some_records(3))
        for kept in ("", source.to_keep((covering(source, topic, 0, 3),))):
            source.recall(kept)
            again = source.to_keep((covering(source, topic, 0, 3),))
            assert type(again) is str
            assert len(again) <= MOST_KEPT


class CancelsContract(WithTopics):
    """For a source whose reads can be ended early."""

    def test_a_read_that_is_ended_raises_soon_and_the_source_can_read_again(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        world.append(topic, 0, *some_records(9))
        covered = covering(source, topic, 0, 9)
        began = time.monotonic()
        with self.ended(source, "1-7"), pytest.raises(ReadFailed, match="1-7"):
            source.read(ReadRequest("1-7", (covered,)), waiting)
        assert time.monotonic() - began < PATIENCE_S
        assert len(rows(read(source, covered))) == 9

    def test_ending_ends_no_read_of_another_name_and_none_that_comes_later(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        world.append(topic, 0, *some_records(9))
        covered = covering(source, topic, 0, 9)
        assert isinstance(source, CancelsReads)
        source.cancel_read("1-1")  # the name of the read below
        with self.ended(source, "1-7"):
            assert len(rows(read(source, covered))) == 9

    @contextmanager
    def ended(self, source: Source, name: str) -> Iterator[None]:
        """Meanwhile end the reads of this name, again and again, from another thread."""
        assert isinstance(source, CancelsReads)
        over = threading.Event()

        def end() -> None:
            while not over.wait(AGAIN_S):
                source.cancel_read(name)

        thread = threading.Thread(target=end, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


class RetentionContract(WithTopics):
    """For a source that knows how long its topics keep records."""

    def test_only_topics_with_a_known_retention_are_named(self, source: Source, topic: str) -> None:
        assert isinstance(source, TellsRetention)
        assert dict(source.retention_s([])) == {}
        found = source.retention_s([topic, f"nobody-{topic}"])
        assert set(found) <= {topic}
        assert all(seconds >= 0 for seconds in found.values())
        assert source.retention_s([topic]) == found


class LagContract(WithTopics):
    """For a source that has a place for the offsets of its readers."""

    def exported(self, world: SourceWorld, reader: str, topic: str) -> dict[int, int]:
        """What stands in that place, by partition."""
        raise NotImplementedError

    def test_what_is_exported_last_stands(
        self, world: SourceWorld, source: Source, topic: str
    ) -> None:
        assert isinstance(source, ExportsLag)
        world.append(topic, 0, *some_records(5))
        for offset in (3, 3, 5):
            source.export_offsets(f"reader-{topic}", {(topic, 0): offset, (topic, 1): 0})
        assert self.exported(world, f"reader-{topic}", topic) == {0: 5, 1: 0}
