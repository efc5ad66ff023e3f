"""Records that are too large for the usual batches: the window is read again, and lands once."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.engine import kafka_source
from penstock.engine.batches import MOST_BYTES, weighing
from penstock.model.entries import Window
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, Record
from tests.integration.lakes import bodies, check_exact, event, mixed_feed, run_once

pytestmark = pytest.mark.xdist_group("kafka")


@pytest.mark.parametrize("large_part", ["key", "value", "headers"])
def test_a_large_record_is_read_in_weighed_batches_from_then_on(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    large_part: str,
) -> None:
    topic, lake, weighed = f"batches-{large_part}", tmp_path / "lake", Counter[int]()

    def counted(session: SparkSession) -> SparkSession:
        weighed[len(bodies(lake))] += 1
        return weighing(session)

    monkeypatch.setattr(kafka_source, "weighing", counted)
    client.create_topic(topic, partitions=2)
    feed = mixed_feed(topic)
    for partition in (0, 1):
        client.produce(topic, partition, [event("a", n) for n in range(50)])
    assert run_once(spark, kafka, lake, feed)[0] == 0
    assert not weighed

    client.produce(topic, 0, [event("a", n) for n in range(50, 60)])
    client.produce(topic, 1, [event("a", 60), large_record(large_part), event("a", 61)])
    code, told = run_once(spark, kafka, lake, feed)
    assert code == 0, told
    assert sum(weighed.values()) == 1
    largest = [body.counts.largest_bytes for body in bodies(lake) if isinstance(body, Window)]
    assert largest[0] < MOST_BYTES < largest[1]

    client.produce(topic, 0, [event("a", 70)])  # the journal remembers, so nothing fails first
    assert run_once(spark, kafka, lake, feed)[0] == 0
    assert sum(weighed.values()) == 1
    check_exact(lake, client, topic)
    assert not list(lake.rglob("*.staged"))


def large_record(part: str) -> Record:
    """A record of which one part is larger than a whole record may be in the usual batches."""
    large = b"x" * (MOST_BYTES + 1)
    if part == "key":
        return Record(event("a", 99), large)
    if part == "headers":
        return Record(event("a", 99), b"key", (("trace", large),))
    return Record(event("a", 99, text=large.decode()))
