"""Jobs of several feeds in one Spark: each has a group and a pool, and only late ones are ended.

Method: real Kafka and Spark; tasks of one feed hang, by a task of the test's own or by a route.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.api.source import REPORT, ReadFailed, ReadRequest, SourceTools
from penstock.datapath.driver import source_tasks
from penstock.datapath.stage.task import shredding
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec, RunLimits
from penstock.ports.source.kafka.kafka_source import KafkaSource
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.helpers.hanging_task import hang
from tests.integration.lakes import HASTY, an_event, check_exact, feed_tools, mixed_feed
from tests.integration.processes import wait_for

pytestmark = pytest.mark.xdist_group("kafka")

LIMIT_S = 90.0
LOCAL = ("spark.jobGroup.id", "spark.scheduler.pool", "spark.job.description")


def settings(spark: SparkSession) -> dict[str, Any]:
    """Whatever a feed might have changed on the shared session."""
    of_thread = {key: spark.sparkContext.getLocalProperty(key) for key in LOCAL}
    return {**spark.conf.getAll, **of_thread}


def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task that reports how many records it got, after a while."""
    records = sum(len(each) for each in batches)
    time.sleep(2.0)
    yield pa.RecordBatch.from_pydict({REPORT: pa.array([str(records).encode()], pa.binary())})


class Job:
    """A read on a thread of its own, with its outcome."""

    def __init__(self, source: KafkaSource, name: str, topic: str, records: int, task: Any) -> None:
        self.outcome: object = None
        topic_id = source.look().topics[0].topic_id
        ranges = (OffsetRange(topic, topic_id, 0, 0, records),)

        def run() -> None:
            try:
                self.outcome = source.read(ReadRequest(name, ranges, tasks=(ranges,)), task)
            except ReadFailed as error:
                self.outcome = error

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()


def test_only_the_job_that_is_named_is_cancelled_and_the_session_is_untouched(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient
) -> None:
    """Jobs of two feeds run at the same time, each in its group and its fair pool."""
    client.create_topic("pooled")
    client.produce("pooled", 0, [an_event(n) for n in range(20)])
    tools = SourceTools(lambda: spark, {"bootstrap.servers": kafka.bootstrap})
    sources = [
        KafkaSource(FeedSpec(name=name, topics=("pooled",)), tools) for name in ("one", "two")
    ]
    before = settings(spark)
    assert spark.sparkContext.getConf().get("spark.scheduler.mode") == "FAIR"
    late = Job(sources[0], "1-1", "pooled", 20, hang)
    wait_for(lambda: "one" in pools(spark), "the first job in its pool")
    quick = Job(sources[1], "1-1", "pooled", 20, count)
    wait_for(lambda: "two" in pools(spark), "the second one beside it")
    sources[0].cancel_read("another")
    sources[1].cancel_read("1-0")
    sources[0].cancel_read("1-1")
    late.thread.join(LIMIT_S)
    quick.thread.join(LIMIT_S)
    assert isinstance(late.outcome, ReadFailed)
    assert quick.outcome == [b"20"]
    assert settings(spark) == before
    sources[0].cancel_read("1-1")  # nothing runs under that name any more
    again = Job(sources[0], "1-1", "pooled", 20, count)
    again.thread.join(LIMIT_S)
    assert again.outcome == [b"20"]
    for source in sources:
        source.close()


def pools(spark: SparkSession) -> set[str]:
    """The pools of Spark's scheduler that had tasks so far."""
    found: Any = spark.sparkContext._jsc.sc().getAllPools()
    return {str(found.apply(number).name()) for number in range(found.size())}


def test_timeout_ends_a_window_that_hangs_in_spark_and_the_others_are_delivered(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goal: three tries, then the feed halts; nothing of it is visible, and the pool goes on."""
    for topic in ("hangs", "flows"):
        client.create_topic(topic)
        client.produce(topic, 0, [an_event(n) for n in range(30)])

    def hanging_for_one(plan: Any, store: Any) -> Any:
        return hang if plan.order.feed == "hangs" else shredding(plan, store)

    monkeypatch.setattr(source_tasks, "shredding", hanging_for_one)
    feeds = (mixed_feed("hangs", name="hangs", timeout_s=3.0), mixed_feed("flows", timeout_s=120.0))
    tools = feed_tools(spark, {"bootstrap.servers": kafka.bootstrap}, LocalStore(tmp_path), HASTY)
    said: list[str] = []
    before = settings(spark)
    runner = Runner(
        feeds,
        tools,
        lambda event: said.append(f"{event.feed} {event.name}"),
        lambda: False,
        RunSpec(once=True, limits=RunLimits(parallel=2)),
    )
    assert runner.run() == 5
    assert {name: error.code for name, error in runner.failures.items()} == {
        "hangs": "WINDOWS_TIMED_OUT"
    }
    assert said.count("hangs timed_out") == 2
    assert said[-2:] == ["hangs halted", " failed_feeds"]
    assert settings(spark) == before
    assert not list(tmp_path.glob("hangs/*/*/*.parquet"))
    check_exact(tmp_path, client, "flows")
    wait_for(lambda: not spark.sparkContext.statusTracker().getActiveJobsIds(), "the last job")
