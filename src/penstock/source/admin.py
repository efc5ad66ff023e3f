"""What a Kafka cluster says about itself, through Kafka's own admin client in the driver's JVM.

One dialect: the options are those of Kafka's Java client, the same that the reading tasks get.
Driver only. Every call asks the cluster anew.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from penstock.model.spec import FeedSpec
from penstock.model.window import Available, PartitionOffsets, TopicOffsets
from penstock.source.errors import KafkaUnavailable

Place = tuple[str, int]


class KafkaAdmin:
    """An open admin client. Close it when the feed ends."""

    def __init__(self, jvm: Any, options: Mapping[str, str]) -> None:
        self._jvm = jvm
        self._servers = options.get("bootstrap.servers", "")
        properties = jvm.java.util.Properties()
        for name, value in options.items():
            properties.setProperty(name, value)
        self._client = self._ask(
            lambda: jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def available(self, feed: FeedSpec) -> Available:
        """Identity and offsets of everything the feed asks for, read-committed."""
        cluster_id = self._ask(lambda: self._client.describeCluster().clusterId().get())
        described = self._describe(self._wanted(feed))
        places = [(name, p) for name, (_, count) in described.items() for p in range(count)]
        earliest = self.offsets(dict.fromkeys(places, -2))
        latest = self.offsets(dict.fromkeys(places, -1))
        topics = tuple(
            TopicOffsets(
                name,
                topic_id,
                {
                    p: PartitionOffsets(earliest[name, p], latest[name, p])
                    for p in range(count)
                    if (name, p) in earliest and (name, p) in latest
                },
            )
            for name, (topic_id, count) in sorted(described.items())
        )
        return Available(str(cluster_id), topics)

    def offsets(self, wanted: Mapping[Place, int]) -> dict[Place, int]:
        """Offsets by Kafka's own words: -2 earliest, -1 latest, else the first at or after a time.

        A time after the last record answers with the log's end.
        """
        found = self._list_offsets(wanted)
        beyond = [place for place, offset in found.items() if offset < 0]
        if beyond:
            found |= self._list_offsets(dict.fromkeys(beyond, -1))
        return found

    def commit_group(self, group: str, offsets: Mapping[Place, int]) -> None:
        """Write the next offsets to read to a consumer group, for lag tools; never read back."""
        kafka = self._jvm.org.apache.kafka
        wanted = self._jvm.java.util.HashMap()
        for (topic, partition), offset in offsets.items():
            place = kafka.common.TopicPartition(topic, partition)
            wanted.put(place, kafka.clients.consumer.OffsetAndMetadata(offset))
        self._ask(lambda: self._client.alterConsumerGroupOffsets(group, wanted).all().get())

    def _list_offsets(self, wanted: Mapping[Place, int]) -> dict[Place, int]:
        kafka = self._jvm.org.apache.kafka
        specs = self._jvm.java.util.HashMap()
        for (topic, partition), when in wanted.items():
            place = kafka.common.TopicPartition(topic, partition)
            specs.put(place, _offset_spec(kafka.clients.admin.OffsetSpec, when))
        committed = kafka.clients.admin.ListOffsetsOptions(
            kafka.common.IsolationLevel.READ_COMMITTED
        )
        answer = self._ask(lambda: self._client.listOffsets(specs, committed).all().get())
        return {
            (place.topic(), place.partition()): int(info.offset()) for place, info in answer.items()
        }

    def _wanted(self, feed: FeedSpec) -> list[str]:
        """The feed's topics that exist now."""
        names = [str(name) for name in self._ask(lambda: self._client.listTopics().names().get())]
        return sorted(name for name in names if wants(feed, name))

    def _describe(self, names: Iterable[str]) -> dict[str, tuple[str, int]]:
        wanted = self._jvm.java.util.ArrayList()
        for name in names:
            wanted.add(name)
        answer = self._ask(lambda: self._client.describeTopics(wanted).allTopicNames().get())
        return {
            str(name): (str(topic.topicId().toString()), len(topic.partitions()))
            for name, topic in answer.items()
        }

    def _ask(self, call: Any) -> Any:
        try:
            return call()
        except Py4JJavaError as error:
            cause = error.java_exception.getCause() or error.java_exception
            raise KafkaUnavailable(self._servers, str(cause.toString())) from error


def wants(feed: FeedSpec, topic: str) -> bool:
    """True when the feed asks for this topic."""
    if topic in feed.exclude:
        return False
    if topic in feed.topics:
        return True
    return bool(feed.pattern) and re.fullmatch(feed.pattern, topic) is not None


def _offset_spec(specs: Any, when: int) -> Any:
    if when == -2:
        return specs.earliest()
    if when == -1:
        return specs.latest()
    return specs.forTimestamp(when)
