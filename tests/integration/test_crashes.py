"""kill -9 of the whole process group at each point, a restart, and an independent consumer."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import an_event, check_exact, deep_fold, run_once
from tests.integration.processes import Job, a_feed, killed_at

pytestmark = pytest.mark.xdist_group("processes")

# One of each kind; `make certify` tries all points, each several times, and twice in a row.
POINTS = ("C2", "C5b", "C6", "C7", "C8", "C9", "C10", "C11", "C12", "C13", "C14", "C15", "C20")


@pytest.fixture(scope="module")
def topic(client: KafkaClient) -> str:
    """The same records for every point: two windows, two partitions, some broken."""
    client.create_topic("crashes", partitions=2)
    for partition in (0, 1):
        client.produce("crashes", partition, [an_event(n) for n in range(300)])
    return "crashes"


@pytest.mark.parametrize("point", POINTS)
def test_nothing_is_lost_or_doubled_when_killed_at(
    point: str,
    topic: str,
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
) -> None:
    job = Job(tmp_path, kafka.bootstrap, topic)
    killed_at(job, point)
    # Another window policy after the restart: what was decided must not depend on it.
    code, told = run_once(spark, kafka, job.lake, a_feed(topic, max_records=250))
    assert code == 0, told
    assert deep_fold(job.lake).state.undone == {}
    check_exact(job.lake, client, topic)
