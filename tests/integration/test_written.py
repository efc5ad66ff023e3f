"""Avro with a schema per record, through a real broker and real Spark; the registry is a dict."""

import io
import json
import struct
from decimal import Decimal
from pathlib import Path

import duckdb
import fastavro
import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.cli.main import main
from penstock.model.spec import (
    DatasetSpec,
    DecodeSpec,
    QuarantineSpec,
)
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, ReadRecord
from tests.integration.avro_feeds import Shelf, avro_feed, framed, record
from tests.integration.lakes import (
    Row,
    audit_deep,
    deep_fold,
    event_of,
    landed,
    rows_in,
    run_feeds,
    watermarks,
    without_nulls,
)

pytestmark = pytest.mark.xdist_group("kafka")


CLICK = record("Click", page="string")
CLICK_2 = record("Click", page=["null", "string"], who={
    "type": "record", "name": "Who", "fields": [{"name": "id", "type": "long"}]})  # fmt: skip
ORDER = record("Order", price={
    "type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}, tags={
    "type": "array", "items": "string"})  # fmt: skip
CLICK_BAD = record("Click", page="long")


SCHEMAS = {1: CLICK, 2: ORDER, 3: CLICK_2, 4: CLICK_BAD}


def same_record(row: Row, record: ReadRecord) -> None:
    """A row says what another library reads in its record."""
    payload = record.value or b""
    number = struct.unpack(">I", payload[1:5])[0] if payload[:1] == b"\0" else 1
    schema = fastavro.parse_schema(json.loads(json.dumps(SCHEMAS[number])))
    body = io.BytesIO(payload[5:] if payload[:1] == b"\0" else payload)
    said = fastavro.schemaless_reader(body, schema)
    assert event_of(row.columns) == without_nulls(said)


def a_record(n: int) -> bytes:
    """Two types, one of them in two versions, all mixed; every tenth is broken somehow."""
    if n % 10 == 7:
        whole = framed(1, CLICK, n=n, page="x")
        return [whole[:-1], whole + b"\0", b"{}", b"\0\0\0\0\x63abc"][n // 10 % 4]
    if n % 3 == 0:
        return framed(2, ORDER, n=n, price=Decimal(n) / 4, tags=["a"] * (n % 4))
    if n % 3 == 1:
        return framed(1, CLICK, n=n, page=f"/{n}")
    return framed(3, CLICK_2, n=n, page=None if n % 2 else f"/{n}", who={"id": n})


def test_versions_mixed_in_one_batch_become_one_dataset(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("avro-mixed", partitions=2)
    for partition in (0, 1):
        client.produce("avro-mixed", partition, [a_record(n) for n in range(partition, 200, 2)])
    shelf = Shelf(id1=CLICK, id2=ORDER, id3=CLICK_2)
    feed = avro_feed("avro-mixed")
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)
    assert code == 0, told
    found = landed(tmp_path, client, "avro-mixed", check=same_record)
    assert set(found.datasets()) == {"shop.Click", "shop.Order"}
    reasons = {row["reason"] for row in found.refused.values()}
    assert reasons == {"TRUNCATED", "TRAILING_BYTES", "NOT_FRAMED", "UNKNOWN_SCHEMA"}
    assert len(found.refused) == 20
    for row in found.data.values():
        n = row.columns["n"]
        if n % 3 == 0:
            assert row.columns["price"] == Decimal(n) / 4
            assert row.columns["tags"] == ["a"] * (n % 4)
        elif n % 3 == 1:
            assert (row.columns["page"], row.columns["who"]) == (f"/{n}", None)
        else:
            assert row.columns["page"] == (None if n % 2 else f"/{n}")
            assert row.columns["who"] == {"id": n}
    schemas = deep_fold(tmp_path).state.schemas
    assert schemas["shop.Click"] == 2
    assert audit_deep(spark, kafka, tmp_path).verdict == "ok"
    assert len(shelf.asked) <= 2 * 4, "each id is asked for once, and once more if it is not there"


def test_readers_take_the_files_of_all_versions_for_one_table(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: no reader needs Penstock. Method: files of two versions, three readers, one answer."""
    client.create_topic("avro-versions")
    shelf = Shelf(id1=CLICK, id3=CLICK_2)
    feed = avro_feed("avro-versions")
    for number, schema in ((1, CLICK), (3, CLICK_2)):
        more = {"who": {"id": 7}} if number == 3 else {}
        records = [framed(number, schema, n=n, page=f"/{n}", **more) for n in range(5)]
        client.produce("avro-versions", 0, records)
        assert run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)[0] == 0
    place = str(tmp_path / "events" / "shop.Click")
    wanted = sorted([(n, f"/{n}", None) for n in range(5)] + [(n, f"/{n}", 7) for n in range(5)],
                    key=str)  # fmt: skip
    frame = spark.read.option("mergeSchema", "true").parquet(place)
    rows = [tuple(row) for row in frame.select("n", "page", "who.id").collect()]
    assert sorted(rows, key=str) == wanted
    query = f"select n, page, who.id from read_parquet('{place}/**/*.parquet', union_by_name=true)"
    assert sorted(duckdb.execute(query).fetchall(), key=str) == wanted
    files = sorted((tmp_path / "events" / "shop.Click").rglob("*.parquet"))
    schemas = [pq.read_schema(file) for file in files]
    table = ds.dataset(files, schema=pa.unify_schemas(schemas)).to_table(["n", "page", "who"])
    found = [(r["n"], r["page"], r["who"] and r["who"]["id"]) for r in table.to_pylist()]
    assert sorted(found, key=str) == wanted


def test_what_cannot_be_merged_is_quarantined_and_the_rest_goes_on(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("avro-bad")
    shelf = Shelf(id1=CLICK, id4=CLICK_BAD)
    client.produce("avro-bad", 0, [framed(1, CLICK, n=n, page="/") for n in range(5)])
    feed = avro_feed("avro-bad")
    assert run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)[0] == 0
    client.produce("avro-bad", 0, [framed(4, CLICK_BAD, n=n, page=n) for n in range(5, 8)])
    client.produce("avro-bad", 0, [framed(1, CLICK, n=8, page="/")])
    assert run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)[0] == 0
    found = landed(tmp_path, client, "avro-bad", check=same_record)
    assert sorted(row.columns["n"] for row in found.data.values()) == [0, 1, 2, 3, 4, 8]
    assert {row["reason"] for row in found.refused.values()} == {"SCHEMA_INCOMPATIBLE"}
    assert {row["dataset"] for row in found.refused.values()} == {"shop.Click"}


def test_a_dataset_stops_at_what_cannot_be_merged_and_the_others_go_on(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Method: far more misfits than the error budget allows; a person's word by the command."""
    client.create_topic("avro-stop")
    shelf = Shelf(id1=CLICK, id2=ORDER, id4=CLICK_BAD)
    strict = QuarantineSpec(max_ratio=0.0, min_records=1)
    only = (DatasetSpec("shop.Click", incompatible="stop"),)
    feed = avro_feed("avro-stop", datasets=only, quarantine=strict)
    order = framed(2, ORDER, n=9, price=Decimal("1.25"), tags=[])
    client.produce("avro-stop", 0, [framed(1, CLICK, n=n, page="/") for n in range(5)])
    assert run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)[0] == 0
    client.produce("avro-stop", 0, [framed(4, CLICK_BAD, n=n, page=n) for n in range(5, 8)])
    client.produce("avro-stop", 0, [framed(1, CLICK, n=8, page="/"), order])
    for _ in range(2):
        code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)
        assert code == 5
        assert any("SCHEMAS_INCOMPATIBLE" in line for line in told), told
        shown = sorted(row.columns["n"] for _, row in rows_in(tmp_path, "events"))
        assert shown == [0, 1, 2, 3, 4, 9]
    assert any("shop.Click is stopped, decided and not visible: 3 records" in line for line in told)
    assert watermarks(tmp_path) == {("avro-stop", 0): 10}
    config = tmp_path / "penstock.yaml"
    config.write_text(
        f"version: 1\nlake: {tmp_path}\nkafka: {{bootstrap.servers: {kafka.bootstrap}}}\n"
        "feeds: {events: {topics: [avro-stop]}}\n"
    )
    words = ["errors", "accept", "events", "--dataset", "shop.Click", "--reason", "test"]
    assert main([*words, "-c", str(config)]) == 0, capsys.readouterr()
    assert run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)[0] == 0
    found = landed(tmp_path, client, "avro-stop", check=same_record)
    assert sorted(row.columns["n"] for row in found.data.values()) == [0, 1, 2, 3, 4, 8, 9]
    assert audit_deep(spark, kafka, tmp_path).verdict == "ok"


