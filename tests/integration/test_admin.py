"""Kafka's admin client in a JVM of its own: what it sees when parts of the cluster are away."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from py4j import java_gateway  # type: ignore[import-untyped]
from py4j.protocol import get_return_value  # type: ignore[import-untyped]

from penstock.config import places
from penstock.model.spec import FeedSpec
from penstock.model.window import PartitionOffsets
from penstock.ports.source.errors import KafkaUnavailable
from penstock.ports.source.kafka.admin import EARLIEST, KafkaAdmin, within
from penstock.spark.errors import GatewayFailed
from penstock.spark.gateway import ALLOWED_URLS, JvmSpec, kafka_java_options, kafka_jvm
from penstock.spark.jars import CONNECTOR, jar_paths
from penstock.spark.java import Java
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, Record

pytestmark = pytest.mark.xdist_group("kafka")

MOST_QUESTIONS = 28
URL = "https://login.example/token"


@pytest.fixture(scope="module")
def jvm(java: Java) -> Iterator[Any]:
    """One gateway for these tests.

    While Spark runs in this process, which no command does beside a gateway, pyspark asks its own
    JVM about every exception, also about those of this one. So py4j's own function is put back.
    """
    of_spark = java_gateway.get_return_value
    java_gateway.get_return_value = get_return_value
    options = kafka_java_options({"sasl.oauthbearer.token.endpoint.url": URL})
    jars = jar_paths(CONNECTOR, places.jar_cache())
    with kafka_jvm(JvmSpec(java.path, jars, options=options)) as found:
        yield found
    java_gateway.get_return_value = of_spark


@pytest.fixture
def admin(jvm: Any, kafka: EmbeddedKafka) -> Iterator[KafkaAdmin]:
    found = KafkaAdmin(jvm, within({"bootstrap.servers": kafka.bootstrap}, 15_000))
    yield found
    found.close()


def feed(*topics: str) -> FeedSpec:
    return FeedSpec(name="events", topics=topics)


def test_offsets_are_found_by_their_ends_and_by_time(
    admin: KafkaAdmin, client: KafkaClient
) -> None:
    topic_id = client.create_topic("admin-1-2", partitions=2)
    client.produce("admin-1-2", 1, [Record(b"x", timestamp_ms=1_000 * n) for n in range(1, 8)])
    client.delete_records("admin-1-2", 1, 2)
    (found,) = admin.available(feed("admin-1-2")).topics
    held = {0: PartitionOffsets(0, 0), 1: PartitionOffsets(2, 7)}
    assert (found.topic_id, found.partitions) == (topic_id, held)
    wanted = {("admin-1-2", 1): 4_500, ("admin-1-2", 0): 9_000}
    assert admin.offsets(wanted) == {("admin-1-2", 1): 4, ("admin-1-2", 0): 0}


def test_an_idle_look_asks_java_few_questions(
    admin: KafkaAdmin, client: KafkaClient, jvm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal: many idle feeds are cheap. Each question takes some tenths of a millisecond."""
    client.create_topic("admin-idle", partitions=3)
    first = admin.available(feed("admin-idle"))
    asked: list[str] = []
    send = jvm._gateway_client.send_command

    def counted(command: str, *more: Any, **words: Any) -> Any:
        if not command.startswith("m\n"):  # garbage is collected beside
            asked.append(command)
        return send(command, *more, **words)

    monkeypatch.setattr(jvm._gateway_client, "send_command", counted)
    assert admin.available(feed("admin-idle")) == first
    assert len(asked) <= MOST_QUESTIONS


def test_a_topic_that_goes_between_two_questions_is_absent(
    admin: KafkaAdmin, client: KafkaClient
) -> None:
    """Method: ask on as if a topic that is not there had just been listed."""
    client.create_topic("admin-stays", partitions=1)
    described = admin._describe(["admin-gone", "admin-stays"])
    assert list(described) == ["admin-stays"]
    seen = admin._list_offsets({("admin-gone", 0): EARLIEST, ("admin-stays", 0): EARLIEST})
    assert seen == {("admin-stays", 0): 0}
    assert admin.skipped.keys() == {("admin-gone", 0)}
    with pytest.raises(KafkaUnavailable, match="admin-gone/0"):
        admin.offsets({("admin-gone", 0): EARLIEST})


def test_the_next_offsets_are_exported_to_a_consumer_group(
    admin: KafkaAdmin, client: KafkaClient, kafka: EmbeddedKafka
) -> None:
    client.create_topic("admin-group", partitions=2)
    client.produce("admin-group", 0, [b"x"] * 9)
    for offset in (3, 9):
        admin.commit_group("penstock-events", {("admin-group", 0): offset, ("admin-group", 1): 0})
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "penstock-events"})
    try:
        asked = [TopicPartition("admin-group", partition) for partition in (0, 1)]
        assert [place.offset for place in consumer.committed(asked, timeout=30)] == [9, 0]
    finally:
        consumer.close()


def test_token_endpoints_of_the_configuration_are_allowed_in_the_jvm(jvm: Any) -> None:
    assert jvm.java.lang.System.getProperty(ALLOWED_URLS) == URL


def test_partitions_without_a_leader_are_left_out_and_the_others_are_read(
    jvm: Any, tmp_path: Path, broker_jars: list[Path], java: Java
) -> None:
    """C6. Goal: one broker down stops nobody else. Method: kill one of three, each leads some."""
    with EmbeddedKafka(tmp_path, broker_jars, java.path, brokers=3) as cluster:
        client = KafkaClient(cluster.bootstrap)
        client.create_topic("spread", partitions=6, copies=1)
        for partition in range(6):
            client.produce("spread", partition, [b"x"] * (partition + 1))
        looking = KafkaAdmin(jvm, within({"bootstrap.servers": cluster.bootstrap}, 8_000))
        try:
            (before,) = looking.available(feed("spread")).topics
            assert (len(before.partitions), looking.skipped) == (6, {})
            cluster.kill(2)
            (after,) = looking.available(feed("spread")).topics
        finally:
            looking.close()
        away = {partition for _, partition in looking.skipped}
        assert away
        assert after.partitions == {p: o for p, o in before.partitions.items() if p not in away}
        assert len(after.partitions) == 6 - len(away) >= 2
        for node in (1, 3):
            cluster.kill(node)  # they would wait for each other


def test_a_jvm_that_does_not_start_and_one_without_a_client_say_why(java: Java) -> None:
    wrong = JvmSpec(java.path, [], {"spark.driver.extraJavaOptions": "-XX:NoSuchOption"})
    with pytest.raises(GatewayFailed, match="NoSuchOption"), kafka_jvm(wrong):
        pass
    with pytest.raises(GatewayFailed, match="no Kafka client"), kafka_jvm(JvmSpec(java.path, [])):
        pass


def test_the_time_that_topics_keep_records_is_read_where_it_is_known(
    admin: KafkaAdmin, client: KafkaClient
) -> None:
    """A day, the broker's week, for ever, and never: a compacted topic drops nothing by time."""
    client.create_topic("kept-day", config={"retention.ms": "86400000"})
    client.create_topic("kept-week")
    client.create_topic("kept-ever", config={"retention.ms": "-1"})
    client.create_topic("kept-keys", config={"cleanup.policy": "compact"})
    asked = ["kept-day", "kept-week", "kept-ever", "kept-keys", "kept-nowhere"]
    assert admin.retention_s(asked) == {"kept-day": 86_400.0, "kept-week": 604_800.0}
    assert admin.retention_s([]) == {}
