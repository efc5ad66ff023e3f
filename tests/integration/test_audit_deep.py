"""The deep audit on real parts: Spark reads the files, and a broker is asked again.

Every way to doctor a lake is tried in `tests/unit/audit/`, without a JVM. Here are the
states of Kafka that only a real broker has, and the command itself.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.audit.receipt import KafkaReceipt, Receipt
from penstock.model.entries import Entry, Window
from penstock.model.layout import Layout
from penstock.model.manifest import Content
from penstock.model.spec import WindowSpec
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, Record
from tests.helpers.doctored_lakes import offsets_in, remark, reseal, rewrite
from tests.integration.lakes import (
    an_event,
    audit_deep,
    bodies,
    data_files,
    event,
    mixed_feed,
    run_once,
    watermarks,
)

pytestmark = pytest.mark.xdist_group("kafka")

CONFIG = """\
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "{servers}"}}
spark: {{spark.master: "local[2]"}}
feeds: {{events: {{topics: [deep-doctored]}}}}
"""


def kafka_of(receipt: Receipt) -> KafkaReceipt:
    assert receipt.deep is not None
    return receipt.deep.kafka


def test_nothing_that_kafka_does_by_itself_raises_a_false_alarm(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Transactions kept and aborted, markers alone, tombstones, an empty partition, broken ones."""
    client.create_topic("deep-odd", partitions=3)
    feed = mixed_feed("deep-odd", window=WindowSpec(max_records=40))
    client.produce_together("deep-odd", {0: [event("a", 0), event("b", 1)]}, keep=True)
    assert run_once(spark, kafka, tmp_path, feed)[0] == 0
    client.produce_together("deep-odd", {0: [event("a", 2)], 1: [event("a", 3)]}, keep=False)
    client.produce("deep-odd", 0, [Record(None, b"gone"), event("b", 4), b"broken"])
    client.produce("deep-odd", 1, [an_event(n) for n in range(150)])
    assert run_once(spark, kafka, tmp_path, feed)[0] == 0
    client.produce_together("deep-odd", {1: [event("b", 5)]}, keep=False)
    assert run_once(spark, kafka, tmp_path, feed)[0] == 0
    receipt = audit_deep(spark, kafka, tmp_path)
    assert receipt.differences == ()
    assert kafka_of(receipt).unchecked == ()
    assert kafka_of(receipt).agreed == sum(watermarks(tmp_path).values())
    assert receipt.deep is not None
    assert receipt.deep.rows + 1 == kafka_of(receipt).records  # the tombstone was filtered


def test_what_retention_and_compaction_took_is_listed_and_what_is_left_agrees(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    compacting = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.001",
        "segment.ms": "100",
    }
    client.create_topic("deep-compacted", config=compacting)
    client.create_topic("deep-expired", partitions=2)
    repeated = [Record(event("a", n), b"key-%d" % (n % 4)) for n in range(40)]
    client.produce("deep-compacted", 0, repeated)
    for partition in (0, 1):
        client.produce("deep-expired", partition, [an_event(n) for n in range(100)])
    feed = mixed_feed("deep-compacted", "deep-expired", window=WindowSpec(max_records=150))
    assert run_once(spark, kafka, tmp_path, feed)[0] == 0
    before = audit_deep(spark, kafka, tmp_path)
    assert before.differences == ()
    client.delete_records("deep-expired", 0, before=70)
    _compacted(client, "deep-compacted", fewer_than=30)
    receipt = audit_deep(spark, kafka, tmp_path)
    assert receipt.differences == ()
    told = {(u.topic, u.partition, u.start): u.reason for u in kafka_of(receipt).unchecked}
    assert told["deep-expired", 0, 0] == "expired: no longer in the log"
    assert any(topic == "deep-compacted" and "compaction removed" in why
               for (topic, _, _), why in told.items())  # fmt: skip
    assert not any((topic, p) == ("deep-expired", 1) for topic, p, _ in told)
    assert kafka_of(receipt).agreed >= 100


def _compacted(client: KafkaClient, topic: str, fewer_than: int) -> None:
    """Wait until the cleaner has been there; a new segment lets it at the old one."""
    deadline = time.monotonic() + 150
    while len([r for r in client.read_all(topic) if r.offset < 40]) >= fewer_than:
        client.produce(topic, 0, [Record(event("a", 99), b"key-0")])
        assert time.monotonic() < deadline, "nothing was cleaned"
        time.sleep(1)


def test_kafka_disagrees_with_a_journal_whose_evidence_was_forged(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """A topic's contents cannot be changed; so what is recorded of them is, in a copy."""
    client.create_topic("deep-forged")
    client.produce("deep-forged", 0, [an_event(n) for n in range(60)])
    lake = tmp_path / "lake"
    assert run_once(spark, kafka, lake, mixed_feed("deep-forged"))[0] == 0
    copy = tmp_path / "copy"
    shutil.copytree(lake, copy)
    last = len(bodies(lake)) - 1
    reseal(copy, Layout("events"), last, _other_contents, last + 1)
    remark(copy, Layout("events"), last)
    [difference] = audit_deep(spark, kafka, copy).differences
    assert difference.kind == "kafka"
    assert "deep-forged/0 [0, 60) have other contents" in difference.found
    assert audit_deep(spark, kafka, lake).differences == ()


def _other_contents(entry: Entry) -> Entry:
    assert isinstance(entry.body, Window)
    content = entry.body.content or Content()
    [seen] = content.evidence
    other = msgspec.structs.replace(seen, content_sum=seen.content_sum ^ 1)
    changed = msgspec.structs.replace(content, evidence=(other,))
    return msgspec.structs.replace(entry, body=msgspec.structs.replace(entry.body, content=changed))


def test_the_command_names_the_rows_of_a_doctored_lake(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("deep-doctored", partitions=2)
    for partition in (0, 1):
        client.produce("deep-doctored", partition, [an_event(n) for n in range(200)])
    lake = tmp_path / "lake"
    assert run_once(spark, kafka, lake, mixed_feed("deep-doctored"))[0] == 0
    whole = audit_deep(spark, kafka, lake)
    assert (whole.differences, kafka_of(whole).agreed) == ((), 400)
    victim = data_files(lake)[0]
    lost = offsets_in(victim)[1]  # of partition 0: the file has rows of both
    rewrite(victim, lambda table: pa.concat_tables([table.slice(0, 1), table.slice(2)]))
    config = tmp_path / "penstock.yaml"
    config.write_text(CONFIG.format(servers=kafka.bootstrap))
    found = _audit(config, 4)
    assert (found["offsets"], found["deep"]["rows"]) == (400, 399)
    assert (found["deep"]["kafka"]["agreed"], found["deep"]["kafka"]["unchecked"]) == (400, [])
    [difference] = found["differences"]
    assert difference["file"] == victim.relative_to(lake).as_posix()
    [offsets] = difference["offsets"]
    found_at = (offsets["partition"], offsets["fate"], offsets["runs"])
    assert found_at == (0, "missing", [[lost, lost + 1]])


def _audit(config: Path, code: int) -> dict[str, Any]:
    """The command in a process of its own, as people run it; it tells no progress in a pipe."""
    command = [sys.executable, "-m", "penstock", "audit", "--deep", "--output", "json"]
    ran = subprocess.run(
        [*command, "-c", str(config)], capture_output=True, text=True, timeout=280, check=False
    )
    assert ran.returncode == code, ran.stderr
    assert "audit: " not in ran.stderr
    [line] = ran.stdout.splitlines()
    found = json.loads(line)
    assert isinstance(found, dict)
    return found
