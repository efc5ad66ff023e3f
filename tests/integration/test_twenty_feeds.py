"""Twenty feeds, four slots, one Spark: what hangs, is silent or raises harms no other feed.

Method: a real broker and Spark. A task of one feed never ends, the broker of another takes
connections and says nothing, the source of a third raises what nobody has a name for.
"""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from penstock.api.source import ReadRequest, SourceTools, Task
from penstock.datapath.driver import source_tasks
from penstock.datapath.stage.task import shredding
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.spec import FeedSpec, RunLimits
from penstock.model.window import Available
from penstock.ports.source.kafka.kafka_source import KafkaSource
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.helpers.hanging_task import hang
from tests.integration.lakes import HASTY, IMPATIENT, event, mixed_feed
from tests.integration.processes import wait_for

pytestmark = pytest.mark.xdist_group("kafka")

TOPIC, RECORDS, SLOTS = "twenty", 30, 4
FIRST = tuple(f"first{n}" for n in range(SLOTS))  # they fill the slots until all others wait
LATER = tuple(f"f{n:02}" for n in range(13))
SICK = ("hangs", "raises", "silent")


class Notes:
    """In which order feeds began to read, and how many at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.order: list[str] = []
        self.reading: set[str] = set()
        self.most_at_once = 0
        self.all_wait = threading.Event()

    def begins(self, name: str) -> None:
        with self.lock:
            self.order.append(name)
            self.reading.add(name)
            self.most_at_once = max(self.most_at_once, len(self.reading))

    def ends(self, name: str) -> None:
        with self.lock:
            self.reading.discard(name)


class NotedSource(KafkaSource):
    """Kafka as a source, which notes who reads; the first ones read when all others wait."""

    def __init__(self, feed: FeedSpec, tools: SourceTools, notes: Notes) -> None:
        super().__init__(feed, tools)
        self._name, self._notes = feed.name, notes

    def look(self) -> Available:
        if self._name == "raises":
            raise LookupError("a mistake in somebody's code")
        if self._name not in FIRST:
            wait_for(lambda: len(set(self._notes.order)) >= SLOTS, "the slots to be taken")
        return super().look()

    def read(self, request: ReadRequest, task: Task) -> list[bytes]:
        self._notes.begins(self._name)
        try:
            if self._name in FIRST:
                assert self._notes.all_wait.wait(60)
            return super().read(request, task)
        finally:
            self._notes.ends(self._name)


@pytest.fixture
def silent_server() -> Iterator[str]:
    """An address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def offsets_in(lake: Path, feed: str) -> list[int]:
    """The offsets of all rows of a feed, as a reader of its directories finds them."""
    table = ds.dataset(lake / feed, format="parquet").to_table(columns=["_offset"])
    return sorted(table["_offset"].to_pylist())


def test_of_twenty_feeds_three_are_sick_and_the_others_are_delivered_in_order(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    silent_server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goal: four at a time, by priority; exit status and messages name who failed, and by what."""
    client.create_topic(TOPIC)
    client.produce(TOPIC, 0, [event("click", n) for n in range(RECORDS)])
    notes, said = Notes(), list[Event]()

    def task_of(plan: Any, store: Any) -> Any:
        return hang if plan.order.feed == "hangs" else shredding(plan, store)

    def source_of(feed: FeedSpec) -> NotedSource:
        options = {"bootstrap.servers": kafka.bootstrap}
        if feed.name == "silent":
            options = {"bootstrap.servers": silent_server, **IMPATIENT}
        return NotedSource(feed, SourceTools(lambda: spark, options), notes)

    monkeypatch.setattr(source_tasks, "shredding", task_of)
    priorities = dict.fromkeys(FIRST, 9) | dict.fromkeys(SICK, 8)
    feeds = tuple(
        mixed_feed(TOPIC, name=name, priority=priorities.get(name, number % 5))
        for number, name in enumerate((*SICK, *FIRST, *LATER))
    )
    feeds = (msgspec.structs.replace(feeds[0], timeout_s=2.0), *feeds[1:])
    assert len(feeds) == 20
    runner = Runner(
        feeds,
        FeedTools(source_of, LocalStore(tmp_path), HASTY),
        said.append,
        lambda: False,
        RunSpec(once=True, limits=RunLimits(parallel=SLOTS)),
    )

    def let_go() -> None:
        wait_for(lambda: runner._slots._waiting.keys() >= {"hangs", *LATER}, "all others to wait")
        notes.all_wait.set()

    threading.Thread(target=let_go, daemon=True).start()
    assert runner.run() == 5
    assert {name: error.code for name, error in runner.failures.items()} == {
        "hangs": "WINDOWS_TIMED_OUT",
        "raises": "FEED_FAILED",
        "silent": "KAFKA_UNAVAILABLE",
    }
    for name in (*FIRST, *LATER):
        assert offsets_in(tmp_path, name) == list(range(RECORDS)), name
    assert not list((tmp_path / "hangs").rglob("*.parquet"))
    assert notes.most_at_once == SLOTS
    assert notes.order.count("hangs") == 3
    began = list(dict.fromkeys(name for name in notes.order if name not in FIRST))
    rank = {feed.name: feed.priority for feed in feeds}
    wanted = sorted((rank[name] for name in began), reverse=True)
    for place, name in enumerate(began):  # those that get slots together begin in any order
        assert rank[name] in wanted[max(place - SLOTS, 0) : place + SLOTS + 1], began
    assert said[-1].sentence == (
        "3 of 20 feeds have ended by an error: hangs (WINDOWS_TIMED_OUT), raises (FEED_FAILED), "
        "silent (KAFKA_UNAVAILABLE)"
    )
    assert silent_server in str(runner.failures["silent"])
    assert "a mistake in somebody's code" in str(runner.failures["raises"])
    wait_for(lambda: not spark.sparkContext.statusTracker().getActiveJobsIds(), "the last job")
    client.delete_topic(TOPIC)
