"""The arithmetic of the benches: medians, ratios, what is written down, whose time is counted."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from os import getpid

import pyarrow as pa
import pytest

from bench.avro_events import avro_event, avro_schema
from bench.broken_events import broken_event, declared_schema, is_broken
from bench.events import OWN_FIELDS, event, superset
from bench.figures import (
    ON_AVRO,
    ON_JSON,
    ON_WHOLE,
    OURS,
    PLAIN,
    READ_ONLY,
    Turn,
    better_plain,
    broken_result,
    by_cpu,
    format_verdict,
    protobuf_result,
    ratio,
    shape_verdicts,
    variant,
    verdicts,
    workload_result,
)
from bench.pictures import comparison, growth
from bench.processes import Process, Watch, look, lost_ticks
from bench.proto_events import proto_event, proto_schema
from penstock.api.codec import RecordReader
from penstock.datapath.codec.avro.avro_reader import avro_reader
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.json.schema import from_json_schema
from penstock.datapath.codec.protobuf.protobuf_reader import protobuf_reader
from penstock.datapath.codec.protobuf.schema_compiler.compiler import prepared
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import DatasetSchema

SORTED, MANY = variant(0), variant(100)


def turns(*per_s: float, cpu_share: float = 2.0) -> list[Turn]:
    """Turns of 1,000 records at these speeds."""
    return [Turn(1_000, 1_000 / speed, cpu_share * 1_000 / speed, 7, 144, 99) for speed in per_s]


def ways(ours: list[Turn], plain: list[Turn], other: list[Turn]) -> dict[str, list[Turn]]:
    """A workload; reading is always ten times as fast as ours."""
    reading = [Turn(each.records, each.elapsed_s / 10, each.cpu_s / 10, 5) for each in ours]
    return {SORTED: plain, OURS: ours, READ_ONLY: reading, MANY: other}


def test_a_ratio_is_the_median_of_the_rounds_and_not_of_the_medians() -> None:
    """One round in which the machine was busy with something else slows both ways."""
    ours, plain = turns(200, 20, 300), turns(100, 10, 100)
    assert ratio(ours, plain) == pytest.approx(2.0)
    assert ratio(ours, turns(100, 10, 100, cpu_share=4.0), by_cpu) == pytest.approx(4.0)


def test_rounds_without_a_partner_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        ratio(turns(1, 2), turns(1))


def test_the_better_variant_counts_as_plain_spark() -> None:
    found = ways(turns(300, 300, 300), turns(100, 100, 500), turns(120, 120, 120))
    assert better_plain(found) == MANY
    assert workload_result(found)["ratio_plain_spark"] == 2.5


def test_results_have_the_shape_that_readers_rely_on() -> None:
    result = workload_result(ways(turns(250, 260, 240), turns(100, 100, 100), turns(90, 90, 90)))
    for way in (PLAIN, OURS, READ_ONLY):
        figures = result[way]
        assert isinstance(figures, dict)
        assert {"records_per_s", "records_per_cpu_s", "peak_rss_bytes", "files"} <= figures.keys()
    assert result["ratio_plain_spark"] == 2.5
    assert result["ratio_read_only"] == 0.1
    assert json.loads(json.dumps(result)) == result


def test_every_target_is_judged() -> None:
    few = ways(turns(250), turns(100), turns(90))
    many = ways(turns(125), turns(100), turns(90))
    found = {verdict.what: verdict.is_reached for verdict in verdicts({12: few, 200: many})}
    assert list(found.values()) == [True, True, False, False, False, False, False]
    assert "MISSED" in str(verdicts({12: few, 200: many})[-1])


def test_pictures_are_drawn_from_results_as_they_are_written() -> None:
    result = workload_result(ways(turns(250), turns(100), turns(90)))
    drawn = comparison({"12_types": result})
    assert drawn.count("<svg") == 4
    assert "12 types: Penstock" in drawn
    row = {"types": 1, "records": 10, "us_per_record": 5.0, "cpu_us_per_record": 7.0}
    journal = [{"windows": 10, "start_s": 0.1, "fold_s": 0.2}]
    assert growth({"types": [row], "records": [row], "journal": journal}).count("<svg") == 4


@pytest.mark.parametrize("types", [12, 200])
def test_events_are_all_different_the_same_in_every_run_and_about_200_bytes(types: int) -> None:
    events = [event(number, types) for number in range(5_000)]
    assert len(set(events)) == 5_000
    assert events[:100] == [event(number, types) for number in range(100)]
    assert 195 < sum(map(len, events)) / len(events) < 215
    assert len({json.loads(each)["type"] for each in events}) == types


def test_the_schema_for_spark_has_every_field_of_every_event() -> None:
    known = {part.split()[0] for part in superset().replace("<os: string, build", "").split(", ")}
    wanted = {name for number in range(100) for name in json.loads(event(number, 12))}
    assert wanted <= known
    assert {name for fields in OWN_FIELDS for name, _ in fields} <= known


def process(pid: int, parent: int, own: int, waited: int = 0) -> Process:
    """A process as one look finds it."""
    return Process(pid, parent, started=pid, own=own, waited=waited, rss_bytes=0)


def seen(*found: Process) -> dict[int, Process]:
    """One look."""
    return {each.pid: each for each in found}


def test_time_of_a_child_that_was_waited_for_is_not_counted_twice() -> None:
    before = seen(process(1, 0, 10), process(2, 1, 50, waited=7))
    assert lost_ticks(before, seen(process(1, 0, 10, waited=60))) == 0


def test_time_of_a_child_that_nobody_waited_for_is_not_lost() -> None:
    """As with Spark's Python daemon, which ignores that its workers end."""
    before = seen(process(1, 0, 10), process(2, 1, 5), process(3, 2, 50), process(4, 2, 30))
    assert lost_ticks(before, seen(process(1, 0, 10), process(2, 1, 5), process(4, 2, 31))) == 50
    assert lost_ticks(before, seen(process(1, 0, 10, waited=5))) == 80


