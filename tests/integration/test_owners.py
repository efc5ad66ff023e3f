"""Several owners of one feed on real parts: who waits, who takes over, who is refused."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import an_event, check_exact, deep_fold, run_feeds, run_once
from tests.integration.processes import Instance, Job, a_feed, child, wait_for, workers_of

pytestmark = pytest.mark.xdist_group("processes")

CONFIG = """
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "{bootstrap}"}}
spark:
  spark.master: "local[2]"
  spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
feeds:
  events:
    topics: [{topic}]
    route: {{by: "field:type"}}
    time: {{field: event_time, unit: ms}}
    window: {{every: 500ms}}
"""


@contextmanager
def instances(directory: Path, bootstrap: str, topic: str) -> Iterator[Callable[[str], Instance]]:
    """A way to start instances on one configuration; whatever lives at the end is killed."""
    (directory / "penstock.yaml").write_text(CONFIG.format(bootstrap=bootstrap, topic=topic))
    started: list[Instance] = []

    def start(name: str) -> Instance:
        started.append(Instance(directory, name))
        return started[-1]

    try:
        yield start
    finally:
        for each in started:
            if each.process.poll() is None:
                each.signal(signal.SIGKILL)
                each.process.wait(90)


def watermark(lake: Path) -> int:
    state = deep_fold(lake).state
    return sum(state.watermarks().values())


def test_s19_s20_two_start_together_one_waits_and_follows_and_the_paused_one_is_refused(
    kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Z2, T3: two at once; the owner is stopped beyond its lease; the other takes over; the first
    one is let go on and waits; a third follows a killed one at once; SIGTERM ends in good order."""
    client.create_topic("owners", partitions=2)
    lake = tmp_path / "lake"

    def produce_more(count: int) -> None:
        for partition in (0, 1):
            client.produce("owners", partition, [an_event(n) for n in range(count)])

    produce_more(100)
    with instances(tmp_path, kafka.bootstrap, "owners") as start:
        first, second = start("one"), start("two")
        wait_for(lambda: "claimed" in first.events() + second.events(), "a claim")
        wait_for(lambda: "waiting" in first.events() + second.events(), "somebody who waits")
        owner, follower = (first, second) if "claimed" in first.events() else (second, first)
        assert "claimed" not in follower.events()
        owner.wait_for("window")
        owner.signal(signal.SIGSTOP)
        produce_more(50)
        follower.wait_for("claimed")
        wait_for(lambda: lake.exists() and watermark(lake) == 300, "the rest")
        owner.signal(signal.SIGCONT)
        owner.wait_for("back_in_line")
        os.kill(owner.process.pid, signal.SIGTERM)
        assert owner.end() == 0
        assert "back in line" in owner.log.read_text()
        third = start("three")
        third.wait_for("waiting")
        follower.signal(signal.SIGKILL)
        # That it does not wait for silence is tested without a clock, in the lease's unit tests.
        third.wait_for("claimed")
        produce_more(30)
        wait_for(lambda: watermark(lake) == 360, "the end")
        os.kill(third.process.pid, signal.SIGTERM)
        assert third.end() == 0
    check_exact(lake, client, "owners")


@pytest.fixture(scope="module")
def paused_topic(client: KafkaClient) -> str:
    client.create_topic("pauses", partitions=2)
    for partition in (0, 1):
        client.produce("pauses", partition, [an_event(n) for n in range(300)])
    return "pauses"


@pytest.mark.parametrize(("point", "code"), [("Z1", 75), ("Z3", 75)])
def test_e1_an_owner_paused_at_the_worst_moment_changes_nothing_when_it_goes_on(
    point: str,
    code: int,
    paused_topic: str,
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
) -> None:
    """Z1: before its decision. Z3: between two files that it makes visible."""
    job = Job(tmp_path, kafka.bootstrap, paused_topic)
    with child(job, point) as zombie:
        zombie.wait_until_stopped()
        feed = a_feed(paused_topic, max_records=250)
        assert run_feeds(spark, kafka, LocalStore(job.lake), feed, take_over=True)[0] == 0
        check_exact(job.lake, client, paused_topic)
        before = {path: path.stat().st_ino for path in job.lake.rglob("*.parquet")}
        zombie.signal(signal.SIGCONT)
        assert zombie.end() == code
    check_exact(job.lake, client, paused_topic)
    assert {path: path.stat().st_ino for path in job.lake.rglob("*.parquet")} == before


def test_e1_a_python_worker_that_is_killed_costs_a_task_and_nothing_else(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """E1, E3: a task is tried again; only the attempt that reported is delivered."""
    client.create_topic("workers", partitions=2)
    for partition in (0, 1):
        client.produce("workers", partition, [an_event(n) for n in range(15_000)])
    lake = tmp_path / "lake"
    feed = a_feed("workers", max_records=1_000_000)
    killed: list[int] = []
    hunter = threading.Thread(target=kill_a_worker, args=(lake, killed), daemon=True)
    hunter.start()
    code, told = run_once(spark, kafka, lake, feed)
    hunter.join(10)
    assert killed, "no worker was at work while files were staged"
    assert code == 0, told
    check_exact(lake, client, "workers")


def kill_a_worker(lake: Path, killed: list[int]) -> None:
    """Kill one Python worker of this process's Spark as soon as anything is staged."""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        if lake.exists() and any(lake.rglob("*.staged")):
            for pid in workers_of(os.getpid()):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
        time.sleep(0.001)
