"""What a window costs when there is next to nothing in it: `PYTHONPATH=src python bench/tiny.py`.

A topic of four partitions, a hundred records at a time, and an owner that delivers each hundred as
a window of its own: look, plan, stage, prove, decide, publish, done. The first two windows warm up.
"""

import statistics
import time

from mixed_topic import PARTITIONS, event, learned_feed, open_world

from penstock.testing.kafka_client import KafkaClient

ROUNDS = 8
TARGET_S = 1.5


def main() -> None:
    """Measure and print."""
    with open_world(12_000, 12, None) as world:
        feed, _ = learned_feed(world, world.scratch / "lake")
        while feed.run_window():
            pass
        client = KafkaClient(world.bootstrap)
        took = []
        for number in range(ROUNDS + 2):
            now_ms = int(time.time() * 1000)
            for partition in range(PARTITIONS):
                first = 1_000_000 + 100 * number + 25 * partition
                events = [event(n, world.types, now_ms) for n in range(first, first + 25)]
                client.produce(world.topic, partition, events)
            began = time.perf_counter()
            while not feed.run_window():
                began = time.perf_counter()
            took.append(time.perf_counter() - began)
        feed.close()
    median = statistics.median(took[2:])
    verdict = "kept" if median < TARGET_S else "missed"
    print(f"{median:.2f} s per window of 100 records: target of {TARGET_S} s {verdict}")


if __name__ == "__main__":
    main()
