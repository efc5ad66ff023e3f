"""How long the first window of a new feed takes, in which it learns: `make bench-first-window`.

2,000 nested records of 17 types, in a session in which windows of another feed have run before.
Every round has a feed and a lake of its own. Printed are the phases of the window, every read of
its records, and what lies between the reads: inferring schemas and keeping them.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from bench.interrupted import in_one_line
from bench.machine import machine
from bench.mixed_topic import (
    FIRST_WINDOW,
    MixedTopic,
    fill,
    fill_workload,
    learned_feed,
    new_feed,
    open_world,
)
from bench.workloads.workload import WORKLOADS
from penstock.api.source import ReadRequest, SourceTools, Task
from penstock.model.spec import FeedSpec
from penstock.ports.source.kafka.kafka_source import KafkaSource

RECORDS = 2_000
ROUNDS = 3


class TimedSource(KafkaSource):
    """Kafka, with how long every read took."""

    def __init__(self, feed: FeedSpec, tools: SourceTools) -> None:
        super().__init__(feed, tools)
        self.reads_s: list[float] = []

    def read(self, request: ReadRequest, task: Task) -> list[bytes]:
        """The same, timed."""
        began = time.perf_counter()
        found = super().read(request, task)
        self.reads_s.append(time.perf_counter() - began)
        return found


def warm(topic: MixedTopic) -> None:
    """Run a first and a second window of a feed of flat events."""
    feed = learned_feed(topic, Path(tempfile.mkdtemp(dir=topic.world.scratch)))
    while feed.run_window():
        pass
    feed.close()


def first_window(topic: MixedTopic) -> float:
    """Run it in a new lake, print where its time went, and return how long it took."""
    sources: list[TimedSource] = []

    def open_timed(feed: FeedSpec, tools: SourceTools) -> TimedSource:
        sources.append(TimedSource(feed, tools))
        return sources[-1]

    lake = Path(tempfile.mkdtemp(dir=topic.world.scratch))
    feed = new_feed(topic, lake, topic.records, open_timed)
    feed.forget_phases()
    began = time.perf_counter()
    feed.run_window()
    took = time.perf_counter() - began
    feed.close()
    delivered = sum(feed.state.watermarks().values())
    if delivered != topic.records:
        raise SystemExit(f"the window read {delivered} records instead of {topic.records}")
    reads = sources[-1].reads_s
    learning = feed.phases_s["stage"] - sum(reads)
    parts = [
        *(f"{phase} {spent:.2f} s" for phase, spent in feed.phases_s.items()),
        *(f"read {number} {spent:.2f} s" for number, spent in enumerate(reads, 1)),
        f"learning {learning:.2f} s",
    ]
    print(f"{took:6.2f} s: {', '.join(parts)}", flush=True)
    return took


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=RECORDS)
    arguments.add_argument("--workload", choices=WORKLOADS, default="social")
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    options = arguments.parse_args()
    workload = WORKLOADS[options.workload]
    with open_world(None) as world:
        warm(fill(world, 2 * FIRST_WINDOW, 12))
        topic = fill_workload(world, workload, options.records)
        load = machine()["load_1_min"]
        took = [first_window(topic) for _ in range(options.rounds)]
    what = f"{topic.records:,} records of {topic.types} types ({workload.name})"
    print(f"the first window of {what}: {statistics.median(took):.2f} s, at a load of {load}")


if __name__ == "__main__":
    in_one_line(main)
