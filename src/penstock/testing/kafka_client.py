"""Kafka for tests, by a client that shares no code with Spark: the oracle for what was delivered.

Needs `confluent-kafka`, a dependency of development only; nothing else in the package imports it.
Every call waits for the broker's answer, at most a minute, and raises on any error.
"""

import base64
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_INVALID,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic

_TIMEOUT_S = 60.0
_POLL_S = 0.1
_LEADER_UNKNOWN = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
_BATCH = 10_000
_BATCH_S = 0.02

T = TypeVar("T")
Headers = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    """A record to be written. Without a timestamp (ms) the client takes the current time."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int = 0


class ReadRecord(NamedTuple):
    """A record as the broker has it, with its place.

    `timestamp_type` is 1 for the time of the producer, 2 for that of the broker, 0 for none.
    """

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    timestamp_type: int = 0


class KafkaClient:
    """Writes, reads and administers one cluster."""

    def __init__(self, bootstrap: str) -> None:
        self._base: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap,
            "broker.address.family": "v4",
            # A broker that is restarted is found again at once.
            "reconnect.backoff.max.ms": 500,
            # Brokers come and go in tests; what matters arrives as an error of a call.
            "log_level": 2,
        }
        self._admin = AdminClient(dict(self._base))

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        copies: int = -1,
        config: Mapping[str, str] | None = None,
    ) -> str:
        """Create a topic and return its id once every partition has a leader; -1: the default."""
        wanted = NewTopic(topic, partitions, copies, config=dict(config or {}))
        self._admin.create_topics([wanted])[topic].result(_TIMEOUT_S)
        self._await_leaders(topic, partitions)
        return self.topic_id(topic)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic and wait until no broker speaks of it."""
        self._admin.delete_topics([topic])[topic].result(_TIMEOUT_S)
        deadline = time.monotonic() + _TIMEOUT_S
        while topic in self._admin.list_topics(timeout=_TIMEOUT_S).topics:
            _rest(deadline, f"the topic {topic!r} is still there")

    def add_partitions(self, topic: str, total: int) -> None:
        """Raise the number of partitions to `total`, and wait until each has a leader."""
        wanted = NewPartitions(topic, total)
        self._admin.create_partitions([wanted])[topic].result(_TIMEOUT_S)
        self._await_leaders(topic, total)

    def configure_topic(self, topic: str, config: Mapping[str, str]) -> None:
        """Change settings of a topic that is there; others stay."""
        changes = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
            for key, value in config.items()
        ]
        place = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
        self._admin.incremental_alter_configs([place])[place].result(_TIMEOUT_S)

    def topic_id(self, topic: str) -> str:
        """Return the topic's id as Java's client spells it: URL-safe base64 without padding."""
        described = self._admin.describe_topics(TopicCollection([topic]))[topic].result(_TIMEOUT_S)
        found = described.topic_id
        bits = struct.pack(
            ">qq", found.get_most_significant_bits(), found.get_least_significant_bits()
        )
        return base64.urlsafe_b64encode(bits).decode().rstrip("=")

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Let the log of a partition start at `before`, as retention would."""
        place = TopicPartition(topic, partition, before)
        self._admin.delete_records([place])[place].result(_TIMEOUT_S)

    def offsets(self, topic: str) -> dict[int, tuple[int, int]]:
        """Return log start and log end of every partition; an open transaction is within."""
        consumer = self._consumer("read_uncommitted")
        try:
            found = {place.partition: _watermarks(consumer, place) for place in self._places(topic)}
        finally:
            consumer.close()
        return {partition: _known(ends) for partition, ends in found.items()}

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        """The offsets that a consumer group holds for a topic; partitions without one left out."""
        asked = ConsumerGroupTopicPartitions(group, self._places(topic))
        found = self._admin.list_consumer_group_offsets([asked])[group].result(_TIMEOUT_S)
        return {p.partition: p.offset for p in found.topic_partitions if p.offset >= 0}

    def produce(
        self, topic: str, partition: int, records: Iterable[Record | bytes], **config: str | int
    ) -> list[int]:
        """Write records in order, each confirmed by all replicas; return their offsets.

        `config` takes the client's own keys with `_` for `.`, such as `compression_type`.
        """
        outbox = _Outbox(Producer(self._base | _dotted(config)))
        outbox.put(topic, partition, records)
        return outbox.close()

    def produce_together(
        self,
        topic: str,
        batches: Mapping[int, Iterable[Record | bytes]],
        *,
        keep: bool,
        name: str = "penstock-tests",
    ) -> None:
        """Write to several partitions in one Kafka transaction, then commit it or abort it.

        Either way the log holds the records and, at its end, one control record.
        """
        producer = self.open_together(topic, batches, name)
        self.end_together(producer, topic, batches, keep=keep)

    def end_together(
        self, producer: Producer, topic: str, partitions: Iterable[int], *, keep: bool
    ) -> None:
        """Commit or abort what `open_together` has left open, and wait for its control records.

        The coordinator answers when the end is decided; it writes the control records afterwards.
        Nobody else may write to these partitions meanwhile.
        """
        before = self.offsets(topic)
        if keep:
            producer.commit_transaction(_TIMEOUT_S)
        else:
            producer.abort_transaction(_TIMEOUT_S)
        deadline = time.monotonic() + _TIMEOUT_S
        waited_for = set(partitions)
        while waited_for:
            now = self.offsets(topic)
            waited_for = {each for each in waited_for if now[each][1] <= before[each][1]}
            if waited_for:
                _rest(deadline, f"the partitions {sorted(waited_for)} have no control record")

    def open_together(
        self, topic: str, batches: Mapping[int, Iterable[Record | bytes]], name: str
    ) -> Producer:
        """Write in a Kafka transaction and leave it open; `end_together` ends it."""
        producer = Producer(self._base | {"transactional.id": name})
        producer.init_transactions(_TIMEOUT_S)
        producer.begin_transaction()
        outbox = _Outbox(producer)
        for partition, records in batches.items():
            outbox.put(topic, partition, records)
        outbox.close()
        return producer

    def read_all(self, topic: str) -> list[ReadRecord]:
        """Return every record that a reader of committed records sees now, in order per partition.

        Reads up to the end that each partition has while it is read.
        """
        return sorted(self.read_each(topic))

    def read_each(self, topic: str) -> Iterator[ReadRecord]:
        """The same one after the other, in the order of arrival, for topics that fill a memory."""
        consumer = self._consumer("read_committed")
        try:
            # A consumer that knows the leaders does not wait half a second to ask them.
            consumer.list_topics(topic, timeout=_TIMEOUT_S)
            yield from _until_the_ends(consumer, self._places(topic, offset=OFFSET_BEGINNING))
        finally:
            consumer.close()

    def _consumer(self, isolation: str) -> Consumer:
        """A consumer without a group: it is told what to read, and leaves no trace."""
        return Consumer(
            self._base
            | {
                "group.id": "penstock-oracle",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "isolation.level": isolation,
                # The end of a partition is told by an empty answer; do not wait long for it.
                "fetch.wait.max.ms": 10,
            }
        )

    def _places(self, topic: str, offset: int = OFFSET_INVALID) -> list[TopicPartition]:
        found = self._admin.list_topics(topic, timeout=_TIMEOUT_S).topics[topic]
        return [TopicPartition(topic, partition, offset) for partition in found.partitions]

    def _await_leaders(self, topic: str, partitions: int) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while not self._has_leaders(topic, partitions):
            _rest(deadline, f"the topic {topic!r} has not got its leaders")

    def _has_leaders(self, topic: str, partitions: int) -> bool:
        found = self._admin.list_topics(topic, timeout=_TIMEOUT_S).topics[topic]
        leaders = [part.leader for part in found.partitions.values()]
        return len(leaders) == partitions and min(leaders) >= 0


class _Outbox:
    """Hands records to a producer and collects what became of each."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._offsets: list[int] = []
        self._errors: list[KafkaError] = []
        self._put = 0

    def put(self, topic: str, partition: int, records: Iterable[Record | bytes]) -> None:
        """Queue records; waits whenever the producer's queue is full."""
        for record in records:
            full = Record(record) if isinstance(record, bytes) else record
            try:
                self._hand_over(topic, partition, full)
            except BufferError:
                self._producer.flush(_TIMEOUT_S)
                self._hand_over(topic, partition, full)
            self._put += 1
            if self._put % _BATCH == 0:
                self._producer.poll(0)

    def close(self) -> list[int]:
        """Wait for the rest; return the offsets in the order of writing, or raise."""
        self._producer.flush(_TIMEOUT_S)
        if self._errors:
            raise KafkaException(self._errors[0])
        if len(self._offsets) < self._put:
            raise TimeoutError(f"{self._put - len(self._offsets)} records were not confirmed")
        return self._offsets

    def _hand_over(self, topic: str, partition: int, record: Record) -> None:
        self._producer.produce(
            topic,
            record.value,
            record.key,
            partition,
            on_delivery=self._delivered,
            timestamp=record.timestamp_ms,
            headers=list(record.headers),
        )

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._errors.append(error)
        else:
            self._offsets.append(_known(message.offset()))


