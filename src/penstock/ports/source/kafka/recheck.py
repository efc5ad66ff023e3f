"""Reading Kafka once more, for an audit: positions and content hashes only.

A partition may be split between tasks, because sums add up whoever made them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.api.source import LEAST_READ, REPORT, ReadTooMuch, Task
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.window import Available
from penstock.ports.source.errors import KafkaUnavailable
from penstock.ports.source.found import RangeFound
from penstock.ports.source.kafka.admin import KafkaAdmin, within
from penstock.ports.source.kafka.far_times import far_time_in, read_by_consumer
from penstock.ports.source.kafka.hidden_values import hidden, secrets_in
from penstock.ports.source.kafka.reader import ranges_reader
from penstock.ports.source.kafka.refusals import refusal_of
from penstock.ports.source.recheck_tally import added_up, spans, tallying
from penstock.spark.job_errors import cause_of_job, java_causes

T = TypeVar("T")

LIMIT_MS = 15_000  # how long a person waits for an answer about offsets
TASK_RECORDS = 500_000
AUDIT = "of an audit"  # in place of a window
QUIET_RECORDS = 20_000  # below this one task is quicker than starting several


class Watch(Protocol):
    """Runs something that starts Spark jobs, and tells how far it is meanwhile."""

    def __call__(self, what: str, call: Callable[[], T]) -> T:
        """What the call returns, or raises."""
        ...


class KafkaRecheck:
    """Kafka as an audit reads it. Driver only."""

    name = "Kafka"

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
        task = tallying(ranges, with_offsets=with_offsets)
        return added_up(self._reports(tuple(spans(ranges)), task))

    def _reports(self, wanted: tuple[OffsetRange, ...], task: Task) -> list[bytes]:
        """What the tasks say. Around a timestamp that Spark cannot hold, by halves."""
        try:
            return self._run(self._frame(wanted), task)
        except ReadTooMuch:
            if sum(map(len, wanted)) <= LEAST_READ:
                few = read_by_consumer(self._session(), self._options, wanted)
                return self._run(few.select("topic", "partition", "offset", "hash"), task)
        return [report for half in _halves(wanted) for report in self._reports(half, task)]

    def _run(self, frame: DataFrame, task: Task) -> list[bytes]:
        counting = frame.mapInArrow(task, f"{REPORT} binary")
        try:
            rows = self._watch("records of Kafka", counting.collect)
        except (Py4JError, PySparkException, ConnectionError) as error:
            raise self._failed(error) from error
        return [bytes(row[REPORT]) for row in rows]

    def _failed(self, error: Exception) -> KafkaUnavailable | ReadTooMuch:
        """Why the job failed, without secrets."""
        secrets = secrets_in(self._options)
        causes = [hidden(each, secrets) for each in java_causes(error)]
        refused = far_time_in(causes, AUDIT) or refusal_of(causes, self._options)
        why = hidden(cause_of_job(error), secrets)
        return refused or KafkaUnavailable(self._options.get("bootstrap.servers", ""), why)

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


def _halves(wanted: tuple[OffsetRange, ...]) -> list[tuple[OffsetRange, ...]]:
    """The first half of the records of some ranges, and the second."""
    left = sum(map(len, wanted)) // 2
    first, second = [], []
    for each in wanted:
        middle = each.start + min(left, len(each))
        left -= middle - each.start
        first.append(each.with_bounds(each.start, middle))
        second.append(each.with_bounds(middle, each.end))
    return [tuple(each for each in half if not each.is_empty) for half in (first, second)]
