"""How much memory a task needs when a window has very many files: `make bench-memory`.

One window of many types and three days: hundreds of open files per task. Watches the Python
workers of Spark from outside and prints the most that any of them held at any time.
"""

import argparse
import time
from pathlib import Path

from bench.interrupted import in_one_line
from bench.mixed_topic import fill, learned_feed, open_world
from bench.processes import WorkerMemory

LIMIT_BYTES = int(1.5 * 2**30)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=5_000_000)
    arguments.add_argument("--types", type=int, default=200)
    arguments.add_argument("--keep", type=Path, help="where the broker keeps the topic for later")
    options = arguments.parse_args()
    with open_world(options.keep) as world:
        topic = fill(world, options.records, options.types)
        feed = learned_feed(topic, world.scratch / "lake")
        began = time.perf_counter()
        with WorkerMemory() as memory:
            feed.run_window()
        took = time.perf_counter() - began
        feed.close()
        files = sum(1 for _ in (world.scratch / "lake").rglob("*.parquet"))
    speed = topic.measured / took
    print(f"{topic.measured:,} records into {files:,} files: {speed:,.0f} records/s")
    verdict = "kept" if memory.most_bytes <= LIMIT_BYTES else "broken"
    most, limit = memory.most_bytes / 2**20, LIMIT_BYTES / 2**20
    print(f"at most {most:,.0f} MiB in a worker: limit of {limit:,.0f} MiB {verdict}")


if __name__ == "__main__":
    in_one_line(main)
