"""Thrift: the fast way gives what the reference gives, and that is what Apache's library reads."""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api.codec import DecodedBatch
from penstock.datapath.codec.thrift.columns import read_columns
from penstock.datapath.codec.thrift.struct_layout import StructLayout
from penstock.datapath.codec.thrift.thrift_reader import read_thrift
from penstock.datapath.codec.thrift.types import ThriftFile
from tests.helpers.broken_payloads import breaking, same_values
from tests.helpers.thrift_worlds import World, layout, read_by_apache, wanted, worlds

MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def both_ways(plan: StructLayout, payloads: list[bytes], skipped: int = 0) -> DecodedBatch:
    """Read in both ways, and insist that they agree row for row and word for word."""
    values = pa.array(payloads, pa.binary())
    fast = read_thrift(plan, values, skipped)
    slow = read_thrift(plan, values, skipped, exact_only=True)
    assert fast.good.tolist() == slow.good.tolist()
    assert fast.bad == slow.bad
    assert fast.batch.schema == slow.batch.schema
    assert fast.batch.equals(slow.batch, check_metadata=True) or same_values(fast, slow)
    assert len(fast.good) + len(fast.bad) == len(payloads)
    fast.batch.validate(full=True)
    return fast


@MANY
@given(worlds())
def test_good_records_are_what_was_written(world: World) -> None:
    plan = world.layout()
    read = both_ways(plan, world.payloads)
    assert read.bad == []
    assert read.batch.to_pylist() == [wanted(plan, world.tree, each) for each in world.events]


@MANY
@given(worlds(with_strange=False))
def test_records_as_another_library_writes_them_are_all_read_the_fast_way(world: World) -> None:
    plan = world.layout()
    _, refused = read_columns(pa.array(world.payloads, pa.binary()), plan, 0)
    assert not refused.any()


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
@given(worlds(records=3), st.data())
def test_what_is_read_of_a_broken_record_is_what_another_library_reads(
    world: World, data: st.DataObject
) -> None:
    """Goal: what we accept means the same to Apache's library, which accepts more."""
    plan = world.layout()
    payloads = [data.draw(breaking(each)) for each in world.payloads]
    read = both_ways(plan, payloads)
    for row, place in zip(read.batch.to_pylist(), read.good.tolist(), strict=True):
        event = read_by_apache(world.tree, payloads[place])
        assert repr(row) == repr(wanted(plan, world.tree, event))


@MANY
@given(worlds())
def test_a_record_that_is_cut_short_is_bad_wherever_it_is_cut(world: World) -> None:
    plan, payload = world.layout(), world.payloads[0]
    read = both_ways(plan, [payload[:cut] for cut in range(len(payload))])
    assert [bad.reason for bad in read.bad] == ["TRUNCATED"] * len(payload)


@MANY
@given(worlds(), st.binary(min_size=1, max_size=9))
def test_bytes_behind_a_record_make_it_bad(world: World, more: bytes) -> None:
    read = both_ways(world.layout(), [each + more for each in world.payloads])
    assert [bad.reason for bad in read.bad] == ["TRAILING_BYTES"] * len(world.payloads)


@MANY
@given(worlds(), st.data())
def test_fields_that_the_schema_does_not_have_are_skipped_the_fast_way(
    world: World, data: st.DataObject
) -> None:
    plan = world.layout()
    (root,) = (each for each in world.tree.structs if each.name == world.tree.root)
    kept = data.draw(st.lists(st.sampled_from(root.fields), min_size=1, unique=True))
    fields = tuple(field for field in root.fields if field in kept)
    narrow = layout(with_fields(world.tree, fields))
    read, whole = both_ways(narrow, world.payloads), both_ways(plan, world.payloads)
    assert read.bad == []
    for slot in narrow.body.slots:
        column = plan.body.by_number[slot.number].column
        assert repr(read.batch[slot.column].to_pylist()) == repr(whole.batch[column].to_pylist())
    if not any(slot.names for slot in narrow.body.slots) and not has_nested(fields):
        assert not read_columns(pa.array(world.payloads, pa.binary()), narrow, 0)[1].any()


def with_fields(tree: ThriftFile, fields: Any) -> ThriftFile:
    structs = tuple(
        msgspec.structs.replace(each, fields=fields) if each.name == tree.root else each
        for each in tree.structs
    )
    return msgspec.structs.replace(tree, structs=structs)


def has_nested(fields: Any) -> bool:
    return any(field.type.items or field.type.kind == "struct" for field in fields)


@MANY
@given(worlds(), st.binary(min_size=6, max_size=6))
def test_bytes_before_the_record_are_skipped_and_nothing_else(world: World, before: bytes) -> None:
    plan = world.layout()
    plain = both_ways(plan, world.payloads)
    read = both_ways(plan, [before + each for each in world.payloads], skipped=6)
    assert repr(read.batch.to_pylist()) == repr(plain.batch.to_pylist())
    short = both_ways(plan, [b"\0\0\0"], skipped=6)
    assert [bad.reason for bad in short.bad] == ["TRUNCATED"]
