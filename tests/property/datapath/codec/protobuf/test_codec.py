"""Protobuf: the fast way gives what the reference gives, and that is what another library reads."""

import re
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api.codec import DecodedBatch
from penstock.datapath.codec.protobuf.columns import read_columns
from penstock.datapath.codec.protobuf.message_layout import MessageBody, MessageLayout, Slot
from penstock.datapath.codec.protobuf.protobuf_reader import read_proto
from penstock.datapath.codec.protobuf.types import ProtoFile
from penstock.datapath.codec.shared.shapes import Shape, shape_of
from penstock.model.schema import struct_of
from tests.helpers.avro_worlds import micros
from tests.helpers.broken_payloads import breaking, same_values
from tests.helpers.proto_worlds import World, layout, worlds

MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

LONG_VARINT = re.compile(rb"[\x80-\xff]{5}")


def both_ways(plan: MessageLayout, payloads: list[bytes], skipped: int = 0) -> DecodedBatch:
    """Read in both ways, and insist that they agree row for row and word for word."""
    values = pa.array(payloads, pa.binary())
    fast = read_proto(plan, values, skipped)
    slow = read_proto(plan, values, skipped, exact_only=True)
    assert fast.good.tolist() == slow.good.tolist()
    assert fast.bad == slow.bad
    assert fast.batch.schema == slow.batch.schema
    assert fast.batch.equals(slow.batch, check_metadata=True) or same_values(fast, slow)
    assert len(fast.good) + len(fast.bad) == len(payloads)
    fast.batch.validate(full=True)
    return fast


def wanted(body: MessageBody, message: Any) -> dict[str, Any]:
    """What columns should hold, from what google.protobuf reads. Maps are without an order."""
    return {slot.column: _wanted(slot, message) for slot in body.slots}


def _wanted(slot: Slot, message: Any) -> Any:
    field = message.DESCRIPTOR.fields_by_name[slot.field.name]
    found = getattr(message, field.name)
    if field.is_repeated and field.message_type is not None and slot.field.label == "map":
        assert slot.body is not None
        value = field.message_type.fields_by_name["value"]
        inner = slot.body.slots
        key_of = decimal_or(inner[0].shape)
        return {key_of(key): _single(inner[1], value, found[key]) for key in found}
    if field.is_repeated:
        return [_single(slot, field, each) for each in found]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _single(slot, field, found)


def _single(slot: Slot, field: Any, value: Any) -> Any:
    if field.enum_type is not None:
        named = field.enum_type.values_by_number.get(value)
        return named.name if named is not None else str(value)
    if field.message_type is None:
        return decimal_or(slot.item)(value)
    name = field.message_type.full_name
    if name == "google.protobuf.Timestamp":
        return value.ToMicroseconds()
    if name == "google.protobuf.Duration":
        return value.ToMicroseconds()
    if name == "google.protobuf.Empty":
        return True
    if name.startswith("google.protobuf."):
        return decimal_or(slot.item)(value.value)
    assert slot.body is not None
    return wanted(slot.body, value)


def decimal_or(shape: Shape) -> Any:
    return Decimal if shape.type.kind == "decimal" else lambda value: value


def found_in(plan: MessageLayout, batch: pa.RecordBatch) -> list[Any]:
    """Rows as Python values; times as counts of microseconds, maps as dicts."""
    shape = shape_of(struct_of(plan.fields), "")
    return [_counted(plan.body, shape, row) for row in batch.to_pylist()]


def _counted(body: MessageBody, shape: Shape, row: dict[str, Any]) -> dict[str, Any]:
    return {slot.column: _shown(slot, slot.shape, row[slot.column]) for slot in body.slots}


def _shown(slot: Slot, shape: Shape, value: Any) -> Any:
    if value is None:
        return None
    if slot.field.label == "map":
        assert slot.body is not None
        inner = slot.body.slots[1]
        pairs = [(e["key"], e["value"]) if isinstance(e, dict) else e for e in value]
        assert len({key for key, _ in pairs}) == len(pairs)
        return {key: _one(inner, each) for key, each in pairs}
    if slot.field.label == "repeated":
        return [_one(slot, each) for each in value]
    return _one(slot, value)


def _one(slot: Slot, value: Any) -> Any:
    if slot.body is not None and slot.body.meaning == "struct":
        return _counted(slot.body, slot.item, value)
    return micros(value) if slot.item.type.kind == "timestamp_us" else value


@MANY
@given(worlds())
def test_good_records_are_what_another_library_reads(world: World) -> None:
    plan = world.layout()
    read = both_ways(plan, world.payloads)
    assert read.bad == []
    rows = [wanted(plan.body, world.make.FromString(each)) for each in world.payloads]
    assert found_in(plan, read.batch) == rows


@MANY
@given(worlds(with_strange=False))
def test_records_as_another_library_writes_them_are_all_read_the_fast_way(world: World) -> None:
    plan = world.layout()
    _, refused = read_columns(pa.array(world.payloads, pa.binary()), plan, 0)
    assert not refused.any()