def _until_the_ends(consumer: Consumer, places: list[TopicPartition]) -> Iterator[ReadRecord]:
    """Read all `places` until the consumer has reported the end of each."""
    consumer.assign(places)
    unfinished = {place.partition for place in places}
    deadline = time.monotonic() + _TIMEOUT_S
    while unfinished:
        for message in consumer.consume(_BATCH, _BATCH_S):
            error = message.error()
            if error is None:
                deadline = time.monotonic() + _TIMEOUT_S
                yield _read(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                unfinished.discard(_known(message.partition()))
            else:
                raise KafkaException(error)
        if time.monotonic() > deadline:
            raise TimeoutError(f"the partitions {sorted(unfinished)} did not end in time")


def _read(message: Message) -> ReadRecord:
    headers = message.headers() or []
    pairs = headers.items() if isinstance(headers, dict) else headers
    return ReadRecord(
        _known(message.partition()),
        _known(message.offset()),
        message.key(),
        message.value(),
        tuple((name, value.encode() if isinstance(value, str) else value) for name, value in pairs),
        message.timestamp()[1],
        message.timestamp()[0],
    )


def _watermarks(consumer: Consumer, place: TopicPartition) -> tuple[int, int] | None:
    """Ask the leader; right after a start, who that is may take a moment to become known."""
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            found: tuple[int, int] | None = consumer.get_watermark_offsets(place, _TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() not in _LEADER_UNKNOWN or time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return found


def _known(answer: T | None) -> T:
    """Return what is always there after a success; the client's types cannot say so."""
    if answer is None:
        raise TimeoutError("the client gave no answer")
    return answer


def _dotted(config: Mapping[str, str | int]) -> dict[str, str | int | float | bool]:
    return {key.replace("_", "."): value for key, value in config.items()}


def _rest(deadline: float, complaint: str) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError(f"{complaint} after {_TIMEOUT_S:.0f} s")
    time.sleep(_POLL_S)
