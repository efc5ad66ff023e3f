"""The records of workloads of real shape: the same in every run, valid, and as varied as said."""

import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import Any

import fastavro
import pytest
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from bench.avro_events import FIRST_ID
from bench.one_task import batches_of, learned_from, plan_of, shred
from bench.workloads.change_envelopes import envelope_schema
from bench.workloads.change_events import TABLES
from bench.workloads.changed_rows import STATES
from bench.workloads.dice import Dice
from bench.workloads.json_writers import written
from bench.workloads.proto_envelopes import MESSAGE, proto_envelope_schema
from bench.workloads.social_posts import time_text
from bench.workloads.wide_rows import COLUMNS
from bench.workloads.workload import WORKLOADS, Workload

MANY = 600
# How large a record is on average, in bytes.
SIZES = {
    "social": (3_000, 5_000),
    "clicks": (750, 1_100),
    "audit": (2_000, 3_000),
    "changes": (1_000, 2_000),
    "payments": (400, 600),
    "wide": (3_500, 5_000),
    "texts": (3_000, 6_000),
    "envelopes": (130, 220),
    "framed-envelopes": (130, 220),
    "protobuf-envelopes": (170, 280),
}
JSON = [each for each in WORKLOADS.values() if each.form == "json"]


@cache
def records_of(name: str) -> tuple[bytes, ...]:
    """The first records of a workload. Made once: most of these tests only look at them."""
    return tuple(WORKLOADS[name].make(number) for number in range(MANY))


def type_of(workload: Workload, raw: bytes) -> object:
    """The dataset that a record belongs to."""
    if workload.form == "framed":
        return int.from_bytes(raw[1:5], "big")
    if workload.form in {"avro", "protobuf"}:
        return "events"
    value = json.loads(raw)
    for name in workload.route.name.split("."):
        value = value[name]
    return value


