"""The topic that the pages of docs/ read, filled once for all of them."""

from datetime import UTC, datetime

from penstock.demo.events import PARTITIONS, Topic
from penstock.testing.kafka_client import KafkaClient

NAME = "events"
MONDAY_MS = int(datetime(2026, 11, 2, tzinfo=UTC).timestamp() * 1000)


def fill_topic_of_pages(client: KafkaClient) -> None:
    """2,000 mixed events in four partitions; nothing is written when they are there."""
    if client.offsets(NAME):
        return
    client.create_topic(NAME, PARTITIONS)
    topic = Topic(2_000, MONDAY_MS)
    for partition in range(PARTITIONS):
        client.produce(NAME, partition, topic.of_partition(partition), enable_idempotence="true")
