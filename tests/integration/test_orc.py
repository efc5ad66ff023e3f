"""Lakes of ORC files: real broker, real Spark, read by Spark and Arrow, audited, and killed."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.orc as orc
import pytest
from pyspark.sql import SparkSession

from penstock.api.file_format import WriteOptions
from penstock.datapath.formats.orc.orc import FORMAT as ORC
from penstock.model.spec import DecodeSpec
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.avro_feeds import Shelf, avro_feed, framed, record
from tests.integration.lakes import (
    NOON_MS,
    an_event,
    audit_deep,
    check_exact,
    data_files,
    deep_fold,
    mixed_feed,
    refused_in,
    run_feeds,
    run_once,
)
from tests.integration.processes import Job, a_feed, killed_at

pytestmark = pytest.mark.xdist_group("processes")

# What S32 names: nulls, fields that come later, maps, nested lists, a union, and arrays of arrays.
COMMON: dict[str, Any] = {
    "page": ["null", "string"],
    "tags": {"type": "map", "values": ["null", "long"]},
    "steps": {"type": "array", "items": {"type": "array", "items": ["null", "double"]}},
    "who": ["null", {"type": "record", "name": "Who", "fields": [{"name": "id", "type": "long"}]}],
}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
VISIT, VISIT_2 = record("Visit", **COMMON), record("Visit", **COMMON, price=PRICE)


def visits(spark: SparkSession, place: Path, form: str) -> list[str]:
    """All rows of a dataset as Spark reads them, across versions, in order."""
    reader = spark.read.format(form).option("mergeSchema", "true")
    frame = reader.load(str(place)).orderBy("_partition", "_offset")
    columns = sorted(frame.columns)
    return [json.dumps(row.asDict(True), default=str) for row in frame.select(columns).collect()]


def test_spark_reads_the_same_from_orc_as_from_parquet(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("orc-avro")
    shelf = Shelf(id1=VISIT, id2=VISIT_2)
    some: list[dict[str, Any]] = [
        {"page": None, "tags": {}, "steps": [], "who": None},
        {"page": "/ü", "tags": {"a": 1, "b": None}, "steps": [[1.5, None], []], "who": {"id": 7}},
    ]
    first = [framed(1, VISIT, n=n, **some[n % 2]) for n in range(20)]
    later = [framed(2, VISIT_2, n=n, price=Decimal(n) / 4, **some[n % 2]) for n in range(20, 30)]
    lakes = {}
    for records in (first, later):
        client.produce("orc-avro", 0, [*records, b"broken"])
        for form in ("parquet", "orc"):
            lakes[form] = tmp_path / form
            feed = msgspec.structs.replace(avro_feed("orc-avro"), format=form)
            code, told = run_feeds(
                spark, kafka, LocalStore(lakes[form]), feed, registry=shelf.registry
            )
            assert code == 0, told
    both = [visits(spark, lakes[form] / "events" / "shop.Visit", form) for form in lakes]
    assert len(both[0]) == 30
    assert both[0] == both[1]
    files = data_files(lakes["orc"])
    assert {file.suffix for file in files} == {".orc"}
    schemas = [orc.ORCFile(file).schema.remove_metadata() for file in files]
    table = ds.dataset(files, schema=pa.unify_schemas(schemas), format="orc").to_table()
    assert (table.num_rows, table["price"].null_count) == (30, 20)
    receipt = audit_deep(spark, kafka, lakes["orc"])
    assert (receipt.verdict, receipt.datasets) == ("ok", {"shop.Visit": 30})
    raw = bytearray(files[0].read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    files[0].write_bytes(raw)
    told_of = audit_deep(spark, kafka, lakes["orc"]).differences
    assert any(files[0].name in str(each) for each in told_of), told_of


def test_spark_reads_every_compression(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"n": range(50_000), "t": [str(n % 99) for n in range(50_000)]})
    for compression in ("zstd", "snappy", "gzip", "lz4", "none"):
        place = tmp_path / f"{compression}.orc"
        with place.open("wb") as stream:
            options = WriteOptions(compression, {"penstock.feed": "events"})
            file = ORC.begin(stream, table.schema, options)
            for start in range(0, table.num_rows, 20_000):
                file.write(table.slice(start, 20_000))
            file.finish()
        (row,) = spark.read.orc(str(place)).selectExpr("count(*)", "sum(n)", "max(t)").collect()
        assert tuple(row) == (50_000, sum(range(50_000)), "98"), compression


DAYS = ["0001-01-01", "1582-10-04", "1582-10-15", "1969-12-31", "2026-11-17", "9999-12-31"]
MOMENTS = [f"{day}T{time}Z" for day in DAYS for time in ("00:00:00", "23:59:59")]
FINE = ["1970-01-01T00:00:00.000001Z", "2026-11-17T12:00:00.123456Z", "9999-12-31T23:59:59.999999Z"]


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_spark_reads_days_and_moments_of_all_years(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path, vectorized: str
) -> None:
    topic = f"orc-times-{vectorized}"
    client.create_topic(topic)
    moment = {"type": "long", "logicalType": "timestamp-micros"}
    schema = record("Click", at=moment, all={"type": "array", "items": moment},
                    on={"type": "int", "logicalType": "date"})  # fmt: skip
    shelf = Shelf(id1=schema)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    times = [datetime.fromisoformat(each) for each in [*MOMENTS, *FINE]]
    micros = [(each - epoch) // timedelta(microseconds=1) for each in times]
    payloads = [
        framed(1, schema, n=n, at=at, all=[at], on=at // 86_400_000_000)
        for n, at in enumerate([*micros, -1])
    ]
    client.produce(topic, 0, payloads)
    feed = msgspec.structs.replace(avro_feed(topic), format="orc")
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=shelf.registry)
    assert code == 0, told
    spark.conf.set("spark.sql.orc.enableVectorizedReader", vectorized)
    try:
        frame = spark.read.orc(str(tmp_path / "events" / "shop.Click")).orderBy("n")
        words = ("unix_micros(at)", "unix_micros(all[0])", "cast(unix_date(on) as long)")
        found = [tuple(row) for row in frame.selectExpr(*words).collect()]
    finally:
        spark.conf.unset("spark.sql.orc.enableVectorizedReader")
    assert found == [(at, at, at // 86_400_000_000) for at in micros]
    (refused,) = refused_in(tmp_path, "events")
    assert refused[1]["reason"] == "TIME_NOT_ORC"


def test_an_array_of_events_keeps_one_offset_and_numbers_its_rows(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("orc-array")
    events = [{"type": "click", "event_time": NOON_MS, "n": n, "deep": [[n]]} for n in range(3)]
    client.produce("orc-array", 0, [json.dumps(events).encode(), an_event(1)])
    feed = mixed_feed("orc-array", decode=DecodeSpec(spread=True), format="orc")
    code, told = run_once(spark, kafka, tmp_path, feed)
    assert code == 0, told
    rows = spark.read.orc(str(tmp_path / "events" / "click")).where("_offset = 0").collect()
    assert sorted((row["_row"], row["n"]) for row in rows) == [(0, 0), (1, 1), (2, 2)]
    assert audit_deep(spark, kafka, tmp_path).verdict == "ok"


@pytest.mark.parametrize("point", ["C5b", "C8", "C11"])
def test_nothing_is_lost_or_doubled_when_killed_at(
    point: str, spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    topic = f"orc-killed-{point.lower()}"
    client.create_topic(topic, partitions=2)
    for partition in (0, 1):
        client.produce(topic, partition, [an_event(n) for n in range(300)])
    job = Job(tmp_path, kafka.bootstrap, topic, feed="    format: orc\n")
    killed_at(job, point)
    feed = msgspec.structs.replace(a_feed(topic, max_records=250), format="orc")
    code, told = run_once(spark, kafka, job.lake, feed)
    assert code == 0, told
    assert deep_fold(job.lake).state.undone == {}
    assert {file.suffix for file in data_files(job.lake)} == {".orc"}
    check_exact(job.lake, client, topic)
    assert audit_deep(spark, kafka, job.lake).verdict == "ok"
