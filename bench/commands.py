"""How long a user waits for commands that only read or explain: `make bench-commands`.

Every command runs in fresh processes, as from a shell; the table has the median of the clock and of
the processor's time. The lake is small, so this is what starting costs, and not what reading costs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from random import SystemRandom

from bench.events import event
from bench.interrupted import in_one_line
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.spec import FeedSpec, RouteSpec, TimeSpec, WindowSpec
from penstock.ports.store.open_store import local_spec, open_store
from penstock.runtime.surroundings import Surroundings
from penstock.testing.list_source import ListCluster, ListSource

WINDOWS = 10
HELP_S, STATUS_S = 0.3, 1.0
COMMANDS: tuple[tuple[tuple[str, ...], float | None], ...] = (
    (("--help",), HELP_S),
    (("run", "--help"), HELP_S),
    (("status",), STATUS_S),
    (("files", "events"), None),
    (("errors", "list", "events"), None),
    (("audit",), None),
)

FEED = FeedSpec(
    name="events",
    topics=("events",),
    route=RouteSpec("field", "type"),
    time=TimeSpec(field="event_time", unit="ms"),
    window=WindowSpec(every_s=0.0, max_records=100),
)


@dataclass(frozen=True)
class Result:
    """One line of the table; the aim is for an idle machine."""

    command: str
    seconds: float
    cpu_seconds: float
    aim_s: float | None


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser("python -m bench.commands", description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="how often each command runs (7)")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-commands-") as directory:
        make_lake(Path(directory))
        for words, aim_s in COMMANDS:
            show(measured(words, aim_s, asked.runs, Path(directory)), asked.output)


def make_lake(home: Path) -> None:
    """A configuration file beside a lake of ten windows of three types."""
    cluster = ListCluster()
    cluster.create_topic("events", partitions=1)
    cluster.append("events", 0, *(event(number, 3) for number in range(WINDOWS * 100)))
    around = Surroundings(time.time, time.sleep, SystemRandom())
    store = open_store(local_spec(home / "lake"))
    tools = FeedTools(lambda feed: ListSource(feed, cluster), store, around)
    Runner((FEED,), tools, lambda _event: None, lambda: False, RunSpec(once=True)).run()
    feeds = {"events": {"topics": ["events"], "route": {"by": "field:type"}}}
    kafka = {"bootstrap.servers": "127.0.0.1:1"}
    written = {"version": 1, "lake": str(home / "lake"), "kafka": kafka, "feeds": feeds}
    # JSON is YAML as well.
    (home / "penstock.yaml").write_text(json.dumps(written), encoding="utf-8")


def measured(words: tuple[str, ...], aim_s: float | None, runs: int, directory: Path) -> Result:
    """The medians of some runs. The first one, which fills caches, does not count."""
    command = [sys.executable, "-m", "penstock", *words]
    took: list[tuple[float, float]] = []
    for _ in range(runs + 1):
        before, began = os.times(), time.monotonic()
        subprocess.run(command, cwd=directory, check=True, capture_output=True)
        after, ended = os.times(), time.monotonic()
        cpu_s = after.children_user + after.children_system
        cpu_s -= before.children_user + before.children_system
        took.append((ended - began, cpu_s))
    clock, cpu = zip(*took[1:], strict=True)
    name = " ".join(["penstock", *words])
    return Result(name, statistics.median(clock), statistics.median(cpu), aim_s)


def show(result: Result, output: str) -> None:
    """Print one result."""
    if output == "json":
        print(json.dumps(asdict(result)))
        return
    aim = "" if result.aim_s is None else f"   aim {result.aim_s:.1f} s"
    times = f"{result.seconds:6.2f} s {result.cpu_seconds:6.2f} s of processor time"
    print(f"{result.command:28} {times}{aim}", flush=True)


if __name__ == "__main__":
    in_one_line(main)