def objects_in(value: object) -> Iterator[dict[str, object]]:
    """All objects of a document."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from objects_in(each)


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_a_record_depends_on_its_number_alone_and_all_differ(workload: Workload) -> None:
    forwards = records_of(workload.name)
    backwards = [workload.make(number) for number in reversed(range(MANY))]
    assert forwards == tuple(backwards[::-1])
    assert len(set(forwards)) == MANY


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_records_have_the_size_and_the_number_of_types_that_is_said(workload: Workload) -> None:
    smallest, largest = SIZES[workload.name]
    records = records_of(workload.name)
    assert smallest <= sum(map(len, records)) / MANY <= largest
    assert len({type_of(workload, raw) for raw in records}) == workload.types


@pytest.mark.parametrize("workload", JSON, ids=[each.name for each in JSON])
def test_every_line_is_json_and_several_writers_share_a_topic(workload: Workload) -> None:
    records = records_of(workload.name)
    orders = Counter(tuple(json.loads(raw))[:3] for raw in records)
    first = orders.most_common(1)[0][1]
    assert MANY * 0.85 <= first <= MANY * 0.95, "nine in ten begin with the same keys"
    spaced = sum(b'": ' in raw for raw in records)
    assert MANY * 0.4 <= spaced <= MANY * 0.6
    escaped = sum(b"\\/" in raw for raw in records)
    assert (MANY * 0.04 <= escaped <= MANY * 0.16) or workload.name == "wide"


@pytest.mark.parametrize("name", ["social", "clicks", "audit", "changes", "payments"])
def test_some_values_say_nothing_and_some_fields_are_optional(name: str) -> None:
    documents = [json.loads(raw) for raw in records_of(name)]
    everywhere = [each for document in documents for each in objects_in(document)]
    values = [value for each in everywhere for value in each.values()]
    assert None in values
    assert [] in values or {} in values
    names = Counter(name for document in documents for name in document)
    assert any(count < MANY for count in names.values()) or name == "changes"


def test_wide_rows_are_flat_and_have_two_hundred_columns() -> None:
    for raw in records_of("wide"):
        row = json.loads(raw)
        assert len(row) == COLUMNS
        assert not any(isinstance(value, dict | list) for value in row.values())


@pytest.mark.parametrize("name", ["envelopes", "framed-envelopes"])
def test_envelopes_are_avro_to_the_last_byte(name: str) -> None:
    workload = WORKLOADS[name]
    schemas = [fastavro.parse_schema(json.loads(envelope_schema(table))) for table in TABLES]
    for raw in records_of(workload.name):
        place, body = 1, raw
        if workload.form == "framed":
            place, body = int.from_bytes(raw[1:5], "big") - FIRST_ID, raw[5:]
        stream = io.BytesIO(body)
        found = fastavro.schemaless_reader(stream, schemas[place], None)
        assert stream.read() == b""
        assert isinstance(found, dict)
        assert found["source"]["table"] == TABLES[place]
        assert (found["before"] is None) == (found["op"] in {"CREATE", "READ"})


def change_message(tmp_path: Path) -> Any:
    """The class of the envelopes as the library of Protobuf makes it."""
    (tmp_path / "change.proto").write_text(proto_envelope_schema())
    words = ("-m", "grpc_tools.protoc", "-I.", "--include_imports", "-oset", "change.proto")
    subprocess.run([sys.executable, *words], cwd=tmp_path, check=True)
    pool = descriptor_pool.DescriptorPool()
    for file in FileDescriptorSet.FromString((tmp_path / "set").read_bytes()).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(MESSAGE))


def test_envelopes_in_protobuf_are_as_its_library_writes_them(tmp_path: Path) -> None:
    change = change_message(tmp_path)
    for raw in records_of("protobuf-envelopes"):
        assert change.FromString(raw).SerializeToString(deterministic=True) == raw


def test_envelopes_in_protobuf_have_the_changes_of_those_in_avro(tmp_path: Path) -> None:
    change, schema = change_message(tmp_path), fastavro.parse_schema(json.loads(envelope_schema()))
    pairs = zip(records_of("protobuf-envelopes"), records_of("envelopes"), strict=True)
    for in_protobuf, in_avro in pairs:
        one = change.FromString(in_protobuf)
        other = fastavro.schemaless_reader(io.BytesIO(in_avro), schema, None)
        assert isinstance(other, dict)
        assert change.DESCRIPTOR.fields_by_name["op"].enum_type.values[one.op].name == (
            f"OP_{other['op']}"
        )
        assert one.ts.ToDatetime(tzinfo=UTC) == other["ts_ms"]
        assert (one.source.table, one.source.lsn) == ("orders", other["source"]["lsn"])
        for side in ("before", "after"):
            assert one.HasField(side) == (other[side] is not None)
            if other[side] is not None:
                assert row_of(getattr(one, side)) == row_of_avro(other[side])


def row_of(row: Any) -> tuple[object, ...]:
    """A row in Protobuf as plain values."""
    customer = row.customer if row.HasField("customer") else None
    cents = row.total.units * 100 + row.total.nanos // 10_000_000
    when, more = row.created_at.ToDatetime(tzinfo=UTC), dict(row.attributes)
    return row.id, customer, cents, STATES[row.state], when, more, list(row.line_ids)


def row_of_avro(row: dict[str, Any]) -> tuple[object, ...]:
    """A row in Avro as the same plain values."""
    names = ("created_at", "attributes", "line_ids")
    cents = int(row["total"] * 100)
    return row["id"], row["customer"], cents, row["state"], *(row[name] for name in names)


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_one_task_delivers_every_record_of_a_workload_over_three_days(workload: Workload) -> None:
    batches = batches_of(workload.make, 300)
    found = shred(plan_of(workload, batches, learn_from=300), batches)
    assert found.rows == found.records == 300
    assert found.fast_share > 0.95
    assert found.source_bytes >= sum(len(workload.make(number)) for number in range(300))
    files = [file for report in found.reports for file in report.files]
    days = {file.handle.final.split("day=")[1][:10] for file in files}
    assert days == {"2026-01-13", "2026-01-14", "2026-01-15"}


def test_a_shuffled_record_has_the_same_members_at_every_depth() -> None:
    record = {"a": 1, "b": {"c": [{"d": 1, "e": "/ü"}], "f": None}, "g": []}
    found = {written(record, Dice(number)) for number in range(400)}
    assert all(json.loads(raw) == record for raw in found)
    assert len(found) > 20


def test_times_of_posts_are_written_as_they_are_in_english() -> None:
    assert time_text(1_219_842_525_000) == "Wed Aug 27 13:08:45 +0000 2008"


def test_no_java_and_no_spark_is_needed_to_make_records_and_to_run_a_task() -> None:
    code = "import sys, bench.shred; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_a_new_feed_reads_its_first_records_twice_and_once_with_a_fixed_schema(
    workload: Workload, tmp_path: Path
) -> None:
    found = learned_from(workload, batches_of(workload.make, 300), tmp_path)
    assert len(found.reads_s) == (1 if workload.form in {"avro", "protobuf"} else 2)
