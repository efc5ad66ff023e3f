"""A broker with big mixed topics, a Spark session, and feeds that read them: for the benches here.

With a directory of its own (`--keep`) a bench finds the topics of its last run again, and need not
write them anew.
"""

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from pyspark import SparkContext
from pyspark.sql import SparkSession

from bench.avro_events import FIRST_ID, avro_event, avro_schema
from bench.broken_events import broken_event, declared_schema
from bench.events import event, type_name
from bench.one_task import FIRST_WINDOW as FIRST_OF_WORKLOAD
from bench.proto_events import proto_event, proto_schema
from bench.workloads.workload import Workload
from penstock.api.source import Source, SourceTools
from penstock.config import places
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.running_feed import RunningFeed
from penstock.model.spec import (
    DatasetSpec,
    DecodeSpec,
    FeedSpec,
    RouteSpec,
    TimeSpec,
    WindowSpec,
)
from penstock.model.store_spec import StoreSpec
from penstock.model.window import StageOrder
from penstock.ports.registry.registry import Registry
from penstock.ports.source.kafka.kafka_source import KafkaSource
from penstock.ports.store.open_store import local_spec, open_store
from penstock.runtime.surroundings import Surroundings, side_by_side
from penstock.spark.jars import BROKER, CONNECTOR, SPARK_AVRO, fetch, jar_paths
from penstock.spark.java import find_java
from penstock.spark.session import StartingSession, open_session
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient

AROUND = Surroundings(time.time, time.sleep, SystemRandom(), do_all=side_by_side)
PARTITIONS = 4
# What topics hold. Whole and broken events are of declared types, those of "json" are learned.
EVENTS = {
    "json": event,
    "avro": avro_event,
    "protobuf": proto_event,
    "whole": event,
    "broken": broken_event,
}
DECLARED = frozenset({"whole", "broken"})
FORMATS: dict[str, str] = {"avro": "avro", "protobuf": "protobuf"}
FIRST_WINDOW = 20_000  # in it the types are learned; it is not measured
# As quick as the client goes; a topic that is kept must not expire.
PRODUCING: dict[str, str | int] = {
    "compression_type": "lz4",
    "linger_ms": 50,
    "batch_size": 262_144,
}
FOR_EVER = {"retention.ms": "-1"}
_STOP_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class World:
    """Everything a bench works with."""

    spark: SparkSession
    bootstrap: str
    scratch: Path
    broker_pids: tuple[int, ...]


@dataclass(frozen=True)
class MixedTopic:
    """A topic that is filled: with events of so many types in a form, or with a workload."""

    world: World
    name: str
    records: int
    types: int
    form: str = "json"
    workload: Workload | None = None

    @property
    def first(self) -> int:
        """How many records the first window of a feed has."""
        return FIRST_WINDOW if self.workload is None else FIRST_OF_WORKLOAD

    @property
    def measured(self) -> int:
        """How many records lie behind the first window of a feed."""
        return self.records - self.first