@MANY
@given(worlds(syntaxes=("proto3",)), st.data())
def test_two_records_in_one_are_merged_as_another_library_does(
    world: World, data: st.DataObject
) -> None:
    """Goal: fields twice, out of order, of one oneof, a key twice. Method: join two payloads."""
    plan = world.layout()
    one, other = (data.draw(st.sampled_from(world.payloads)) for _ in range(2))
    joined = [one + other, *world.payloads]
    message = world.make.FromString(one + other)
    read = both_ways(plan, joined)
    if is_in_time(message):
        assert found_in(plan, read.batch)[0] == wanted(plan.body, message)


def is_in_time(message: Any) -> bool:
    """False where merging made a Duration of two signs, which only we refuse."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        inside = list(value.values()) if hasattr(value, "values") else value
        each = inside if field.is_repeated else [value]
        for one in each:
            if hasattr(one, "seconds") and one.seconds * one.nanos < 0:
                return False
            if hasattr(one, "ListFields") and not is_in_time(one):
                return False
    return True


@MANY
@given(worlds(), st.data())
def test_a_broken_record_is_bad_alone_and_its_neighbours_are_what_they_were(
    world: World, data: st.DataObject
) -> None:
    plan = world.layout()
    payloads, broken = list(world.payloads), set()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(payloads) - 1))
        payloads[place] = data.draw(breaking(payloads[place]))
        broken.add(place)
    read = both_ways(plan, payloads)
    before = both_ways(plan, world.payloads)
    assert {bad.index for bad in read.bad} <= broken
    kept = [place for place in range(len(payloads)) if place not in broken]
    mine = np.searchsorted(read.good, kept)
    assert repr(read.batch.take(pa.array(mine, pa.int64())).to_pylist()) == repr(
        before.batch.take(pa.array(kept, pa.int64())).to_pylist()
    )


@MANY
@given(worlds(syntaxes=("proto3",), records=3, with_maps=False), st.data())
def test_what_is_read_of_a_broken_record_is_what_another_library_reads(
    world: World, data: st.DataObject
) -> None:
    """Goal: what both accept means the same. The library with which we compare is stricter about
    tags and lengths in more than five bytes, and takes no entry of a map with unknown fields.
    """
    plan = world.layout()
    payloads = [data.draw(breaking(each)) for each in world.payloads]
    read = both_ways(plan, payloads)
    rows = found_in(plan, read.batch)
    for row, place in zip(rows, read.good.tolist(), strict=True):
        try:
            message = world.make.FromString(payloads[place])
        except DecodeError:
            assert LONG_VARINT.search(payloads[place]), "only we read it"
            continue
        assert repr(row) == repr(wanted(plan.body, message))


@MANY
@given(worlds(), st.data())
def test_fields_that_the_schema_does_not_have_are_skipped(
    world: World, data: st.DataObject
) -> None:
    plan = world.layout()
    root = world.tree.messages[0]
    kept = data.draw(st.lists(st.sampled_from(root.fields), min_size=1, unique=True))
    fields = tuple(field for field in root.fields if field in kept)
    less = replaced(world.tree, 0, fields)
    narrow = layout(less)
    read, whole = both_ways(narrow, world.payloads), both_ways(plan, world.payloads)
    assert read.bad == []
    names = {slot.field.name: slot.column for slot in plan.body.slots}
    for slot in narrow.body.slots:
        mine, other = read.batch[slot.column], whole.batch[names[slot.field.name]]
        assert repr(mine.to_pylist()) == repr(other.to_pylist())


def replaced(tree: ProtoFile, place: int, fields: Any) -> ProtoFile:
    messages = list(tree.messages)
    messages[place] = msgspec.structs.replace(messages[place], fields=fields)
    return msgspec.structs.replace(tree, messages=tuple(messages))


@MANY
@given(worlds())
def test_numbers_are_read_packed_or_not_whatever_the_schema_says(world: World) -> None:
    tree = world.tree
    for place, message in enumerate(tree.messages):
        fields = tuple(
            msgspec.structs.replace(field, packed=not field.packed)
            if field.label == "repeated" and field.wire != 2
            else field
            for field in message.fields
        )
        tree = replaced(tree, place, fields)
    other, plain = (
        both_ways(layout(tree), world.payloads),
        both_ways(world.layout(), world.payloads),
    )
    assert repr(other.batch.to_pylist()) == repr(plain.batch.to_pylist())


@MANY
@given(worlds(), st.binary(min_size=6, max_size=6))
def test_bytes_before_the_record_are_skipped_and_nothing_else(world: World, before: bytes) -> None:
    plan = world.layout()
    plain = both_ways(plan, world.payloads)
    read = both_ways(plan, [before + each for each in world.payloads], skipped=6)
    assert repr(read.batch.to_pylist()) == repr(plain.batch.to_pylist())
    short = both_ways(plan, [b"\0\0\0"], skipped=6)
    assert [bad.reason for bad in short.bad] == ["TRUNCATED"]
