"""A record becomes a bounded number of values, by the same verdict in every way of reading.

Method: the limit is so small that generated records meet it. An oracle counts what the standard
library's parser finds, item by item.
"""

import json
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api.codec import DecodedBatch
from penstock.datapath.codec.json import decoder, scanner
from penstock.datapath.codec.json.decoder import DatasetRecords, JsonDecoder
from penstock.datapath.codec.json.value_count import count_items, json_value_counter
from penstock.datapath.codec.protobuf.protobuf_reader import read_proto
from penstock.datapath.codec.shared import single_records
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.thrift.thrift_reader import read_thrift
from penstock.model.schema import DatasetSchema, Field, FieldType
from tests.helpers import thrift_worlds
from tests.helpers.broken_payloads import breaking, same_values
from tests.helpers.json_events import broken, events_of, odd_events, schemas, spellings
from tests.helpers.proto_worlds import World, worlds
from tests.helpers.shredding import BY_TYPE, an_event, learned, shred

MANY = settings(deadline=None, suppress_health_check=list(HealthCheck))
LIMITS = st.integers(0, 6)


def width(fields: tuple[Field, ...]) -> int:
    return sum(width(f.type.fields) if f.type.kind == "struct" else 1 for f in fields)


def counted(kind: FieldType, value: Any) -> int:
    """What the items of a value become, at whatever depth."""
    if kind.kind == "struct":
        inside = value if isinstance(value, dict) else {}
        return sum(counted(f.type, inside[f.name]) for f in kind.fields if f.name in inside)
    if kind.item is None or not isinstance(value, list if kind.kind == "list" else dict):
        return 0
    items = list(value.values()) if isinstance(value, dict) else value
    below = sum(counted(kind.item, item) for item in items)
    if kind.item.kind != "struct":
        return below
    if kind.kind == "list":
        items = [item for item in items if item is None or isinstance(item, dict)]
    return below + len(items) * width(kind.item.fields)


@MANY
@given(schemas(), LIMITS, st.data())
def test_both_ways_refuse_the_records_that_become_too_much(
    schema: DatasetSchema, most: int, data: st.DataObject
) -> None:
    sound = events_of(schema.fields).flatmap(spellings)
    odd = odd_events(schema.fields)
    payloads = data.draw(st.lists(st.one_of(sound, odd, sound.flatmap(broken)), max_size=8))
    values, limits = pa.array(payloads, pa.binary()), Limits(max_values=most)
    fast = JsonDecoder(limits).decode(values, schema)
    slow = JsonDecoder(limits, exact_only=True).decode(values, schema)
    assert fast.bad == slow.bad
    assert repr(fast.batch.to_pylist()) == repr(slow.batch.to_pylist())
    without = JsonDecoder().decode(values, schema)
    wrong = {bad.index: bad.reason for bad in without.bad}
    for row, payload in enumerate(payloads):
        found = next((bad.reason for bad in fast.bad if bad.index == row), None)
        if wrong.get(row) in {"EMPTY", "NOT_JSON", "NOT_UTF8", "NOT_OBJECT", "TOO_DEEP"}:
            assert found == wrong[row]
            continue
        event = json.loads(payload)
        total = sum(counted(f.type, event[f.name]) for f in schema.fields if f.name in event)
        assert found == ("TOO_MANY" if total > most else wrong.get(row))


@MANY
@given(schemas(), LIMITS, st.data())
def test_one_pass_leaves_what_may_become_too_much(
    schema: DatasetSchema, most: int, data: st.DataObject
) -> None:
    sound = events_of(schema.fields).flatmap(spellings)
    payloads = data.draw(st.lists(sound, max_size=8))
    values, codec = pa.array(payloads, pa.binary()), JsonDecoder(Limits(max_values=most))
    parts: list[DatasetRecords] = []
    with mock.patch.object(scanner, "MOST_AT_ONCE", most):
        left = codec.one_pass({"d": schema}, "", ()).read(values, parts.append)
    rows = [left, *(part.members for part in parts)]
    assert sorted(np.concatenate(rows).tolist()) == list(range(len(payloads)))
    for part in parts:
        decoded = codec.decode(values.take(pa.array(part.members)), schema)
        assert decoded.bad == []
        assert repr(part.batch.to_pylist()) == repr(decoded.batch.to_pylist())


def read(
    world: World, payloads: list[bytes], most: int, *, exact_only: bool = False
) -> DecodedBatch:
    return read_proto(world.layout(), pa.array(payloads, pa.binary()), 0, exact_only, most)


