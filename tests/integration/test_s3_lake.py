"""A feed into a lake on S3, from a real broker through Spark; pyarrow's own client reads it back.

Goal: nothing is lost or doubled on an object store, whatever a run leaves behind. Method: one warm
run after the other on the same topic, each cut off from the store at another point by a proxy that
sees single requests, then one that is not.
"""

import secrets
from collections import Counter
from collections.abc import Iterator

import pyarrow.dataset as ds
import pyarrow.fs as fs
import pytest
from pyspark.sql import SparkSession

from penstock.model.spec import FeedSpec, WindowSpec
from penstock.ports.store.s3.s3_store import S3Store
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import ACCESS_DENIED, DropReply, Rule
from tests.helpers.object_stores import BUCKET
from tests.integration.lakes import (
    an_event,
    audit_journal,
    journal_in,
    mixed_feed,
    run_feeds,
)

pytestmark = pytest.mark.xdist_group("kafka")

TOPIC = "s3-lake"
CUT_OFF = "CompleteMultipartUpload|AbortMultipartUpload|ListParts"


@pytest.fixture
def proxy(object_store: EmbeddedObjectStore) -> Iterator[FaultProxy]:
    with FaultProxy(object_store.endpoint) as running:
        yield running


def feed() -> FeedSpec:
    return mixed_feed(TOPIC, window=WindowSpec(max_records=200))


def test_a_lake_on_s3_is_exact_after_runs_that_were_cut_off_at_three_points(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    object_store: EmbeddedObjectStore,
    proxy: FaultProxy,
) -> None:
    client.create_topic(TOPIC, partitions=2)
    for partition in (0, 1):
        client.produce(TOPIC, partition, [an_event(n) for n in range(200)])
    address = f"{BUCKET}/{secrets.token_hex(8)}"
    store = S3Store(object_store.spec(address))
    through = S3Store(object_store.spec(address, endpoint=proxy.url))

    # Decided, and nothing of it published: no upload is completed any more.
    proxy.rules.add(Rule(ACCESS_DENIED, CUT_OFF, times=None))
    assert run_feeds(spark, kafka, through, feed())[0] != 0
    assert undone(store) == 1
    assert visible(object_store, address) == Counter()

    # Inside a step: one upload is completed and its reply is lost; no other is.
    proxy.rules.clear()
    proxy.rules.add(Rule(DropReply(), "CompleteMultipartUpload"))
    proxy.rules.add(Rule(ACCESS_DENIED, CUT_OFF, nth=2, times=None))
    assert run_feeds(spark, kafka, through, feed())[0] != 0
    assert undone(store) == 1
    assert visible(object_store, address) != Counter()

    # Lost replies: to a decision, and to files of each window; the run finds out by itself.
    proxy.rules.clear()
    proxy.rules.add(
        Rule(DropReply(), "PutObject", "*/journal/*", nth=2),
        Rule(DropReply(), "CompleteMultipartUpload", nth=3, times=2),
        Rule(DropReply(), "PutObject", "*/done/*"),
    )
    code, told = run_feeds(spark, kafka, through, feed())
    assert code == 0, told
    assert proxy.rules.unmet() == []
    assert undone(store) == 0
    wanted = Counter((r.partition, r.offset) for r in client.read_all(TOPIC))
    assert visible(object_store, address) == wanted
    receipt = audit_journal(spark, kafka, journal_in(store))
    assert receipt.differences == (), receipt
    assert list(store.list_staged("_penstock/events/staging", ["events", "_penstock"])) == []


def undone(store: S3Store) -> int:
    return len(journal_in(store).open().state.undone)


def visible(server: EmbeddedObjectStore, address: str) -> Counter[tuple[int, int]]:
    """Positions of all rows, quarantined ones too, as another client of S3 finds and reads them."""
    settings = server.settings
    files = fs.S3FileSystem(
        access_key=settings["access_key"],
        secret_key=settings["secret_key"],
        endpoint_override=settings["endpoint"],
        region=settings["region"],
        scheme="http",
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
