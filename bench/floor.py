"""What a window cannot go below: `python -m bench.floor`, the cost of each part of a window's way.

    read_only    the connector to nothing, as in `make bench`
    into_python  the records in the columns that tasks are given, into a Python function that drops
                 them: no pipeline through PySpark that looks at every record can cost less
    penstock     a whole window

Prints processor time per record, from which follows what is left for decoding and writing.
"""

import argparse
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from bench.figures import READ_ONLY, Turn
from bench.interrupted import in_one_line
from bench.machine import machine
from bench.mixed_topic import PARTITIONS, MixedTopic, fill, open_world
from bench.processes import Watch
from bench.ways import Way, measured, penstock, read_only, take_turn, turn_of, watch_without
from penstock.model.ranges import OffsetRange
from penstock.ports.source.kafka.reader import read_ranges

ROUNDS, WARM_UPS = 3, 2


def into_python(topic: MixedTopic, _target: Path, watch: Watch) -> Turn:
    """Every record in a Python function that has nothing to do."""
    first, end = topic.first // PARTITIONS, topic.records // PARTITIONS
    ranges = tuple(OffsetRange(topic.name, "", n, first, end) for n in range(PARTITIONS))
    options = {"bootstrap.servers": topic.world.bootstrap}
    frame = read_ranges(topic.world.spark, options, ranges)
    counting = frame.mapInArrow(count_rows, "rows long")
    with measured(watch) as spent:
        rows = sum(row.rows for row in counting.collect())
    if rows != topic.measured:
        raise AssertionError(f"{rows} records, and {topic.measured} are there")
    return turn_of(topic.measured, spent, None)


def count_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How many rows came. Runs on executors."""
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"rows": pa.array([rows], pa.int64())})


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, default=1_000_000)
    arguments.add_argument("--types", type=int, default=12)
    options = arguments.parse_args()
    ways: dict[str, Way] = {
        READ_ONLY: read_only("penstock"),
        "into_python": into_python,
        "penstock": penstock(),
    }
    print(f"load {machine()['load_1_min']}")
    with open_world(None) as world, watch_without(world.broker_pids) as watch:
        topic = fill(world, options.records, options.types)
        turns: dict[str, list[Turn]] = {name: [] for name in ways}
        for _ in range(WARM_UPS + ROUNDS):
            for name, way in ways.items():
                turns[name].append(take_turn(topic, way, watch))
    for name, taken in turns.items():
        best = taken[WARM_UPS:]
        cpu = statistics.median(turn.cpu_s / turn.records for turn in best)
        elapsed = statistics.median(turn.elapsed_s / turn.records for turn in best)
        print(
            f"{name:12}  {cpu * 1e6:5.2f} µs of a processor, {elapsed * 1e6:5.2f} µs by the clock"
        )


if __name__ == "__main__":
    in_one_line(main)
