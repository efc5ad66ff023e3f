"""Acceptance scenarios about delivery: where a feed starts, what interrupts it, what is new."""

import json
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.care.clean import clean
from penstock.care.seek import Approval, seek_all
from penstock.feeds.running_feed import RunningFeed
from penstock.model.entries import Seek, Window
from penstock.model.ranges import TopicPartition
from penstock.model.spec import FeedSpec, StartSpec, WindowSpec
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, Record
from tests.helpers.flaky_store import FOR_GOOD, FlakyStore
from tests.integration.lakes import (
    HASTY,
    QUICK_TRIES,
    bodies,
    data_files,
    deep_fold,
    event,
    feed_tools,
    journal_of,
    landed,
    mixed_feed,
    run_feeds,
    run_once,
    watermarks,
)
from tests.integration.processes import Job, a_feed, killed_at

pytestmark = pytest.mark.xdist_group("kafka")


def running(spark: SparkSession, kafka: EmbeddedKafka, lake: Path, feed: FeedSpec) -> RunningFeed:
    """A feed that has taken over, to be led step by step."""
    tools = feed_tools(spark, {"bootstrap.servers": kafka.bootstrap}, LocalStore(lake), HASTY)
    found = RunningFeed(feed, tools, once=False)
    found.try_start(force=True)
    return found


