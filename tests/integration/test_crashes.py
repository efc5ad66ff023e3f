"""kill -9 of the whole process group at each point, a restart, and an independent consumer."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.crashing import POINTS, a_feed
from tests.integration.lakes import an_event, check_exact, deep_fold, run_once

pytestmark = pytest.mark.xdist_group("processes")

REPOSITORY = Path(__file__).parents[2]


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
    lake = tmp_path / "lake"
    command = [sys.executable, "-m", "tests.integration.crashing", str(lake)]
    ran = subprocess.run(
        [*command, kafka.bootstrap, topic, point],
        cwd=REPOSITORY,
        capture_output=True,
        timeout=120,
        start_new_session=True,
        check=False,
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr.decode()[-2000:]
    # Another window policy after the restart: what was decided must not depend on it.
    code, told = run_once(spark, kafka, lake, a_feed(topic, max_records=250))
    assert code == 0, told
    assert deep_fold(lake).state.undone == {}
    check_exact(lake, client, topic)
