"""How long after it was produced a record is visible: `make bench-delay`.

`penstock run` with windows every five seconds, as users run it, and a producer that sends records
at a steady rate, each with the time of sending in it. A watcher looks at the lake twenty times a
second and reads every new file. The delay of a record is the time from sending it to seeing its
file. With `--feeds 50 --every 30` it shows whether many small feeds keep up, and how many lines the
run leaves on a terminal. In the end nothing is produced, and what the run takes then is measured.
"""

import argparse
import json
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from bench.interrupted import in_one_line
from bench.machine import machine
from bench.processes import Watch
from penstock.config import places
from penstock.spark.jars import BROKER, fetch, jar_paths
from penstock.spark.java import find_java
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient

PARTITIONS = 4  # of the topics together, at least
LOOK_S = 0.05
START_MOST_S = 600.0  # for all first windows on a busy machine
CONFIG = """
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "{bootstrap}"}}
spark: {{spark.master: "local[2]"}}
defaults:
  route: {{by: "field:type"}}
  time: {{field: sent_ms, unit: ms}}
  window: {{every: {every_s:g}s}}
feeds:
"""


class Measured(NamedTuple):
    """The delays of all records, what an idle run takes of a core, and its lines on a terminal."""

    delays_s: list[float]
    idle_share: float
    lines: int


class Watcher:
    """The lake as a reader of its directories sees it; keeps the delay of every record."""

    def __init__(self, lake: Path) -> None:
        self._lake = lake
        self._seen: set[Path] = set()
        self.delays_s: list[float] = []

    def look(self) -> None:
        """Read the files that are new since the last look."""
        feeds = [each for each in self._lake.glob("*") if each.name != "_penstock"]
        new = {file for feed in feeds for file in feed.rglob("*.parquet")} - self._seen
        now_ms = time.time() * 1000
        for file in new:
            sent = pq.read_table(file, columns=["sent_ms"])["sent_ms"].to_pylist()
            self.delays_s += [(now_ms - each) / 1000 for each in sent]
        self._seen |= new


def records(count: int, types: int = 5) -> list[bytes]:
    """Records that are sent now."""
    now = int(time.time() * 1000)
    return [
        json.dumps({"type": f"t{n % types}", "sent_ms": now, "n": n, "text": "x" * 150}).encode()
        for n in range(count)
    ]


@contextmanager
def running(home: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`penstock run` in a directory, on a terminal, ended as a service manager would."""
    ours, terminal = pty.openpty()
    command = [sys.executable, "-m", "penstock", "run"]
    process = subprocess.Popen(command, cwd=home, stdout=terminal, stderr=terminal)
    os.close(terminal)
    thread = threading.Thread(target=copy_terminal, args=(ours, log), daemon=True)
    thread.start()
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)
        thread.join()


def copy_terminal(terminal: int, log: Path) -> None:
    """Write down what comes to a terminal, until nobody has it open any more."""
    with log.open("wb", buffering=0) as out:
        while True:
            try:
                out.write(os.read(terminal, 65_536))
            except OSError:
                break
    os.close(terminal)


def lines_on_screen(log: Path) -> int:
    """How many lines a terminal shows: what was written over is gone."""
    return log.read_bytes().count(b"\n")


def wait_for(watcher: Watcher, count: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Look until so many records are visible."""
    deadline = time.monotonic() + START_MOST_S
    while len(watcher.delays_s) < count:
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"the run delivers nothing:\n{log.read_text()[-2000:]}")
        watcher.look()
        time.sleep(LOOK_S)


def measure(bootstrap: str, home: Path, options: argparse.Namespace) -> Measured:
    """Run, produce for a while, and then nothing."""
    client = KafkaClient(bootstrap)
    names = [f"events{number}" for number in range(options.feeds)]
    partitions = max(PARTITIONS // options.feeds, 1)
    for name in names:
        client.create_topic(name, partitions)
    config = CONFIG.format(bootstrap=bootstrap, every_s=options.every)
    config += "".join(f"  {name}: {{topics: [{name}]}}\n" for name in names)
    (home / "penstock.yaml").write_text(config)
    spots = [(name, number) for number in range(partitions) for name in names]
    log, watcher = home / "run.log", Watcher(home / "lake")
    with running(home, log) as process:
        for warm in range(1, 4):  # the first windows learn, and warm Spark
            for name in names:
                client.produce(name, warm % partitions, records(100))
            wait_for(watcher, 100 * warm * len(names), process, log)
        watcher.delays_s.clear()
        rounds, began = int(options.seconds * 10), time.monotonic()
        for number in range(rounds):
            name, partition = spots[number % len(spots)]
            client.produce(name, partition, records(options.rate // 10))
            while time.monotonic() < began + (number + 1) / 10:
                watcher.look()
                time.sleep(LOOK_S)
        wait_for(watcher, rounds * (options.rate // 10), process, log)
        with Watch(process.pid) as watch:
            time.sleep(options.every)  # what the last windows have left to do
            before, began = watch.cpu_s(), time.monotonic()
            time.sleep(options.idle)
            idle_share = (watch.cpu_s() - before) / (time.monotonic() - began)
        lines = lines_on_screen(log)
    return Measured(sorted(watcher.delays_s), idle_share, lines)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--every", type=float, default=5.0, help="seconds between windows")
    arguments.add_argument("--feeds", type=int, default=1, help="feeds, each with its own topic")
    arguments.add_argument("--rate", type=int, default=1_000, help="records per second")
    arguments.add_argument("--seconds", type=float, default=60.0, help="how long to produce")
    arguments.add_argument("--idle", type=float, default=30.0, help="seconds without a record")
    options = arguments.parse_args()
    cache = places.jar_cache()
    fetch([BROKER], cache, java_home=places.java_home(), java_options=places.java_network_options())
    java = find_java(places.java_home()).path
    load = machine()["load_1_min"]
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        home = Path(name)
        with EmbeddedKafka(home / "kafka", jar_paths(BROKER, cache), java) as kafka:
            found = measure(kafka.bootstrap, home, options)
    delays = found.delays_s
    cuts = statistics.quantiles(delays, n=100)
    print(
        f"{len(delays):,} records at {options.rate:,} per second, {options.feeds} feeds, "
        f"windows every {options.every:g} s, at a load of {load}: visible after "
        f"{cuts[49]:.1f} s (p50), {cuts[98]:.1f} s (p99), {delays[-1]:.1f} s at most "
        f"({delays[-1] / options.every:.1f} windows); {found.idle_share:.1%} of a core while idle; "
        f"{found.lines} lines on the terminal"
    )


if __name__ == "__main__":
    in_one_line(main)
