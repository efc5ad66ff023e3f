"""Instances of `penstock run` that come and go while records arrive: `make bench-instances`.

Four feeds read one topic, and up to three instances share them (`feeds_at_most`). Ten times one is
added or taken away: by SIGTERM, by kill -9, by turns. After each change every feed has to deliver
what came after it; how long that takes is shown. In the end every offset must lie once in the files
of every feed, as pyarrow reads them, and there may be no more windows than time and claims explain.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import NamedTuple

import pyarrow.dataset as ds

from bench.delay import records
from bench.interrupted import in_one_line
from bench.machine import machine
from penstock.config import places
from penstock.model.layout import Layout
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.journal.lake_identity import known_identity
from penstock.runtime.surroundings import Surroundings
from penstock.spark.jars import BROKER, fetch, jar_paths
from penstock.spark.java import find_java
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient

TOPIC, PARTITIONS, TYPES = "shared", 4, 5
FEEDS = ("f0", "f1", "f2", "f3")
CHANGES, MOST_ALIVE = 10, 3
LIMIT_S = 300.0
AROUND = Surroundings(time.time, time.sleep, SystemRandom())
CONFIG = """
version: 1
lake: ./lake
run: {{parallel: 2, feeds_at_most: 4}}
kafka: {{bootstrap.servers: "{bootstrap}"}}
spark: {{spark.master: "local[2]"}}
defaults:
  topics: [{topic}]
  route: {{by: "field:type"}}
  time: {{field: sent_ms, unit: ms}}
  window: {{every: {every_s:g}s}}
feeds: {{f0: {{}}, f1: {{}}, f2: {{}}, f3: {{}}}}
"""


@dataclass
class Producer:
    """Sends records at a steady rate from a thread of its own, until it is told to end."""

    client: KafkaClient
    rate: int
    sent: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Tenths of a second, partition after partition."""
        count = self.rate // 10
        while not self.over.wait(0.1):
            self.client.produce(TOPIC, self.sent // count % PARTITIONS, records(count, TYPES))
            self.sent += count


class Run:
    """One instance, in a process group of its own."""

    def __init__(self, home: Path, name: str) -> None:
        self.log = home / f"{name}.log"
        with self.log.open("wb") as log:
            command = [sys.executable, "-m", "penstock", "run"]
            self.process = subprocess.Popen(
                command, cwd=home, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self) -> None:
        """Python, JVM and workers, at once."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(90)

    def stop(self) -> None:
        """As a service manager does; it has to end with 0."""
        self.process.terminate()
        code = self.process.wait(60)
        if code != 0:
            raise SystemExit(f"an instance ended with {code}:\n{self.log.read_text()[-2000:]}")

    def claims(self) -> int:
        """How often it has claimed a feed."""
        return self.log.read_text(errors="replace").count('"event": "claimed"')


def watermark(lake: Path, feed: str) -> int:
    """How many offsets a feed has delivered."""
    store = LocalStore(lake)
    identity = known_identity(store)
    if identity is None:
        return 0
    state = FeedJournal(store, Layout(feed), identity, AROUND).open().state
    return sum(state.watermarks().values())


def wait_until(is_so: Callable[[], bool], alive: list[Run]) -> float:
    """How long it took; ends the benchmark when it takes too long."""
    began = time.monotonic()
    while not is_so():
        if time.monotonic() > began + LIMIT_S:
            said = "\n".join(each.log.read_text(errors="replace")[-1500:] for each in alive)
            raise SystemExit(f"the feeds do not go on:\n{said}")
        time.sleep(0.25)
    return time.monotonic() - began


def change(number: int, home: Path, alive: list[Run], every: list[Run]) -> str:
    """Add an instance, or take the oldest away; what was done."""
    if len(alive) < MOST_ALIVE and number % 2 == 0:
        alive.append(Run(home, f"i{number}"))
        every.append(alive[-1])
        return "one more"
    oldest = alive.pop(0)
    if number % 4 == 1:
        oldest.kill()
        return "kill -9"
    oldest.stop()
    return "SIGTERM"


class Found(NamedTuple):
    """Of a feed: how many records are missing, how many there twice; its windows and files."""

    lost: int
    doubled: int
    windows: int
    files: int


def exactly(lake: Path, feed: str, produced: int) -> Found:
    """What a reader of the directories finds."""
    files = ds.dataset(lake / feed, format="parquet")
    table = files.to_table(columns=["_partition", "_offset"])
    found = Counter(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    doubled = sum(count - 1 for count in found.values())
    windows = {name.rpartition("_")[2] for name in files.files}
    return Found(produced - len(found), doubled, len(windows), len(files.files))


def measure(home: Path, client: KafkaClient, options: argparse.Namespace) -> bool:
    """Ten changes under load; False when something is lost, doubled, or in too many files."""
    lake = home / "lake"
    client.create_topic(TOPIC, PARTITIONS)
    producer = Producer(client, options.rate)
    thread = threading.Thread(target=producer.run, daemon=True)
    thread.start()
    alive = [Run(home, "first")]
    every = list(alive)

    def has_passed(offset: int) -> bool:
        return all(watermark(lake, feed) >= offset for feed in FEEDS)

    try:
        first_s = wait_until(lambda: has_passed(1), alive)
        print(f"first window of all feeds: {first_s:.1f} s", flush=True)
        began, at_start = time.monotonic(), sum(each.claims() for each in every)
        for number in range(CHANGES):
            done, so_far = change(number, home, alive, every), producer.sent
            took_s = wait_until(lambda so_far=so_far: has_passed(so_far), alive)  # type: ignore[misc]
            said = f"{number + 1}: {done}, {len(alive)} alive; all is there {took_s:.1f} s later"
            print(said, flush=True)
        producer.over.set()
        thread.join()
        wait_until(lambda: has_passed(producer.sent), alive)
        lasted_s = time.monotonic() - began
        for each in alive:
            each.stop()
    finally:
        producer.over.set()
        for each in every:
            each.kill()
    claims = sum(each.claims() for each in every) - at_start
    # A window of each feed at the start, one in every `every`, and one at once after each claim.
    most = len(FEEDS) * (1 + lasted_s / options.every) + claims
    return told([exactly(lake, feed, producer.sent) for feed in FEEDS], producer.sent, claims, most)


def told(found: list[Found], produced: int, claims: int, most: float) -> bool:
    """Print what came out; whether it is as it must be."""
    lost, doubled, windows, files = (sum(column) for column in zip(*found, strict=True))
    print(
        f"{produced:,} records in each of {len(found)} feeds, at a load of "
        f"{machine()['load_1_min']}: {lost} lost, {doubled} doubled; {claims} claims, {windows} "
        f"windows (at most {most:.0f}), {files} files"
    )
    return not lost and not doubled and windows <= most


def main() -> int:
    """Measure and print; 1 when something is not as it must be."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--every", type=float, default=5.0, help="seconds between windows")
    arguments.add_argument("--rate", type=int, default=500, help="records per second")
    options = arguments.parse_args()
    cache = places.jar_cache()
    fetch([BROKER], cache, java_home=places.java_home(), java_options=places.java_network_options())
    java = find_java(places.java_home()).path
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        home = Path(name)
        with EmbeddedKafka(home / "kafka", jar_paths(BROKER, cache), java) as kafka:
            words = {"bootstrap": kafka.bootstrap, "topic": TOPIC, "every_s": options.every}
            (home / "penstock.yaml").write_text(CONFIG.format(**words))
            return 0 if measure(home, KafkaClient(kafka.bootstrap), options) else 1


if __name__ == "__main__":
    in_one_line(main)
