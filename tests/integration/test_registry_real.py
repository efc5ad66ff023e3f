"""Avro by somebody else's serializer, a real registry, a real broker and real Spark.

The producer is confluent-kafka with its own client of the registry: it registers schemas, writes
the frames and shares no code with us.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
    record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession

from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import DecodeSpec, FeedSpec, RegistrySpec, RouteSpec, TimeSpec
from penstock.ports.registry.errors import RegistryDown, RegistryWrong
from penstock.ports.registry.registry import Registry
from penstock.ports.registry.registry_http import http_fetch
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import Headers, KafkaClient, ReadRecord, Record
from penstock.testing.registry_server import EmbeddedRegistry
from tests.integration.lakes import (
    NOON_MS,
    Row,
    audit_deep,
    deep_fold,
    event_of,
    landed,
    mixed_feed,
    rows_in,
    run_feeds,
    run_through,
    watermarks,
    without_nulls,
)

pytestmark = pytest.mark.xdist_group("kafka")

NOON = datetime.fromtimestamp(NOON_MS / 1000, UTC)
HEADER = "__value_schema_id"
NO_SUCH_ID = b"\0\xff\xff\xff\xffabc"  # larger than any id can be
OUR_GUID = "0b2f7d0e-6f0c-4c0b-9d2e-1d2a3b4c5d6e"


def record(name: str, **fields: Any) -> dict[str, Any]:
    """A schema with the fields that all events have, and some more."""
    every = {"event_time": {"type": "long", "logicalType": "timestamp-millis"}, "n": "long"}
    entries = [{"name": field, "type": kind} for field, kind in (every | fields).items()]
    return {"type": "record", "name": name, "namespace": "shop", "fields": entries}


MONEY = {
    "type": "record", "name": "Money", "namespace": "shop", "fields": [
        {"name": "amount", "type": {
            "type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "currency", "type": {
            "type": "enum", "name": "Currency", "symbols": ["EUR", "USD"]}},
    ],
}  # fmt: skip
CLICK = record("Click", page="string")
CLICK_2 = record("Click", page="string", referrer=["null", "string"])
VIEW = record("View", seconds="double", tags={"type": "array", "items": "string"})
ORDER = record("Order", total="shop.Money", items={"type": "map", "values": "shop.Money"})
MONEY_REFERENCE = SchemaReference("shop.Money", "shop.Money", 1)


class Producer:
    """Serializes with the other library, and remembers what it was told to write."""

    def __init__(self, client: SchemaRegistryClient, topic: str, **settings: Any) -> None:
        self._client = client
        self._topic = topic
        self._settings = {"subject.name.strategy": record_subject_name_strategy, **settings}
        self._by_schema: dict[str, AvroSerializer] = {}
        self.sent: dict[int, dict[str, Any]] = {}

    def record(self, schema: dict[str, Any], n: int, **values: Any) -> Record:
        """A record as it goes to Kafka."""
        said = {"event_time": NOON - timedelta(seconds=n), "n": n, **values}
        self.sent[n] = said
        headers: list[tuple[str, str | bytes | None]] = []
        context = SerializationContext(self._topic, MessageField.VALUE, headers)
        payload = self._serializer(schema)(said, context)
        named = ((name, value) for name, value in headers if not isinstance(value, str))
        return Record(payload, headers=tuple(named))

    def check(self, row: Row, _record: ReadRecord) -> None:
        """A row says what was told to the other library."""
        said = self.sent[row.columns["n"]]
        columns = row.columns
        if "items" in columns:
            columns = columns | {"items": dict(columns["items"])}  # Arrow shows a map as its pairs
        assert event_of(columns) == without_nulls(said)
        assert row.dataset.startswith("shop.")

    def _serializer(self, schema: dict[str, Any]) -> AvroSerializer:
        text = json.dumps(schema)
        if text not in self._by_schema:
            refers = [MONEY_REFERENCE] if "shop.Money" in text else []
            whole = Schema(text, "AVRO", refers)
            self._by_schema[text] = AvroSerializer(self._client, whole, conf=self._settings)
        return self._by_schema[text]


def a_record(producer: Producer, n: int) -> Record:
    """Three types, one of them in two versions and one with references, all mixed."""
    if n % 4 == 0:
        return producer.record(CLICK, n, page=f"/{n}")
    if n % 4 == 1:
        return producer.record(CLICK_2, n, page=f"/{n}", referrer=None if n % 8 == 1 else "r")
    if n % 4 == 2:
        return producer.record(VIEW, n, seconds=n / 4, tags=["t"] * (n % 3))
    euros = {"amount": Decimal(n) / 100, "currency": "EUR"}
    dollars = {"amount": Decimal(-n), "currency": "USD"}
    return producer.record(ORDER, n, total=euros, items={"first": dollars} if n % 8 == 3 else {})


def registering(url: str) -> SchemaRegistryClient:
    """The other library's client; what orders refer to is there already."""
    client = SchemaRegistryClient({"url": url})
    client.register_schema("shop.Money", Schema(json.dumps(MONEY), "AVRO"))
    return client


