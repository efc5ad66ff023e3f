"""The deep audit on real parts: Spark reads the files, and a broker is asked again."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.model.spec import WindowSpec
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import an_event, audit_deep, mixed_feed, run_once

pytestmark = pytest.mark.xdist_group("kafka")


def test_a_whole_lake_passes_and_kafka_agrees_with_all_of_it(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("deep-whole", partitions=3)
    for partition in (0, 1):
        client.produce("deep-whole", partition, [an_event(n) for n in range(700)])
    feed = mixed_feed("deep-whole", window=WindowSpec(max_records=500))
    assert run_once(spark, kafka, tmp_path, feed)[0] == 0
    receipt = audit_deep(spark, kafka, tmp_path)
    assert receipt.differences == ()
    assert receipt.deep is not None
    assert receipt.deep.rows == 1400
    assert (receipt.deep.kafka.agreed, receipt.deep.kafka.records) == (1400, 1400)
    assert (receipt.deep.kafka.unchecked, receipt.deep.kafka.skipped) == ((), "")
