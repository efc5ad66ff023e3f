"""What Spark keeps of the consumers that read earlier windows: next to nothing."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.model.spec import WindowSpec
from penstock.ports.source.kafka.consumer_groups import TURNS
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import event, mixed_feed, run_once, watermarks
from tests.integration.processes import wait_for

pytestmark = pytest.mark.xdist_group("kafka")

PARTITIONS = 3
WINDOWS = TURNS + 4


def private(owner: Any, name: str) -> Any:
    """A field of a Java object that only its own code may look at."""
    field = owner.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(owner)


def pools(spark: SparkSession) -> tuple[Any, Any]:
    """Spark's pool of consumers, and that of the records that they fetched ahead."""
    jvm: Any = spark._jvm
    kind = getattr(jvm.org.apache.spark.sql.kafka010.consumer, "KafkaDataConsumer$")
    module = getattr(kind, "MODULE$")
    return private(module, "consumerPool"), private(module, "fetchedDataPool")


def remembered(spark: SparkSession, topic: str) -> int:
    """Of how many groups and partitions of a topic Spark remembers the settings."""
    settings = private(private(pools(spark)[0], "objectFactory"), "keyToKafkaParams")
    return sum(key.topicPartition().topic() == topic for key in settings.keySet().toArray())


def test_consumers_of_finished_windows_are_let_go(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Each holds what it fetched ahead, up to 16 MiB: a feed that caught up filled the heap."""
    topic = "let-go"
    client.create_topic(topic, partitions=PARTITIONS)
    each = 20
    for partition in range(PARTITIONS):
        client.produce(topic, partition, [event("a", n) for n in range(each * WINDOWS)])
    feed = mixed_feed(topic, window=WindowSpec(max_records=each * PARTITIONS))
    consumers, fetched = pools(spark)
    before = fetched.numTotal()  # a task that was killed in another test may have left some
    assert run_once(spark, kafka, tmp_path, feed)[0] == 0
    assert sum(watermarks(tmp_path).values()) == each * WINDOWS * PARTITIONS
    assert consumers.numIdle() <= PARTITIONS + 1  # those of the last window, and not of all
    wait_for(lambda: consumers.numIdle() == 0 and fetched.numTotal() <= before, "empty pools")
    assert remembered(spark, topic) <= (TURNS + 1) * PARTITIONS  # one more: the look at the start