def test_c1_s4_a_feed_begins_where_it_is_told_and_by_default_with_everything(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Four feeds in one application; what comes later is read by all of them."""
    client.create_topic("starts", partitions=2)
    now = int(time.time() * 1000)
    for partition, count in ((0, 30), (1, 20)):
        records = [
            Record(event("ab"[n % 2], n), timestamp_ms=now - 60_000 + n * 1000)
            for n in range(count)
        ]
        client.produce("starts", partition, records)
    client.delete_records("starts", 0, before=4)
    starts = {
        "earliest": StartSpec(),
        "latest": StartSpec("latest"),
        "since": StartSpec("time", now - 60_000 + 24_500),
        "middle": StartSpec("offsets", offsets={"starts": {0: 11, 1: 7}}),
    }
    feeds = [mixed_feed("starts", name=name, start=start) for name, start in starts.items()]
    firsts = {"earliest": (4, 0), "latest": (30, 20), "since": (25, 20), "middle": (11, 7)}
    for late in (0, 3):
        for partition in (0, 1):
            client.produce("starts", partition, [event("a", 100 + n) for n in range(late)])
        code, told = run_feeds(spark, kafka, LocalStore(tmp_path), *feeds)
        assert code == 0, told
        for name, first in firsts.items():
            if late == 0 and name == "latest":
                assert data_files(tmp_path, name) == []
                continue
            found = landed(
                tmp_path,
                client,
                "starts",
                feed=name,
                wanted=lambda record, first=first: record.offset >= first[record.partition],  # type: ignore[misc]
            )
            assert len(found.data) == 50 + 2 * late - sum(first)


def test_s5_a_seek_while_records_are_staged_neither_doubles_nor_loses(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: the journal, not the buffer, says what is read. Method: seek between stage and decide.

    Forward over offsets nobody has delivered, and back over those that it skipped.
    """
    topic_id = client.create_topic("seeks")
    client.produce("seeks", 0, [event("ab"[n % 2], n) for n in range(40)])
    feed = mixed_feed("seeks", window=WindowSpec(every_s=0.0, max_records=20))
    found = running(spark, kafka, tmp_path, feed)
    for target in (15, 6):
        order = found.owner.plan()
        assert order is not None
        staged = found.owner.stage(order)
        content = found.owner.prove(order, staged)
        assert list(tmp_path.rglob("*.staged"))
        seek_all(
            journal_of(tmp_path), {TopicPartition(topic_id, 0): target}, Approval("me", "a test")
        )
        assert found.owner.decide(order, staged, content) is None
        assert list(tmp_path.rglob("*.staged")) == []
    while found.run_window():
        pass
    found.close()
    assert [(b.from_offset, b.to_offset) for b in bodies(tmp_path) if isinstance(b, Seek)] == [
        (0, 15), (15, 6)
    ]  # fmt: skip
    assert len(landed(tmp_path, client, "seeks", wanted=lambda r: r.offset >= 6).data) == 34


def test_s9_a_late_event_is_there_after_a_kill_before_its_day_was_published(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("late", partitions=2)
    feed = a_feed("late")
    job = Job(tmp_path, kafka.bootstrap, "late")
    client.produce("late", 0, [event("a", n) for n in range(9)])
    assert run_once(spark, kafka, job.lake, feed)[0] == 0
    client.produce("late", 1, [event("a", 70, days_ago=1)])
    killed_at(job, "C11")
    assert len({path.parent for path in data_files(job.lake)}) == 1  # the old day is not there yet
    assert run_once(spark, kafka, job.lake, feed)[0] == 0
    assert len(landed(job.lake, client, "late").data) == 10
    assert len({path.parent for path in data_files(job.lake)}) == 2


def test_s11_s12_s17_a_type_comes_a_type_is_silent_and_orphans_are_cleaned(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: no type's state but the feed's. Method: a new type dies before its first decision."""
    client.create_topic("types")
    client.produce("types", 0, [event("ac"[n % 2], n) for n in range(10)])
    feed = mixed_feed("types")
    assert run_once(spark, kafka, tmp_path, feed)[0] == 0
    before = {path: path.stat().st_ino for path in data_files(tmp_path)}
    client.produce("types", 0, [event("a" if n % 3 else "new", n) for n in range(10, 20)])
    dead = running(spark, kafka, tmp_path, feed)
    order = dead.owner.plan()
    assert order is not None
    assert [(r.start, r.end) for r in order.ranges] == [(10, 20)]  # c's silence rewinds nothing
    dead.owner.stage(order)
    dead.close()
    orphans = list(tmp_path.rglob("*.staged"))
    assert len(orphans) == 2
    orphans[0].write_bytes(orphans[0].read_bytes()[:100])  # torn, as after a power cut
    assert clean(journal_of(tmp_path)).total == 0  # its owner may still live

    assert run_once(spark, kafka, tmp_path, feed)[0] == 0
    assert landed(tmp_path, client, "types").datasets() == {"a": 12, "c": 5, "new": 3}
    assert set(orphans) <= set(tmp_path.rglob("*.staged"))
    assert clean(journal_of(tmp_path)).total == 2
    assert list(tmp_path.rglob("*.staged")) == []
    assert landed(tmp_path, client, "types").datasets() == {"a": 12, "c": 5, "new": 3}
    after = {path: path.stat().st_ino for path in data_files(tmp_path)}
    assert {path: after[path] for path in before} == before
    # One file of c, from its only window: no filler and no empty one.
    assert len([path for path in after if "c" in path.relative_to(tmp_path).parts]) == 1


def test_s16_a_publish_that_fails_some_times_and_one_that_fails_for_good(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("publish")
    client.produce("publish", 0, [event("ab"[n % 2], n, days_ago=n % 3) for n in range(30)])
    store = FlakyStore(tmp_path)
    store.broken["a"] = 4
    feed = mixed_feed("publish", publish=QUICK_TRIES)
    assert run_feeds(spark, kafka, store, feed)[0] == 0
    assert store.refusals == 4
    assert landed(tmp_path, client, "publish").datasets() == {"a": 15, "b": 15}

    client.produce("publish", 0, [event("ab"[n % 2], n) for n in range(30, 50)])
    store.broken["a"] = FOR_GOOD
    code, told = run_feeds(spark, kafka, store, feed)
    assert code == 5
    assert "DATASET_PARKED" in told[-1]
    visible = [path for path in data_files(tmp_path) if "30-50" in path.name]
    assert [path.relative_to(tmp_path / "events").parts[0] for path in visible] == ["b"]
    store.broken.clear()
    # The next owner gives it another chance.
    assert run_feeds(spark, kafka, store, feed)[0] == 0
    assert landed(tmp_path, client, "publish").datasets() == {"a": 25, "b": 25}
    assert list(tmp_path.rglob("*.staged")) == []


def test_s23_s26_topics_with_equal_numbers_and_empty_ones_beside_a_record_of_ten_megabytes(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """One feed reads three topics at once; what differs is only the topic."""
    client.create_topic("large", partitions=3, config={"max.message.bytes": "12000000"})
    client.create_topic("small", partitions=2)
    client.create_topic("nothing", partitions=2)
    text = "".join(chr(0x41 + n % 57) if n % 1000 else "é" for n in range(10_000_000))
    client.produce("large", 0, [event("a", n) for n in range(7)])
    ten_megabytes = event("a", 7, text=text)
    assert len(ten_megabytes) > 10_000_000
    client.produce("large", 0, [ten_megabytes, event("a", 8)], message_max_bytes=12_000_000)
    client.produce("large", 1, [event("b", n) for n in range(5)])
    client.produce("small", 0, [event("a", 1000 + n) for n in range(4)])
    client.produce("small", 1, [event("a", 2000 + n) for n in range(6)])
    feed = mixed_feed("large", "small", "nothing")
    code, told = run_once(spark, kafka, tmp_path, feed)
    assert code == 0, told
    found = landed(tmp_path, client, "large", "small", "nothing")
    assert found.datasets() == {"a": 19, "b": 5}
    assert found.refused == {}
    assert watermarks(tmp_path) == {
        ("large", 0): 9, ("large", 1): 5, ("large", 2): 0,
        ("small", 0): 4, ("small", 1): 6, ("nothing", 0): 0, ("nothing", 1): 0,
    }  # fmt: skip
    assert run_once(spark, kafka, tmp_path, feed)[0] == 0
    assert sum(isinstance(body, Window) for body in bodies(tmp_path)) == 1


def test_s30_broken_records_lie_in_the_quarantine_with_payload_error_and_offset(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("broken", partitions=2)
    wrong = {
        b"": "EMPTY",
        b"{": "NOT_JSON",
        b'{"type": "a", "n": 1} {}': "NOT_JSON",
        b"[1, 2]": "NOT_OBJECT",
        b'{"type": "a", "who": "\xff"}': "NOT_UTF8",
        b'{"n": 3}': "ROUTE_MISSING",
        json.dumps({"type": "a", "n": 4}).encode(): "TIME_MISSING",
    }
    for partition, others in ((0, 11), (1, 3)):
        bad = [Record(value, b"key-%d" % n) for n, value in enumerate(wrong)]
        good = [Record(event("ab"[n % 2], n), None) for n in range(others)]
        mixed = [r for pair in zip(bad, good, strict=False) for r in pair]
        mixed += [Record(None, b"gone"), *good[len(bad) :], *bad[len(good) :]]
        client.produce("broken", partition, mixed)
    code, told = run_once(spark, kafka, tmp_path, mixed_feed("broken"))
    assert code == 0, told
    found = landed(tmp_path, client, "broken")
    assert (len(found.data), len(found.refused), len(found.filtered)) == (14, 14, 2)
    assert all(record.value is None for record in found.filtered.values())
    for columns in found.refused.values():
        assert columns["reason"] == wrong[columns["value"]]
        assert columns["detail"]
    fold = deep_fold(tmp_path)
    assert fold.inventory is not None
    named = [(key[0], key[2], o) for key, held in fold.inventory.records.items() for o in held]
    assert sorted(named) == sorted(found.refused)
