"""JSON with schemas, Thrift, MessagePack, text and raw records by a real broker and real Spark."""

import json
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession

from penstock.datapath.codec.thrift.idl.fixed_struct import fixed_struct
from penstock.datapath.codec.thrift.types import ThriftFile
from penstock.model.spec import DecodeSpec, RegistrySpec, RouteSpec, TimeSpec
from penstock.ports.registry.registry import Registry
from penstock.ports.registry.registry_http import http_fetch
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, ReadRecord
from penstock.testing.registry_server import EmbeddedRegistry
from tests.helpers.thrift_worlds import read_by_apache, written
from tests.integration.lakes import (
    NOON_MS,
    Row,
    audit_deep,
    event_of,
    landed,
    mixed_feed,
    run_feeds,
    without_nulls,
)

pytestmark = pytest.mark.xdist_group("kafka")


def test_messagepack_is_read_as_the_json_that_says_the_same(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("packed", partitions=2)
    for partition in (0, 1):
        good = [
            {"type": "ab"[n % 2], "event_time": NOON_MS, "n": n, "x": {"y": [n / 2]}}
            for n in range(40)
        ]
        payloads = [msgspec.msgpack.encode(each) for each in good]
        broken = [payloads[0][:-1], payloads[1] + b"\0", b"", b"\x93\1\2\3", b'{"type": "a"}']
        client.produce("packed", partition, [*payloads[:20], *broken, *payloads[20:]])
    feed = mixed_feed("packed", decode=DecodeSpec("msgpack"))
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed)
    assert code == 0, told

    def same(row: Row, record: ReadRecord) -> None:
        assert event_of(row.columns) == without_nulls(msgspec.msgpack.decode(record.value or b""))

    found = landed(tmp_path, client, "packed", check=same)
    assert (len(found.data), len(found.refused)) == (80, 10)
    reasons = {row["reason"] for row in found.refused.values()}
    assert reasons == {"NOT_MSGPACK", "EMPTY", "NOT_OBJECT"}
    assert audit_deep(spark, kafka, tmp_path).differences == ()


def test_text_is_cut_by_a_pattern_and_routed_by_a_group(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("lines")
    good = [f"2026-11-15T07:05:{n:02}Z {'WARN' if n % 3 else 'INFO'} text {n}\n" for n in range(30)]
    client.produce("lines", 0, [*(line.encode() for line in good), b"stack trace", b"\xff"])
    pattern = r"(?P<at>\S+) (?P<level>[A-Z]+) (?P<said>.*)"
    feed = mixed_feed(
        "lines",
        decode=DecodeSpec("text", pattern=pattern),
        route=RouteSpec("field", "level"),
        time=TimeSpec(field="at", unit="iso8601"),
    )
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed)
    assert code == 0, told

    def same(row: Row, record: ReadRecord) -> None:
        words = " ".join(row.columns[name] for name in ("at", "level", "said"))
        assert words + "\n" == (record.value or b"").decode()
        assert (row.dataset, row.below) == (row.columns["level"], "day=2026-11-15")

    found = landed(tmp_path, client, "lines", check=same)
    assert found.datasets() == {"WARN": 20, "INFO": 10}
    assert {row["reason"] for row in found.refused.values()} == {"NO_MATCH", "NOT_UTF8"}


THRIFT = """
enum Type { VIEW, BUY }
struct Item { 1: required string sku, 2: i32 count }
union Payment { 1: string card, 2: double cash }
struct Event {
  1: required Type type, 2: required i64 event_time, 3: i32 n, 4: list<Item> items,
  5: Payment payment, 6: bool is_new,
}
"""


