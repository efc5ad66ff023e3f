"""How fast a window is delivered, against plain Spark and against reading only: `make bench`.

Two workloads, 12 types and 200, in one run and one Spark session with two cores; the ways take
turns, round by round (`bench/ways.py` says what each does). The first two rounds warm up: in them
Java's compilers have as much to do as the work itself. Trust the ratios more than the figures: they
are taken within rounds.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

from bench.figures import Turn, Turns, medians, verdicts, workload_name, workload_result
from bench.interrupted import in_one_line
from bench.machine import machine
from bench.mixed_topic import FIRST_WINDOW, fill, open_world
from bench.pictures import comparison, earlier, place_for, write_down
from bench.processes import PERIOD_S
from bench.ways import FETCHES, take_turn, watch_without, ways_of

WARM_UPS = 2
ROUNDS = 3
RECORDS = 2_000_000
Measured = dict[int, dict[str, list[Turn]]]
# With 200 types, plain Spark with 100 writers runs out of memory in the gigabyte that Spark takes
# by itself. All ways share the JVM, so all get more.
HEAP = {"spark.driver.memory": "4g"}


def measure(options: argparse.Namespace) -> Measured:
    """All turns but those that warm up, by number of types and way."""
    ways = ways_of(options.fetch)
    turns: Measured = {types: {name: [] for name in ways} for types in options.types}
    began = time.perf_counter()
    with open_world(options.keep, HEAP) as world, watch_without(world.broker_pids) as watch:
        topics = {types: fill(world, options.records, types) for types in options.types}
        for number in range(1 - WARM_UPS, options.rounds + 1):
            for types, topic in topics.items():
                for name, way in ways.items():
                    turn = take_turn(topic, way, watch)
                    turns[types][name] += [turn] if number > 0 else []
                    kind = f"round {number} of {options.rounds}" if number > 0 else "warm-up"
                    took = f"{time.perf_counter() - began:5.0f} s"
                    print(f"{took}  {kind:12} {line_of(types, name, [turn])}", flush=True)
    return turns


def line_of(types: int, name: str, turns: Turns) -> str:
    """The figures of a way in one line."""
    found = medians(turns)
    files, size = turns[-1].files, turns[-1].file_bytes
    written = f"{files:5,} files {size / 2**20:7,.1f} MiB" if files else ""
    return (
        f"{types:3} types {name:24} {found['records_per_s']:9,} records/s "
        f"{found['records_per_cpu_s']:9,} per CPU-second "
        f"{turns[-1].peak_rss_bytes / 2**20:6,.0f} MiB {written}"
    )


def show(turns: Measured, results: Mapping[str, Mapping[str, object]]) -> None:
    """The medians, where a window's time goes, and every target."""
    print(f"\nMedians of the rounds. Memory: sum of RSS, looked at every {PERIOD_S:g} s.")
    for types, ways in turns.items():
        for name, found in ways.items():
            print(line_of(types, name, found))
        result = results[workload_name(types)]
        ours = result["penstock"]
        phases = ours.get("phases_s", {}) if isinstance(ours, dict) else {}
        print("    a window:", ", ".join(f"{name} {took:.2f} s" for name, took in phases.items()))
        print(
            f"    Penstock is {result['ratio_plain_spark']} times plain Spark "
            f"({result['ratio_plain_spark_cpu']} by CPU), "
            f"{result['ratio_read_only']} of reading only"
        )
    print()
    for verdict in verdicts(turns):
        print(verdict)


def check_sizes(arguments: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuse what leaves nothing to measure, before anything is started."""
    if options.records <= FIRST_WINDOW or options.rounds < 1:
        arguments.error(f"at least one round, and more than {FIRST_WINDOW:,} records")


def out_of(options: argparse.Namespace, records: int) -> Path | None:
    """Where this run is written down, if it is; `records` are those of a whole run."""
    is_whole = options.rounds >= ROUNDS and options.records >= records
    return place_for(options.out, is_whole)


def main() -> None:
    """Measure, print, and write down."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=RECORDS, help="events per topic")
    arguments.add_argument("--types", type=int, nargs="+", default=[12, 200], help="workloads")
    arguments.add_argument(
        "--rounds", type=int, default=ROUNDS, help="turns of each, after two to warm"
    )
    arguments.add_argument("--keep", type=Path, help="where the broker keeps topics for later")
    arguments.add_argument("--out", type=Path, help="directory for results.json and results.svg")
    arguments.add_argument(
        "--fetch", choices=FETCHES, default="penstock", help="consumer settings of plain Spark"
    )
    options = arguments.parse_args()
    check_sizes(arguments, options)
    before = machine()
    turns = measure(options)
    about = {"machine": [before, machine()]}
    results = {workload_name(t): {**workload_result(ways), **about} for t, ways in turns.items()}
    show(turns, results)
    if (out := out_of(options, RECORDS)) is not None:
        write_down(out, "results", earlier(out, "results") | results, comparison(results))


if __name__ == "__main__":
    in_one_line(main)
