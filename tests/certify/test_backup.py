"""A backup of a million odd records, byte for byte; `make certify` runs it."""

import os
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.config import places
from penstock.ports.store.local.local_store import LocalStore
from penstock.spark.jars import BROKER, CONNECTOR, jar_paths
from penstock.spark.java import find_java
from penstock.spark.session import open_session
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import audit_deep, data_files, run_feeds
from tests.integration.odd_records import (
    LARGE,
    ODD_TIMES,
    compare_bytes,
    odd_records,
    raw_feed,
)

pytestmark = [pytest.mark.certify, pytest.mark.timeout(7200)]

RECORDS = int(os.environ.get("BACKUP_RECORDS", "1000000"))
PARTITIONS = 4
IN_TRANSACTION = 500
SENDING: dict[str, str | int] = {"message_max_bytes": 20_000_000, "compression_type": "zstd"}


def test_a_million_odd_records_are_in_the_backup_byte_for_byte(tmp_path: Path) -> None:
    """Null and empty keys and values, bytes that are not text, repeated headers, 20 values of 10
    MB, odd timestamps, and a topic of transactions of which every second one is aborted."""
    cache = places.jar_cache()
    java = find_java(places.java_home())
    with EmbeddedKafka(tmp_path / "kafka", jar_paths(BROKER, cache), java.path) as kafka:
        client = KafkaClient(kafka.bootstrap)
        produced = produce(client)
        spark = open_session("backup", {"spark.master": "local[2]"}, jar_paths(CONNECTOR, cache))
        try:
            check(spark, kafka, client, tmp_path, produced)
        finally:
            spark.stop()


def produce(client: KafkaClient) -> int:
    """Write all of it; how many records count."""
    client.create_topic("odd", PARTITIONS, config=LARGE | ODD_TIMES)
    client.create_topic("transactions", PARTITIONS, config=ODD_TIMES)
    share = RECORDS * 9 // 10 // PARTITIONS
    for partition in range(PARTITIONS):
        records = odd_records(share, seed=partition, large=5)
        client.produce("odd", partition, records, **SENDING)
    rounds = RECORDS // 10 // (IN_TRANSACTION * PARTITIONS)
    for number in range(2 * rounds):
        some = {
            partition: odd_records(IN_TRANSACTION, seed=1_000 + number * PARTITIONS + partition)
            for partition in range(PARTITIONS)
        }
        client.produce_together("transactions", some, keep=number % 2 == 0)
    return PARTITIONS * (share + rounds * IN_TRANSACTION)


def check(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, folder: Path, produced: int
) -> None:
    """Deliver it with the feed that `penstock init --backup` writes, and compare."""
    feed = raw_feed(folder, "odd", "transactions")
    began = time.monotonic()
    code, told = run_feeds(spark, kafka, LocalStore(folder / "lake"), feed)
    took_s = time.monotonic() - began
    assert code == 0, told
    files = data_files(folder / "lake", feed.name)
    seen = compare_bytes(files, client, "odd", "transactions")
    assert seen["all"] == produced
    assert seen["large value"] == 5 * PARTITIONS
    assert min(seen.values()) == 5 * PARTITIONS, seen
    receipt = audit_deep(spark, kafka, folder / "lake", feed.name)
    assert receipt.differences == ()
    size = sum(path.stat().st_size for path in files)
    print(
        f"{produced:,} records in {took_s:.0f} s, {len(files)} files, {size:,} bytes: {dict(seen)}"
    )
