"""How throughput grows from one core to two: `make bench-cores`.

Whole windows of the same topic of 12 types, in a Spark session with one core and then in one with
two, each in a process of its own. The first two windows warm up.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.interrupted import in_one_line
from bench.machine import machine
from bench.mixed_topic import fill, learned_feed, open_world

RECORDS = 1_000_000
ROUNDS, WARM_UPS = 3, 2
RATE = "records per second:"


def measure(cores: int, records: int) -> float:
    """Records per second in a session with so many cores."""
    with open_world(None, {"spark.master": f"local[{cores}]"}) as world:
        topic = fill(world, records, 12)
        rates = []
        for _ in range(WARM_UPS + ROUNDS):
            feed = learned_feed(topic, Path(tempfile.mkdtemp(dir=world.scratch)))
            began = time.perf_counter()
            feed.run_window()
            rates.append(topic.measured / (time.perf_counter() - began))
            feed.close()
        return statistics.median(rates[WARM_UPS:])


def measure_apart(cores: int, records: int) -> float:
    """The same in a process of its own: a process has one Spark session."""
    command = [sys.executable, "-m", "bench.cores", "--cores", str(cores)]
    done = subprocess.run(
        [*command, "--records", str(records)], stdout=subprocess.PIPE, text=True, check=True
    )
    print(done.stdout, end="", flush=True)
    (line,) = [each for each in done.stdout.splitlines() if RATE in each]
    return float(line.rpartition(RATE)[2])


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=RECORDS)
    arguments.add_argument("--cores", type=int, help="one measurement only, with so many cores")
    options = arguments.parse_args()
    if options.cores:
        rate = measure(options.cores, options.records)
        print(f"local[{options.cores}], {RATE} {rate:.0f}")
        return
    load = machine()["load_1_min"]
    one, two = measure_apart(1, options.records), measure_apart(2, options.records)
    print(f"two cores deliver {two / one:.2f} times as much as one, at a load of {load}")


if __name__ == "__main__":
    in_one_line(main)
