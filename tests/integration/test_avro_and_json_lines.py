"""Lakes of Avro files and of JSON lines: real broker and Spark, read by Spark, audited, killed."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.api.doors import FORMATS
from penstock.api.file_format import WriteOptions
from penstock.api.find import find
from penstock.datapath.schemas.dataset_schemas import DatasetSchemas
from penstock.datapath.schemas.ddl import ddl
from penstock.model.layout import Layout
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.contracts.file_format_rows import some_rows
from penstock.testing.kafka_client import KafkaClient
from tests.helpers.files_by_others import rows_of_files
from tests.integration.avro_feeds import Shelf, avro_feed, framed, record
from tests.integration.lakes import (
    an_event,
    audit_deep,
    check_exact,
    data_files,
    deep_fold,
    refused_in,
    run_feeds,
    run_once,
)
from tests.integration.processes import Job, a_feed, killed_at

pytestmark = pytest.mark.xdist_group("processes")

# By format: a compression that our other readers unpack without packages of others.
COMPRESSIONS = {"avro": "deflate", "jsonl": "gzip"}
COMMON: dict[str, Any] = {
    "page": ["null", "string"],
    "tags": {"type": "map", "values": ["null", "long"]},
    "steps": {"type": "array", "items": {"type": "array", "items": ["null", "double"]}},
    "who": ["null", {"type": "record", "name": "Who", "fields": [{"name": "id", "type": "long"}]}],
    "at": {"type": "long", "logicalType": "timestamp-micros"},
    "local": {"type": "long", "logicalType": "local-timestamp-micros"},
    "raw": "bytes",
    "on": {"type": "int", "logicalType": "date"},
}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 9}
VISIT, VISIT_2 = record("Visit", **COMMON), record("Visit", **COMMON, price=PRICE, x="double")


def visits(spark: SparkSession, place: Path, form: str) -> list[str]:
    """All rows of a dataset, as Spark reads them through the table that `--ddl` prints."""
    lake = place.parents[1]
    schemas = DatasetSchemas(LocalStore(lake), Layout("events"), avro_feed("x")).known
    statement = ddl(schemas["shop.Visit"], "spark", str(place), ("day",), form=find(FORMATS, form))
    table = f"visits_{form}"
    spark.sql(f"drop table if exists {table}")
    spark.sql(statement.partition(";")[0].replace("`shop_Visit`", table))
    try:
        spark.sql(f"msck repair table {table}")
        frame = spark.table(table).orderBy("_partition", "_offset")
        columns = sorted(frame.columns)
        rows = frame.select(columns).collect()
        return [json.dumps(row.asDict(True), default=repr) for row in rows]
    finally:
        spark.sql(f"drop table {table}")


def test_spark_reads_the_same_from_every_format_through_its_table(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: values, types and versions are those of Parquet. Method: the statement of `--ddl`."""
    client.create_topic("lines-avro")
    shelf = Shelf(id1=VISIT, id2=VISIT_2)
    times = {"at": 1_763_400_000_123_456, "local": -1, "raw": b"\xff\x00", "on": 20_000}
    some: list[dict[str, Any]] = [
        {"page": None, "tags": {}, "steps": [], "who": None, **times},
        {"page": '/ü"\n', "tags": {"a": 1, "b": None}, "steps": [[1.5, None], []],
         "who": {"id": 2**63 - 1}, **times},
    ]  # fmt: skip
    price = Decimal("123456789012345678901.123456789")
    later = [framed(2, VISIT_2, n=n, price=price / (n + 1), x=n / 3, **some[n % 2])
             for n in range(20, 30)]  # fmt: skip
    for records in ([framed(1, VISIT, n=n, **some[n % 2]) for n in range(20)], later):
        client.produce("lines-avro", 0, [*records, b"broken"])
        for form in ("parquet", *COMPRESSIONS):
            compression = COMPRESSIONS.get(form, "zstd")
            feed = msgspec.structs.replace(
                avro_feed("lines-avro"), format=form, compression=compression
            )
            store = LocalStore(tmp_path / form)
            code, told = run_feeds(spark, kafka, store, feed, registry=shelf.registry)
            assert code == 0, told
    found = {form: visits(spark, tmp_path / form / "events" / "shop.Visit", form)
             for form in ("parquet", *COMPRESSIONS)}  # fmt: skip
    assert len(found["parquet"]) == 30
    for form in COMPRESSIONS:
        assert found[form] == found["parquet"], form
        assert len(rows_of_files(data_files(tmp_path / form))) == 30
        receipt = audit_deep(spark, kafka, tmp_path / form)
        assert (receipt.verdict, receipt.datasets) == ("ok", {"shop.Visit": 30})
        file = data_files(tmp_path / form)[0]
        raw = bytearray(file.read_bytes())
        raw[len(raw) // 2] ^= 0xFF
        file.write_bytes(raw)
        told_of = audit_deep(spark, kafka, tmp_path / form).differences
        assert any(file.name in str(each) for each in told_of), told_of


def test_spark_reads_every_compression_of_avro_in_several_splits(
    spark: SparkSession, tmp_path: Path
) -> None:
    form = find(FORMATS, "avro")
    numbers = pa.table(
        {"n": range(300_000), "t": [f"{n * 7919 % 99991:09}" for n in range(300_000)]}
    )
    spark.conf.set("spark.sql.files.maxPartitionBytes", "500000")
    try:
        for compression, suffix in form.suffixes.items():
            place = tmp_path / f"rows.{suffix}"
            with place.open("wb") as stream:
                file = form.begin(stream, numbers.schema, WriteOptions(compression, {"a": "ü"}))
                for start in range(0, numbers.num_rows, 20_000):
                    file.write(numbers.slice(start, 20_000))
                file.finish()
            frame = spark.read.format("avro").load(str(place))
            assert frame.rdd.getNumPartitions() > 1, compression
            (row,) = frame.selectExpr("count(*)", "sum(n)", "max(t)").collect()
            assert tuple(row) == (300_000, sum(range(300_000)), "000099990"), compression
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


def test_spark_reads_every_type_of_avro(spark: SparkSession, tmp_path: Path) -> None:
    form, rows = find(FORMATS, "avro"), some_rows(4)
    place = tmp_path / "rows.avro"
    with place.open("wb") as stream:
        file = form.begin(stream, rows.schema, WriteOptions("zstd"))
        file.write(rows)
        file.finish()
    frame = spark.read.format("avro").load(str(place)).orderBy("_offset")
    assert dict(frame.dtypes) == {
        "flag": "boolean", "number": "bigint", "float": "double", "text": "string",
        "bytes": "binary", "day": "date", "at": "timestamp", "local": "timestamp_ntz",
        "money": "decimal(38,9)", "who": "struct<id:bigint,names:array<string>>",
        "list": "array<array<string>>", "map": "map<string,struct<x:bigint>>",
        "_topic": "string", "_partition": "int", "_offset": "bigint",
    }  # fmt: skip
    found = [row.asDict(True) for row in frame.collect()]
    wanted = rows.to_pylist()
    for row in (*found, *wanted):
        row["map"] = None if row["map"] is None else dict(row["map"])
        row["bytes"] = None if row["bytes"] is None else bytes(row["bytes"])
        at = row.pop("at")  # Spark hands it out in the zone of this machine
        row["at_s"] = None if at is None else at.astimezone(UTC).timestamp()
    assert found == wanted
    assert datetime(2026, 11, 17, 12, 0, 0, 123456, UTC).timestamp() == found[1]["at_s"]


def test_what_json_has_no_text_for_is_quarantined_and_the_rest_delivered(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("lines-odd")
    schema = record("Click", x="double", all={"type": "array", "items": "double"})
    odd = [float("nan"), float("inf"), float("-inf")]
    payloads = [framed(1, schema, n=n, x=1.5, all=[each]) for n, each in enumerate([0.5, *odd])]
    client.produce("lines-odd", 0, payloads)
    feed = msgspec.structs.replace(avro_feed("lines-odd"), format="jsonl", compression="zstd")
    registry = Shelf(id1=schema).registry
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed, registry=registry)
    assert code == 0, told
    assert [row["n"] for row in rows_of_files(data_files(tmp_path))] == [0]
    assert [row["reason"] for _, row in refused_in(tmp_path, "events")] == ["NOT_FINITE"] * 3
    assert audit_deep(spark, kafka, tmp_path).verdict == "ok"


@pytest.mark.parametrize(("form", "point"), [("avro", "C8"), ("jsonl", "C11")])
def test_nothing_is_lost_or_doubled_when_killed_at(
    form: str, point: str, spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient,
    tmp_path: Path,
) -> None:  # fmt: skip
    topic = f"lines-killed-{form}"
    client.create_topic(topic, partitions=2)
    for partition in (0, 1):
        client.produce(topic, partition, [an_event(n) for n in range(300)])
    compression = COMPRESSIONS[form]
    keys = f"    format: {form}\n    compression: {compression}\n"
    job = Job(tmp_path, kafka.bootstrap, topic, feed=keys)
    killed_at(job, point)
    feed = msgspec.structs.replace(
        a_feed(topic, max_records=250), format=form, compression=compression
    )
    code, told = run_once(spark, kafka, job.lake, feed)
    assert code == 0, told
    assert deep_fold(job.lake).state.undone == {}
    assert all(file.name.endswith(find(FORMATS, form).endings) for file in data_files(job.lake))
    check_exact(job.lake, client, topic)
    assert audit_deep(spark, kafka, job.lake).verdict == "ok"