@MANY
@given(worlds(), st.data(), st.integers(0, 12))
def test_both_ways_of_protobuf_refuse_the_same(
    world: World, data: st.DataObject, most: int
) -> None:
    payloads = [*world.payloads, *(data.draw(breaking(each)) for each in world.payloads)]
    with mock.patch.object(single_records, "VALUES_AT_A_TIME", most):
        fast = read(world, payloads, most)
        slow = read(world, payloads, most, exact_only=True)
    assert fast.bad == slow.bad
    assert fast.good.tolist() == slow.good.tolist()
    assert same_values(fast, slow)
    free = read(world, payloads, 10**9)
    over = {bad.index for bad in fast.bad if bad.reason == "TOO_MANY"}
    assert [bad for bad in fast.bad if bad.index not in over] == [
        bad for bad in free.bad if bad.index not in over
    ]
    bounds = list(replace(world.layout().counter, width=0).row_ranges(pa.array(payloads), most))
    assert over <= {chunk.start for chunk in bounds if chunk.is_heavy}


@MANY
@given(thrift_worlds.worlds(), st.data(), st.integers(0, 12))
def test_both_ways_of_thrift_refuse_the_same(
    world: thrift_worlds.World, data: st.DataObject, most: int
) -> None:
    plan = world.layout()
    payloads = [*world.payloads, *(data.draw(breaking(each)) for each in world.payloads)]
    values = pa.array(payloads, pa.binary())
    with mock.patch.object(single_records, "VALUES_AT_A_TIME", most):
        fast = read_thrift(plan, values, 0, most=most)
        slow = read_thrift(plan, values, 0, exact_only=True, most=most)
    assert fast.bad == slow.bad
    assert fast.good.tolist() == slow.good.tolist()
    assert same_values(fast, slow)
    free = read_thrift(plan, values, 0, most=10**9)
    over = {bad.index for bad in fast.bad if bad.reason == "TOO_MANY"}
    assert [bad for bad in fast.bad if bad.index not in over] == [
        bad for bad in free.bad if bad.index not in over
    ]
    bounds = list(replace(plan.counter, width=0).row_ranges(values, most))
    good = set(free.good.tolist())
    assert over & good <= {chunk.start for chunk in bounds if chunk.is_heavy}


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(0, 3), st.integers(0, 20))
def test_spans_hold_all_records_and_no_more_than_they_may(
    items: list[int], width: int, most: int
) -> None:
    values = pa.array([b"{}," * each for each in items], pa.binary())
    counter = json_value_counter(())
    counter = replace(counter, width=width, widest=2)
    row_ranges = list(counter.row_ranges(values, most))
    assert [row for chunk in row_ranges for row in range(chunk.start, chunk.stop)] == list(
        range(len(items))
    )
    for chunk in row_ranges:
        weight = sum(width + 2 * each for each in items[chunk.start : chunk.stop])
        assert weight <= most or (len(chunk) == 1 and chunk.is_heavy)
        assert not chunk.is_heavy or weight > most


LISTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('n{[,"\\]}'), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.sampled_from("n{]"), max_size=2), inner, max_size=3)
    ),
)


@given(st.lists(LISTS, max_size=6), st.sampled_from([None, 1]))
def test_items_are_counted_by_their_brackets(items: list[Any], indent: int | None) -> None:
    wanted = sum(item is None or isinstance(item, dict) for item in items)
    assert count_items(json.dumps(items, indent=indent).encode()) == wanted


EVENTS = [
    an_event("a", n=n, items=[{"x": k, "y": {"z": [k]}} if k % 3 else None for k in range(n % 7)])
    for n in range(100)
]
SPARSE = [an_event("a", n=n, items=[{}] * (n % 5)) for n in range(100)]


@pytest.mark.parametrize("most", [1, 10, 300])
@pytest.mark.parametrize("kinds", [("a",), ("a", "b")])
def test_rows_are_the_same_however_few_values_are_made_at_once(
    most: int, kinds: tuple[str, ...]
) -> None:
    known = learned(*(an_event(kind, n=1, items=[{"x": 1, "y": {"z": [1]}}]) for kind in kinds))
    values = [*EVENTS, *SPARSE, an_event("a", n=1, other=5), an_event("a", items=5)]
    wanted = shred(BY_TYPE, values, known)
    with ExitStack() as patches:
        for module in (scanner, decoder):
            patches.enter_context(mock.patch.object(module, "MOST_AT_ONCE", most))
        found = shred(BY_TYPE, values, known)
    assert found.rows("a") == wanted.rows("a")
    assert len(wanted.rows("a")) == len(values)


def test_a_record_that_becomes_too_much_is_quarantined_alone() -> None:
    names = [f"f{number}" for number in range(500)]
    known = learned(an_event("a", items=[dict.fromkeys(names, 1)]))
    values = [an_event("a", items=[{}] * count) for count in (2, 9_000, 3)]
    done = shred(BY_TYPE, values, known)
    assert done.report.reasons == {"TOO_MANY": 1}
    assert [row["value"] for row in done.refused()] == [values[1]]
    assert [len(row["items"]) for row in done.rows("a")] == [2, 3]
