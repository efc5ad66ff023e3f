"""Quarantined records on their second way: read from the quarantine's files, shredded once more."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.errors import StoreUnavailable
from penstock.model.manifest import RecordSet
from penstock.model.position_columns import Offsets
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.value import Value
from penstock.shape.route import Router
from penstock.store.protocol import Store
from penstock.writer.output import Sink
from penstock.writer.plan import ShredPlan, TaskReport
from penstock.writer.task import shredder_kind, suit_worker

BATCH_ROWS = 65_536
COLUMNS = [
    "_partition", "_offset", "_timestamp", "key", "value", "headers", "fingerprint", "dataset",
]  # fmt: skip


class AgainPart(Value, frozen=True):
    """The wanted records of one Kafka partition, and the files that hold them.

    With a `fingerprint` only those that are broken in that way.
    """

    covered: OffsetRange
    files: tuple[str, ...]
    wanted: tuple[RecordSet, ...]
    fingerprint: str = ""


class AgainReport(Value, frozen=True):
    """What became of them: `delivered` are now in the report's files, `tried` is how many."""

    report: TaskReport
    delivered: tuple[RecordSet, ...]
    tried: int


def shred_again(plan: ShredPlan, store: Store, attempt: str, part: AgainPart) -> AgainReport:
    """Shred one part; on an executor, once per attempt. Files are staged, nothing is visible."""
    suit_worker()
    sink = Sink(store, plan, attempt)
    router = Router(plan.feed, frozenset(plan.schemas), plan.max_new)
    shredder = shredder_kind(plan)(plan, part.covered, sink, router)
    tried: dict[str, list[Offsets]] = {}
    try:
        for dataset, batch in wanted_batches(store, part):
            tried.setdefault(dataset, []).append(batch["offset"].to_numpy())
            shredder.take(batch)
        report = shredder.report()
    except BaseException:
        sink.abandon()
        raise
    met = {dataset: OffsetSet.of(np.concatenate(each).tolist()) for dataset, each in tried.items()}
    stays = shredder.refused
    return AgainReport(report, _delivered(part, met, stays), sum(map(len, met.values())))


def _delivered(
    part: AgainPart, met: dict[str, OffsetSet], stays: OffsetSet
) -> tuple[RecordSet, ...]:
    place = part.covered
    found = ((dataset, offsets - stays) for dataset, offsets in sorted(met.items()))
    return tuple(
        RecordSet(place.topic, place.topic_id, place.partition, dataset, offsets)
        for dataset, offsets in found
        if offsets.runs
    )


def wanted_batches(store: Store, part: AgainPart) -> Iterator[tuple[str, Any]]:
    """The wanted rows as the reader would hand them over, with the dataset they were meant for."""
    wanted = {each.dataset: each.offsets for each in part.wanted}
    for final in part.files:
        source = store.open_read(final)
        if source is None:
            raise StoreUnavailable("read", final, "this file of the quarantine is gone")
        with source:
            file = pq.ParquetFile(source)
            for batch in file.iter_batches(BATCH_ROWS, columns=COLUMNS):
                yield from _wanted_rows(batch, wanted, part.fingerprint)


def _wanted_rows(
    batch: Any, wanted: dict[str, OffsetSet], fingerprint: str
) -> Iterator[tuple[str, Any]]:
    offsets = batch["_offset"].to_numpy()
    names = batch["dataset"].fill_null("")
    prints = batch["fingerprint"]
    for dataset in names.unique().to_pylist():
        chosen = within(offsets, wanted.get(dataset, OffsetSet()))
        chosen &= _equal(names, dataset)
        if fingerprint:
            chosen &= _equal(prints, fingerprint)
        if chosen.any():
            rows = np.flatnonzero(chosen)
            rows = rows[np.argsort(offsets[rows], kind="stable")]
            yield dataset, _as_read(batch.take(pa.array(rows)))


def _equal(texts: Any, text: str) -> Any:
    return pc.equal(texts, text).to_numpy(zero_copy_only=False)


def within(offsets: Offsets, chosen: OffsetSet) -> Any:
    """A mask of the offsets that are in a set."""
    if not chosen.runs:
        return np.zeros(len(offsets), dtype=bool)
    starts, ends = (np.array(each, np.int64) for each in zip(*chosen.runs, strict=True))
    run = np.searchsorted(starts, offsets, side="right") - 1
    return (run >= 0) & (offsets < ends[np.maximum(run, 0)])


def _as_read(rows: Any) -> Any:
    """Rows of the quarantine in the columns of the reader. Their hashes were compared long ago."""
    return pa.RecordBatch.from_pydict(
        {
            "partition": rows["_partition"],
            "offset": rows["_offset"],
            "timestamp": rows["_timestamp"].cast(pa.timestamp("ms")).cast(pa.int64()),
            "key": rows["key"],
            "value": rows["value"],
            "headers": rows["headers"],
            "hash": pa.array(np.zeros(rows.num_rows, np.int64)),
        }
    )
