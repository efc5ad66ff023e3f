"""How fast windows of records of real shape are delivered: `make bench-shapes`.

    social, audit, changes       nested JSON of 1 to 6 KB
    clicks, payments             JSON of up to 1 KB
    wide, texts                  rows of 200 columns, long texts
    envelopes, framed-envelopes  Avro with unions, a map and an array: of a fixed schema, and framed
    protobuf-envelopes           the same envelopes in Protobuf

Each against plain Spark: `from_json` with the schema that Spark finds in the records of the first
window, or `from_avro`; Parquet (zstd) by type and day. Both variants of plain Spark warm up, and
the better one is measured. Spark's reader of Protobuf is a jar that not every mirror has: those
envelopes are compared with Penstock and the same ones in Avro. All in one session; ways take turns,
as in `make bench`, and the results join those. `bench/workloads/` makes the records;
`python -m bench.shred --format social` runs one task on them without Spark and Kafka.
"""

import argparse
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import col, expr, from_json
from pyspark.sql.types import StructType

from bench.avro_events import FIRST_ID
from bench.compare import HEAP, ROUNDS, WARM_UPS, line_of
from bench.figures import (
    ON_AVRO,
    OURS,
    PLAIN,
    READ_ONLY,
    WRITERS,
    Turn,
    better_plain,
    protobuf_result,
    shape_verdicts,
    variant,
    workload_result,
)
from bench.interrupted import in_one_line
from bench.machine import machine
from bench.mixed_topic import MixedTopic, fill_workload, open_world
from bench.one_task import FIRST_WINDOW
from bench.pictures import earlier, place_for, write_figures
from bench.processes import Watch
from bench.ways import (
    Way,
    frame_of,
    measured,
    penstock,
    read_only,
    take_turn,
    turn_of,
    watch_without,
)
from bench.workloads.change_envelopes import envelope_schema
from bench.workloads.change_events import TABLES
from bench.workloads.workload import WORKLOADS, Workload

Turns = dict[str, list[Turn]]


def plain_shape(workload: Workload, writers: int) -> Way:
    """Plain Spark on a workload, with at most so many open files per task."""
    found: dict[str, StructType] = {}

    def way(topic: MixedTopic, target: Path, watch: Watch) -> Turn:
        topic.world.spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", str(writers))
        if workload.form == "json" and topic.name not in found:
            found[topic.name] = sampled_schema(topic, workload)
        with measured(watch) as spent:
            if workload.form == "framed":
                _write_by_schema(topic, workload, target)
            else:
                _write(_rows(frame_of(topic), found.get(topic.name)), workload, target)
        return turn_of(topic.measured, spent, list(target.rglob("*.parquet")))

    return way


def sampled_schema(topic: MixedTopic, workload: Workload) -> StructType:
    """The schema that Spark finds in the records from which Penstock learns its own."""
    sample = topic.world.scratch / f"{topic.name}.json"
    sample.write_bytes(b"\n".join(map(workload.make, range(topic.first))))
    return topic.world.spark.read.json(str(sample)).schema


def _rows(frame: DataFrame, schema: StructType | None) -> DataFrame:
    if schema is None:
        return frame.select(from_avro(col("value"), envelope_schema()).alias("event"))
    return frame.select(from_json(col("value").cast("string"), schema).alias("event"))


def _write(rows: DataFrame, workload: Workload, target: Path) -> None:
    place = (f"{workload.spark_type} as of_type", f"{workload.spark_day} as of_day")
    writer = rows.selectExpr("event.*", *place).write.partitionBy("of_type", "of_day")
    writer.option("compression", "zstd").parquet(str(target))


def _write_by_schema(topic: MixedTopic, workload: Workload, target: Path) -> None:
    """Keep all records, then decode and write schema by schema: Spark has no other way."""
    number = expr("cast(conv(hex(substring(value, 2, 4)), 16, 10) as int)").alias("id")
    kept = frame_of(topic).select(number, expr("substring(value, 6)").alias("body")).persist()
    for place, table in enumerate(TABLES):
        record = from_avro(col("body"), envelope_schema(table)).alias("event")
        rows = kept.where(col("id") == FIRST_ID + place).select(record)
        _write(rows, workload, target / table)
    kept.unpersist(blocking=True)


def ways_of(workload: Workload) -> dict[str, Way]:
    """In the order of their turns: what ours is compared with is next to it."""
    if workload.beside:
        return {ON_AVRO: penstock(), OURS: penstock(), READ_ONLY: read_only("penstock")}
    first, *others = WRITERS
    return {
        **{variant(writers): plain_shape(workload, writers) for writers in others},
        variant(first): plain_shape(workload, first),
        OURS: penstock(),
        READ_ONLY: read_only("penstock"),
    }


