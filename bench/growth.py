"""How cost grows with types, records and windows: `make bench-growth`.

    types     windows of a million records with 1, 12, 50 and 200 types
    records   windows of 0.1 to 10 million records of 12 types, from one topic of 10 million
    journal   journals of 10 to 100,000 windows: opening one with the checkpoint that the last
              owner left, and from its entries alone

Each window is the second one of a new feed, which has learned its types from a small first one. The
medians of the rounds count; sizes take turns within a round, after one round to warm up.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.figures import Turn
from bench.interrupted import in_one_line
from bench.journal import build, open_journal, timed
from bench.machine import machine
from bench.mixed_topic import FIRST_WINDOW, MixedTopic, World, fill, open_world
from bench.pictures import growth, write_down
from bench.processes import Watch
from bench.ways import penstock, take_turn, watch_without

TYPES = (1, 12, 50, 200)
TYPES_RECORDS = 1_000_000
RECORDS = (100_000, 500_000, 2_000_000, 10_000_000)
RECORDS_TYPES = 12
WINDOWS = (10, 100, 1_000, 10_000, 100_000)
WINDOW_FILES = 12
BEFORE_END = 99  # an owner leaves a checkpoint every hundred entries
START_TARGET_S = 3.0

Row = dict[str, float]


@dataclass(frozen=True)
class Size:
    """A window to measure: so many records of a topic."""

    topic: MixedTopic
    records: int


def measure_windows(sizes: Sequence[Size], rounds: int, watch: Watch) -> list[Row]:
    """What a record costs in windows of these sizes, in their order."""
    turns: list[list[Turn]] = [[] for _ in sizes]
    for number in range(rounds + 1):
        for size, found in zip(sizes, turns, strict=True):
            turn = take_turn(size.topic, penstock(size.records), watch)
            found += [turn] if number else []
            kind = f"round {number} of {rounds}" if number else "warm-up"
            print(
                f"{kind:12} {size.topic.types:3} types {size.records:10,} records "
                f"{turn.elapsed_s:6.1f} s {1e6 / turn.per_s:6.2f} us a record",
                flush=True,
            )
    return [row_of(size, found) for size, found in zip(sizes, turns, strict=True)]


def row_of(size: Size, turns: Sequence[Turn]) -> Row:
    """The medians of a size."""
    return {
        "types": size.topic.types,
        "records": size.records,
        "us_per_record": round(statistics.median(1e6 / turn.per_s for turn in turns), 3),
        "cpu_us_per_record": round(statistics.median(1e6 / turn.per_cpu_s for turn in turns), 3),
        "peak_rss_bytes": round(statistics.median(turn.peak_rss_bytes for turn in turns)),
        "files": turns[-1].files,
    }


def measure_journals(windows: Sequence[int], runs: int) -> list[Row]:
    """How long journals of these sizes take to open."""
    rows = []
    for count in windows:
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
            root = Path(scratch) / "lake"
            build_s = timed(partial(build_journal, root, count))
            start_s = opening_s(root, runs)
            for checkpoint in root.glob("_penstock/*/checkpoints/*"):
                checkpoint.unlink()
            fold_s = opening_s(root, 1 if count > 10_000 else runs)
        rows.append({"windows": count, "start_s": round(start_s, 4), "fold_s": round(fold_s, 4)})
        print(
            f"journal of {count:7,} windows: opened in {start_s:.3f} s with a checkpoint, "
            f"{fold_s:.3f} s from its entries alone (built in {build_s:.0f} s)",
            flush=True,
        )
    return rows


def build_journal(root: Path, windows: int) -> None:
    """A journal of so many windows, with a checkpoint near its end."""
    build(root, windows + 3, WINDOW_FILES, checkpoint_before_end=min(BEFORE_END, windows // 2))


def opening_s(root: Path, runs: int) -> float:
    """How long a process that has never seen a journal takes to open it."""
    return statistics.median(timed(open_journal(root).open) for _ in range(runs))


def measure(options: argparse.Namespace) -> dict[str, object]:
    """Everything, quickest first."""
    scale = options.scale
    journal = measure_journals([n for n in WINDOWS if n <= max(10, WINDOWS[-1] * scale)], 3)
    with open_world(options.keep) as world, watch_without(world.broker_pids) as watch:
        by_types = [_type_size(world, types, int(TYPES_RECORDS * scale)) for types in TYPES]
        types = measure_windows(by_types, options.rounds, watch)
        sizes = [int(records * scale) for records in RECORDS]
        topic = fill(world, FIRST_WINDOW + sizes[-1], RECORDS_TYPES)
        records = measure_windows([Size(topic, each) for each in sizes], options.rounds, watch)
    return {"types": types, "records": records, "journal": journal}


def _type_size(world: World, types: int, records: int) -> Size:
    return Size(fill(world, FIRST_WINDOW + records, types), records)


def main() -> None:
    """Measure, print, and write down."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--rounds", type=int, default=3, help="turns of each, after one to warm")
    arguments.add_argument("--scale", type=float, default=1.0, help="0.1: a tenth of everything")
    arguments.add_argument("--keep", type=Path, help="where the broker keeps topics for later")
    arguments.add_argument("--out", type=Path, help="directory for growth.json and growth.svg")
    options = arguments.parse_args()
    about, began = machine(), time.perf_counter()
    found = {**measure(options), "machine": about, "took_s": round(time.perf_counter() - began)}
    last = found["journal"][-1]  # type: ignore[index]
    verdict = "reached" if last["start_s"] < START_TARGET_S else "MISSED"
    print(
        f"opening a journal of {last['windows']:,} windows: {last['start_s']:.2f} s, "
        f"target {START_TARGET_S:g} s {verdict}"
    )
    if options.out is not None:
        write_down(options.out, "growth", found, growth(found))


if __name__ == "__main__":
    in_one_line(main)