@contextmanager
def open_world(keep: Path | None, settings: Mapping[str, str] | None = None) -> Iterator[World]:
    """Start a broker and Spark. Both end with it, also on Ctrl-C and when asked to stop."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    cache = places.jar_cache()
    java_options = places.java_network_options()
    fetch([BROKER], cache, java_home=places.java_home(), java_options=java_options)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
        home = scratch if keep is None else keep
        java = find_java(places.java_home()).path
        kafka = stack.enter_context(EmbeddedKafka(home / "kafka", jar_paths(BROKER, cache), java))
        session = {"spark.master": "local[2]", "spark.log.level": "ERROR", **(settings or {})}
        fetch([SPARK_AVRO], cache, java_home=places.java_home(), java_options=java_options)
        jars = [*jar_paths(CONNECTOR, cache), *jar_paths(SPARK_AVRO, cache)]
        # On a thread of its own, because Spark would take Ctrl-C from us.
        starting = StartingSession(lambda jvm: open_session("bench", session, jars, jvm=jvm))
        started: list[SparkSession] = []
        stack.callback(_end_spark, starting, started)
        started.append(starting.get())
        yield World(started[0], kafka.bootstrap, scratch, tuple(kafka.pids))


def _end_spark(starting: StartingSession, started: Sequence[SparkSession]) -> None:
    """Stop Spark and its JVM, so that nothing writes any more.

    On another thread: each has a connection to the JVM, and Ctrl-C may have cut off that of ours.
    """

    def stop() -> None:
        for spark in started:
            spark.sparkContext.setLogLevel("OFF")  # that tasks are cut off is no news
        starting.stop()

    thread = threading.Thread(target=stop, daemon=True)
    thread.start()
    thread.join(_STOP_TIMEOUT_S)
    if SparkContext._gateway is not None:
        process = SparkContext._gateway.proc
        process.terminate()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def fill(world: World, records: int, types: int, form: str = "json") -> MixedTopic:
    """The topic with so many events of so many types; it is written unless all of it is there."""
    name = f"events-{records}-of-{types}-types" + ("" if form == "json" else f"-{form}")
    make = EVENTS[form]
    topic = MixedTopic(world, name, records, types, form)
    _fill(topic, lambda number: make(number, types))
    return topic


def fill_workload(world: World, workload: Workload, records: int) -> MixedTopic:
    """The topic with so many records of a workload; it is written unless all of it is there."""
    name = f"{workload.name}-{records}"
    topic = MixedTopic(world, name, records, workload.types, workload.form, workload)
    _fill(topic, workload.make)
    return topic


def _fill(topic: MixedTopic, make: Callable[[int], bytes]) -> None:
    client = KafkaClient(topic.world.bootstrap)
    held = client.offsets(topic.name)
    if sum(end for _, end in held.values()) == topic.records:
        return
    if held:
        client.delete_topic(topic.name)
    client.create_topic(topic.name, PARTITIONS, config=FOR_EVER)
    began = time.perf_counter()
    for partition in range(PARTITIONS):
        numbers = range(partition, topic.records, PARTITIONS)
        client.produce(topic.name, partition, map(make, numbers), **PRODUCING)
        written = f"partition {partition + 1} of {PARTITIONS}, {len(numbers):,} records"
        took = time.perf_counter() - began
        print(f"filling {topic.name}: {written}, {took:.0f} s so far", flush=True)


class TimedFeed(RunningFeed):
    """A feed that keeps how long each phase of its windows took."""

    def __init__(self, feed: FeedSpec, tools: FeedTools, *, once: bool) -> None:
        self.phases_s: dict[str, float] = {}
        self._current, self._since = "", time.perf_counter()
        super().__init__(feed, tools, once=once)

    def forget_phases(self) -> None:
        """Begin anew; what is going on now does not count."""
        self.phases_s.clear()
        self._current = ""

    def _moved(self, phase: str, order: StageOrder | None) -> None:
        now = time.perf_counter()
        if self._current:
            spent = self.phases_s.get(self._current, 0.0)
            self.phases_s[self._current] = spent + now - self._since
        self._current, self._since = phase, now
        super()._moved(phase, order)


def feed_of(topic: MixedTopic, max_records: int) -> FeedSpec:
    """A feed of the topic by type and day."""
    if topic.workload is not None:
        return topic.workload.feed(topic.name, max_records)
    form = FORMATS.get(topic.form, "json")
    declared = range(topic.types if topic.form in DECLARED else 0)
    return FeedSpec(
        name="events",
        topics=(topic.name,),
        decode=DecodeSpec(form),
        route=RouteSpec("field", "type") if form == "json" else RouteSpec("schema", "schema"),
        datasets=tuple(
            DatasetSpec(type_name(kind), "jsonschema", declared_schema(kind)) for kind in declared
        ),
        time=TimeSpec(field="event_time", unit="ms", not_before="2015-01-01"),
        window=WindowSpec(every_s=0.0, max_records=max_records, max_bytes=10**12),
    )


def schemas_of_types(form: str) -> Registry:
    """The schemas of all types, without a server: each is asked for once only."""

    def fetch(url: str) -> tuple[int, bytes]:
        kind = int(url.rpartition("/")[2]) - FIRST_ID
        if form == "protobuf":
            found = {"schema": proto_schema(kind), "schemaType": "PROTOBUF"}
        else:
            found = {"schema": avro_schema(kind)}
        return 200, json.dumps(found).encode()

    return Registry("http://bench", fetch)


def new_feed(
    topic: MixedTopic,
    lake: Path | StoreSpec,
    max_records: int,
    open_source: Callable[[FeedSpec, SourceTools], Source] = KafkaSource,
) -> TimedFeed:
    """A feed of the topic that is about to run windows of at most so many records."""
    world = topic.world
    kafka = {"bootstrap.servers": world.bootstrap}
    workload = topic.workload
    registry = schemas_of_types(topic.form) if workload is None else workload.registry()
    source_tools = SourceTools(lambda: world.spark, kafka)
    store = open_store(lake if isinstance(lake, StoreSpec) else local_spec(lake))
    tools = FeedTools(lambda feed: open_source(feed, source_tools), store, AROUND, registry)
    feed = TimedFeed(feed_of(topic, max_records), tools, once=False)
    feed.try_start(force=True)
    return feed


def learned_feed(
    topic: MixedTopic, lake: Path | StoreSpec, max_records: int | None = None
) -> TimedFeed:
    """A feed that has learned its types from a small first window; the next one is the whole rest,
    or `max_records` of it."""
    first = new_feed(topic, lake, topic.first)
    first.run_window()
    first.close()
    feed = new_feed(topic, lake, max_records or topic.records)
    feed.check_last_records()  # once per start, and no part of a window
    feed.forget_phases()
    read = sum(feed.state.watermarks().values())
    if read != topic.first:
        raise SystemExit(f"the first window read {read} records instead of {topic.first}")
    return feed