@pytest.mark.parametrize("protocol", ["binary", "compact"])
def test_thrift_records_have_the_columns_of_their_file(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    protocol: Literal["binary", "compact"],
) -> None:
    """Written by Apache's library; a broken one is quarantined alone, with its reason."""
    topic = f"thrift-{protocol}"
    client.create_topic(topic, partitions=2)
    decode = DecodeSpec("thrift", schema_text=THRIFT, message="Event", protocol=protocol)
    tree = msgspec.json.decode(fixed_struct(decode).text, type=ThriftFile)
    events = [
        {
            "type": n % 2,
            "event_time": NOON_MS,
            "n": n,
            "items": [{"sku": f"a{n}", "count": k} for k in range(n % 3)],
            "payment": {"card": "x"} if n % 2 else {"cash": n / 2},
            "is_new": n % 5 == 0,
        }
        for n in range(40)
    ]
    payloads = [written(tree, each) for each in events]
    less = written(tree, {"type": 0, "n": 1} | {"event_time": NOON_MS})
    broken = [payloads[0][:-1], payloads[1] + b"\0", b"", b'{"type": "a"}' * 9]
    for partition in (0, 1):
        client.produce(topic, partition, [*payloads, *broken, less])
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), mixed_feed(topic, decode=decode))
    assert code == 0, told

    def same(row: Row, record: ReadRecord) -> None:
        event = read_by_apache(tree, record.value or b"")
        event["type"] = ["VIEW", "BUY"][event["type"]]
        assert event_of(row.columns) == without_nulls(event)
        assert row.dataset == event["type"]

    found = landed(tmp_path, client, topic, check=same)
    assert found.datasets() == {"VIEW": 42, "BUY": 40}
    reasons = [row["reason"] for row in found.refused.values()]
    assert len(reasons) == 2 * len(broken)
    assert set(reasons) <= {"TRUNCATED", "TRAILING_BYTES", "OUT_OF_RANGE", "WRONG_TYPE"}
    assert reasons.count("TRAILING_BYTES") == 2
    assert audit_deep(spark, kafka, tmp_path).differences == ()


def test_raw_records_are_kept_as_they_are(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("bytes")
    payloads = [bytes([n, 255 - n]) * n for n in range(50)]
    client.produce("bytes", 0, payloads)
    feed = mixed_feed(
        "bytes",
        decode=DecodeSpec("raw"),
        route=RouteSpec("topic"),
        time=TimeSpec(),
        include=("key", "headers"),
    )
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed)
    assert code == 0, told

    def same(row: Row, record: ReadRecord) -> None:
        assert (row.columns["value"], row.columns["_key"]) == (record.value, record.key)

    found = landed(tmp_path, client, "bytes", check=same)
    assert found.datasets() == {"bytes": 50}


def object_of(title: str, **kinds: str) -> dict[str, Any]:
    """A JSON Schema whose properties have these types."""
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    return {"title": title, "type": "object", "properties": properties}


def test_json_with_ids_has_the_columns_of_its_schemas(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    registry: EmbeddedRegistry,
    tmp_path: Path,
) -> None:
    """Written by another library; two versions of one schema become one table."""
    client.create_topic("json-ids")
    asking = SchemaRegistryClient({"url": registry.url})
    common = {"event_time": "integer", "n": "integer"}
    versions = [object_of("Click", **common), object_of("Click", **common, page="string")]
    payloads = []
    for number, schema in enumerate(versions):
        write = JSONSerializer(json.dumps(schema), asking)
        context = SerializationContext(f"json-ids-{number}", MessageField.VALUE)
        more = {"page": "/"} if number else {"odd": [1]}
        events = [{"event_time": NOON_MS, "n": n, **more} for n in range(20)]
        payloads += [write(each, context) for each in events]
    client.produce("json-ids", 0, [*payloads, payloads[0][:-1], b"{}", payloads[0][:5] + b"[]"])
    feed = mixed_feed(
        "json-ids", decode=DecodeSpec("json", ids=True), route=RouteSpec("schema", "schema")
    )
    asked = Registry(registry.url, http_fetch(RegistrySpec(registry.url)))
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=asked)
    assert code == 0, told

    def same(row: Row, record: ReadRecord) -> None:
        assert event_of(row.columns) == without_nulls(json.loads((record.value or b"")[5:]))

    found = landed(tmp_path, client, "json-ids", check=same)
    assert found.datasets() == {"Click": 40}
    reasons = {row["reason"] for row in found.refused.values()}
    assert reasons == {"NOT_JSON", "NOT_FRAMED", "NOT_OBJECT"}