def test_an_id_that_was_given_again_is_another_process() -> None:
    before = seen(process(1, 0, 10), process(2, 1, 50))
    again = Process(2, 1, started=99, own=3, waited=0, rss_bytes=0)
    assert lost_ticks(before, seen(process(1, 0, 10), again)) == 50


def test_real_children_are_counted_after_their_end_whether_waited_for_or_not() -> None:
    """The child burns time in a child of its own that it never waits for."""
    burn = "import time\nwhile time.process_time() < 0.6: pass\n"
    ignore = (
        "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n"
        "    while time.process_time() < 0.6: pass\n"
        "    time.sleep(0.5)\n    os._exit(0)\n"
        "time.sleep(60)\n"
    )
    with Watch(getpid()) as watch:
        began = watch.cpu_s()
        subprocess.run([sys.executable, "-c", burn], check=True)
        waited_for = watch.cpu_s()
        assert waited_for - began > 0.5
        parent = subprocess.Popen([sys.executable, "-c", ignore])
        try:
            await_that(lambda: len(look(parent.pid)) == 2)
            await_that(lambda: len(look(parent.pid)) == 1)
            assert watch.cpu_s() - waited_for > 0.5
        finally:
            parent.kill()
            parent.wait()


def await_that(holds: Callable[[], bool]) -> None:
    """Wait until something holds, at most half a minute."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def in_columns(reader: RecordReader, value: bytes, skipped: int) -> dict[str, object]:
    """A record behind its id, as our own reader gives it; times as milliseconds."""
    read = reader.read(pa.array([value], pa.binary()), skipped)
    assert read.bad == []
    [row] = read.batch.to_pylist()
    at = row["event_time"]
    return {**row, "event_time": at if isinstance(at, int) else round(at.timestamp() * 1000)}


def test_events_say_the_same_in_every_format() -> None:
    """Method: one schema of each kind of field; the first events that have them."""
    avro = {k: avro_reader(RegisteredSchema("avro", avro_schema(k))) for k in range(3)}
    compiled = {k: prepared(RegisteredSchema("protobuf", proto_schema(k))) for k in range(3)}
    proto = {kind: protobuf_reader(schema, (0,)) for kind, schema in compiled.items()}
    for number in range(60):
        said = json.loads(event(number, 12))
        kind = int(said.pop("type").removeprefix("kind_"))
        if kind in avro:
            assert in_columns(avro[kind], avro_event(number, 12), 5) == said
            assert in_columns(proto[kind], proto_event(number, 12), 6) == said


def test_one_event_in_a_hundred_is_broken_in_every_partition_and_way() -> None:
    numbers = [number for number in range(16_000) if is_broken(number)]
    assert len(numbers) == 160
    assert {number % 4 for number in numbers} == {0, 1, 2, 3}
    fields = from_json_schema(declared_schema(0))
    broken = pa.array([broken_event(number, 1) for number in numbers], pa.binary())
    found = JsonDecoder().decode(broken, DatasetSchema("kind_000", 1, declared=True, fields=fields))
    assert {bad.reason for bad in found.bad} == {"NOT_JSON", "WRONG_TYPE"}
    assert {row["event_time"] for row in found.batch.to_pylist()} == {None}
    assert found.batch.num_rows == 40, "these have no time"
    assert broken_event(1, 12) == event(1, 12)


def test_formats_are_judged_by_what_each_is_compared_with() -> None:
    slow, quick = turns(100, 100, 100), turns(120, 120, 120)
    beside = protobuf_result({OURS: quick, ON_JSON: slow, READ_ONLY: quick})
    assert (beside["ratio_json"], beside["ratio_read_only"]) == (1.2, 1.0)
    in_avro = {OURS: slow, ON_AVRO: quick, READ_ONLY: quick}
    assert protobuf_result(in_avro, ON_AVRO)["ratio_avro"] == 0.833
    assert [each.is_reached for each in shape_verdicts("x", 0.8, in_avro)] == [True]
    assert [each.is_reached for each in shape_verdicts("x", 0.9, in_avro)] == [False]
    faults = broken_result({OURS: slow, ON_WHOLE: quick})
    assert faults["ratio_time_per_record"] == 1.2
    assert format_verdict("broken", 12, {OURS: slow, ON_WHOLE: quick}).is_reached
    assert not format_verdict("protobuf", 12, {OURS: slow, ON_JSON: quick}).is_reached
    assert not format_verdict("avro", 12, {OURS: quick, SORTED: slow}).is_reached
    assert format_verdict("json", 12, {OURS: turns(250), SORTED: turns(100)}).is_reached
