"""Protobuf through a real broker and real Spark: with a real registry, and with a schema file."""

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from pyspark.sql import SparkSession

from penstock.model.spec import DecodeSpec, FeedSpec, RegistrySpec, RouteSpec, TimeSpec
from penstock.ports.registry.registry import Registry
from penstock.ports.registry.registry_http import http_fetch
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, ReadRecord
from penstock.testing.registry_server import EmbeddedRegistry
from tests.integration.lakes import (
    NOON_MS,
    Row,
    audit_deep,
    landed,
    mixed_feed,
    run_feeds,
)

pytestmark = pytest.mark.xdist_group("kafka")

FIELD = descriptor_pb2.FieldDescriptorProto


def shop_file(version: int) -> descriptor_pb2.FileDescriptorProto:
    """Two messages; in the second version clicks have one field more."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"shop{version}.proto", package=f"shop{version}", syntax="proto3"
    )
    click = file.message_type.add(name="Click")
    click.field.add(name="event_time", number=1, type=FIELD.TYPE_INT64, label=FIELD.LABEL_OPTIONAL)
    click.field.add(name="n", number=2, type=FIELD.TYPE_SINT32, label=FIELD.LABEL_OPTIONAL)
    click.field.add(name="page", number=3, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)
    click.field.add(name="tags", number=4, type=FIELD.TYPE_STRING, label=FIELD.LABEL_REPEATED)
    if version > 1:
        click.field.add(name="more", number=5, type=FIELD.TYPE_DOUBLE, label=FIELD.LABEL_OPTIONAL)
    order = file.message_type.add(name="Order")
    order.field.add(name="event_time", number=1, type=FIELD.TYPE_INT64, label=FIELD.LABEL_OPTIONAL)
    order.field.add(name="n", number=2, type=FIELD.TYPE_UINT32, label=FIELD.LABEL_OPTIONAL)
    return file


def classes(version: int) -> dict[str, Any]:
    """The messages of a version, as Python classes."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(shop_file(version))
    names = [f"shop{version}.Click", f"shop{version}.Order"]
    return {
        name.rpartition(".")[2]: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
        for name in names
    }


def a_message(number: int, made: dict[str, Any]) -> Any:
    """Clicks and orders take turns."""
    if number % 3 == 0:
        return made["Order"](event_time=NOON_MS, n=number)
    fields = {"more": number / 4} if "more" in made["Click"].DESCRIPTOR.fields_by_name else {}
    tags = ["a", "b"][: number % 3]
    return made["Click"](event_time=NOON_MS, n=-number, page=f"/{number}", tags=tags, **fields)


def proto_feed(topic: str, decode: DecodeSpec, route: RouteSpec) -> FeedSpec:
    """A feed of Protobuf whose times are in milliseconds."""
    time = TimeSpec(field="event_time", unit="ms")
    return msgspec.structs.replace(mixed_feed(topic), decode=decode, route=route, time=time)


def check_columns(row: Row, n: int) -> None:
    """What a row of a click or an order should say."""
    if row.dataset.endswith("Order"):
        assert row.columns["n"] == n
    else:
        assert (row.columns["n"], row.columns["page"]) == (-n, f"/{n}")
        assert row.columns["tags"] == ["a", "b"][: n % 3]


def test_messages_of_a_real_registry_are_routed_by_their_names(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    registry: EmbeddedRegistry,
    tmp_path: Path,
) -> None:
    """Written by another library: ids, message indexes, two versions in one topic."""
    client.create_topic("proto-real", partitions=2)
    asking = SchemaRegistryClient({"url": registry.url})
    for version in (1, 2):
        made = classes(version)
        context = SerializationContext(f"proto-real-{version}", MessageField.VALUE)
        serializers = {
            name: ProtobufSerializer(kind, asking, {"use.deprecated.format": False})
            for name, kind in made.items()
        }
        messages = [a_message(n, made) for n in range(30)]
        payloads = [serializers[type(m).DESCRIPTOR.name](m, context) for m in messages]
        client.produce("proto-real", version - 1, [*payloads, payloads[0][:4], payloads[1][:-1]])
    feed = proto_feed("proto-real", DecodeSpec("protobuf"), RouteSpec("schema", "schema"))
    asked = Registry(registry.url, http_fetch(RegistrySpec(registry.url)))
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=asked)
    assert code == 0, told

    def same(row: Row, record: ReadRecord) -> None:
        check_columns(row, record.offset)

    found = landed(tmp_path, client, "proto-real", check=same)
    assert found.datasets() == {
        "shop1.Click": 20, "shop1.Order": 10, "shop2.Click": 20, "shop2.Order": 10,
    }  # fmt: skip
    assert {row["reason"] for row in found.refused.values()} == {"NOT_FRAMED", "TRUNCATED"}
    assert audit_deep(spark, kafka, tmp_path).verdict == "ok"


def test_one_message_of_a_set_of_descriptors_needs_no_registry(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("proto-fixed")
    made = classes(2)
    messages = [a_message(n, made) for n in range(30) if n % 3]
    client.produce("proto-fixed", 0, [m.SerializeToString() for m in messages])
    files = descriptor_pb2.FileDescriptorSet(file=[shop_file(2)])
    text = base64.b64encode(files.SerializeToString()).decode()
    decode = DecodeSpec("protobuf", schema_text=text, message="shop2.Click")
    feed = proto_feed("proto-fixed", decode, RouteSpec())
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed)
    assert code == 0, told
    numbers = [n for n in range(30) if n % 3]

    def same(row: Row, record: ReadRecord) -> None:
        check_columns(row, numbers[record.offset])
        assert row.columns["more"] == numbers[record.offset] / 4

    assert len(landed(tmp_path, client, "proto-fixed", check=same).data) == 20
    wrong = msgspec.structs.replace(feed, name="wrong", decode=DecodeSpec(
        "protobuf", schema_text=text, message="shop2.Nothing"))  # fmt: skip
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), wrong)
    assert code == 2
    assert any("SCHEMA_REFUSED" in line and "shop2.Order" in line for line in told), told
