"""Garmadon's timelines on a real broker and real Spark; the unit test of this name has all."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.care.seek import unpark
from penstock.errors import Fenced
from penstock.feeds.running_feed import RunningFeed
from penstock.model.spec import WindowSpec
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.helpers.flaky_store import FOR_GOOD, FlakyStore
from tests.integration.lakes import (
    AROUND,
    HASTY,
    QUICK_TRIES,
    data_files,
    deep_fold,
    event,
    feed_tools,
    journal_of,
    landed,
    mixed_feed,
    run_feeds,
    run_through,
    watermarks,
)

pytestmark = pytest.mark.xdist_group("kafka")


def rows_in(lake: Path) -> int:
    """How many rows a reader finds now."""
    return sum(pq.read_metadata(path).num_rows for path in data_files(lake))


def a_timeline(
    client: KafkaClient, topic: str, lake: Path, steps: list[str]
) -> list[Callable[[], object]]:
    """Acts that check what was delivered so far, and then produce the next step of a timeline."""
    produced: list[str] = []

    def act(step: str) -> None:
        assert rows_in(lake) == len(produced)
        client.produce(topic, 0, [event(kind, len(produced) + i) for i, kind in enumerate(step)])
        produced.extend(step)

    return [partial(act, step) for step in steps]


def test_garmadon_happy_cases_on_kafka_and_spark(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Types A, B, C as in the diagram: whenever the feed is idle, all there is lies in place."""
    client.create_topic("happy")
    acts = a_timeline(client, "happy", tmp_path, ["AAAA", "B", "BBC", "BC", "CC"])
    code, told = run_through(spark, kafka, LocalStore(tmp_path), (mixed_feed("happy"),), acts)
    assert code == 0, told
    assert landed(tmp_path, client, "happy").datasets() == {"A": 4, "B": 4, "C": 4}


def test_garmadon_unhappy_cases_s8_on_kafka_and_spark(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """A's directory cannot be published into: B and C land, nothing of A is lost or doubled."""
    client.create_topic("unhappy")
    store = FlakyStore(tmp_path)
    store.broken["A"] = FOR_GOOD
    feed = mixed_feed("unhappy", publish=QUICK_TRIES)
    kinds = ""
    for step in ("AAAAB", "BBAC"):
        client.produce("unhappy", 0, [event(k, len(kinds) + i) for i, k in enumerate(step)])
        kinds += step
        code, told = run_feeds(spark, kafka, store, feed)
        # Decided, safe, and not visible: that is no success, and a person has to be told.
        assert code == 5
        assert "DATASET_PARKED" in told[-1]
        assert {
            path.relative_to(tmp_path / "events").parts[0] for path in data_files(tmp_path)
        } == (set(kinds) - {"A"})
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in data_files(tmp_path)}
    assert watermarks(tmp_path) == {("unhappy", 0): 9}
    store.broken.clear()
    unpark(journal_of(tmp_path), AROUND, "A", "me")
    assert run_feeds(spark, kafka, store, feed)[0] == 0
    assert deep_fold(tmp_path).state.undone == {}
    assert landed(tmp_path, client, "unhappy").datasets() == {"A": 5, "B": 3, "C": 1}
    after = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in data_files(tmp_path)}
    assert {path: after[path] for path in before} == before


def test_garmadon_time_based_partitioning_on_kafka_and_spark(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Days out of order, t0 to t6; each row lies in the day it says."""
    client.create_topic("days")
    steps = ["1", "12", "21", "12", "21", "0", "10"]  # D0, D1 and D2 by the diagram
    produced: list[str] = []

    def act(step: str) -> None:
        assert rows_in(tmp_path) == len(produced)
        records = [
            event("A", len(produced) + i, days_ago=2 - int(day)) for i, day in enumerate(step)
        ]
        client.produce("days", 0, records)
        produced.extend(step)

    acts = [partial(act, step) for step in steps]
    feed = mixed_feed("days")
    code, told = run_through(spark, kafka, LocalStore(tmp_path), (feed,), acts)
    assert code == 0, told
    found = landed(tmp_path, client, "days").data
    days = sorted({row.below for row in found.values()})
    assert len(days) == 3
    for (_, _, offset), row in found.items():
        assert row.below == days[int(produced[offset])]


@pytest.mark.parametrize("old_end", [3, 7], ids=["O1<O2", "O1>O2"])
def test_garmadon_rebalancing_on_kafka_and_spark(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path, old_end: int
) -> None:
    """Two owners at once have read from O0: the old one to O1, the new one to O2 = 5."""
    topic = f"rebalanced-{old_end}"
    client.create_topic(topic)
    client.produce(topic, 0, [event("AB"[n % 2], n) for n in range(8)])

    def owner_reading(count: int) -> RunningFeed:
        feed = mixed_feed(topic, window=WindowSpec(max_records=count))
        servers = {"bootstrap.servers": kafka.bootstrap}
        found = RunningFeed(
            feed, feed_tools(spark, servers, LocalStore(tmp_path), HASTY), once=True
        )
        found.try_start(force=True)
        return found

    old = owner_reading(old_end)
    order = old.owner.plan()
    assert order is not None
    staged = old.owner.stage(order)
    content = old.owner.prove(order, staged)
    new = owner_reading(5)
    if old_end < 5:  # the new one ends first
        assert new.run_window()
    with pytest.raises(Fenced):
        old.owner.decide(order, staged, content)
    while new.run_window():
        pass
    for owner in (old, new):
        owner.close()
    assert landed(tmp_path, client, topic).datasets() == {"A": 4, "B": 4}
    assert {path.name.split("_")[3] for path in data_files(tmp_path)} == {"0-5", "5-8"}
