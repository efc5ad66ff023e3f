"""Records that are too large for the usual batches: the window is read again, and lands once."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.feeds import kafka_source
from penstock.model.entries import Window
from penstock.spark.batch_size import MOST_BYTES, weighing
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
    topic, lake = f"batches-{large_part}", tmp_path / "lake"
    weighed = weighed_again(monkeypatch)
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
    assert len(weighed) == 1
    largest = [body.counts.largest_bytes for body in bodies(lake) if isinstance(body, Window)]
    assert largest[0] < MOST_BYTES < largest[1]

    client.produce(topic, 0, [event("a", 70)])  # the journal remembers, so nothing fails first
    assert run_once(spark, kafka, lake, feed)[0] == 0
    assert len(weighed) == 1
    check_exact(lake, client, topic)
    assert not list(lake.rglob("*.staged"))


def test_a_new_type_beside_a_large_record_does_not_fail_the_read_again(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weighed = weighed_again(monkeypatch)
    client.create_topic("batches-new")
    client.produce("batches-new", 0, [event("a", 1), large_record("value"), event("b", 2)])
    code, told = run_once(spark, kafka, tmp_path / "lake", mixed_feed("batches-new"))
    assert code == 0, told
    assert len(weighed) == 1
    check_exact(tmp_path / "lake", client, "batches-new")


def weighed_again(monkeypatch: pytest.MonkeyPatch) -> list[SparkSession]:
    """The session of every read that failed at a large record; grows while a test runs."""
    failed: list[SparkSession] = []

    def noted(session: SparkSession) -> SparkSession:
        failed.append(session)
        return weighing(session)

    monkeypatch.setattr(kafka_source, "weighing", noted)
    return failed


def large_record(part: str) -> Record:
    """A record of which one part is larger than a whole record may be in the usual batches."""
    large = b"x" * (MOST_BYTES + 1)
    if part == "key":
        return Record(event("a", 99), large)
    if part == "headers":
        return Record(event("a", 99), b"key", (("trace", large),))
    return Record(event("a", 99, text=large.decode()))
