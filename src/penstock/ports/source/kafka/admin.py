"""What a Kafka cluster says about itself, through Kafka's own admin client in a JVM of ours.

One dialect: the options are those of Kafka's Java client, the same that the reading tasks get.
Driver only. Every call asks the cluster again. Answers about many partitions come over as one text:
a call from Python to Java per partition takes seconds where there are thousands.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

from penstock.model.spec import FeedSpec
from penstock.model.window import Available, PartitionOffsets, Place, TopicOffsets
from penstock.ports.source.errors import KafkaUnavailable
from penstock.ports.source.kafka.java_failures import NOT_THERE, cause_of, failure_of
from penstock.ports.source.kafka.listener_probe import check_plain, check_spoken
from penstock.ports.source.kafka.rights import KafkaRights
from penstock.ports.source.kafka.told_waiting import AFTER_S, ToldWaiting
from penstock.spark.errors import Interrupted

EARLIEST = -2
LATEST = -1

API_TIMEOUT = "default.api.timeout.ms"
REQUEST_TIMEOUT = "request.timeout.ms"
_CLOSE_TIMEOUT_MS = 1_000
_ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"  # what brokers say that have no topic ids

# Kafka's words for "not now": the topic is being deleted, or nobody leads the partition.
NOT_NOW = frozenset({
    "DisconnectException", "KafkaStorageException", "LeaderNotAvailableException",
    "NotLeaderOrFollowerException", "OffsetNotAvailableException", "ReplicaNotAvailableException",
    "TimeoutException", "UnknownTopicIdException", "UnknownTopicOrPartitionException",
})  # fmt: skip
NO_ANSWER = "TimeoutException"

# Topics are made of letters, digits, '.', '_' and '-', so these texts can be taken apart.
_OFFSET = re.compile(r"([\w.-]+)-(\d+)=ListOffsetsResultInfo\(offset=(-?\d+),", re.ASCII)
_PARTITION = re.compile(r"\(partition=(\d+), leader=(none|null|:-1)?")


class KafkaAdmin:
    """An open admin client. Close it when the feed ends.

    `skipped` tells what the last look could not see, and why: partitions without a leader.
    Nothing is lost by that; they are read once they have one.
    """

    def __init__(
        self, jvm: Any, options: Mapping[str, str], waiting: ToldWaiting | None = None
    ) -> None:
        self._jvm = jvm
        self._waiting = waiting or ToldWaiting(options, lambda _sentence: None)
        self._options = options
        self._servers = options.get("bootstrap.servers", "")
        self.skipped: dict[Place, str] = {}
        # Looked up once: every dot of such a path is a call, and idle feeds look all the time.
        self._kafka = jvm.org.apache.kafka
        self._place_class = self._kafka.common.TopicPartition
        self._list_class = jvm.java.util.ArrayList
        self._millis: Any = None
        self._committed: Any = None
        self._places: dict[Place, Any] = {}
        self._specs: dict[int, tuple[frozenset[Place], Any]] = {}
        properties = jvm.java.util.Properties()
        for name, value in options.items():
            properties.setProperty(name, value)
        check_plain(options)
        self._client = self._ask(lambda: self._kafka.clients.admin.AdminClient.create(properties))

    def close(self) -> None:
        """Let go of the connections; does not wait for calls that nobody waits for."""
        with suppress(Py4JError, OSError):
            self._client.close(self._jvm.java.time.Duration.ofMillis(_CLOSE_TIMEOUT_MS))

    def cluster_id(self) -> str:
        """The id that the cluster was formatted with."""
        with self._waiting.answer():
            asked = self._ask(lambda: self._client.describeCluster().clusterId())
            self._await_first(asked)
            return str(self._ask(asked.get))

    @property
    def rights(self) -> KafkaRights:
        """What our user may do."""
        return KafkaRights(self._jvm, self._client, self._options)

    def _await_first(self, asked: Any) -> None:
        """Wait a while for an answer; if none comes, find out whether one ever can."""
        try:
            if self._millis is None:
                self._millis = self._jvm.java.util.concurrent.TimeUnit.MILLISECONDS
            asked.get(int(AFTER_S * 1000), self._millis)
        except Py4JJavaError as error:
            if cause_of(error)[0] == NO_ANSWER:
                check_spoken(self._options)
            # Any other answer is asked for once more by the caller, who names it.
        except (Py4JError, OSError, Interrupted) as error:
            raise self._unavailable(error) from error

    def available(self, feed: FeedSpec) -> Available:
        """Identity and offsets of everything the feed asks for, read-committed.

        A topic that vanishes meanwhile is absent. A partition without a leader is left out, see
        `skipped`: its watermark stands, and the others are read.
        """
        cluster_id = self.cluster_id()
        self.skipped = {}
        with self._waiting.answer():
            described = self._describe(self._wanted(feed))
        places = frozenset((name, p) for name, (_, led) in described.items() for p in led)
        earliest = self._list_offsets(dict.fromkeys(places, EARLIEST))
        # Who did not answer at first is not waited for a second time.
        latest = self._list_offsets(dict.fromkeys(earliest, LATEST))
        topics = tuple(
            TopicOffsets(
                name,
                topic_id,
                {
                    p: PartitionOffsets(earliest[name, p], latest[name, p])
                    for p in led
                    if (name, p) in latest
                },
            )
            for name, (topic_id, led) in sorted(described.items())
        )
        return Available(cluster_id, topics, dict(self.skipped))

    def offsets(self, wanted: Mapping[Place, int]) -> dict[Place, int]:
        """Offsets by Kafka's own words: -2 earliest, -1 latest, else the first at or after a time.

        A time after the last record answers with the log's end. All of them or an error.
        """
        found = self._list_offsets(wanted)
        beyond = [place for place, offset in found.items() if offset < 0]
        if beyond:
            found |= self._list_offsets(dict.fromkeys(beyond, LATEST))
        for topic, partition in wanted:
            if (topic, partition) not in found:
                why = self.skipped.get((topic, partition), "no answer")
                raise KafkaUnavailable(self._servers, f"{topic}/{partition}: {why}")
        return found

    def offset_at(self, topic: str, partition: int, time_ms: int) -> int:
        """The first offset at or after a time, or the log's end."""
        return self.offsets({(topic, partition): time_ms})[topic, partition]

    def commit_group(self, group: str, offsets: Mapping[Place, int]) -> None:
        """Write the next offsets to read into a consumer group, for tools that show lag.

        An export: nobody reads it back, and doing it again does no harm.
        """
        if not offsets:
            return
        metadata = self._kafka.clients.consumer.OffsetAndMetadata
        wanted = self._jvm.java.util.HashMap()
        for place, offset in offsets.items():
            wanted.put(self._java_place(place), metadata(offset))
        self._ask(lambda: self._client.alterConsumerGroupOffsets(group, wanted).all().get())

    def group_offsets(self, group: str) -> dict[Place, int]:
        """The committed offsets of a consumer group; empty for a group that nobody knows."""
        asked = self._client.listConsumerGroupOffsets
        try:
            answer = asked(group).partitionsToOffsetAndMetadata().get()
            found: dict[Place, int] = {}
            for entry in answer.entrySet():
                committed = entry.getValue()
                if committed is not None:  # null: the group knows the partition, and no offset
                    place = entry.getKey()
                    found[str(place.topic()), int(place.partition())] = int(committed.offset())
        except Py4JJavaError as error:
            if cause_of(error)[0] == "GroupIdNotFoundException":
                return {}
            raise self._unavailable(error) from error
        except (Py4JError, OSError, Interrupted) as error:
            raise self._unavailable(error) from error
        return found

    def retention_s(self, topics: Sequence[str]) -> dict[str, float]:
        """How long topics keep records by time, of those whose settings may be read.

        A topic that is only compacted, or keeps records for ever, is left out.
        """
        resource = self._kafka.common.config.ConfigResource
        of_topic = resource.Type.TOPIC
        wanted = self._list_class()
        named = {name: resource(of_topic, name) for name in topics}
        for each in named.values():
            wanted.add(each)
        asked = self._ask(lambda: self._client.describeConfigs(wanted).values())
        found: dict[str, float] = {}
        for name, each in named.items():
            try:
                settings = asked.get(each).get()
                policy = str(settings.get("cleanup.policy").value())
                kept_ms = int(settings.get("retention.ms").value())
            except Py4JJavaError:
                continue  # not allowed, or deleted meanwhile: not known
            except (Py4JError, OSError, Interrupted) as error:
                raise self._unavailable(error) from error
            if kept_ms >= 0 and "delete" in policy:
                found[name] = kept_ms / 1000
        return found

    def _list_offsets(self, wanted: Mapping[Place, int]) -> dict[Place, int]:
        """What there is; partitions that cannot answer now are noted and left out."""
        if not wanted:
            return {}
        asked = self._ask(
            lambda: self._client.listOffsets(self._specs_of(wanted), self._read_committed())
        )
        try:
            with self._waiting.answer():
                answer = asked.all().get()
        except Py4JJavaError as error:
            return self._one_by_one(asked, wanted, error)
        except (Py4JError, OSError, Interrupted) as error:
            raise self._unavailable(error) from error
        found = {
            (topic, int(partition)): int(offset)
            for topic, partition, offset in _OFFSET.findall(answer.toString())
        }
        if found.keys() != wanted.keys():  # a client that words its answers in another way
            return self._one_by_one(asked, wanted, None)
        return found

    def _read_committed(self) -> Any:
        """What every question about offsets says."""
        if self._committed is None:
            level = self._kafka.common.IsolationLevel.READ_COMMITTED
            self._committed = self._kafka.clients.admin.ListOffsetsOptions(level)
        return self._committed

    def _one_by_one(
        self, asked: Any, wanted: Iterable[Place], error: Py4JJavaError | None
    ) -> dict[Place, int]:
        """Some partition did not answer: keep what the others said."""
        found: dict[Place, int] = {}
        for place in wanted:
            try:
                found[place] = int(asked.partitionResult(self._java_place(place)).get().offset())
            except Py4JJavaError as refusal:
                name, sentence = cause_of(refusal)
                if name not in NOT_NOW:
                    raise self._unavailable(refusal) from refusal
                self.skipped[place] = sentence
            except (Py4JError, OSError, Interrupted) as end:
                raise self._unavailable(end) from end
        if not found and error is not None and cause_of(error)[0] not in NOT_THERE:
            raise self._unavailable(error) from error
        return found

    def _specs_of(self, wanted: Mapping[Place, int]) -> Any:
        """Java's form of the question; the usual two are kept, since every look asks them again."""
        places = frozenset(wanted)
        whens = set(wanted.values())
        when = whens.pop() if len(whens) == 1 else 0
        kept = self._specs.get(when)
        if kept is not None and kept[0] == places:
            return kept[1]
        words = self._kafka.clients.admin.OffsetSpec
        spec_of = {each: _offset_spec(words, each) for each in set(wanted.values())}
        specs = self._jvm.java.util.HashMap()
        for place, each in wanted.items():
            specs.put(self._java_place(place), spec_of[each])
        if when in {EARLIEST, LATEST}:
            self._specs[when] = places, specs
        return specs

    def _java_place(self, place: Place) -> Any:
        known = self._places.get(place)
        if known is None:
            known = self._places[place] = self._place_class(*place)
        return known

    def _wanted(self, feed: FeedSpec) -> list[str]:
        """The feed's topics that exist now."""
        names = self._ask(lambda: self._client.listTopics().names().get().toString())
        return sorted(name for name in names.strip("[]").split(", ") if name and feed.wants(name))

    def _describe(self, names: Iterable[str]) -> dict[str, tuple[str, list[int]]]:
        """Id and led partitions of each topic that is still there."""
        wanted = self._list_class()
        for name in names:
            wanted.add(name)
        asked = self._ask(lambda: self._client.describeTopics(wanted).topicNameValues())
        found = {}
        for name in names:
            try:
                topic = asked.get(name).get()
            except Py4JJavaError as error:
                if cause_of(error)[0] in NOT_THERE:
                    continue  # deleted since it was listed
                raise self._unavailable(error) from error
            except (Py4JError, OSError, Interrupted) as error:
                raise self._unavailable(error) from error
            topic_id = known_id(str(topic.topicId().toString()))
            found[name] = topic_id, self._led(name, topic.partitions())
        return found

    def _led(self, name: str, partitions: Any) -> list[int]:
        """The partitions that have a leader; the others are noted."""
        told = [(int(p), not none) for p, none in _PARTITION.findall(partitions.toString())]
        count = partitions.size()
        if [p for p, _ in told] != list(range(count)):  # a client with another wording
            told = [
                (partitions.get(i).partition(), _is_led(partitions.get(i))) for i in range(count)
            ]
        self.skipped |= {(name, p): "it has no leader" for p, is_led in told if not is_led}
        return [p for p, is_led in told if is_led]

    def _ask(self, call: Any) -> Any:
        try:
            return call()
        except (Py4JError, OSError, Interrupted) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: BaseException) -> KafkaUnavailable:
        """The cause in one sentence; Java's traces are of no use to a reader."""
        return failure_of(error, self._options)


def within(options: Mapping[str, str], limit_ms: int) -> dict[str, str]:
    """The client's options with a limit on every call, unless the user has set one."""
    limited = dict(options)
    if API_TIMEOUT in limited:
        return limited
    request_ms = limited.get(REQUEST_TIMEOUT, "")
    if request_ms.isdigit() and int(request_ms) > limit_ms:
        return {**limited, API_TIMEOUT: request_ms}  # Kafka wants it at least as long
    return {REQUEST_TIMEOUT: str(limit_ms), **limited, API_TIMEOUT: str(limit_ms)}


def known_id(topic_id: str) -> str:
    """The id of a topic; empty where the broker gives none, which every topic shares then."""
    return "" if topic_id == _ZERO_ID else topic_id


def _is_led(partition: Any) -> bool:
    leader = partition.leader()
    return leader is not None and not leader.isEmpty()


def _offset_spec(specs: Any, when: int) -> Any:
    if when == EARLIEST:
        return specs.earliest()
    if when == LATEST:
        return specs.latest()
    return specs.forTimestamp(when)
