"""One file over many ranges: rows in order whatever comes first, and nothing foreign.

Method: real tasks over batches of several partitions, handed over in orders that a source may
choose; the files are read by pyarrow alone.
"""

import io
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from penstock.api.doors import FORMATS
from penstock.api.find import find
from penstock.api.source import ReadFailed
from penstock.datapath.shape.convert.converters import converted_fields
from penstock.datapath.shape.convert.flow import Given
from penstock.datapath.stage import task
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.spool import Spool
from penstock.datapath.stage.task import shred_batches
from penstock.model.convert_spec import Condition, ConvertSpec, RecordValue
from penstock.model.file_groups import Cut, FilePlan
from penstock.model.manifest import QUARANTINE, ManifestFile
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.window import StagedWindow, StageOrder
from penstock.protocol.loop.prove import prove
from penstock.testing.memory_store import MemoryStore
from tests.helpers.shredding import BY_TYPE, NOON_MS, TOPIC, an_event, learned, with_steps

KINDS = ("view", "buy")
SCHEMAS = learned(*(an_event(kind, n=1, pad="x") for kind in KINDS))
COUNT = 40


def value(partition: int, offset: int) -> bytes:
    """Two types by turns, and now and then a record that nobody can read."""
    if offset % 13 == 7:
        return b'{"type": "view", torn'
    pad = f"{partition}-{offset}-" * 20
    return an_event(KINDS[offset % 2], n=1000 * partition + offset, pad=pad)


def records(partition: int, start: int, end: int) -> pa.RecordBatch:
    offsets = np.arange(start, end, dtype=np.int64)
    count = len(offsets)
    return pa.RecordBatch.from_pydict(
        {
            "partition": pa.array(np.full(count, partition, np.int32)),
            "offset": pa.array(offsets),
            "timestamp": pa.array(np.full(count, NOON_MS, np.int64)),
            "key": pa.nulls(count, pa.binary()),
            "value": pa.array([value(partition, int(each)) for each in offsets], pa.binary()),
            "headers": pa.nulls(count, pa.string()),
            "hash": pa.array(offsets + 7 * partition),
        }
    )


def an_order(partitions: int, plan: FilePlan) -> StageOrder:
    ranges = tuple(OffsetRange(TOPIC, "id", each, 0, COUNT) for each in range(partitions))
    return StageOrder("f", "1-1", "_penstock/f/staging", ranges, file_plan=plan)


def a_plan(order: StageOrder, feed: FeedSpec = BY_TYPE, **more: Any) -> ShredPlan:
    return ShredPlan(
        order=order,
        feed=feed,
        schemas=dict(SCHEMAS),
        now_s=NOON_MS / 1000,
        format=find(FORMATS, feed.format),
        **more,
    )


def shredded(
    plan: ShredPlan, arrival: Iterable[int], batch_rows: int = 9
) -> tuple[MemoryStore, list[TaskReport]]:
    """What a task makes of whole ranges that come in this order; the owner's proof holds."""
    store = MemoryStore()
    batches = (
        records(partition, start, min(start + batch_rows, COUNT))
        for partition in arrival
        for start in range(0, COUNT, batch_rows)
    )
    reports = list(shred_batches(plan, store, "attempt", batches))
    prove(
        plan.order,
        StagedWindow(
            tuple(file for each in reports for file in each.files),
            tuple(each.evidence for each in reports),
            tuple(part for each in reports for part in each.quarantined),
        ),
    )
    return store, reports


def tables(store: MemoryStore, reports: Sequence[TaskReport]) -> list[tuple[ManifestFile, Any]]:
    found = []
    for file in (file for each in reports for file in each.files):
        store.publish(file.handle)
        raw = io.BytesIO(store.read(file.handle.final) or b"")
        read = po.read_table if file.handle.final.endswith("orc") else pq.read_table
        found.append((file, read(raw)))
    return found


def positions(table: Any) -> list[tuple[int, int]]:
    columns = (table[name].to_pylist() for name in ("_partition", "_offset"))
    return list(zip(*columns, strict=True))


def wanted(dataset: str, partitions: int) -> list[tuple[int, int]]:
    """The rows of a dataset, in the order in which its file must have them."""
    return [
        (partition, offset)
        for partition in range(partitions)
        for offset in range(COUNT)
        if (QUARANTINE if offset % 13 == 7 else KINDS[offset % 2]) == dataset
    ]


