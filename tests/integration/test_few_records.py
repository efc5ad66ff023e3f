"""A few records through Kafka's own consumer are those that tasks get through Spark."""

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.cli.main import main
from penstock.model.ranges import OffsetRange
from penstock.ports.source.kafka.few_records import few_records
from penstock.ports.source.kafka.reader import read_ranges
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, Record
from tests.integration.lakes import an_event

TOPIC = "few-records"
COLUMNS = ("partition", "offset", "timestamp", "key", "value", "headers")


def test_the_records_are_those_of_a_task(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient
) -> None:
    client.create_topic(TOPIC, partitions=2)
    now_ms = int(time.time() * 1000)
    records = [
        Record(b"v", b"k", (("\u00e4", b"\x00\xff"), ("b", None)), now_ms),
        Record(b'{"n": 1}', timestamp_ms=now_ms + 1),
        Record(None, b"gone", timestamp_ms=now_ms + 2),
        Record(b"", timestamp_ms=now_ms + 3),
    ]
    for partition in (0, 1):
        client.produce(TOPIC, partition, records)
    options = {"bootstrap.servers": kafka.bootstrap}
    ranges = (OffsetRange(TOPIC, "id", 0, 1, 4), OffsetRange(TOPIC, "id", 1, 0, 3))
    found = few_records(spark._jvm, options, ranges).to_pylist()  # any JVM with the client will do
    wanted = read_ranges(spark, options, ranges).orderBy("partition", "offset").collect()
    assert [{name: row[name] for name in COLUMNS} for row in found] == [
        {name: _plain(row[name]) for name in COLUMNS} for row in wanted
    ]
    assert {row["topic"] for row in found} == {TOPIC}


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, bytearray) else value


def test_check_samples_a_topic(
    kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client.create_topic("sampled", partitions=2)
    for partition in (0, 1):
        client.produce("sampled", partition, [an_event(n) for n in range(60)])
    file = tmp_path / "penstock.yaml"
    file.write_text(
        f"version: 1\nlake: ./lake\nkafka: {{bootstrap.servers: '{kafka.bootstrap}'}}\n"
        "feeds:\n  events:\n    topics: [sampled]\n    route: {by: 'field:type'}\n"
        "    time: {field: event_time, unit: ms}\n"
    )
    assert main(["check", "--sample", "40", "-c", str(file)]) == 0
    said = capsys.readouterr().out
    assert "sample of 40 records, from the feed's next offsets: 38 rows written, 2 quarant" in said
    assert "sampled/0/13" in said
    assert not (tmp_path / "lake" / "events").exists()
    assert not (tmp_path / "lake" / "_penstock" / "events").exists()
