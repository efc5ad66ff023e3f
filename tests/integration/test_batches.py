"""Records that are too large for the usual batches: the window is read again, and lands once."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.datapath.driver import source_tasks
from penstock.datapath.stage.shred_plan import TaskReport
from penstock.datapath.stage.task import RecordTooLarge, read_report
from penstock.model.entries import Window
from penstock.spark.batch_size import MOST_BYTES
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
    too_large = reads_that_met_a_large_record(monkeypatch)
    client.create_topic(topic, partitions=2)
    feed = mixed_feed(topic)
    for partition in (0, 1):
        client.produce(topic, partition, [event("a", n) for n in range(50)])
    assert run_once(spark, kafka, lake, feed)[0] == 0
    assert not too_large

    client.produce(topic, 0, [event("a", n) for n in range(50, 60)])
    client.produce(topic, 1, [event("a", 60), large_record(large_part), event("a", 61)])
    code, told = run_once(spark, kafka, lake, feed)
    assert code == 0, told
    assert len(too_large) == 1
    largest = [body.counts.largest_bytes for body in bodies(lake) if isinstance(body, Window)]
    assert largest[0] < MOST_BYTES < largest[1]

    client.produce(topic, 0, [event("a", 70)])  # the journal remembers, so nothing fails first
    assert run_once(spark, kafka, lake, feed)[0] == 0
    assert len(too_large) == 1
    check_exact(lake, client, topic)
    assert not list(lake.rglob("*.staged"))


def test_a_new_type_beside_a_large_record_does_not_fail_the_read_again(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    too_large = reads_that_met_a_large_record(monkeypatch)
    client.create_topic("batches-new")
    client.produce("batches-new", 0, [event("a", 1), large_record("value"), event("b", 2)])
    code, told = run_once(spark, kafka, tmp_path / "lake", mixed_feed("batches-new"))
    assert code == 0, told
    assert len(too_large) == 1
    check_exact(tmp_path / "lake", client, "batches-new")


def reads_that_met_a_large_record(monkeypatch: pytest.MonkeyPatch) -> list[RecordTooLarge]:
    """Every read that ended at a large record; grows while a test runs."""
    ended: list[RecordTooLarge] = []

    def noted(encoded: bytes) -> TaskReport:
        try:
            return read_report(encoded)
        except RecordTooLarge as error:
            ended.append(error)
            raise

    monkeypatch.setattr(source_tasks, "read_report", noted)
    return ended


def large_record(part: str) -> Record:
    """A record of which one part is larger than a whole record may be in the usual batches."""
    large = b"x" * (MOST_BYTES + 1)
    if part == "key":
        return Record(event("a", 99), large)
    if part == "headers":
        return Record(event("a", 99), b"key", (("trace", large),))
    return Record(event("a", 99, text=large.decode()))
