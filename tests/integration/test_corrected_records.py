"""Records that real Spark has quarantined are exported, corrected, delivered once and audited."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.audit.receipt import Corrected
from penstock.care.errors import FixedRefused
from penstock.care.export_records import export_lines, waiting_parts
from penstock.care.fixed_file import open_fixed_file
from penstock.care.fixed_records import FixedRecords
from penstock.care.new_file import write_new_file
from penstock.care.replay import live_records
from penstock.care.replay_feed import Replayed, ReplayRequest, ReplayTools, replay_feed
from penstock.datapath.schemas.learning import Learning
from penstock.model.spec import FeedSpec
from penstock.runtime.parallel import ParallelMap
from penstock.spark.parallel_map import SparkParallelMap
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import (
    HASTY,
    audit_deep,
    deep_fold,
    event,
    journal_of,
    mixed_feed,
    positions_in,
    run_once,
)

pytestmark = pytest.mark.xdist_group("kafka")

TOPIC = "corrected"


def test_corrected_records_take_their_places_and_kafka_still_agrees(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: the audit compares Kafka with what was read, rows with positions. Method: edit."""
    lake, file = tmp_path / "lake", tmp_path / "broken.jsonl"
    client.create_topic(TOPIC, partitions=2)
    for partition in (0, 1):
        good = [event("click", n) for n in range(20)]
        client.produce(TOPIC, partition, [*good, b'{"type": "click"', b"\xff\xfe", *good])
    feed = mixed_feed(TOPIC)
    assert run_once(spark, kafka, lake, feed)[0] == 0
    parts = waiting_parts(deep_fold(lake))
    assert write_new_file(str(file), export_lines(journal_of(lake).store, parts)) == 4
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for number, line in enumerate(lines):
        if line["reason"] == "NOT_JSON":
            line["value"] = event("order", number).decode()
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert corrected(spark, lake, feed, file).delivered == 2
    fold = deep_fold(lake)
    data, _ = positions_in(lake, fold)
    every = {(record.partition, record.offset) for record in client.read_all(TOPIC)}
    assert data == Counter(every - {(0, 21), (1, 21)})
    assert list(lake.glob("events/order/**/*.parquet"))
    receipt = audit_deep(spark, kafka, lake)
    assert receipt.differences == ()
    assert receipt.corrected == (Corrected(fold.state.number, 2, "ann", "torn by a proxy"),)
    assert receipt.deep is not None
    assert receipt.deep.kafka.agreed == 84
    with pytest.raises(FixedRefused, match="does not wait"):
        corrected(spark, lake, feed, file)


def corrected(spark: SparkSession, lake: Path, feed: FeedSpec, file: Path) -> Replayed:
    """`penstock errors replay --fixed FILE --execute`, in this process."""
    journal = journal_of(lake)
    fold = journal.open(deep=True)
    opened = open_fixed_file(str(file), live_records(fold))
    fixed = FixedRecords(opened, "torn by a proxy", journal.store, journal.layout)
    fixed.compare(fold)

    @contextmanager
    def open_parallel() -> Iterator[ParallelMap]:
        yield SparkParallelMap(lambda: spark, lambda _what, _done, _of: None)

    def open_learning() -> Learning:
        return Learning(journal.store, journal.layout, feed, None)

    tools = ReplayTools(feed, HASTY, open_learning, open_parallel)
    return replay_feed(journal, fold, ReplayRequest("ann", corrected=fixed), tools)
