"""Small files of a real feed are compacted by Spark, also by a process that dies in between.

Readers that share nothing with Penstock find every record once: DuckDB and pyarrow.
"""

import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from penstock.care.compact_feed import CompactedDirectory, CompactionTools, compact_directories
from penstock.care.compaction_plan import CompactionPolicy
from penstock.care.feed_plan import planned
from penstock.model.entries import Compact
from penstock.model.names import CompactedName, parse_name
from penstock.runtime.parallel import ParallelMap
from penstock.spark.parallel_map import SparkParallelMap
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import (
    AROUND,
    an_event,
    audit_deep,
    bodies,
    check_exact,
    data_files,
    deep_fold,
    journal_of,
    run_once,
)
from tests.integration.processes import Instance, Job, a_feed, child

pytestmark = pytest.mark.xdist_group("processes")

EACH = 300  # records of each partition
SETTINGS = "    compact: {min_files: 2}\n"


@pytest.fixture(scope="module")
def topic(client: KafkaClient) -> str:
    client.create_topic("compacted", partitions=2)
    for partition in (0, 1):
        client.produce("compacted", partition, [an_event(n) for n in range(EACH)])
    return "compacted"


@pytest.fixture(scope="module")
def small_files(
    topic: str, spark: SparkSession, kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A lake of many small files: six windows over three types and days."""
    lake = tmp_path_factory.mktemp("small") / "lake"
    assert run_once(spark, kafka, lake, a_feed(topic, max_records=100))[0] == 0
    assert len(data_files(lake)) > 40
    return lake


def compact(spark: SparkSession, lake: Path, topic: str) -> list[CompactedDirectory]:
    """`penstock compact events`, in this process."""

    @contextmanager
    def opened() -> Iterator[ParallelMap]:
        yield SparkParallelMap(lambda: spark, lambda _what, _done, _of: None)

    journal, policy = journal_of(lake), CompactionPolicy(min_files=2)
    fold = journal.open(deep=True)
    tools = CompactionTools(a_feed(topic), AROUND, "ann", policy, opened)
    plans = list(planned(journal, fold, policy))
    return list(compact_directories(journal, fold, plans, tools))


def check_by_duckdb(lake: Path) -> None:
    """Every whole record once; each directory has one file, in order."""
    query = f"select _partition, _offset from read_parquet('{lake}/events/**/*.parquet')"
    whole = [n for n in range(EACH) if n % 50 != 13]
    found = duckdb.sql(query)
    assert found is not None
    assert sorted(found.fetchall()) == [(p, n) for p in (0, 1) for n in whole]


def test_a_real_feed_is_compacted_by_spark(
    topic: str,
    small_files: Path,
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(small_files, lake)
    directories = {path.parent for path in data_files(lake)}
    done = compact(spark, lake, topic)
    assert all(each.refused is None for each in done)
    assert len(done) == len(directories)
    files = data_files(lake)
    assert {path.parent for path in files} == directories
    assert len(files) == len(directories)
    assert all(isinstance(parse_name(path.name), CompactedName) for path in files)
    check_exact(lake, client, topic)
    check_by_duckdb(lake)
    receipt = audit_deep(spark, kafka, lake)
    assert receipt.differences == ()
    assert run_once(spark, kafka, lake, a_feed(topic))[0] == 0, "and the feed goes on"
    assert compact(spark, lake, topic) == []


def test_nothing_is_lost_or_doubled_when_a_compaction_is_killed(
    topic: str,
    small_files: Path,
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
) -> None:
    """The new file is shown, and none is removed; `make certify ONLY=C` dies at all points."""
    job = Job(tmp_path, kafka.bootstrap, topic, feed=SETTINGS)
    shutil.copytree(small_files, job.lake)
    with child(job, "C13b-compact", words=("compact", "events")) as dying:
        assert dying.end() == -signal.SIGKILL, dying.said()
    assert sum(isinstance(body, Compact) for body in bodies(job.lake)) == 1
    code, told = run_once(spark, kafka, job.lake, a_feed(topic))
    assert code == 0, told
    assert deep_fold(job.lake).state.undone == {}
    assert deep_fold(job.lake).state.owed == {}
    check_exact(job.lake, client, topic)
    compact(spark, job.lake, topic)
    check_exact(job.lake, client, topic)
    check_by_duckdb(job.lake)
    assert audit_deep(spark, kafka, job.lake).differences == ()


def test_a_run_compacts_beside_its_windows(
    topic: str, small_files: Path, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """With a Spark of its own, which reads windows at the same time."""
    settings = "    compact: {when: 1h, min_files: 2}\n"
    job = Job(tmp_path, kafka.bootstrap, topic, feed=settings)
    shutil.copytree(small_files, job.lake)
    job.write()
    run = Instance(tmp_path, "run")
    try:
        run.wait_for("compacted")
    finally:
        run.signal(signal.SIGTERM)
        assert run.end() == 0, run.log.read_text()[-2000:]
    assert "upkeep_failed" not in run.events()
    files = data_files(job.lake)
    assert all(isinstance(parse_name(path.name), CompactedName) for path in files)
    check_exact(job.lake, client, topic)
