"""A feed into a lake on GCS, from a real broker through Spark; pyarrow's own client reads it back.

Goal: nothing is lost or doubled on the double of GCS, whatever a run leaves behind. Method: one
warm run after the other on the same topic, each cut off from the store at another point by a proxy
that sees single requests, then one that is not.
"""

import secrets
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pyarrow.dataset as ds
import pyarrow.fs as fs
import pytest
from pyspark.sql import SparkSession

from penstock.model.spec import FeedSpec, WindowSpec
from penstock.ports.store.gcs.gcs_store import GcsStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from penstock.testing.kafka_client import KafkaClient
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import GCS_FORBIDDEN, DropReply, Rule
from tests.helpers.gcs_verbs import DELETE, INSERT, REWRITE
from tests.helpers.object_stores import BUCKET
from tests.integration.lakes import an_event, audit_journal, journal_in, mixed_feed, run_feeds

pytestmark = pytest.mark.xdist_group("kafka")

TOPIC = "gcs-lake"


@pytest.fixture
def proxy(gcs: EmbeddedGcs) -> Iterator[FaultProxy]:
    with FaultProxy(gcs.endpoint) as running:
        yield running


def feed() -> FeedSpec:
    return mixed_feed(TOPIC, window=WindowSpec(max_records=200))


@pytest.mark.timeout(900)
def test_a_lake_on_gcs_is_exact_after_runs_that_were_cut_off_at_three_points(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    gcs: EmbeddedGcs,
    proxy: FaultProxy,
) -> None:
    client.create_topic(TOPIC, partitions=2)
    for partition in (0, 1):
        client.produce(TOPIC, partition, [an_event(n) for n in range(200)])
    address = f"{BUCKET}/{secrets.token_hex(8)}"
    store = GcsStore(gcs.spec(address))
    through = GcsStore(gcs.spec(address, endpoint=proxy.url))

    # Decided, and nothing of it published: nothing is rewritten any more.
    proxy.rules.add(Rule(GCS_FORBIDDEN, REWRITE, times=None))
    assert run_feeds(spark, kafka, through, feed())[0] != 0
    assert undone(store) == 1
    assert visible(gcs, address) == Counter()

    # Inside a step: one file is rewritten, its reply is lost, and its source cannot be deleted.
    proxy.rules.clear()
    proxy.rules.add(Rule(DropReply(), REWRITE), Rule(GCS_FORBIDDEN, REWRITE, nth=2, times=None))
    proxy.rules.add(Rule(GCS_FORBIDDEN, DELETE, "*/staging/*", times=None))
    assert run_feeds(spark, kafka, through, feed())[0] != 0
    assert undone(store) == 1
    assert visible(gcs, address) != Counter()

    # Lost replies: to a decision, and to files of each window; the run finds out by itself.
    proxy.rules.clear()
    proxy.rules.add(
        Rule(DropReply(), INSERT, "*/journal/*", nth=2),
        Rule(DropReply(), INSERT, "*/staging/*", nth=2, times=2),
        Rule(DropReply(), REWRITE, nth=3, times=2),
        Rule(DropReply(), DELETE, "*/staging/*", nth=2),
        Rule(DropReply(), INSERT, "*/done/*"),
    )
    code, told = run_feeds(spark, kafka, through, feed())
    assert code == 0, told
    assert proxy.rules.unmet() == []
    assert undone(store) == 0
    wanted = Counter((r.partition, r.offset) for r in client.read_all(TOPIC))
    assert visible(gcs, address) == wanted
    receipt = audit_journal(spark, kafka, journal_in(store))
    assert receipt.differences == (), receipt
    assert list(store.list_staged("_penstock/events/staging", ["events", "_penstock"])) == []


def undone(store: GcsStore) -> int:
    return len(journal_in(store).open().state.undone)


def visible(server: EmbeddedGcs, address: str) -> Counter[tuple[int, int]]:
    """Positions of all rows, quarantined ones too, as another client of GCS reads them."""
    files = fs.GcsFileSystem(
        anonymous=True,
        scheme="http",
        endpoint_override=server.endpoint.removeprefix("http://"),
        retry_time_limit=timedelta(seconds=20),
    )
    found = files.get_file_info(fs.FileSelector(address, recursive=True, allow_not_found=True))
    names = [each.path for each in found if each.path.endswith(".parquet")]
    places: Counter[tuple[int, int]] = Counter()
    for name in names:
        table = ds.dataset(name, format="parquet", filesystem=files).to_table(
            columns=["_partition", "_offset"]
        )
        places.update(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return places
