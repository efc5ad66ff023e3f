"""kill -9 of the whole process group at each point, a restart, and an independent consumer."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, ReadRecord
from tests.certify.oracle import is_broken, tally_feed
from tests.integration.lakes import an_event, check_exact, data_files, deep_fold, run_once
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


def test_the_counting_oracle_notices_what_is_lost_doubled_changed_or_made_up(
    topic: str, spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """The oracle of `make certify` on a lake that was doctored in one way after the other."""
    lake = tmp_path / "lake"
    assert run_once(spark, kafka, lake, a_feed(topic))[0] == 0
    first = data_files(lake)[0]
    rows = pq.ParquetFile(first).metadata.num_rows

    def counted() -> tuple[int, int]:
        found = tally_feed(OneCluster(client), lake, "events", whole=True, broken=is_broken)
        assert bool(found.problems) == bool(found.lost or found.doubled)
        return found.lost, found.doubled

    assert counted() == (0, 0)
    kept = first.read_bytes()
    first.unlink()
    assert counted() == (rows, 0)
    first.write_bytes(kept)
    twin = first.with_name(f"twin-{first.name}")
    twin.write_bytes(kept)
    assert counted() == (0, rows)
    twin.unlink()
    table = pq.ParquetFile(first).read()
    places = pa.array([10**6] * rows, table.schema.field("_offset").type)
    pq.write_table(
        table.set_column(table.schema.get_field_index("_offset"), "_offset", places), first
    )
    assert counted() == (rows, rows)
    names = table.schema.get_field_index("n")
    pq.write_table(table.set_column(names, "n", pa.array([-1] * rows, pa.int64())), first)
    assert counted() == (rows, 0)


class OneCluster:
    """The parts that the oracle asks for: the client of the one broker."""

    def __init__(self, client: KafkaClient) -> None:
        self._client = client

    def client_of(self, _cluster_id: str) -> "OneCluster":
        return self

    def records_of(self, topic: str, _topic_id: str) -> list[ReadRecord]:
        return self._client.read_all(topic)
