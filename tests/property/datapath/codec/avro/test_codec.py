"""Avro: the fast way gives what the reference gives, and that is what another library reads."""

import json
from datetime import time
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api.codec import DecodedBatch
from penstock.datapath.codec.avro.avro_reader import read_avro
from penstock.datapath.codec.avro.columns import AvroPlan, avro_plan, read_columns
from penstock.datapath.codec.avro.types import AvroType, label_of, parse_avro
from penstock.datapath.codec.shared.shapes import Shape
from tests.helpers.avro_worlds import World, block_worlds, micros, read_back, ticks, worlds
from tests.helpers.broken_payloads import breaking, same_values

MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def both_ways(text: str, payloads: list[bytes], skipped: int = 0) -> tuple[AvroPlan, DecodedBatch]:
    """Read in both ways, and insist that they agree row for row and word for word."""
    plan = avro_plan(parse_avro(text))
    values = pa.array(payloads, pa.binary())
    fast = read_avro(plan, values, skipped)
    slow = read_avro(plan, values, skipped, exact_only=True)
    assert fast.good.tolist() == slow.good.tolist()
    assert fast.bad == slow.bad
    assert fast.batch.schema == slow.batch.schema
    assert fast.batch.equals(slow.batch, check_metadata=True) or same_values(fast, slow)
    assert len(fast.good) + len(fast.bad) == len(payloads)
    fast.batch.validate(full=True)
    return plan, fast


def wanted(kind: AvroType, shape: Shape, value: Any) -> Any:
    """What a column should hold, from what fastavro reads."""
    if kind.kind == "union":
        present = [branch for branch in kind.branches if branch.kind != "null"]
        if value is None:
            return None
        if len(present) == 1:
            inside = value[1] if isinstance(value, tuple) else value
            return wanted(present[0], shape, inside)
        plain = "string" if isinstance(value, str) else "long"
        label, inside = value if isinstance(value, tuple) else (plain, value)
        members = shape.record.members if shape.record is not None else ()
        found: dict[str, Any] = dict.fromkeys(member.column for member in members)
        for branch, member in zip(present, members, strict=True):
            if label_of(branch) == label:
                found[member.column] = wanted(branch, member.shape, inside)
        return found
    if kind.kind == "record":
        if shape.record is None:
            assert value == {}
            return True
        members = shape.record.members
        return {
            member.column: wanted(field.type, member.shape, value[field.name])
            for field, member in zip(kind.fields, members, strict=True)
        }
    if kind.kind == "array" and shape.item is not None and kind.item is not None:
        return [wanted(kind.item, shape.item, each) for each in value]
    if kind.kind == "map" and shape.item is not None and kind.item is not None:
        return [(key, wanted(kind.item, shape.item, each)) for key, each in value.items()]
    if shape.type.kind in {"timestamp_us", "local_us"}:
        return micros(value)
    if isinstance(value, time):
        return ticks(value, kind.logical)
    return str(value) if isinstance(value, UUID) else value


def found_in(plan: AvroPlan, batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows as Python values; times as counts of microseconds."""
    rows: list[dict[str, Any]] = batch.to_pylist()
    return [_counted(plan.shape, row) for row in rows]


def _counted(shape: Shape, value: Any) -> Any:
    if value is None:
        return None
    if shape.record is not None:
        return {m.column: _counted(m.shape, value[m.column]) for m in shape.record.members}
    if shape.type.kind == "list" and shape.item is not None:
        return [_counted(shape.item, each) for each in value]
    if shape.type.kind == "map" and shape.item is not None:
        return [(key, _counted(shape.item, each)) for key, each in value]
    return micros(value) if shape.type.kind in {"timestamp_us", "local_us"} else value


@MANY
@given(worlds())
def test_good_records_are_what_another_library_reads(world: World) -> None:
    plan, read = both_ways(world.text, world.payloads)
    assert read.bad == []
    rows = [wanted(plan.root, plan.shape, read_back(world.text, each)) for each in world.payloads]
    assert found_in(plan, read.batch) == rows


@MANY
@given(st.one_of(worlds(), block_worlds()))
def test_records_as_another_library_writes_them_need_no_reference(world: World) -> None:
    """But for lists of items that take no bytes, of which the reference says how many may be."""
    values = pa.array(world.payloads, pa.binary())
    _, refused = read_columns(values, avro_plan(parse_avro(world.text)), 0)
    takes_no_bytes = '"fields": []' in world.text or '"size": 0' in world.text
    assert takes_no_bytes or not refused.any()


@MANY
@given(block_worlds())
def test_arrays_and_maps_in_any_blocks_are_what_another_library_reads(world: World) -> None:
    plan, read = both_ways(world.text, world.payloads)
    assert read.bad == []
    rows = [wanted(plan.root, plan.shape, read_back(world.text, each)) for each in world.payloads]
    assert found_in(plan, read.batch) == rows


@MANY
@given(worlds(), st.data())
def test_a_broken_record_is_bad_alone_and_its_neighbours_are_what_they_were(
    world: World, data: st.DataObject
) -> None:
    payloads, broken = list(world.payloads), set()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(payloads) - 1))
        payloads[place] = data.draw(breaking(payloads[place]))
        broken.add(place)
    _, read = both_ways(world.text, payloads)
    _, before = both_ways(world.text, world.payloads)
    assert {bad.index for bad in read.bad} <= broken
    kept = [place for place in range(len(payloads)) if place not in broken]
    mine = np.searchsorted(read.good, kept)
    assert repr(read.batch.take(pa.array(mine, pa.int64())).to_pylist()) == repr(
        before.batch.take(pa.array(kept, pa.int64())).to_pylist()
    )


@MANY
@given(worlds(), st.binary(min_size=5, max_size=5))
def test_bytes_before_the_record_are_skipped_and_nothing_else(world: World, before: bytes) -> None:
    _, plain = both_ways(world.text, world.payloads)
    _, read = both_ways(world.text, [before + each for each in world.payloads], skipped=5)
    assert repr(read.batch.to_pylist()) == repr(plain.batch.to_pylist())
    _, short = both_ways(world.text, [b"\0\0\0"], skipped=5)
    assert [bad.reason for bad in short.bad] == ["TRUNCATED"]


def test_an_array_in_blocks_that_tell_their_size_is_read_all_the_same() -> None:
    text = json.dumps({
        "type": "record", "name": "R",
        "fields": [{"name": "a", "type": {"type": "array", "items": "long"}}],
    })  # fmt: skip
    # Two items in a block of two bytes, one in a plain block, and the end.
    _, read = both_ways(text, [b"\x03\x04\x02\x04\x02\x06\x00", b"\x02\x08\x00"])
    assert read.batch.to_pylist() == [{"a": [1, 2, 3]}, {"a": [4]}]
    _, wrong = both_ways(text, [b"\x03\x06\x02\x04\x02\x06\x00"])
    assert [bad.reason for bad in wrong.bad] == ["OUT_OF_RANGE"]


def test_a_few_bytes_that_ask_for_endless_items_are_refused_at_once() -> None:
    text = json.dumps({
        "type": "record", "name": "R",
        "fields": [{"name": "a", "type": {"type": "array", "items": {
            "type": "record", "name": "E", "fields": [{"name": "f", "type": {
                "type": "fixed", "name": "F", "size": 0}}]}}}],
    })  # fmt: skip
    endless = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"
    _, read = both_ways(text, [endless, b"\x04\x00"])
    assert [bad.index for bad in read.bad] == [0]
    assert read.batch.to_pylist() == [{"a": [{"f": b""}, {"f": b""}]}]