@pytest.mark.parametrize("arrival", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("buffer_bytes", [2_000, 40_000, 64 << 20])
def test_rows_lie_in_order_whichever_range_comes_first_and_however_little_may_wait(
    arrival: tuple[int, ...], buffer_bytes: int
) -> None:
    plan = a_plan(an_order(3, FilePlan((3,))), buffer_bytes=buffer_bytes)
    found = tables(*shredded(plan, arrival))
    assert {file.dataset for file, _ in found} == {*KINDS, QUARANTINE}
    for file, table in found:
        assert file.handle.final.rpartition("/")[2].startswith("0_orders_0..2_g0_1-1.")
        assert positions(table) == wanted(file.dataset, 3)
        assert file.ranges == plan.order.ranges
        assert file.group == 0
        ranges = table.schema.metadata[b"penstock.ranges"].decode()
        assert ranges == ",".join(f"orders/{each}:0-{COUNT}" for each in range(3))


def test_ranges_in_order_are_written_as_they_come_and_nothing_is_spooled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows wait on the disk only where an earlier partition may still come."""
    spooled: list[int] = []
    put = Spool.put

    def counting(spool: Spool, rows: pa.Table) -> Any:
        spooled.append(rows.num_rows)
        return put(spool, rows)

    monkeypatch.setattr(Spool, "put", counting)
    plan = a_plan(an_order(3, FilePlan((3,))), buffer_bytes=2_000)
    shredded(plan, (0, 1, 2))
    assert not spooled
    shredded(plan, (2, 0, 1))
    assert spooled


@pytest.mark.parametrize("arrival", [(0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize("buffer_bytes", [2_000, 64 << 20])
def test_orc_files_over_several_ranges_are_in_order_too(
    arrival: tuple[int, ...], buffer_bytes: int
) -> None:
    feed = msgspec.structs.replace(BY_TYPE, format="orc")
    plan = a_plan(an_order(3, FilePlan((3,))), feed, buffer_bytes=buffer_bytes)
    for file, table in tables(*shredded(plan, arrival)):
        assert positions(table) == wanted(file.dataset, 3)


@pytest.mark.parametrize("arrival", [(0, 1, 2), (2, 1, 0)])
def test_files_are_cut_where_the_plan_says_and_groups_share_none(
    arrival: tuple[int, ...],
) -> None:
    order = an_order(3, FilePlan((2, 1), (Cut(0, 13), Cut(1, 27))))
    found = tables(*shredded(a_plan(order), arrival))
    parts = [part for group in order.groups for part in group.parts]
    assert {file.ranges for file, _ in found} == set(parts)
    for file, table in found:
        covered = {(each.partition, o) for each in file.ranges for o in range(each.start, each.end)}
        mine = [row for row in wanted(file.dataset, 3) if row in covered]
        assert positions(table) == mine
    names = {file.handle.final.rpartition("/")[2].partition("_1-1.")[0] for file, _ in found}
    assert names == {"0_orders_0_0-13", "0_orders_0..1_g0", "0_orders_1_27-40", "0_orders_2_0-40"}


def test_the_same_groups_are_made_again_from_a_part_of_the_window() -> None:
    """Deriving a group again reads nothing of the others and gives the same names and rows."""
    order = an_order(4, FilePlan((2, 2), (Cut(3, 5),)))
    _, reports = shredded(a_plan(order), range(4))
    before = {
        file.handle.final: (file.evidence, file.ranges)
        for each in reports
        for file in each.files
        if file.group == 1
    }
    group = order.groups[1]
    again = msgspec.structs.replace(
        order, ranges=group.ranges, some_groups=(group,), decided=True, record_bytes=9e9
    )
    _, reports = shredded(a_plan(again), (3, 2))
    after = {
        file.handle.final: (file.evidence, file.ranges) for each in reports for file in each.files
    }
    assert after == before


def test_what_is_outside_of_the_plan_fails_the_read() -> None:
    plan = a_plan(an_order(2, FilePlan((2,))))
    for foreign in (records(2, 0, 3), records(0, COUNT - 1, COUNT + 1), records(1, 40, 41)):
        store = MemoryStore()
        with pytest.raises(ReadFailed, match="was not planned"):
            list(shred_batches(plan, store, "attempt", [records(0, 0, 5), foreign]))
        assert not list(store.list_staged("_penstock/f/staging", ())), "and leaves nothing behind"


def test_a_range_that_comes_in_two_goes_fails_the_read() -> None:
    plan = a_plan(an_order(2, FilePlan((2,))))
    batches = [records(0, 0, 5), records(1, 0, 40), records(0, 5, 40)]
    with pytest.raises(ReadFailed, match="came again after others"):
        list(shred_batches(plan, MemoryStore(), "attempt", batches))


def test_while_one_range_has_something_new_no_range_of_the_task_writes_a_file() -> None:
    plan = a_plan(an_order(2, FilePlan((2,))))
    known = msgspec.structs.replace(plan, schemas={"view": SCHEMAS["view"]})
    store = MemoryStore()
    batches = [records(0, 0, 1), records(1, 0, 6)]  # the first range has only what is known
    reports = list(shred_batches(known, store, "attempt", batches))
    assert [each.files for each in reports] == [(), ()]
    assert any(each.samples for each in reports)
    assert not list(store.list_staged("_penstock/f/staging", ()))


STEPS = (
    ConvertSpec("rename", ("n",), ("number",)),
    ConvertSpec("mask", ("pad",), ("3",)),
    ConvertSpec("filter", conditions=(Condition("number", multiple_of=3),)),
    ConvertSpec(
        "set",
        ("where", "at_ms"),
        constants=(None, None),
        from_record=(RecordValue("topic", "string"), RecordValue("offset", "int64")),
    ),
    ConvertSpec("cast", ("number",), ("string",)),
)
OF_PARTITION = ConvertSpec(
    "set", ("p",), constants=(None,), from_record=(RecordValue("partition", "int64"),)
)


def converting(plan: ShredPlan, steps: tuple[ConvertSpec, ...]) -> ShredPlan:
    """The same plan with some steps, and with the schemas that files have then."""
    outputs = {}
    for name, schema in SCHEMAS.items():
        made = converted_fields(steps, schema.fields, Given())
        outputs[name] = msgspec.structs.replace(schema, fields=made)
    feed = with_steps(plan.feed, *steps)
    return msgspec.structs.replace(plan, feed=feed, file_schemas=outputs if steps else {})


def test_ranges_are_read_apart_only_where_a_step_may_depend_on_the_partition() -> None:
    assert task.is_shared(with_steps(BY_TYPE, *STEPS))
    apart = [
        OF_PARTITION,
        ConvertSpec("encrypt", ("pad",), ("${env:KEY}",)),
        ConvertSpec("plugin", words=("upper",)),
    ]
    for step in apart:
        assert not task.is_shared(with_steps(BY_TYPE, *STEPS, step))


@pytest.mark.parametrize("steps", [(), STEPS], ids=["as they are", "converted"])
@pytest.mark.parametrize("batch_rows", [7, 100_000])
def test_decoding_ranges_together_gives_what_each_of_them_gives_alone(
    monkeypatch: pytest.MonkeyPatch, batch_rows: int, steps: tuple[ConvertSpec, ...]
) -> None:
    """Records of many partitions in one batch: same rows, same evidence, same quarantine."""
    order = an_order(5, FilePlan((3, 2), (Cut(1, 11), Cut(4, 0))))
    arrival = (2, 0, 4, 1, 3)
    whole = pa.concat_batches([records(partition, 0, COUNT) for partition in arrival])

    def made() -> tuple[Any, ...]:
        store = MemoryStore()
        batches = [whole.slice(at, batch_rows) for at in range(0, whole.num_rows, batch_rows)]
        plan = converting(a_plan(order), steps)
        reports = list(shred_batches(plan, store, "attempt", batches))
        found = tables(store, reports)
        return (
            {file.handle.final: (file.evidence, file.ranges, t.to_pylist()) for file, t in found},
            {each.evidence.range: each.evidence for each in reports},
            {each.evidence.range: (each.last_record, each.read_bytes) for each in reports},
            sorted(part for each in reports for part in map(str, each.quarantined)),
            {each.evidence.range: each.reasons for each in reports},
            sum(one.fast + one.reference for each in reports for one in each.ways),
        )

    together = made()
    assert any("where" in rows[0] for _, _, rows in together[0].values()) == bool(steps)
    monkeypatch.setattr(task, "is_shared", lambda _feed: False)
    assert made() == together
