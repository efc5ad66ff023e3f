"""What a window costs when there is next to nothing in it: `make bench-tiny`.

A topic of four partitions, a hundred records at a time, and an owner that delivers each hundred as
a window of its own: look, plan, stage, prove, decide, publish, done. The first ten windows
warm up: Spark compiles its plans meanwhile.
"""

import statistics
import time

from bench.events import event
from bench.interrupted import in_one_line
from bench.mixed_topic import FIRST_WINDOW, PARTITIONS, fill, learned_feed, open_world
from penstock.testing.kafka_client import KafkaClient

ROUNDS, WARM_UPS = 10, 10
TARGET_S = 0.5


def main() -> None:
    """Measure and print."""
    with open_world(None) as world:
        topic = fill(world, 2 * FIRST_WINDOW, 12)
        feed = learned_feed(topic, world.scratch / "lake")
        while feed.run_window():
            pass
        client = KafkaClient(world.bootstrap)
        took = []
        for number in range(WARM_UPS + ROUNDS):
            for partition in range(PARTITIONS):
                first = 1_000_000 + 100 * number + 25 * partition
                events = [event(n, topic.types) for n in range(first, first + 25)]
                client.produce(topic.name, partition, events)
            began = time.perf_counter()
            while not feed.run_window():
                began = time.perf_counter()
            took.append(time.perf_counter() - began)
        feed.close()
    median = statistics.median(took[WARM_UPS:])
    verdict = "kept" if median < TARGET_S else "missed"
    print(f"{median:.2f} s per window of 100 records: target of {TARGET_S} s {verdict}")


if __name__ == "__main__":
    in_one_line(main)