def asking(url: str) -> Registry:
    """Our own client."""
    return Registry(url, http_fetch(RegistrySpec(url)))


def feed_of(topic: str) -> FeedSpec:
    """A feed of Avro by the name of each record's schema."""
    return msgspec.structs.replace(
        mixed_feed(topic),
        decode=DecodeSpec("avro"),
        route=RouteSpec("schema", "schema"),
        time=TimeSpec(field="event_time"),
    )


@contextmanager
def stopped(registry: EmbeddedRegistry, stop: Callable[[], None]) -> Iterator[None]:
    """No registry for a while; then one without schemas at the same address."""
    stop()
    try:
        yield
    finally:
        registry.start()


def forget(registry: EmbeddedRegistry) -> None:
    """Another registry at the same address."""
    registry.stop()
    registry.start()


def test_the_client_understands_what_a_real_registry_says(registry: EmbeddedRegistry) -> None:
    other, ours = registering(registry.url), asking(registry.url)
    order = Schema(json.dumps(ORDER), "AVRO", [MONEY_REFERENCE])
    number = other.register_schema("shop.Order", order)
    refers = (("shop.Money", json.dumps(MONEY)),)
    assert ours.find(str(number)) == RegisteredSchema("avro", json.dumps(ORDER), refers)
    proto = 'syntax = "proto3"; message Click { string page = 1; }'
    number = other.register_schema("proto", Schema(proto, "PROTOBUF"))
    assert ours.find(str(number)) == RegisteredSchema("protobuf", proto)
    text = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'
    number = other.register_schema("json", Schema(text, "JSON"))
    assert ours.find(str(number)) == RegisteredSchema("json", text)
    for key in ("999999", "4294967295", f"guid:{OUR_GUID}"):
        assert ours.find(key) is None, key
    with pytest.raises(RegistryWrong, match="is not an address of a registry"):
        asking(registry.url.replace("ccompat", "elsewhere")).find("1")


def test_a_registry_can_be_stopped_killed_and_started_at_the_same_address(
    registry: EmbeddedRegistry,
) -> None:
    before = registry.url
    number = str(registering(registry.url).register_schema("shop.Click", Schema(json.dumps(CLICK))))
    ours = asking(registry.url)
    assert ours.find(number) is not None
    with stopped(registry, registry.kill):
        assert registry.pids == []
        with pytest.raises(RegistryDown, match="refused"):
            ours.find(number)
        registry.stop()
    assert registry.url == before
    assert ours.find(number) is None, "it remembers nothing"
    with pytest.raises(RuntimeError, match="runs already"):
        registry.start()


def test_types_versions_and_references_land_as_another_library_was_told(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    registry: EmbeddedRegistry,
    tmp_path: Path,
) -> None:
    topic = "registry-mixed"
    client.create_topic(topic, partitions=2)
    producer = Producer(registering(registry.url), topic)
    for partition in (0, 1):
        records = [a_record(producer, n) for n in range(partition * 100, partition * 100 + 100)]
        client.produce(topic, partition, records)
    client.produce(topic, 0, [NO_SUCH_ID, Record(b"x", headers=((HEADER, b"\1" + bytes(16)),))])
    ours = asking(registry.url)
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed_of(topic), registry=ours)
    assert code == 0, told
    found = landed(tmp_path, client, topic, check=producer.check)
    assert {row["reason"] for row in found.refused.values()} == {"UNKNOWN_SCHEMA"}
    assert len(found.refused) == 2
    assert found.datasets() == {"shop.Click": 100, "shop.View": 50, "shop.Order": 50}
    assert sorted(row.columns["n"] for row in found.data.values()) == sorted(producer.sent)
    assert deep_fold(tmp_path).state.schemas["shop.Click"] == 2
    assert audit_deep(spark, kafka, tmp_path).verdict == "ok"


