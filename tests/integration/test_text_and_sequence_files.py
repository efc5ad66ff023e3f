"""Lakes of lines and of SequenceFiles: real broker and Spark, read by Hadoop, audited, killed."""

import gzip
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import msgspec
import pyspark
import pytest
from pyspark import RDD
from pyspark.sql import SparkSession

from penstock.model.names import FileName, parse_name
from penstock.model.spec import DecodeSpec, FeedSpec, FilesSpec
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
        assert isinstance(name, FileName), "one Kafka partition per file"
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


def told_by_hadoop(files: list[Path], java: Java, folder: Path) -> list[list[str]]:
    """What `hadoop fs -text` prints of all records of some files: the key and the value of each."""
    (folder / "core-site.xml").write_text("<configuration/>")
    path = f"{folder}{os.pathsep}{Path(pyspark.__file__).parent / 'jars'}/*"
    shell = ["-cp", path, "org.apache.hadoop.fs.FsShell", "-text"]
    words = [str(java.path), "-XX:TieredStopAtLevel=1", *shell, *(f.as_uri() for f in files)]
    told = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stderr
    return [line.split("\t") for line in told.stdout.splitlines()]


def key_by_hadoop(form: str, offset: int) -> str:
    """How Hadoop prints the key of a record without a key of Kafka."""
    if form == "sequencefile":
        return str(offset)
    return msgspec.msgpack.encode({1: offset}).hex(" ")


KINDS = (
    ("sequencefile", "none"),
    ("sequencefile", "record"),
    ("sequencefile", "block"),
    ("sequencefile-msgpack", "block"),
)


def test_hadoop_and_spark_read_every_kind_of_sequence_file(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, java: Java, tmp_path: Path
) -> None:
    """Goal: offsets and values are Kafka's. Method: Hadoop's reader, and Spark's `sequenceFile`."""
    client.create_topic("seq-raw", partitions=2)
    for partition in (0, 1):
        values = [b"\x00\n%d" % n + b"x" * (n % 700) for n in range(3_000)]
        client.produce("seq-raw", partition, values)
    wanted = {(r.partition, r.offset): r.value or b"" for r in client.read_all("seq-raw")}
    raw = FeedSpec(
        name="events",
        topics=("seq-raw",),
        decode=DecodeSpec("raw"),
        partition=(),
        files=FilesSpec(gather="auto"),
    )
    files: list[Path] = []
    printed: list[list[str]] = []
    for form, compression in KINDS:
        lake = tmp_path / f"{form}-{compression}"
        feed = msgspec.structs.replace(raw, format=form, compression=compression)
        code, told = run_once(spark, kafka, lake, feed)
        assert code == 0, told
        found = data_files(lake)
        assert [file.name.split("_")[2] for file in found] == ["0", "1"]
        files += found
        printed += [[key_by_hadoop(form, offset), value.hex(" ")]
                    for (_, offset), value in sorted(wanted.items())]  # fmt: skip
        if form == "sequencefile":
            pairs: RDD[tuple[int, bytearray]] = spark.sparkContext.sequenceFile(
                str(found[1]), minSplits=3
            )
            read = {(1, offset): bytes(value) for offset, value in pairs.collect()}
            assert read == {place: wanted[place] for place in wanted if place[0] == 1}
    assert told_by_hadoop(files, java, tmp_path) == printed
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


def test_nothing_is_lost_or_doubled_when_the_owner_is_killed(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("values-killed", partitions=2)
    for partition in (0, 1):
        client.produce("values-killed", partition, [an_event(n) for n in range(300)])
    keys = "    format: sequencefile\n    sequencefile: {key: msgpack}\n"
    job = Job(tmp_path, kafka.bootstrap, "values-killed", feed=keys)
    killed_at(job, "C11")
    feed = msgspec.structs.replace(
        a_feed("values-killed", max_records=250),
        format="sequencefile-msgpack",
        compression="block",
    )
    code, told = run_once(spark, kafka, job.lake, feed)
    assert code == 0, told
    assert deep_fold(job.lake).state.undone == {}
    assert values_in(job.lake) == values_of(client, "values-killed")
    assert audit_deep(spark, kafka, job.lake).verdict == "ok"
