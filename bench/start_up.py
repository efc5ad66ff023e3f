"""How long commands take that need no JVM: `penstock --help`, and `status` on a small lake.

`python -m bench.start_up` makes the lake in this process, from records in memory, and runs every
command five times as a process of its own. The median counts.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import SystemRandom

from bench.events import event
from penstock.feeds.runner import Runner, RunSpec
from penstock.feeds.running_feed import FeedTools
from penstock.model.spec import FeedSpec, RouteSpec, TimeSpec, WindowSpec
from penstock.ports.store.open_store import local_spec, open_store
from penstock.runtime.surroundings import Surroundings
from penstock.testing.list_source import ListCluster, ListSource

TIMES = 5
WINDOWS = 10
HELP_AIM_S = 0.3
STATUS_AIM_S = 1.0
FEED = FeedSpec(
    name="events",
    topics=("events",),
    route=RouteSpec("field", "type"),
    time=TimeSpec(field="event_time", unit="ms"),
    window=WindowSpec(every_s=0.0, max_records=100),
)


def small_lake(home: Path) -> Path:
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
    file = home / "penstock.yaml"
    file.write_text(json.dumps(written), encoding="utf-8")  # which is YAML as well
    return file


def show(what: str, aim_s: float, *words: str) -> None:
    """Run a command, and print its median time beside the aim."""
    took, spent = [], []
    for _ in range(TIMES):
        began, used = time.perf_counter(), _children_cpu_s()
        command = [sys.executable, "-m", "penstock", *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took.append(time.perf_counter() - began)
        spent.append(_children_cpu_s() - used)
    found_s, cpu_s = statistics.median(took), statistics.median(spent)
    word = "reached" if found_s <= aim_s else "MISSED"
    print(f"{what:32} {found_s:5.2f} s ({cpu_s:.2f} of CPU)  aim {aim_s:.1f} s  {word}", flush=True)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print."""
    show("penstock --help", HELP_AIM_S, "--help")
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as home:
        config = str(small_lake(Path(home)))
        words = ("status", "--config", config)
        show(f"penstock status, {WINDOWS} windows", STATUS_AIM_S, *words)


if __name__ == "__main__":
    main()
