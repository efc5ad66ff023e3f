"""Lakes of lines and of SequenceFiles: real broker and Spark, read by Hadoop, audited, killed."""

import gzip
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import msgspec
import pyspark
import pytest
from pyspark.sql import SparkSession

from penstock.model.names import parse_name
from penstock.model.spec import DecodeSpec, FeedSpec, FilesSpec, RouteSpec
from penstock.spark.java import Java
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.helpers.files_by_others import values_of_file
from tests.integration.lakes import (
    an_event,
    audit_deep,
    data_files,
    deep_fold,
    run_once,
)
from tests.integration.processes import Job, a_feed, killed_at

pytestmark = pytest.mark.xdist_group("processes")

Values = dict[tuple[str, int], list[bytes]]  # by dataset and partition, in order


def values_in(lake: Path) -> Values:
    """The values in all files, by code of others."""
    found: Values = defaultdict(list)
    for file in data_files(lake):
        name = parse_name(file.name)
        assert name is not None
        place = file.relative_to(lake / "events").parts[0], name.partition
        found[place] += [value for value, _ in values_of_file(file)]
    return {place: sorted(values) for place, values in found.items()}


def values_of(client: KafkaClient, topic: str) -> Values:
    """The same in Kafka, of records that can be parsed."""
    found: Values = defaultdict(list)
    for record in client.read_all(topic):
        if record.value and record.value.endswith(b"}"):
            kind = msgspec.json.decode(record.value)["type"]
            found[kind, record.partition].append(record.value)
    return {place: sorted(values) for place, values in found.items()}


def told_by_hadoop(files: list[Path], java: Java, folder: Path) -> list[str]:
    """What `hadoop fs -text` prints of some files: a line for each record."""
    (folder / "core-site.xml").write_text("<configuration/>")
    jars = Path(pyspark.__file__).parent / "jars"
    words = [str(java.path), "-XX:TieredStopAtLevel=1", "-cp", f"{folder}{os.pathsep}{jars}/*",
             "org.apache.hadoop.fs.FsShell", "-text", *(file.as_uri() for file in files)]  # fmt: skip
    told = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stderr
    return told.stdout.splitlines()


def as_hadoop(value: bytes) -> str:
    """How Hadoop prints bytes."""
    return value.hex(" ")


def test_hadoop_and_spark_read_every_kind_of_sequence_file(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, java: Java, tmp_path: Path
) -> None:
    """Goal: offsets, keys and values are Kafka's. Method: Hadoop's own reader, and `sequenceFile`."""
    client.create_topic("seq-raw", partitions=2)
    for partition in (0, 1):
        values = [b"\x00\n%d" % n + b"x" * (n % 700) for n in range(3_000)]
        client.produce("seq-raw", partition, values)
    wanted = {(r.partition, r.offset): r.value for r in client.read_all("seq-raw")}
    raw = FeedSpec(
        name="events",
        topics=("seq-raw",),
        decode=DecodeSpec("raw"),
        route=RouteSpec(),
        partition=(),
        files=FilesSpec(gather="auto"),
    )
    for form, compression in (
        ("sequencefile", "none"),
        ("sequencefile", "record"),
        ("sequencefile", "block"),
        ("sequencefile-msgpack", "block"),
    ):
        lake = tmp_path / f"{form}-{compression}"
        feed = msgspec.structs.replace(raw, format=form, compression=compression)
        code, told = run_once(spark, kafka, lake, feed)
        assert code == 0, told
        for file in data_files(lake):
            partition = int(file.name.split("_")[2])
            mine = {
                offset: value for (place, offset), value in wanted.items() if place == partition
            }
            if form == "sequencefile":
                pairs = spark.sparkContext.sequenceFile(str(file), minSplits=3)
                assert pairs.getNumPartitions() >= 3 or compression == "block"
                assert {n: bytes(value) for n, value in pairs.collect()} == mine
            lines = [line.split("\t") for line in told_by_hadoop([file], java, tmp_path)]
            assert [value for _, value in lines] == [as_hadoop(mine[n]) for n in sorted(mine)]
            if form == "sequencefile":
                assert [int(key) for key, _ in lines] == sorted(mine)
        assert len(data_files(lake)) == 2
    assert audit_deep(spark, kafka, lake).verdict == "ok"


def test_spark_and_gzip_read_lines(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """JSON is parsed for its type and time, and written as it came."""
    client.create_topic("lines-text", partitions=2)
    for partition in (0, 1):
        client.produce("lines-text", partition, [an_event(n) for n in range(60)])
    feed = msgspec.structs.replace(a_feed("lines-text"), format="text", compression="gzip")
    code, told = run_once(spark, kafka, tmp_path, feed)
    assert code == 0, told
    assert values_in(tmp_path) == values_of(client, "lines-text")
    files = data_files(tmp_path)
    lines = [line for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]
    frame = spark.read.text(str(tmp_path / "events"), recursiveFileLookup=True)
    assert sorted(row[0] for row in frame.collect()) == sorted(line.decode() for line in lines)
    assert audit_deep(spark, kafka, tmp_path).verdict == "ok"
    raw = bytearray(files[0].read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    files[0].write_bytes(raw)
    told_of = audit_deep(spark, kafka, tmp_path).differences
    assert [each.file for each in told_of] == [files[0].relative_to(tmp_path).as_posix()]


@pytest.mark.parametrize(("form", "point"), [("text", "C8"), ("sequencefile", "C11")])
def test_nothing_is_lost_or_doubled_when_killed_at(
    form: str, point: str, spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient,
    tmp_path: Path,
) -> None:  # fmt: skip
    topic = f"values-killed-{form}"
    client.create_topic(topic, partitions=2)
    for partition in (0, 1):
        client.produce(topic, partition, [an_event(n) for n in range(300)])
    job = Job(tmp_path, kafka.bootstrap, topic, feed=f"    format: {form}\n    compression: none\n")
    killed_at(job, point)
    feed = msgspec.structs.replace(a_feed(topic, max_records=250), format=form, compression="none")
    code, told = run_once(spark, kafka, job.lake, feed)
    assert code == 0, told
    assert deep_fold(job.lake).state.undone == {}
    assert values_in(job.lake) == values_of(client, topic)
    assert audit_deep(spark, kafka, job.lake).verdict == "ok"
