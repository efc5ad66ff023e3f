"""Faults of Kafka on a real broker: what is gone, what is another, what nobody may see yet."""

import base64
import json
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from penstock.api.source import ReadFailed, SourceTools
from penstock.datapath.driver.source_tasks import SourceTasks
from penstock.datapath.driver.stager import Stager
from penstock.datapath.schemas.learning import Learning
from penstock.errors import GapFound
from penstock.feeds.feed_intake import FeedIntake
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner
from penstock.feeds.running_feed import RunningFeed
from penstock.feeds.slots import slot_of_its_own
from penstock.model.entries import Gap, Start, Window
from penstock.model.layout import Layout
from penstock.model.spec import StartSpec, WindowSpec
from penstock.ports.source.kafka.kafka_source import KafkaSource
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.spark.java import Java
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, Record
from tests.integration.lakes import (
    AROUND,
    HASTY,
    IMPATIENT,
    bodies,
    event,
    feed_tools,
    journal_of,
    landed,
    mixed_feed,
    run_feeds,
    run_once,
    run_through,
    watermarks,
)

pytestmark = pytest.mark.xdist_group("kafka")


@pytest.fixture(scope="module")
def other(
    tmp_path_factory: pytest.TempPathFactory, broker_jars: list[Path], java: Java
) -> Iterator[EmbeddedKafka]:
    """Another cluster, which cleans compacted topics all the time."""
    with EmbeddedKafka(
        tmp_path_factory.mktemp("other"),
        broker_jars,
        java.path,
        cluster_id="YW5vdGhlckNsdXN0ZXItMg",
        properties={"log.cleaner.backoff.ms": "100"},
    ) as cluster:
        yield cluster


def events(count: int, first: int = 0) -> list[bytes]:
    """Events of two types."""
    return [event("ab"[n % 2], n) for n in range(first, first + count)]


def test_k5_k9_k11_c3_a_running_application_while_topics_change(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """One feed's topic is deleted, one's records expire, one's topic grows; the last goes on.

    It began at latest: partitions added later are read from their beginning all the same.
    """
    for topic in ("doomed", "expires", "grows"):
        client.create_topic(topic)
        client.produce(topic, 0, events(5))
    feeds = (
        mixed_feed("doomed", name="doomed"),
        mixed_feed("expires", name="expires"),
        mixed_feed("grows", name="grows", start=StartSpec("latest")),
    )

    def grow() -> None:
        client.add_partitions("grows", total=3)
        client.produce("grows", 1, events(4))
        client.produce("grows", 2, events(3))

    def expire() -> None:
        client.produce("expires", 0, events(5, first=5))
        client.delete_records("expires", 0, before=8)

    acts = (
        lambda: client.delete_topic("doomed"),
        expire,
        grow,
        lambda: client.produce("grows", 2, events(2, first=3)),
    )
    code, told = run_through(spark, kafka, LocalStore(tmp_path), feeds, acts)
    assert code == 5
    halted = {line.partition(":")[0]: line for line in told if "halted" in line}
    assert set(halted) == {"doomed", "expires"}
    assert "TOPIC_MISSING" in halted["doomed"]
    assert "GAP" in halted["expires"]
    assert "[5, 8)" in halted["expires"]
    assert watermarks(tmp_path, "doomed") == {("doomed", 0): 5}
    assert watermarks(tmp_path, "expires") == {("expires", 0): 5}

    def is_new(partition: int) -> bool:
        return partition > 0

    grown = landed(tmp_path, client, "grows", feed="grows", wanted=lambda r: is_new(r.partition))
    assert len(grown.data) == 9
    assert watermarks(tmp_path, "grows") == {("grows", 0): 5, ("grows", 1): 4, ("grows", 2): 5}
    starts = [
        (start.partition, start.offset)
        for body in bodies(tmp_path, "grows")
        if isinstance(body, Start)
        for start in body.partitions
    ]
    assert starts == [(0, 5), (1, 0), (2, 0)]
    # Not read again, and the halted ones stay halted.
    before = len(bodies(tmp_path, "grows"))
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), *feeds)
    assert code == 5
    halted_again = {line.split()[1] for line in told if "halted" in line}  # each has its thread
    assert halted_again == {"TOPIC_MISSING:", "GAP:"}
    assert len(bodies(tmp_path, "grows")) == before + 1  # the claim


