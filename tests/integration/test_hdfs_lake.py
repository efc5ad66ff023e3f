"""A feed into a lake on HDFS, from a real broker through Spark; another client reads it back.

Goal: nothing is lost or doubled on HDFS, whatever a run leaves behind. Method: one warm run after
the other on the same topic, each cut off from the name node at another point by a client that fails
by a script, then one that finds out about lost replies by itself.
"""

import io
import secrets
from collections import Counter

import pyarrow.parquet as pq
import pytest
from hdfs_native import Client
from pyspark.sql import SparkSession

from penstock.model.spec import FeedSpec, WindowSpec
from penstock.ports.store.hdfs.hdfs_store import HdfsStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.hdfs_server import EmbeddedHdfs
from penstock.testing.kafka_client import KafkaClient
from tests.helpers.scripted_hdfs import DENIED, Loss, Rule, scripted
from tests.integration.lakes import (
    QUICK_TRIES,
    an_event,
    audit_journal,
    journal_in,
    mixed_feed,
    run_feeds,
)

pytestmark = pytest.mark.xdist_group("kafka")

TOPIC = "hdfs-lake"
DATA = ".parquet"
ALWAYS = 10_000


def feed() -> FeedSpec:
    return mixed_feed(TOPIC, window=WindowSpec(max_records=200), publish=QUICK_TRIES)


@pytest.mark.timeout(900)
def test_a_lake_on_hdfs_is_exact_after_runs_that_were_cut_off_at_three_points(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, hdfs: EmbeddedHdfs
) -> None:
    client.create_topic(TOPIC, partitions=2)
    for partition in (0, 1):
        client.produce(TOPIC, partition, [an_event(n) for n in range(200)])
    root = f"exact/{secrets.token_hex(8)}"
    spec = hdfs.spec(root)
    store = HdfsStore(spec)

    # Decided, and nothing of it published: no data file is renamed any more.
    refusing = scripted(spec, Rule("rename", about=DATA, error=DENIED, times=ALWAYS))
    assert run_feeds(spark, kafka, refusing, feed())[0] != 0
    assert undone(store) in (1, 2)  # the owner parks what fails, and may go on
    assert visible(hdfs, root) == Counter()

    # Inside a step: one file is renamed and the reply is lost; no other is.
    broken = scripted(
        spec,
        Rule("rename", Loss.REPLY, DATA),
        Rule("rename", about=DATA, error=DENIED, times=ALWAYS),
    )
    assert run_feeds(spark, kafka, broken, feed())[0] != 0
    assert undone(store) in (1, 2)  # the owner parks what fails, and may go on
    assert visible(hdfs, root) != Counter()

    # Lost replies: to a decision, and to files of each window; the run finds out by itself.
    lost = [
        Rule("rename", Loss.REPLY, "/journal/", times=2),
        Rule("rename", Loss.TWICE, DATA, nth=3, times=2),
        Rule("rename", Loss.REPLY, "/done/"),
    ]
    code, told = run_feeds(spark, kafka, scripted(spec, *lost), feed())
    assert code == 0, told
    assert [rule.about for rule in lost if not rule.hits] == []
    assert undone(store) == 0
    wanted = Counter((r.partition, r.offset) for r in client.read_all(TOPIC))
    assert visible(hdfs, root) == wanted
    receipt = audit_journal(spark, kafka, journal_in(store))
    assert receipt.differences == (), receipt
    assert list(store.list_staged("_penstock/events/staging", ["events", "_penstock"])) == []


def undone(store: HdfsStore) -> int:
    return len(journal_in(store).open().state.undone)


def visible(server: EmbeddedHdfs, root: str) -> Counter[tuple[int, int]]:
    """Positions of all rows, quarantined ones too, as a client that is not ours finds them."""
    client = Client(server.url)
    places: Counter[tuple[int, int]] = Counter()
    for status in client.list_status(f"/{root}", recursive=True):
        if status.path.endswith(DATA):
            content = io.BytesIO(client.read(status.path).readall())
            table = pq.read_table(content, columns=["_partition", "_offset"])
            places.update(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return places
