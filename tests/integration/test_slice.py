"""The slice on real parts: a broker, Spark, a directory; and an independent consumer as oracle."""

import json
import signal
import sys
import time
import zipimport
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner
from penstock.model.entries import Window
from penstock.model.spec import FeedSpec, QuarantineSpec, RouteSpec, TimeSpec, WindowSpec
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.ports.store.local.local_store import LocalStore
from penstock.runtime.worker import settle_in
from penstock.spark.parallel_map import SparkParallelMap
from penstock.spark.publish_spread import PublishSpread
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, Record
from tests.integration.lakes import (
    AROUND,
    an_event,
    bodies,
    deep_fold,
    feed_tools,
    positions_in,
    run_once,
)

pytestmark = pytest.mark.xdist_group("kafka")


def a_feed(topic: str, **changes: object) -> FeedSpec:
    """Mixed events by their type and day, in small windows."""
    settings: dict[str, object] = {
        "name": "events",
        "topics": (topic,),
        "route": RouteSpec("field", "type"),
        "time": TimeSpec(field="event_time", unit="ms"),
        "window": WindowSpec(max_records=500),
        "quarantine": QuarantineSpec(min_records=10_000),
    }
    return FeedSpec(**{**settings, **changes})  # type: ignore[arg-type]


def test_s1_a_mixed_topic_lands_once_by_type_and_day_with_the_broken_ones_kept(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("slice-basic", partitions=2)
    for partition in (0, 1):
        client.produce("slice-basic", partition, [an_event(n) for n in range(700)])
    code, told = run_once(spark, kafka, tmp_path / "lake", a_feed("slice-basic"))
    assert code == 0, told
    fold = deep_fold(tmp_path / "lake")
    assert fold.state.undone == {}
    data, refused = positions_in(tmp_path / "lake", fold)
    wanted = {(r.partition, r.offset): r.value for r in client.read_all("slice-basic")}
    broken = {place for place, value in wanted.items() if value and not value.endswith(b"}")}
    assert data == Counter(set(wanted) - broken)
    assert refused == Counter(broken)
    assert {path.name for path in (tmp_path / "lake/events").iterdir()} == {
        "_tail", "click", "order", "view"
    }  # fmt: skip


def test_a_broken_record_keeps_its_headers_although_the_feed_asks_for_none(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("slice-headers", partitions=1)
    broken = Record(b"broken", b"key", (("source", b"app-1"),))
    client.produce("slice-headers", 0, [an_event(1), broken, an_event(2), b"bare"])
    assert run_once(spark, kafka, tmp_path / "lake", a_feed("slice-headers"))[0] == 0
    (file,) = (tmp_path / "lake/_penstock/events/quarantine").rglob("*.parquet")
    rows = pq.read_table(file, columns=["_offset", "key", "headers"]).to_pylist()
    assert [row["_offset"] for row in rows] == [1, 3]
    assert rows[0]["key"] == b"key"
    assert json.loads(rows[0]["headers"]) == [{"key": "source", "value": "YXBwLTE="}]
    assert rows[1]["headers"] is None


def test_s3_what_comes_later_is_added_and_nothing_is_delivered_again(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("slice-later", partitions=1)
    feed = a_feed("slice-later")
    for round_number in range(2):
        client.produce("slice-later", 0, [an_event(n) for n in range(100)])
        assert run_once(spark, kafka, tmp_path / "lake", feed)[0] == 0
        data, refused = positions_in(tmp_path / "lake", deep_fold(tmp_path / "lake"))
        assert data + refused == Counter((0, o) for o in range(100 * (round_number + 1)))


def test_s6_bytes_cut_windows_by_the_size_of_the_records_seen(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """The first window tells the size; from then on none is much larger than it may be."""
    client.create_topic("slice-bytes", partitions=2)
    feed = a_feed("slice-bytes", window=WindowSpec(max_bytes=50_000))
    lake = tmp_path / "lake"

    def produce(count: int) -> None:
        for partition in (0, 1):
            at = int(time.time() * 1000)
            records = [
                json.dumps({"type": "a", "event_time": at, "text": f"{n:0900}"}).encode()
                for n in range(count)
            ]
            client.produce("slice-bytes", partition, records)

    produce(5)
    assert run_once(spark, kafka, lake, feed)[0] == 0
    produce(100)
    assert run_once(spark, kafka, lake, feed)[0] == 0
    sizes = [body.counts.read_bytes for body in bodies(lake) if isinstance(body, Window)]
    assert len(sizes) == 1 + 4
    assert max(sizes) <= 50_000
    data, refused = positions_in(lake, deep_fold(lake))
    assert (data, refused) == (Counter((p, o) for p in (0, 1) for o in range(105)), Counter())


def test_s7_a_few_records_of_a_quiet_topic_are_delivered_at_their_age_and_not_before(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("slice-quiet", partitions=1)
    feed = a_feed("slice-quiet", window=WindowSpec(every_s=3.0))
    told: list[Event] = []
    produced_at: list[float] = []

    def rest(seconds: float) -> None:
        """Records come while the feed rests: what is there at its first look goes at once."""
        if not produced_at:
            client.produce("slice-quiet", 0, [an_event(n) for n in range(3)])
            produced_at.append(time.monotonic())
        time.sleep(seconds)

    tools = feed_tools(
        spark,
        {"bootstrap.servers": kafka.bootstrap},
        LocalStore(tmp_path),
        replace(AROUND, sleep=rest),
    )

    def is_over() -> bool:
        is_late = bool(produced_at) and time.monotonic() - produced_at[0] > 150
        return is_late or any(event.name == "window" for event in told)

    assert Runner((feed,), tools, told.append, is_over).run() == 0
    assert [event.facts["records"] for event in told if event.name == "window"] == [3]
    assert 3.0 <= time.monotonic() - produced_at[0] < 150


def test_s30_too_many_broken_records_stop_the_window_with_nothing_visible(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("slice-broken", partitions=1)
    client.produce("slice-broken", 0, [b"broken"] * 30 + [an_event(n) for n in range(30)])
    feed = a_feed("slice-broken", quarantine=QuarantineSpec(max_ratio=0.05, min_records=10))
    code, told = run_once(spark, kafka, tmp_path / "lake", feed)
    assert code == 5
    assert "QUARANTINE_RATIO" in told[-1]
    assert list((tmp_path / "lake").rglob("*.parquet")) == []
    assert list((tmp_path / "lake").rglob("*.staged")) == []


def test_a_recreated_topic_stops_the_feed_and_moves_nothing(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """K7: recreated, and refilled past our watermark."""
    client.create_topic("slice-again", partitions=1)
    client.produce("slice-again", 0, [an_event(n) for n in range(20)])
    feed = a_feed("slice-again")
    assert run_once(spark, kafka, tmp_path / "lake", feed)[0] == 0
    client.delete_topic("slice-again")
    client.create_topic("slice-again", partitions=1)
    client.produce("slice-again", 0, [an_event(n) for n in range(60)])
    code, told = run_once(spark, kafka, tmp_path / "lake", feed)
    assert code == 5
    assert "TOPIC_REPLACED" in told[-1]
    data, refused = positions_in(tmp_path / "lake", deep_fold(tmp_path / "lake"))
    assert data + refused == Counter((0, o) for o in range(20))


def test_a_worker_that_spark_has_let_go_ends_without_a_trace_on_the_terminal(
    spark: SparkSession,
) -> None:
    """Method: ask a worker what it does when it writes to a socket that was closed."""

    def on_broken_pipe(_item: int) -> str:
        return str(signal.getsignal(signal.SIGPIPE))

    here = signal.getsignal(signal.SIGPIPE)
    parallel = SparkParallelMap(lambda: spark, lambda _what, _done, _of: None)
    assert set(parallel("signals", on_broken_pipe, [1, 2], lambda _item: 1)) == {"0"}  # the default
    settle_in()
    assert signal.getsignal(signal.SIGPIPE) == here  # outside of workers nothing changes


def test_a_worker_has_no_archives_to_read_before_each_task(spark: SparkSession) -> None:
    def archives_known(_item: int) -> list[str]:
        cache = sys.path_importer_cache.items()
        return [path for path, found in cache if isinstance(found, zipimport.zipimporter)]

    parallel = SparkParallelMap(lambda: spark, lambda _what, _done, _of: None)
    assert list(parallel("archives", archives_known, [1, 2], lambda _item: 1)) == [[], []]


def test_very_many_files_are_published_by_tasks_and_foreign_ones_are_left(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Method: with a low limit; then a session that is gone, so that nobody else can publish."""
    store = LocalStore(tmp_path)

    def staged(number: int) -> StagedHandle:
        spot = StagingSpot("staging", "1-x1", f"file-{number}")
        writer = store.open_staged(f"events/a/{number:04}", spot)
        writer.write(b"rows %d" % number)
        return writer.finish()

    handles = [staged(number) for number in range(1_100)]
    store.create(handles[7].final, b"another content")
    spread = PublishSpread(lambda: spark, worth_a_job=1_000)
    assert spread(store, handles) == {handles[7].final}
    assert spread(store, handles) == {handles[7].final}, "again, and nothing happens"
    seen = [store.look(handle) for handle in handles]
    assert [number for number, sighting in enumerate(seen) if not sighting.is_done] == [7]

    def gone() -> SparkSession:
        raise AssertionError("few files need no job")

    assert PublishSpread(gone)(store, handles) == {handles[7].final}