def test_k6_a_topic_made_again_and_shorter_than_our_watermark_halts_the_feed(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("again-short")
    client.produce("again-short", 0, events(9))
    assert run_once(spark, kafka, tmp_path, mixed_feed("again-short"))[0] == 0
    client.delete_topic("again-short")
    client.create_topic("again-short")
    client.produce("again-short", 0, events(2, first=50))
    code, told = run_once(spark, kafka, tmp_path, mixed_feed("again-short"))
    assert code == 5
    assert "TOPIC_REPLACED" in told[-1]
    assert watermarks(tmp_path) == {("again-short", 0): 9}


def test_k9_a_gap_stops_with_its_exact_range_and_is_accepted_only_by_a_journal_entry(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("gaps", partitions=2)
    for partition, count in ((0, 6), (1, 4)):
        client.produce("gaps", partition, events(count))
    assert run_once(spark, kafka, tmp_path, mixed_feed("gaps"))[0] == 0
    first = landed(tmp_path, client, "gaps")
    for partition, count, start in ((0, 10, 11), (1, 5, 7)):
        client.produce("gaps", partition, events(count, first=20))
        client.delete_records("gaps", partition, before=start)
    code, told = run_once(spark, kafka, tmp_path, mixed_feed("gaps"))
    assert code == 5
    assert "GAP" in told[-1]
    assert "[6, 11)" in told[-1]
    assert watermarks(tmp_path) == {("gaps", 0): 6, ("gaps", 1): 4}

    assert run_once(spark, kafka, tmp_path, mixed_feed("gaps", on_gap="accept"))[0] == 0
    gaps = [body for body in bodies(tmp_path) if isinstance(body, Gap)]
    assert [(g.range.partition, g.range.start, g.range.end, g.author) for g in gaps] == [
        (0, 6, 11, "on_gap: accept"), (1, 4, 7, "on_gap: accept")
    ]  # fmt: skip
    rest = {("gaps", r.partition, r.offset) for r in client.read_all("gaps")}
    assert len(rest) == 7
    assert _data_places(tmp_path) == sorted([*first.data, *rest])
    assert watermarks(tmp_path) == {("gaps", 0): 16, ("gaps", 1): 9}


def _data_places(lake: Path) -> list[tuple[str, int, int]]:
    """The places of all rows, read by pyarrow alone; a doubled one shows twice."""
    columns = ["_topic", "_partition", "_offset"]
    table = ds.dataset(lake / "events", format="parquet").to_table(columns=columns)
    return sorted(zip(*(table[c].to_pylist() for c in columns), strict=True))


def test_k10_records_that_expire_between_plan_and_read_fail_the_read_and_then_name_the_gap(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: no short window, and no retry loop. Method: delete inside a planned range."""
    client.create_topic("moves")
    client.produce("moves", 0, events(50))
    tools = feed_tools(spark, {"bootstrap.servers": kafka.bootstrap}, LocalStore(tmp_path), HASTY)
    running = RunningFeed(mixed_feed("moves"), tools, once=False)
    running.try_start(force=True)
    order = running.owner.plan()
    assert order is not None
    assert [(r.start, r.end) for r in order.ranges] == [(0, 50)]
    client.delete_records("moves", 0, before=20)
    with pytest.raises(ReadFailed):
        running.owner.stage(order)
    with pytest.raises(GapFound) as found:
        running.run_window()
    running.close()
    assert (found.value.partition, found.value.start, found.value.end) == (0, 0, 20)
    assert [body for body in bodies(tmp_path) if isinstance(body, Window)] == []
    assert list(tmp_path.rglob("*.parquet")) == []


def test_k13_k14_c5_markers_anywhere_aborted_and_open_transactions(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: aborted records never land, markers are no loss, an open one is waited for.

    The runs cut the log so that markers are first, last, in the middle of a range, and all of it.
    """
    client.create_topic("markers")
    pairs = mixed_feed("markers", window=WindowSpec(max_records=2))

    def together(first: int, count: int, *, keep: bool) -> None:
        client.produce_together("markers", {0: events(count, first=first)}, keep=keep)

    together(0, 2, keep=True)  # 0 1, marker at 2
    assert run_once(spark, kafka, tmp_path, pairs)[0] == 0
    assert _ranges(tmp_path) == [(0, 2), (2, 3)]  # the second holds nothing but a marker
    together(10, 2, keep=False)  # 3 4, marker at 5
    client.produce("markers", 0, events(1, first=20))  # 6
    together(30, 1, keep=False)  # 7, marker at 8
    assert run_once(spark, kafka, tmp_path, mixed_feed("markers"))[0] == 0
    together(40, 3, keep=True)  # 9 10 11, marker at 12
    client.produce("markers", 0, events(1, first=50))  # 13
    threes = mixed_feed("markers", window=WindowSpec(max_records=3))
    assert run_once(spark, kafka, tmp_path, threes)[0] == 0
    assert _ranges(tmp_path)[2:] == [(3, 9), (9, 12), (12, 14)]
    assert len(landed(tmp_path, client, "markers").data) == 7

    open_one = client.open_together("markers", {0: events(2, first=60)}, name="stays-open")
    client.produce("markers", 0, [event("a", 70)])  # behind it, and committed
    assert run_once(spark, kafka, tmp_path, mixed_feed("markers"))[0] == 0
    assert watermarks(tmp_path) == {("markers", 0): 14}
    assert len(landed(tmp_path, client, "markers").data) == 7
    client.end_together(open_one, "markers", [0], keep=True)
    assert run_once(spark, kafka, tmp_path, mixed_feed("markers"))[0] == 0
    assert len(landed(tmp_path, client, "markers").data) == 10
    assert watermarks(tmp_path) == {("markers", 0): 18}


def _ranges(lake: Path) -> list[tuple[int, int]]:
    return [
        (covered.start, covered.end)
        for body in bodies(lake)
        if isinstance(body, Window)
        for covered in body.ranges
    ]


def test_c5_a_compacted_topic_with_tombstones_null_keys_and_headers_is_no_loss(
    spark: SparkSession, other: EmbeddedKafka, tmp_path: Path
) -> None:
    """Goal: holes in the log are not lost records. Method: let a real cleaner make them."""
    client = KafkaClient(other.bootstrap)
    config = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.001",
        "segment.ms": "100",
        "delete.retention.ms": "86400000",
    }
    client.create_topic("compacted", config=config)
    headers = (("trace", b"t-1"), ("trace", b"t-2"), ("none", None))
    client.produce("compacted", 0, [Record(event("a", 500), b"key-first", headers)])
    records = [Record(event("a", n), b"key-%d" % (n % 4), headers) for n in range(30)]
    client.produce("compacted", 0, records)
    client.produce("compacted", 0, [Record(None, b"key-0"), Record(None, b"key-9")])
    deadline = time.monotonic() + 150
    while len(client.read_all("compacted")) > 15:
        # A new segment has to begin before the old one may be cleaned.
        client.produce("compacted", 0, [Record(event("a", 99), b"key-3", headers)])
        assert time.monotonic() < deadline, "nothing was cleaned"
    client.configure_topic("compacted", {"cleanup.policy": "delete"})  # as it is now, it stays
    offsets = _settled_offsets(client, "compacted")
    assert offsets[0] == 0
    assert len(offsets) < offsets[-1]  # there are holes
    client.create_topic("no-keys")
    client.produce("no-keys", 0, [Record(event("b", 1), None, (("only", b"\xff"),))])
    topics, window = ("compacted", "no-keys"), WindowSpec(max_records=20)
    feed = mixed_feed(*topics, include=("key", "headers"), window=window)
    keeps = mixed_feed(*topics, name="keeps", tombstones="quarantine")
    code, told = run_feeds(spark, other, LocalStore(tmp_path), feed, keeps)
    assert code == 0, told
    found = landed(tmp_path, client, *topics)
    assert [record.key for record in found.filtered.values()] == [b"key-0", b"key-9"]
    assert len(found.data) == len(offsets) - 2 + 1
    assert found.refused == {}
    rows = [row.columns for row in found.data.values()]
    assert {r["_key"] for r in rows if r["_topic"] == "no-keys"} == {None}
    assert {r["_key"] for r in rows if r["_topic"] == "compacted"} >= {
        b"key-1", b"key-2", b"key-3"
    }  # fmt: skip
    assert _headers(rows, "no-keys") == [[("only", b"\xff")]]
    assert _headers(rows, "compacted")[0] == list(headers)
    kept = landed(tmp_path, client, *topics, feed="keeps")
    assert {row["reason"] for row in kept.refused.values()} == {"TOMBSTONE"}
    assert set(kept.refused) == set(found.filtered)


def _settled_offsets(client: KafkaClient, topic: str) -> list[int]:
    """The offsets that are left, once a cleaning that had begun is over."""
    seen: list[list[int]] = [[], [-1]]
    while seen[-1] != seen[-2]:
        assert len(seen) < 50, "the topic is still cleaned"
        time.sleep(0.5)
        seen.append([record.offset for record in client.read_all(topic)])
    return seen[-1]


def _headers(rows: list[dict[str, Any]], topic: str) -> list[list[tuple[str, bytes | None]]]:
    """The headers of a topic's rows, by offset; a header without a value has no `value`."""
    texts = sorted((r["_offset"], r["_headers"]) for r in rows if r["_topic"] == topic)
    return [
        [
            (header["key"], base64.b64decode(header["value"]) if "value" in header else None)
            for header in json.loads(text or "[]")
        ]
        for _, text in texts
    ]


def test_s23_k8_c6_two_clusters_with_equal_names_and_one_of_them_down(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    other: EmbeddedKafka,
    tmp_path: Path,
) -> None:
    """Goal: a cluster is never taken for another, and an outage moves nothing."""
    theirs = KafkaClient(other.bootstrap)
    client.create_topic("twins", partitions=2)
    theirs.create_topic("twins", partitions=2)
    for partition in (0, 1):
        client.produce("twins", partition, events(5 + partition))
        theirs.produce("twins", partition, events(7 + partition, first=100))
    store = LocalStore(tmp_path)
    ours_feed, their_feed = (mixed_feed("twins", name=name) for name in ("ours", "theirs"))
    assert run_feeds(spark, kafka, store, ours_feed)[0] == 0
    assert run_feeds(spark, other, store, their_feed)[0] == 0
    assert len(landed(tmp_path, client, "twins", feed="ours").data) == 11
    assert len(landed(tmp_path, theirs, "twins", feed="theirs").data) == 15

    code, told = run_feeds(spark, other, store, ours_feed)
    assert code == 5
    assert "CLUSTER_CHANGED" in told[-1]
    assert watermarks(tmp_path, "ours") == {("twins", 0): 5, ("twins", 1): 6}

    theirs.produce("twins", 0, events(3, first=200))
    other.kill()
    try:
        code, told = run_feeds(spark, other, store, their_feed, options=IMPATIENT)
    finally:
        other.restart()
    assert code == 1
    assert "KAFKA_UNAVAILABLE" in told[-1]
    assert watermarks(tmp_path, "theirs") == {("twins", 0): 7, ("twins", 1): 8}
    assert run_feeds(spark, other, store, their_feed)[0] == 0
    assert len(landed(tmp_path, theirs, "twins", feed="theirs").data) == 18


def test_k1_a_broker_that_is_killed_and_comes_back_is_waited_for(
    spark: SparkSession, other: EmbeddedKafka, tmp_path: Path
) -> None:
    """Goal: an outage is no reason to end. Method: kill the broker under a run, and start it."""
    theirs = KafkaClient(other.bootstrap)
    theirs.create_topic("outage")
    theirs.produce("outage", 0, events(5))
    servers = {"bootstrap.servers": other.bootstrap, **IMPATIENT}
    tools = feed_tools(spark, servers, LocalStore(tmp_path), AROUND)
    feed = mixed_feed("outage", window=WindowSpec(every_s=0.0))
    told: list[str] = []
    acts: list[Callable[[], object]] = [other.kill, other.restart]
    acts.append(lambda: theirs.produce("outage", 0, events(4, 50)))
    steps = iter(acts)

    def tell(event: Event) -> None:
        told.append(event.name)
        if event.name in ("window", "trouble") and len(told) < 20:
            for step in islice(steps, 1 if event.name == "window" else 2):
                step()

    runner = Runner((feed,), tools, tell, lambda: told.count("window") == 2 or len(told) > 20)
    assert runner.run() == 0
    assert "trouble" in told
    assert len(landed(tmp_path, theirs, "outage").data) == 9


def test_m7_a_flood_of_types_is_capped_into_the_quarantine(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: a window brings a bounded number of datasets. Method: 2,000 types, 20 allowed."""
    client.create_topic("flood")
    client.produce("flood", 0, [event(f"type-{n}", n) for n in range(2000)])
    client.produce("flood", 0, [event("type-3", 5000), event("type-1999", 5001)])
    feed = mixed_feed("flood")
    store, servers = LocalStore(tmp_path), {"bootstrap.servers": kafka.bootstrap}
    learning = Learning(store, Layout("events"), feed, None)
    source = KafkaSource(feed, SourceTools(lambda: spark, servers))
    tasks = SourceTasks(source, store)
    stager = Stager(feed, store, learning, tasks, HASTY.tick, max_new=20)
    slot = slot_of_its_own(feed, HASTY.tick)
    intake = FeedIntake(source, stager, HASTY, slot, once=False)
    owner = Owner(journal_of(tmp_path), intake, HASTY, OwnerSpec("me", files="parquet"))
    owner.take_over()
    while owner.run_window():
        pass
    source.close()
    found = landed(tmp_path, client, "flood")
    assert found.datasets() == {f"type-{n}": 1 for n in range(20)} | {"type-3": 2}
    assert len(found.refused) == 1981
    assert {row["reason"] for row in found.refused.values()} == {"ROUTE_FLOOD"}