def test_while_the_registry_is_down_known_schemas_go_on_and_others_are_held(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: nothing is quarantined for want of an answer. Method: new ids in one partition only."""
    client.create_topic("avro-down", partitions=2)
    shelf = Shelf(id1=CLICK, id2=ORDER)
    feed = avro_feed("avro-down")
    for partition in (0, 1):
        client.produce("avro-down", partition, [framed(1, CLICK, n=1, page="/")])
    assert run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)[0] == 0
    shelf.is_up = False
    client.produce("avro-down", 0, [framed(1, CLICK, n=2, page="/")] * 3)
    order = framed(2, ORDER, n=3, price=Decimal("1.25"), tags=[])
    client.produce("avro-down", 1, [framed(1, CLICK, n=2, page="/"), order])
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)
    assert code == 1
    assert any("REGISTRY_UNAVAILABLE" in line for line in told), told
    assert any("PARTITIONS_UNREAD" in line for line in told), told
    assert watermarks(tmp_path) == {("avro-down", 0): 4, ("avro-down", 1): 1}
    assert not list(tmp_path.rglob("*.staged"))
    shelf.is_up = True
    assert run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)[0] == 0
    found = landed(tmp_path, client, "avro-down", check=same_record)
    assert (len(found.data), len(found.refused)) == (7, 0)


def test_an_id_that_means_another_schema_now_stops_the_feed(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("avro-changed")
    shelf = Shelf(id1=CLICK)
    feed = avro_feed("avro-changed")
    client.produce("avro-changed", 0, [framed(1, CLICK, n=1, page="/")])
    assert run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)[0] == 0
    shelf.schemas[1] = CLICK_2
    client.produce("avro-changed", 0, [framed(1, CLICK, n=2, page="/")])
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)
    assert code == 5
    assert any("SCHEMA_CHANGED" in line for line in told), told
    assert len(list(rows_in(tmp_path, "events"))) == 1


def test_one_schema_for_all_records_needs_no_registry_and_no_frame(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("avro-fixed")
    payloads = [framed(1, CLICK, n=n, page=f"/{n}")[5:] for n in range(9)]
    client.produce("avro-fixed", 0, [*payloads, payloads[0][:-1]])
    feed = msgspec.structs.replace(
        avro_feed("avro-fixed"), decode=DecodeSpec("avro", schema_text=json.dumps(CLICK))
    )
    assert run_feeds(spark, kafka, LocalStore(tmp_path), feed)[0] == 0
    found = landed(tmp_path, client, "avro-fixed", check=same_record)
    assert sorted(row.columns["page"] for row in found.data.values()) == [f"/{n}" for n in range(9)]
    assert len(found.refused) == 1
