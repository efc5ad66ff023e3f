"""Kafka keeps the contract that every source keeps: a real broker, and reading through Spark."""

import pytest
from pyspark.sql import SparkSession

from penstock.api.source import Source, SourceTools
from penstock.model.spec import FeedSpec
from penstock.ports.source.kafka.kafka_source import KafkaSource
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.contracts.source import (
    CancelsContract,
    GroupsContract,
    HashesContract,
    LagContract,
    RetentionContract,
    SourceContract,
    SourceWorld,
    StartsContract,
)
from penstock.testing.kafka_client import KafkaClient, Record
from penstock.testing.list_source import ListedRecord

FOR_EVER = {"retention.ms": "-1"}  # its records are of long ago

pytestmark = pytest.mark.xdist_group("kafka")


class KafkaWorld:
    """A real broker, by a client that shares no code with the source."""

    def __init__(self, spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient) -> None:
        self.client = client
        self._tools = SourceTools(lambda: spark, {"bootstrap.servers": kafka.bootstrap})

    def open(self, *topics: str) -> Source:
        return KafkaSource(FeedSpec(name="feed", topics=topics), self._tools)

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        self.client.create_topic(topic, partitions, config=FOR_EVER)

    def delete_topic(self, topic: str) -> None:
        self.client.delete_topic(topic)

    def append(self, topic: str, partition: int, *records: ListedRecord) -> None:
        made = [Record(r.value, r.key, r.headers, r.timestamp_ms or 0) for r in records]
        self.client.produce(topic, partition, made)

    def expire(self, topic: str, partition: int, before: int) -> None:
        self.client.delete_records(topic, partition, before)


class TestKafkaSource(
    SourceContract,
    HashesContract,
    StartsContract,
    LagContract,
    GroupsContract,
    RetentionContract,
    CancelsContract,
):
    @pytest.fixture
    def world(self, spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient) -> KafkaWorld:
        return KafkaWorld(spark, kafka, client)

    def exported(self, world: SourceWorld, reader: str, topic: str) -> dict[int, int]:
        assert isinstance(world, KafkaWorld)
        return world.client.group_offsets(reader, topic)