def test_known_ids_go_on_without_the_registry_and_new_ones_are_held_until_it_is_back(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    registry: EmbeddedRegistry,
    tmp_path: Path,
) -> None:
    """Goal: a registry that is gone costs time and no record. Method: kill it under a running feed.

    It comes back empty and is given the same schemas in the same order, so that ids mean the same.
    """
    topic, feed, store = "registry-down", feed_of("registry-down"), LocalStore(tmp_path)
    client.create_topic(topic, partitions=2)
    forget(registry)  # what it is given first gets the first ids
    producer = Producer(registering(registry.url), topic)
    ours = asking(registry.url)
    click = producer.record(CLICK, 0, page="/")
    late = producer.record(VIEW, 1, seconds=0.5, tags=["late"])
    passed_s: list[float] = []

    def clicks(*numbers: int) -> list[Record]:
        return [producer.record(CLICK, n, page="/") for n in numbers]

    with stopped(registry, lambda: None):
        acts = (
            lambda: client.produce(topic, 0, [click]),
            registry.kill,
            lambda: client.produce(topic, 0, clicks(2, 3, 4)),
            lambda: client.produce(topic, 1, [*clicks(5), late]),
            lambda: client.produce(topic, 0, clicks(6, 7)),
            lambda: passed_s.append(1.1),  # a feed in trouble rests for a second
        )
        _code, told = run_through(
            spark, kafka, store, (feed,), acts, ours, lambda: time.monotonic() + sum(passed_s)
        )
        assert any("REGISTRY_UNAVAILABLE" in line for line in told), told
        found = watermarks(tmp_path)
        assert (found[topic, 0], found.get((topic, 1), 0)) == (6, 0)
        assert run_feeds(spark, kafka, store, feed, registry=ours)[0] == 1, "also in a new run"
    again = Producer(registering(registry.url), topic)
    again.record(CLICK, 0, page="/")
    assert again.record(VIEW, 1, seconds=0.5, tags=["late"]) == late, "ids mean the same"
    assert run_feeds(spark, kafka, store, feed, registry=ours)[0] == 0
    all_of_it = landed(tmp_path, client, topic, check=producer.check)
    assert (all_of_it.refused, all_of_it.datasets()) == ({}, {"shop.Click": 7, "shop.View": 1})


def test_a_registry_that_was_replaced_stops_the_feed_before_ids_mean_something_else(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    registry: EmbeddedRegistry,
    tmp_path: Path,
) -> None:
    topic, feed = "registry-replaced", feed_of("registry-replaced")
    client.create_topic(topic)
    forget(registry)
    producer = Producer(registering(registry.url), topic)
    ours = asking(registry.url)
    client.produce(topic, 0, [producer.record(CLICK, 1, page="/")])
    assert run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=ours)[0] == 0
    forget(registry)
    other = Producer(registering(registry.url), topic)
    client.produce(topic, 0, [other.record(VIEW, 2, seconds=1.0, tags=[])])
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=ours)
    assert code == 5
    assert any("SCHEMA_CHANGED" in line for line in told), told
    assert len(list(rows_in(tmp_path, "events"))) == 1


def test_ids_in_headers_land_as_another_library_was_told(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Method: Apicurio has no guids, so the registry is the one that the library has for tests."""
    topic = "registry-headers"
    client.create_topic(topic)
    theirs = SchemaRegistryClient.new_client({"url": "mock://"})
    producer = Producer(theirs, topic, **{"schema.id.serializer": header_schema_id_serializer})
    records = [producer.record(CLICK, n, page=f"/{n}") for n in range(10)]
    records += [producer.record(VIEW, n, seconds=n / 2, tags=[]) for n in range(10, 20)]
    assert names_of(records[0].headers) == [HEADER]
    client.produce(topic, 0, records)

    def fetch(url: str) -> tuple[int, bytes]:
        place, _, guid = url.rpartition("/")
        assert place == "http://mock/schemas/guids"
        return 200, json.dumps(theirs.get_schema_by_guid(guid).to_dict()).encode()

    ours = Registry("http://mock", fetch)
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed_of(topic), registry=ours)
    assert code == 0, told
    found = landed(tmp_path, client, topic, check=producer.check)
    assert (found.refused, found.datasets()) == ({}, {"shop.Click": 10, "shop.View": 10})


def names_of(headers: Headers) -> list[str]:
    return [name for name, _value in headers]
