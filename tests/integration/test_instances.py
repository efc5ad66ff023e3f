"""Real processes that share feeds, come and go, and end in time although nobody answers them.

Oracle: an independent consumer; every record of the topic once, in every feed.
"""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.spark.java import Java
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import Hold, Rule
from tests.helpers.object_stores import BUCKET
from tests.integration.lakes import an_event, deep_fold, positions_in
from tests.integration.processes import Instance, wait_for

pytestmark = pytest.mark.xdist_group("processes")

FEEDS = ("f0", "f1", "f2", "f3")
CONFIG = """
version: 1
lake: ./lake
run: {{parallel: 2, feeds_at_most: 4}}
kafka: {{bootstrap.servers: "{bootstrap}"}}
spark:
  spark.master: "local[2]"
  spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
defaults:
  topics: [{topic}]
  route: {{by: "field:type"}}
  time: {{field: event_time, unit: ms}}
  window: {{every: 500ms}}
feeds: {{f0: {{}}, f1: {{}}, f2: {{}}, f3: {{}}}}
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[Instance]]:
    """The instances that a test has started; whatever lives at the end is killed."""
    found: list[Instance] = []
    yield found
    for each in found:
        if each.process.poll() is None:
            os.killpg(each.process.pid, signal.SIGKILL)
            each.process.wait(90)


def watermark(lake: Path, feed: str) -> int:
    if not (lake / "_penstock" / feed / "journal").exists():
        return 0
    return sum(deep_fold(lake, feed).state.watermarks().values())


def test_sc_s21_a_second_process_gets_its_share_and_its_feeds_are_taken_over_when_it_is_killed(
    kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path, started: list[Instance]
) -> None:
    client.create_topic("shared")
    lake = tmp_path / "lake"
    (tmp_path / "penstock.yaml").write_text(
        CONFIG.format(bootstrap=kafka.bootstrap, topic="shared")
    )
    produced = 0

    def produce() -> None:
        nonlocal produced
        client.produce("shared", 0, [an_event(produced + n) for n in range(50)])
        produced += 50

    def all_delivered() -> bool:
        return all(watermark(lake, feed) == produced for feed in FEEDS)

    produce()
    first = Instance(tmp_path, "first")
    started.append(first)
    wait_for(all_delivered, "the first windows")
    second = Instance(tmp_path, "second")
    started.append(second)
    wait_for(lambda: second.events().count("claimed") == 2, "two feeds for the second")
    produce()
    wait_for(all_delivered, "windows of both")
    assert first.events().count("handed_over") == 2
    os.killpg(second.process.pid, signal.SIGKILL)
    produce()
    wait_for(all_delivered, "the feeds of the one that was killed")
    os.kill(first.process.pid, signal.SIGTERM)
    assert first.end() == 0
    wanted = Counter((r.partition, r.offset) for r in client.read_all("shared"))
    for feed in FEEDS:
        data, refused = positions_in(lake, deep_fold(lake, feed))
        assert data + refused == wanted, feed


def children_of(pid: int) -> list[int]:
    """The processes that a process has started, such as its JVM, and those that they have."""
    found = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    parents = [tuple(map(int, line.split())) for line in found.stdout.splitlines()]
    children = [child for child, parent in parents if parent == pid]
    return [*children, *(each for child in children for each in children_of(child))]


def test_sigterm_ends_a_run_whose_broker_does_not_answer(
    tmp_path: Path, broker_jars: list[Path], java: Java, started: list[Instance]
) -> None:
    """Goal: the end does not wait for Kafka's client, which tries for a minute; nothing is left.

    Method: the broker is paused, as by a network that drops packets, while feeds look at it.
    """
    with EmbeddedKafka(tmp_path / "kafka", broker_jars, java.path) as broker:
        client = KafkaClient(broker.bootstrap)
        client.create_topic("silent")
        client.produce("silent", 0, [an_event(n) for n in range(20)])
        (tmp_path / "penstock.yaml").write_text(
            CONFIG.format(bootstrap=broker.bootstrap, topic="silent")
        )
        run = Instance(tmp_path, "run")
        started.append(run)
        wait_for(lambda: run.events().count("window") >= len(FEEDS), "the first windows")
        with paused(broker.pids):
            wait_for(lambda: "waiting_for_source" in run.events(), "a look without an answer")
            check_end(run)


def test_sigterm_ends_a_run_whose_store_does_not_answer(
    kafka: EmbeddedKafka,
    client: KafkaClient,
    object_store: EmbeddedObjectStore,
    tmp_path: Path,
    started: list[Instance],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same with a lake on S3, of which every request waits from the second windows on."""
    topic = "silent-store"
    client.create_topic(topic)
    client.produce(topic, 0, [an_event(n) for n in range(20)])
    with FaultProxy(object_store.endpoint) as proxy:
        for name, value in {**object_store.environment, "AWS_ENDPOINT_URL": proxy.url}.items():
            monkeypatch.setenv(name, value)
        config = CONFIG.format(bootstrap=kafka.bootstrap, topic=topic)
        lake = f"lake: s3://{BUCKET}/silent\nstore: {{path_style: true}}"
        (tmp_path / "penstock.yaml").write_text(config.replace("lake: ./lake", lake))
        run = Instance(tmp_path, "run")
        started.append(run)
        wait_for(lambda: run.events().count("window") >= len(FEEDS), "the first windows")
        proxy.rules.add(Rule(Hold(), times=None))
        client.produce(topic, 0, [an_event(n) for n in range(20)])
        proxy.waiting.wait_for("held", 2 * len(FEEDS))  # a beat and more of each
        check_end(run)


@contextmanager
def paused(pids: list[int]) -> Iterator[None]:
    """Meanwhile these processes do not answer."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def check_end(run: Instance) -> None:
    """SIGTERM ends a run of which threads wait for an answer, with 0, and all that it has started.

    How long that took is told, and not judged: it says more about the machine than about us. A
    machine that is too busy to end in time cuts the run off, with 1.
    """
    family = children_of(run.process.pid)
    assert family
    began = time.monotonic()
    os.kill(run.process.pid, signal.SIGTERM)
    code = run.process.wait(40)
    assert code == ("cut_off" in run.events()), run.log.read_text()[-2000:]
    sys.stdout.write(f"ended after {time.monotonic() - began:.1f} s\n")
    assert {"left_behind", "cut_off"} & set(run.events())
    wait_for(lambda: not any(is_alive(pid) for pid in family), "the end of its children")


def is_alive(pid: int) -> bool:
    """Whether a process is there, and not only a remainder that nobody has waited for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
