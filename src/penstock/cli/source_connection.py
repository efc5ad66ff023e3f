"""How commands ask the sources of feeds, while the command runs.

Kafka is asked through its own client in a small JVM, which all feeds share; feeds with the same
settings share a client, others never do. Any other source is opened as by a run; Spark starts if
the source asks for the session.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any, Protocol

from penstock.api.later import Later
from penstock.api.source import ReadsGroupOffsets, ResolvesStarts, SourceUnavailable
from penstock.cli.client_settings import (
    connector_jars,
    java_options,
    revealed,
    servers_of,
    source_options,
    source_tools,
)
from penstock.cli.errors import UsageMistake
from penstock.cli.output_streams import say
from penstock.config.clients import reveal_spark
from penstock.config.places import java_home
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.model.window import Available, Place
from penstock.ports.source.errors import KafkaUnavailable
from penstock.ports.source.kafka.admin import KafkaAdmin, within
from penstock.ports.source.kafka.rights import KafkaRights
from penstock.ports.source.kafka.told_waiting import ToldWaiting
from penstock.ports.source.open_source import open_source
from penstock.spark.gateway import JvmSpec, kafka_jvm
from penstock.spark.java import find_java

starting_session = Later("penstock.cli.commands.run:starting_session")  # it imports Spark
LIMIT_MS = 15_000  # for commands; a running feed has Kafka's own, longer limit


class AskedSource(Protocol):
    """The source of one feed, as far as commands ask it."""

    def look(self) -> Available:
        """What there is to read now; raises `SourceUnavailable`."""
        ...


class AskedKafka:
    """Kafka, for one feed; it can also find the offsets of times.

    `jvm` and `options` are for other clients of Kafka, in the same JVM.
    """

    def __init__(
        self, admin: KafkaAdmin, feed: FeedSpec, jvm: Any, options: Mapping[str, str]
    ) -> None:
        self._admin = admin
        self._feed = feed
        self.jvm = jvm
        self.options = options

    def look(self) -> Available:
        """What the feed's topics hold now."""
        return self._admin.available(self._feed)

    @property
    def rights(self) -> KafkaRights:
        """What our user may do."""
        return self._admin.rights

    def offset_at(self, topic: str, partition: int, time_ms: int) -> int:
        """The first offset at or after a time, or the log's end."""
        return self._admin.offset_at(topic, partition, time_ms)

    def group_offsets(self, group: str) -> dict[Place, int]:
        """The committed offsets of a consumer group."""
        return self._admin.group_offsets(group)

    def offsets_at(self, wanted: Mapping[Place, int]) -> dict[Place, int]:
        """The same for many partitions in one request."""
        return self._admin.offsets(wanted)


class AskedSources:
    """The sources of a configuration. Nothing is opened before it is asked for."""

    def __init__(self, spec: LakeSpec, opened: ExitStack) -> None:
        self._spec = spec
        self._opened = opened
        self._admins: dict[frozenset[tuple[str, str]], KafkaAdmin] = {}

    def of(self, feed: FeedSpec) -> AskedSource:
        """The source of a feed; raises `KafkaUnavailable`, or what is wrong with a plug-in."""
        if feed.source.is_kafka:
            return AskedKafka(self.kafka(feed), feed, self._jvm, self._limited(feed))
        source = open_source(feed, source_tools(self._spec, feed, self._session))
        self._opened.callback(source.close)
        return source

    def kafka(self, feed: FeedSpec) -> KafkaAdmin:
        """An admin client with a limit on every call, unless the configuration sets its own."""
        options = self._limited(feed)
        key = frozenset(options.items())
        if key not in self._admins:
            waiting = ToldWaiting(options, lambda sentence: say(sentence, sys.stderr))
            waiting.begin()
            admin = KafkaAdmin(self._jvm, options, waiting)
            self._opened.callback(admin.close)
            self._admins[key] = admin
        return self._admins[key]

    def _limited(self, feed: FeedSpec) -> dict[str, str]:
        return within(source_options(self._spec, feed), LIMIT_MS)

    @cached_property
    def _jvm(self) -> Any:
        """The JVM for the clients of all feeds."""
        settings = revealed(reveal_spark(self._spec.spark, os.environ))
        java = find_java(java_home()).path
        jvm_spec = JvmSpec(java, connector_jars(self._spec), settings, java_options(self._spec))
        return self._opened.enter_context(kafka_jvm(jvm_spec))

    def _session(self) -> Any:
        return self._starting.get()

    @cached_property
    def _starting(self) -> Any:
        session = starting_session(self._spec, "asking")
        self._opened.callback(session.stop)
        return session


@contextmanager
def asking_sources(spec: LakeSpec) -> Iterator[AskedSources]:
    """The sources of a configuration; whatever was opened is closed afterwards."""
    with ExitStack() as opened:
        yield AskedSources(spec, opened)


def offsets_at(
    source: AskedSource, feed: FeedSpec, wanted: Mapping[Place, int]
) -> Mapping[Place, int]:
    """The first offset at or after a time, per partition. Raises where the source cannot tell."""
    if isinstance(source, AskedKafka):
        return source.offsets_at(wanted)
    if isinstance(source, ResolvesStarts):
        return {place: source.offset_at(*place, time_ms) for place, time_ms in wanted.items()}
    raise UsageMistake(
        f"The source {feed.source.kind!r} of feed {feed.name!r} cannot find the offset of a time.",
        "Nothing was changed. Name an offset.",
    )


def group_offsets(source: AskedSource, feed: FeedSpec, group: str) -> Mapping[Place, int]:
    """The committed offsets of a consumer group. Raises where the source knows no groups."""
    if isinstance(source, ReadsGroupOffsets):
        return source.group_offsets(group)
    raise UsageMistake(
        f"The source {feed.source.kind!r} of feed {feed.name!r} does not know consumer groups.",
        "Nothing was changed. Name an offset, or a file.",
    )


def not_answered(spec: LakeSpec, feed: FeedSpec) -> Callable[[str], SourceUnavailable]:
    """Makes the error of a source that does not answer for all partitions."""
    if feed.source.is_kafka:
        return lambda why: KafkaUnavailable(servers_of(spec, feed), why)
    return lambda why: SourceUnavailable(f"The source {feed.source.kind!r}", why)
