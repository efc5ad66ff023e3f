"""Kafka as a source: looks through the admin client, reads through one Spark job. Driver only."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.api.source import (
    AT_WATERMARKS,
    LEAST_READ,
    REPORT,
    ReadFailed,
    ReadRequest,
    ReadTooMuch,
    SourceTools,
    SourceUnavailable,
    Task,
)
from penstock.errors import PenstockError
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.window import Available, Place
from penstock.ports.source.errors import KafkaUnavailable
from penstock.ports.source.kafka.admin import KafkaAdmin
from penstock.ports.source.kafka.far_times import far_time_in, read_by_consumer
from penstock.ports.source.kafka.hidden_values import hidden, secrets_in
from penstock.ports.source.kafka.reader import read_ranges
from penstock.ports.source.kafka.refusals import refusal_of
from penstock.ports.source.kafka.told_waiting import ToldWaiting
from penstock.runtime.carried_error import as_report, opened_report
from penstock.spark.batch_size import batches_for
from penstock.spark.job_errors import cause_of_job, java_causes
from penstock.spark.job_group import JobGroups
from penstock.spark.worker_disk import spool_on_sparks_disk


class KafkaSource:
    """The topics of one feed.

    Also exports lag, resolves times, reads offsets of groups, hashes last records, tells how long
    topics keep records and whether they are hidden from us, and cancels reads. Secrets are read
    again before every look, and files of certificates whenever a look has failed: both may be
    replaced while the feed runs.
    """

    kind = "kafka"

    def __init__(self, feed: FeedSpec, tools: SourceTools) -> None:
        self._feed = feed
        self._session = tools.session
        self._options = tools.options
        self._options_now = tools.options_now
        self._tell = tools.tell
        self._is_secret_missed = False
        self._opened: KafkaAdmin | None = None
        self._jobs = JobGroups(feed.name)
        self._waiting = ToldWaiting(tools.options, tools.tell)
        self._waiting.begin("Spark starts first, and ")

    def look(self) -> Available:
        """What the feed's topics hold now, read-committed."""
        self._renew_secrets()
        try:
            return self._admin().available(self._feed)
        except KafkaUnavailable:
            self.close()  # a new client reads the files of certificates again
            raise

    def check_absent(self, topics: Sequence[str]) -> None:
        """Return only if none of these topics is there."""
        self._admin().rights.check_absent(topics)

    def read(self, request: ReadRequest, task: Task) -> list[bytes]:
        """One job, one action. Records come in batches that are counted where none is large.

        Where one might be, batches are weighed, in a session of its own.
        """
        spark, most_bytes = batches_for(self._session(), request.largest_bytes)
        ranges, tasks = request.ranges, request.tasks
        types = "timestamp_type" in self._feed.include
        frame = read_ranges(spark, self._options, ranges, most_bytes, tasks, with_types=types)
        run, columns = carrying(task), f"{REPORT} binary"
        try:
            rows = self._collect(request.name, frame.mapInArrow(run, columns))
        except ReadTooMuch:
            if sum(map(len, ranges)) > LEAST_READ:
                raise
            few = read_by_consumer(spark, self._options, ranges, tasks, with_types=types)
            rows = self._collect(request.name, few.mapInArrow(run, columns))
        return [opened_report(bytes(row[REPORT])) for row in rows]

    def tasks_at_once(self) -> int:
        """As many as Spark has cores."""
        return max(int(self._session().sparkContext.defaultParallelism), 1)

    def hashes(self, ranges: tuple[OffsetRange, ...]) -> dict[OffsetRange, int]:
        """The hash of the record at each of these single offsets, where Kafka still has one."""
        spark, options = self._session(), self._options
        frame = read_ranges(spark, options, ranges)
        try:
            rows = self._collect(AT_WATERMARKS, frame.drop("key", "value").coalesce(1))
        except ReadTooMuch:
            few = read_by_consumer(spark, options, ranges)
            rows = self._collect(AT_WATERMARKS, few.drop("key", "value").coalesce(1))
        only = ranges[0].topic
        found = {(getattr(row, "topic", only), row.partition): row.hash % 2**64 for row in rows}
        return {
            one: found[one.topic, one.partition]
            for one in ranges
            if (one.topic, one.partition) in found
        }

    def offset_at(self, topic: str, partition: int, time_ms: int) -> int:
        """The first offset at or after a time, or the log's end."""
        return self._admin().offset_at(topic, partition, time_ms)

    def group_offsets(self, group: str) -> dict[Place, int]:
        """The committed offsets of a consumer group."""
        return self._admin().group_offsets(group)

    def retention_s(self, topics: Sequence[str]) -> dict[str, float]:
        """How long topics keep records, by their own settings."""
        return self._admin().retention_s(topics)

    def export_offsets(self, reader: str, offsets: Mapping[Place, int]) -> None:
        """Write the offsets into a consumer group of that name."""
        self._admin().commit_group(reader, offsets)

    def cancel_read(self, name: str) -> None:
        """Cancel the job of this name by its group; jobs of others go on."""
        self._jobs.cancel(name)

    def close(self) -> None:
        """Let go of the admin client."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _collect(self, name: str, frame: DataFrame) -> list[Any]:
        """Run the one job. A JVM that is gone fails it like a task that is gone."""
        try:
            with self._jobs.job(frame.sparkSession.sparkContext, name):
                return frame.collect()
        except (Py4JError, PySparkException, ConnectionError) as error:
            raise self._failed(name, error) from error

    def _failed(self, name: str, error: Exception) -> ReadFailed | SourceUnavailable:
        """Why the job failed: Kafka has refused the tasks, or anything else. Without secrets."""
        secrets = secrets_in(self._options)
        causes = [hidden(cause, secrets) for cause in java_causes(error)]
        far = far_time_in(causes, name)
        if far is not None:
            return far
        refused = refusal_of(causes, self._options)
        if refused is None:
            return ReadFailed(name, hidden(cause_of_job(error), secrets))
        refused.while_reading = True
        return refused

    def _renew_secrets(self) -> None:
        """Use secrets as they are now. While one is missing, those of before are used."""
        if self._options_now is None:
            return
        try:
            options = self._options_now()
        except PenstockError as error:
            if not self._is_secret_missed:
                why = " ".join(str(error).split())
                self._tell(f"a secret cannot be read, and the one of before is used: {why}")
            self._is_secret_missed = True
            return
        self._is_secret_missed = False
        if options != self._options:
            self.close()
            self._options = options

    def _admin(self) -> KafkaAdmin:
        """Kafka's admin client; the first to ask waits until the JVM is up."""
        if self._opened is None:
            self._opened = KafkaAdmin(self._session()._jvm, self._options, self._waiting)
        return self._opened


def carrying(task: Task) -> Task:
    """The task, with an error of ours as its report: Spark would only repeat it, and log traces."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spool_on_sparks_disk()
        records = iter(batches)
        try:
            yield from task(records)
        except PenstockError as error:
            deque(records, maxlen=0)  # Spark wants all of it taken, or calls the worker dead
            yield pa.RecordBatch.from_pydict({REPORT: pa.array([as_report(error)], pa.binary())})

    return run
