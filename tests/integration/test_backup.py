"""The pair that `penstock init --backup` writes: the raw feed keeps every byte of every record."""

import time
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from penstock.model.exit_codes import HALTED
from penstock.model.spec import (
    DatasetSpec,
    DecodeSpec,
    FeedSpec,
    QuarantineSpec,
    RouteSpec,
    TimeSpec,
    WindowSpec,
)
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, Record
from tests.helpers.files_by_others import rows_of_files
from tests.integration.lakes import audit_deep, data_files, event, journal_of, run_feeds
from tests.integration.odd_records import (
    LARGE,
    ODD_TIMES,
    compare_bytes,
    odd_records,
    raw_feed,
)

pytestmark = pytest.mark.xdist_group("kafka")


def test_every_byte_of_odd_records_is_in_the_backup(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: a backup is byte-exact. Method: nulls, empty and odd bytes, repeated headers, two
    values of 10 MB, odd timestamps, aborted transactions; compared by other clients and readers."""
    client.create_topic("odd", partitions=2, config=LARGE | ODD_TIMES)
    client.create_topic("appended", config={"message.timestamp.type": "LogAppendTime"})
    settings: dict[str, str | int] = {"message_max_bytes": 20_000_000, "compression_type": "zstd"}
    for partition in (0, 1):
        records = odd_records(2_000, seed=partition, large=1)
        client.produce("odd", partition, records, **settings)
    for number, keep in enumerate((True, False, True, False)):
        some = list(odd_records(50, seed=10 + number))
        client.produce_together("odd", {0: some, 1: some[:9]}, keep=keep)
    client.produce("appended", 0, odd_records(200, seed=20))
    feed = raw_feed(tmp_path, "odd", "appended", window=WindowSpec(max_records=3_000))
    lake = tmp_path / "lake"
    code, told = run_feeds(spark, kafka, LocalStore(lake), feed)
    assert code == 0, told
    files = data_files(lake, "raw_events")
    seen = compare_bytes(files, client, "odd", "appended")
    assert seen["all"] == 4_000 + 2 * 59 + 200
    assert seen["large value"] == 2
    assert min(seen.values()) == 2, seen
    receipt = audit_deep(spark, kafka, lake, "raw_events")
    assert receipt.differences == ()
    days = {path.parent.name for path in files}
    assert {"day=9999-12-31"} < days
    assert len(days) <= 2 + 4


def parsed(topic: str, **changes: object) -> FeedSpec:
    """A feed that reads JSON of a topic, and allows no broken record at all."""
    spec = FeedSpec(
        name=f"parsed-{topic}",
        topics=(topic,),
        route=RouteSpec("field", "type"),
        time=TimeSpec(field="event_time", unit="ms"),
        quarantine=QuarantineSpec(0.0, 0),
        backup="raw_events",
    )
    return msgspec.structs.replace(spec, **changes)


NUMBERS = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'
GOOD: list[Record | bytes] = [event("a", number) for number in range(20)]
FAR_MS = int(time.time() * 1000) + 10**10


def halting() -> dict[str, tuple[FeedSpec, list[Record | bytes]]]:
    """What halts a parsed feed, by topic: the feed, and records behind some good ones."""
    drift = DatasetSpec("a", "jsonschema", NUMBERS)
    many: list[Record | bytes] = [event(f"type-{number}", number) for number in range(40)]
    by_kafka = TimeSpec()
    return {
        "halts-broken": (parsed("halts-broken"), [b'{"type": "a"', b"\xff\xfe", b"[]"]),
        "halts-emptied": (parsed("halts-emptied"), [b""]),
        "halts-drifted": (parsed("halts-drifted", datasets=(drift,)), [event("a", 1, n="many")]),
        "halts-unknown": (
            parsed("halts-unknown", datasets=(drift,), unknown="quarantine"),
            many[:3],
        ),
        "halts-flooded": (parsed("halts-flooded", max_new_types=3), many),
        "halts-routeless": (parsed("halts-routeless"), [b'{"event_time": 1}']),
        "halts-timeless": (
            parsed("halts-timeless"),
            [b'{"type": "a"}', event("a", 1, event_time="?")],
        ),
        "halts-future": (parsed("halts-future"), [event("a", 1, event_time=FAR_MS)]),
        "halts-packed": (parsed("halts-packed", decode=DecodeSpec("msgpack")), GOOD),
        "halts-stamped": (
            parsed("halts-stamped", time=by_kafka),
            [Record(event("a", 1), timestamp_ms=FAR_MS)],
        ),
        "halts-unstamped": (
            parsed("halts-unstamped", time=by_kafka),
            [Record(event("a", 1), timestamp_ms=-1)],
        ),
        "halts-valueless": (
            parsed("halts-valueless", tombstones="quarantine"),
            [Record(None, b"gone")],
        ),
    }


def test_nothing_that_halts_a_parsed_feed_halts_its_backup(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: the backup goes on whatever comes. Method: a topic and a parsed feed for each cause;
    every parsed feed ends halted and shows nothing, and one raw feed over all has every byte."""
    causes = halting()
    for topic, (_, records) in causes.items():
        client.create_topic(topic, config=ODD_TIMES)
        client.produce(topic, 0, [*GOOD, *records])
    client.create_topic("halts-expired")
    client.produce("halts-expired", 0, GOOD[:5])
    raw = raw_feed(tmp_path, *causes, "halts-expired")
    gap = parsed("halts-expired")
    store = LocalStore(tmp_path / "lake")
    code, told = run_feeds(spark, kafka, store, gap, raw)
    assert code == 0, told
    client.produce("halts-expired", 0, GOOD[:10])
    client.delete_records("halts-expired", 0, before=8)

    feeds = [feed for feed, _ in causes.values()]
    code, told = run_feeds(spark, kafka, store, raw, gap, *feeds)
    assert code == HALTED, told
    for feed in feeds:
        assert data_files(tmp_path / "lake", feed.name) == []
        halted = journal_of(tmp_path / "lake", feed.name).open().state
        assert halted.windows == 0, feed.name
    assert len(data_files(tmp_path / "lake", gap.name)) == 1
    files = data_files(tmp_path / "lake", raw.name)
    of_gap = [path for path in files if path.parent.parent.name == "halts-expired"]
    kept = rows_of_files(of_gap)
    assert sorted(row["_offset"] for row in kept) == [*range(5), *range(8, 15)]
    compare_bytes(set(files) - set(of_gap), client, *causes)
    assert list((tmp_path / "lake/_penstock/raw_events").rglob("quarantine/**/*.parquet")) == []


def test_a_timestamp_that_spark_cannot_hold_halts_nobody(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: no record can stop a topic for ever. Method: nanoseconds where Kafka wants
    milliseconds, on which Spark's own source fails; in the middle, and before the watermark."""
    client.create_topic("backup-nanos", config=ODD_TIMES)
    client.create_topic("backup-plain", partitions=2)
    nanos = [time.time_ns(), 2**63 - 1, -(2**63)]
    odd: list[Record | bytes] = [Record(event("a", 1), b"k", (("h", None),), at) for at in nanos]
    for _ in range(2):
        client.produce("backup-nanos", 0, [*GOOD * 60, *odd, *GOOD * 30, *odd])
        for partition in (0, 1):
            client.produce("backup-plain", partition, GOOD)
        raw = raw_feed(tmp_path, "backup-nanos", "backup-plain")
        feed = parsed("backup-nanos", quarantine=QuarantineSpec())
        code, told = run_feeds(spark, kafka, LocalStore(tmp_path / "lake"), raw, feed)
        assert code == 0, told
    seen = compare_bytes(
        data_files(tmp_path / "lake", raw.name), client, "backup-nanos", "backup-plain"
    )
    assert seen["all"] == 2 * (1_800 + 6 + 40)
    assert audit_deep(spark, kafka, tmp_path / "lake", raw.name).differences == ()
    assert audit_deep(spark, kafka, tmp_path / "lake", feed.name).differences == ()
    assert sum("trying again with at most" in each for each in told) >= 1, told
