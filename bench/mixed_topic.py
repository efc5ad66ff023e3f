"""A broker with one big mixed topic, a Spark session, and feeds that read it: for the benches here.

Events are JSON of about 200 bytes, all different, spread over types and three days. Each type has
fields of its own beside the common ones. With a directory of its own a bench finds the topic of
its last run again, and need not write it anew.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom

from pyspark.sql import SparkSession

from penstock.config import places
from penstock.engine.feed import FeedTools, RunningFeed
from penstock.engine.jars import BROKER, CONNECTOR, fetch, jar_paths
from penstock.engine.java import find_java
from penstock.engine.session import open_session
from penstock.model.spec import FeedSpec, RouteSpec, TimeSpec, WindowSpec
from penstock.model.surroundings import Surroundings, side_by_side
from penstock.store.local import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient

AROUND = Surroundings(time.time, time.sleep, SystemRandom(), do_all=side_by_side)
DAYS = 3
DAY_MS = 86_400_000
PARTITIONS = 4
FIRST_WINDOW = 20_000  # in it the types are learned; it is not measured
# Two fields of its own per type: a name, and a kind.
OWN_FIELDS = [
    (("url", "text"), ("referrer", "text")),
    (("element", "text"), ("x", "integer")),
    (("query", "text"), ("hits", "integer")),
    (("method", "text"), ("ok", "boolean")),
    (("seconds", "number"), ("ok", "boolean")),
    (("plan", "text"), ("invited", "boolean")),
    (("sku", "text"), ("quantity", "integer")),
    (("amount", "number"), ("currency", "text")),
    (("amount", "number"), ("why", "text")),
    (("target", "text"), ("public", "boolean")),
    (("stars", "integer"), ("score", "number")),
    (("code", "integer"), ("message", "text")),
]


@dataclass(frozen=True)
class World:
    """Everything a bench works with."""

    spark: SparkSession
    bootstrap: str
    topic: str
    records: int
    types: int
    scratch: Path
    broker_pids: tuple[int, ...]


@contextmanager
def open_world(
    records: int, types: int, keep: Path | None, settings: dict[str, str] | None = None
) -> Iterator[World]:
    """Start a broker and Spark, and fill the topic unless it is there."""
    cache = places.jar_cache()
    java_options = places.java_network_options()
    fetch([BROKER], cache, java_home=places.java_home(), java_options=java_options)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
        home = scratch if keep is None else keep
        java = find_java(places.java_home()).path
        kafka = stack.enter_context(EmbeddedKafka(home / "kafka", jar_paths(BROKER, cache), java))
        topic = f"mixed-{records}-{types}"
        fill(KafkaClient(kafka.bootstrap), topic, records, types)
        session = {"spark.master": "local[2]", "spark.log.level": "ERROR", **(settings or {})}
        spark = open_session("bench", session, jar_paths(CONNECTOR, cache))
        stack.callback(spark.stop)
        pids = tuple(kafka.pids)
        yield World(spark, kafka.bootstrap, topic, records, types, scratch, pids)


def fill(client: KafkaClient, topic: str, records: int, types: int) -> None:
    """Write the topic, unless all of it is there."""
    held = client.offsets(topic)
    if sum(end for _, end in held.values()) == records:
        return
    if held:
        client.delete_topic(topic)
    client.create_topic(topic, PARTITIONS)
    now_ms = int(time.time() * 1000)
    for partition in range(PARTITIONS):
        events = (event(n, types, now_ms) for n in range(partition, records, PARTITIONS))
        client.produce(
            topic, partition, events,
            compression_type="lz4", linger_ms=50, batch_size=262_144,
        )  # fmt: skip


def event(number: int, types: int, now_ms: int) -> bytes:
    """The event with this number; its own random numbers make it like no other."""
    random = Random(number)
    kind = random.randrange(types)
    parts = {
        "type": type_name(kind),
        "event_time": now_ms - random.randrange(DAYS) * DAY_MS - random.randrange(3_600_000),
        "id": f"{random.getrandbits(64):016x}",
        "user_id": random.getrandbits(30),
        "session": f"{random.getrandbits(32):08x}",
        "country": random.choice(("DE", "FR", "US", "BR", "IN", "JP")),
        "device": {"os": random.choice(("ios", "android", "web")), "build": number % 997},
    }
    for name, own in OWN_FIELDS[kind % len(OWN_FIELDS)]:
        parts[name] = _value(own, random)
    return json.dumps(parts, separators=(",", ":")).encode()


def type_name(kind: int) -> str:
    """The name of a type by its number."""
    return f"kind_{kind:03}"


def _value(kind: str, random: Random) -> object:
    if kind == "text":
        return f"{random.getrandbits(48):x} and {random.getrandbits(20)}"
    if kind == "integer":
        return random.getrandbits(24)
    return random.random() < 0.5 if kind == "boolean" else round(random.random() * 1_000, 2)


def feed_of(world: World, max_records: int) -> FeedSpec:
    """A feed of the topic by type and day."""
    return FeedSpec(
        name="events",
        topics=(world.topic,),
        route=RouteSpec("field", "type"),
        time=TimeSpec(field="event_time", unit="ms", not_before="2015-01-01"),
        window=WindowSpec(every_s=0.0, max_records=max_records, max_bytes=10**12),
    )


def learned_feed(world: World, lake: Path) -> tuple[RunningFeed, int]:
    """A feed that has learned its types from a small first window; how many records are left."""
    kafka = {"bootstrap.servers": world.bootstrap}
    tools = FeedTools(lambda: world.spark, kafka, LocalStore(lake), AROUND)
    first = RunningFeed(feed_of(world, FIRST_WINDOW), tools, once=False)
    first.try_start(force=True)
    first.run_window()
    first.close()
    feed = RunningFeed(feed_of(world, world.records), tools, once=False)
    feed.try_start(force=True)
    return feed, world.records - sum(feed.owner.fold.state.watermarks().values())
