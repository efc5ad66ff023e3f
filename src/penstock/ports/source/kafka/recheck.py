"""Reading once more what was delivered, for an audit: positions and content hashes only.

The tasks add up what they find per range of a window. A partition may be split between tasks,
because sums add up whoever made them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.evidence.position_columns import positions, runs_of, split_by_place, sum_mod64
from penstock.model.ranges import OffsetRange, OffsetSet, TopicPartition
from penstock.model.spec import FeedSpec
from penstock.model.window import Available
from penstock.ports.source.errors import KafkaUnavailable
from penstock.ports.source.found import RangeFound
from penstock.ports.source.kafka.admin import KafkaAdmin, within
from penstock.ports.source.kafka.reader import ranges_reader
from penstock.runtime.worker import settle_in
from penstock.spark.errors import first_line

T = TypeVar("T")

LIMIT_MS = 15_000  # how long a person waits for an answer about offsets
TASK_RECORDS = 500_000
QUIET_RECORDS = 20_000  # below this one task is quicker than starting several
FOUND_SCHEMA = "found binary"
_ARROW = pa.schema([("found", pa.binary())])
_found_list = msgspec.msgpack.Decoder(list[RangeFound])


class Watch(Protocol):
    """Runs something that starts Spark jobs, and tells how far it is meanwhile."""

    def __call__(self, what: str, call: Callable[[], T]) -> T:
        """What the call returns, or raises."""
        ...


class KafkaRecheck:
    """Kafka as an audit reads it. Driver only."""

    def __init__(
        self, session: Callable[[], SparkSession], options: Mapping[str, str], watch: Watch
    ) -> None:
        self._session = session
        self._options = options
        self._watch = watch
        self._admin: KafkaAdmin | None = None

    def look(self, topics: Iterable[str]) -> Available:
        """What there is of these topics now."""
        if self._admin is None:
            self._admin = KafkaAdmin(self._session()._jvm, within(self._options, LIMIT_MS))
        # A feed without a pattern wants exactly the topics it names.
        return self._admin.available(FeedSpec(name="audit", topics=tuple(topics)))

    def read(
        self, ranges: tuple[OffsetRange, ...], *, with_offsets: bool
    ) -> dict[OffsetRange, RangeFound]:
        """Read from the first of these ranges to the last, per partition, and sort what comes.

        What expires while we read is left out silently; whoever compares asks where logs start.
        """
        frame = self._frame(tuple(spans(ranges)))
        counting = frame.mapInArrow(tallying(ranges, with_offsets=with_offsets), FOUND_SCHEMA)
        try:
            rows = self._watch("records of Kafka", counting.collect)
        except (Py4JError, PySparkException, ConnectionError) as error:
            servers = self._options.get("bootstrap.servers", "")
            raise KafkaUnavailable(servers, first_line(error)[:300].rstrip(".")) from error
        found: dict[OffsetRange, RangeFound] = {}
        for row in rows:
            for each in _found_list.decode(bytes(row.found)):
                known = found.get(each.range)
                found[each.range] = each if known is None else known + each
        return found

    def close(self) -> None:
        """Let go of the connections."""
        if self._admin is not None:
            self._admin.close()

    def _frame(self, wanted: tuple[OffsetRange, ...]) -> DataFrame:
        records = sum(map(len, wanted))
        tasks = records // TASK_RECORDS + 1
        frame = (
            ranges_reader(self._session(), self._options, wanted)
            .option("failOnDataLoss", "false")
            .option("minPartitions", str(max(tasks, len(wanted))))
            .load()
            .selectExpr("topic", "partition", "offset", "xxhash64(offset, key, value) as hash")
        )
        return frame.coalesce(1) if records <= QUIET_RECORDS else frame


def spans(ranges: Iterable[OffsetRange]) -> Iterator[OffsetRange]:
    """Per partition, from the first offset that is wanted to the last."""
    by_place: dict[TopicPartition, list[OffsetRange]] = {}
    for part in ranges:
        by_place.setdefault(part.place, []).append(part)
    for parts in by_place.values():
        yield parts[0].with_bounds(min(p.start for p in parts), max(p.end for p in parts))


def tallying(
    ranges: tuple[OffsetRange, ...], *, with_offsets: bool
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow`: records in, what there is of each range out.

    Runs on executors, any number of times. Records between the ranges are passed over.
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        settle_in()
        found = tally(ranges, batches, with_offsets=with_offsets)
        encoded = pa.array([msgspec.msgpack.encode(found)], pa.binary())
        yield pa.RecordBatch.from_arrays([encoded], schema=_ARROW)

    return run


def tally(
    ranges: tuple[OffsetRange, ...], batches: Iterable[Any], *, with_offsets: bool
) -> list[RangeFound]:
    """What there is of each range in these batches; ranges without records are absent."""
    by_place: dict[tuple[str, int], list[OffsetRange]] = {}
    for part in sorted(ranges):
        by_place.setdefault((part.topic, part.partition), []).append(part)
    starts = {place: np.array([p.start for p in parts]) for place, parts in by_place.items()}
    found: dict[OffsetRange, RangeFound] = {}
    for batch in batches:
        for topic, partition, chosen in split_by_place(batch["topic"], batch["partition"]):
            place = (topic, partition)
            offsets = batch["offset"].to_numpy()[chosen]
            hashes = batch["hash"].to_numpy()[chosen]
            parts = by_place.get(place, [])
            for number, first, last in _cuts(starts[place], offsets) if parts else ():
                mine = parts[number]
                end = int(np.searchsorted(offsets[first:last], mine.end)) + first
                seen = _found(mine, offsets[first:end], hashes[first:end], with_offsets)
                known = found.get(mine)
                found[mine] = seen if known is None else known + seen
    return list(found.values())


def _cuts(starts: Any, offsets: Any) -> Iterator[tuple[int, int, int]]:
    """Ascending offsets cut at the starts of ranges: which range, from where, to where."""
    numbers = np.searchsorted(starts, offsets, side="right") - 1
    bounds = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(offsets)]
    for first, last in pairwise(bounds):
        if last > first and numbers[first] >= 0:
            yield int(numbers[first]), first, last


def _found(part: OffsetRange, offsets: Any, hashes: Any, with_offsets: bool) -> RangeFound:
    runs = runs_of(offsets) if with_offsets else OffsetSet()
    read = positions(part.topic, part.partition, offsets)
    return RangeFound(part, read, sum_mod64(hashes), runs)