class Turntable:
    """The ways of one workload, and what their turns took. The worse plain Spark drops out.

    `beside` is the topic with the same records in another format, where the workload has one.
    """

    def __init__(self, topic: MixedTopic, workload: Workload, beside: MixedTopic | None) -> None:
        self.topic = topic
        self.workload = workload
        self._beside = beside
        self.turns: Turns = {}
        self._ways = ways_of(workload)
        self._warm: Turns = {}

    def round(self, number: int, watch: Watch, began: float) -> None:
        """A turn of every way; those of rounds below 1 warm up."""
        if number == 1 and self._warm and not self.workload.beside:
            worse = set(map(variant, WRITERS)) - {better_plain(self._warm)}
            self._ways = {name: way for name, way in self._ways.items() if name not in worse}
        for name, way in self._ways.items():
            topic = self._beside if name == ON_AVRO and self._beside else self.topic
            turn = take_turn(topic, way, watch)
            if number > 0:
                self.turns.setdefault(name, []).append(turn)
            else:
                self._warm[name] = [turn]
            took = f"{time.perf_counter() - began:5.0f} s  {number:2} {self.workload.name:16}"
            print(f"{took} {line_of(topic.types, name, [turn])}", flush=True)


def measure(options: argparse.Namespace) -> dict[str, Turns]:
    """All turns but those that warm up, by workload and way."""
    began = time.perf_counter()
    with open_world(options.keep, HEAP) as world, watch_without(world.broker_pids) as watch:
        tables = []
        for name in options.only:
            workload = WORKLOADS[name]
            records = options.records or workload.records
            other = WORKLOADS[workload.beside] if workload.beside else None
            beside = None if other is None else fill_workload(world, other, records)
            tables.append(Turntable(fill_workload(world, workload, records), workload, beside))
        for number in range(1 - options.warm_ups, options.rounds + 1):
            for table in tables:
                table.round(number, watch, began)
    return {table.workload.name: table.turns for table in tables}


def source_bytes(name: str, records: int) -> int:
    """How many bytes the records behind the first window have; sampled, they are all alike."""
    step = max(records // 2_000, 1)
    sizes = [len(WORKLOADS[name].make(FIRST_WINDOW + number)) for number in range(0, records, step)]
    return round(statistics.fmean(sizes) * records)


def result_of(name: str, turns: Mapping[str, Sequence[Turn]]) -> dict[str, object]:
    """The figures of a workload, with MB of source per second of processor time."""
    beside = WORKLOADS[name].beside
    found = protobuf_result(turns, ON_AVRO) if beside else workload_result(turns)
    size = source_bytes(name, turns[OURS][0].records)
    found["source_bytes"] = size
    measured_on = {OURS: turns[OURS]}
    if not beside:
        measured_on[PLAIN] = turns[better_plain(turns)]
    for way, mine in measured_on.items():
        speed = statistics.median(size / turn.cpu_s for turn in mine) / 1e6
        found[f"mb_per_cpu_s_{way}"] = round(speed, 1)
    return found


def show(results: Mapping[str, Mapping[str, object]], turns: Mapping[str, Turns]) -> None:
    """Every workload in a line, and every target."""
    for name, result in results.items():
        other, words = ("avro", "Avro") if WORKLOADS[name].beside else (PLAIN, "plain Spark")
        speeds = [result.get(f"mb_per_cpu_s_{way}") for way in (OURS, PLAIN)]
        print(
            f"{name:18} {result[f'ratio_{other}']:5} times {words} by time, "
            f"{result[f'ratio_{other}_cpu']:5} by processor time; MB per CPU-second: "
            f"{' and '.join(str(each) for each in speeds if each is not None)}"
        )
    for name, mine in turns.items():
        for verdict in shape_verdicts(name, WORKLOADS[name].target, mine):
            print(verdict)


def main() -> None:
    """Measure, print, and join what is there already."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--records", type=int, help="records per topic; by default some 200 MB")
    arguments.add_argument("--only", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    arguments.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each that count")
    arguments.add_argument("--warm-ups", type=int, default=WARM_UPS, help="turns before these")
    arguments.add_argument("--keep", type=Path, help="where the broker keeps topics for later")
    arguments.add_argument("--out", type=Path, help="directory of results.json")
    options = arguments.parse_args()
    if options.rounds < 1 or (options.records is not None and options.records <= FIRST_WINDOW):
        arguments.error(f"at least one round, and more than {FIRST_WINDOW:,} records")
    before = machine()
    turns = measure(options)
    about = {"machine": [before, machine()]}
    results = {name: {**result_of(name, mine), **about} for name, mine in turns.items()}
    show(results, turns)
    is_whole = options.rounds >= ROUNDS and options.records is None
    if (out := place_for(options.out, is_whole)) is not None:
        named = {f"shape_{name.replace('-', '_')}": result for name, result in results.items()}
        write_figures(out, "results", earlier(out, "results") | named)


if __name__ == "__main__":
    in_one_line(main)
