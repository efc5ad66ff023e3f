"""Quarantined records on their second way: read from the quarantine's files, shredded once more."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np
import pyarrow as pa

from penstock.api.store import Store
from penstock.datapath.shape.route.router import Router
from penstock.datapath.stage.group_writer import GroupFiles
from penstock.datapath.stage.open_files import OpenFiles
from penstock.datapath.stage.placement import declared_datasets
from penstock.datapath.stage.quarantine_rows import QuarantinePart, WantedPiece, wanted_pieces
from penstock.datapath.stage.quarantine_writer import by_number
from penstock.datapath.stage.record_rows import numbers_of, or_firsts, with_numbers
from penstock.datapath.stage.row_arrays import Rows
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.shredder import RangeShredder
from penstock.datapath.stage.task import range_shredder, suit_worker
from penstock.evidence.position_columns import Offsets
from penstock.model.broken_groups import BrokenGroup, merged
from penstock.model.file_groups import NO_GROUP, FileGroup
from penstock.model.fork import FORK_ROWS
from penstock.model.manifest import RecordSet
from penstock.model.ranges import OffsetSet

_COLUMNS = (
    "_partition", "_offset", "_timestamp", "key", "value", "headers", "fingerprint", "dataset",
)  # fmt: skip

Met = dict[str, list[tuple[Offsets, Offsets]]]  # by dataset: offsets, and numbers of rows


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at records has met, and why some of them stay."""

    met: Met = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    broken: tuple[BrokenGroup, ...] = ()


def shred_quarantined(
    plan: ShredPlan, store: Store, attempt: str, part: QuarantinePart
) -> TaskReport:
    """Shred one part; on an executor, once per attempt. Files are staged, nothing is visible."""
    suit_worker()
    numbered = any(records.row for records in part.wanted)
    plan = msgspec.structs.replace(plan, numbered=numbered)
    look = Look()
    if plan.feed.has_rows:
        look, part = _without_broken(plan, store, f"{attempt}-0", part)
    files = OpenFiles(store, plan, attempt)
    try:
        shredder, group, met = _shredded(plan, store, files, part)
        (report,) = shredder.reports()
        if shredder.is_learning:
            files.abandon()
        else:
            report = msgspec.structs.replace(report, files=group.finish())
    except BaseException:
        files.abandon()
        raise
    delivered = tuple(_delivered(part, met, shredder.refused))
    return msgspec.structs.replace(
        report,
        reasons=dict(look.reasons + Counter(report.reasons)),
        broken=merged((*look.broken, *report.broken)),
        tried=_count(met | look.met),  # a look is at all of no dataset, also what is held back
        delivered=delivered,
    )


def _shredded(
    plan: ShredPlan, store: Store, files: OpenFiles, part: QuarantinePart
) -> tuple[RangeShredder, GroupFiles, Met]:
    router = Router(plan.feed, frozenset(plan.schemas), plan.max_new)
    own = FileGroup(NO_GROUP, ((part.covered,),))  # each partition has files of its own
    group = GroupFiles(plan, own, files, declared_datasets(plan.feed))
    group.parts.arrival.begin(part.covered.partition)
    shredder = range_shredder(plan, (part.covered,), group, router)
    met: Met = {}
    for dataset, batch in wanted_batches(store, part):
        offsets = batch["offset"].to_numpy()
        rows = or_firsts(numbers_of(batch, slice(None)), len(offsets))
        met.setdefault(dataset, []).append((offsets, rows))
        shredder.take_again(batch, dataset)
    return shredder, group, met


def _without_broken(
    plan: ShredPlan, store: Store, attempt: str, part: QuarantinePart
) -> tuple[Look, QuarantinePart]:
    """A part without the records of no dataset that become several rows of which one is broken.

    Such a record stays whole, or it would be delivered in part now and once more later. So they are
    shredded for a look first, and nothing of that is kept but why they stay and what was looked at.
    """
    unknown = tuple(each for each in part.wanted if not each.dataset)
    if not unknown:
        return Look(), part
    seen = msgspec.structs.replace(part, wanted=unknown)
    files = OpenFiles(store, plan, attempt)
    try:
        shredder, _, met = _shredded(plan, store, files, seen)
    finally:
        files.abandon()
    if shredder.is_learning:
        return Look(met), part
    live = {each.row: each.offsets for each in unknown}
    broken: dict[int, OffsetSet] = {}
    for number, offsets in shredder.refused.items():
        element = number % FORK_ROWS
        own = offsets & live.get(element, OffsetSet())
        broken[element] = broken.get(element, OffsetSet()) | own
        broken[0] = broken.get(0, OffsetSet()) | (offsets - own)
    kept = tuple(
        msgspec.structs.replace(each, offsets=each.offsets - broken.get(each.row, OffsetSet()))
        if not each.dataset
        else each
        for each in part.wanted
    )
    look = Look(met, shredder.reasons, shredder.broken)
    return look, msgspec.structs.replace(part, wanted=kept)


def _count(met: Met) -> int:
    return sum(len(offsets) for parts in met.values() for offsets, _ in parts)


def _delivered(part: QuarantinePart, met: Met, stays: dict[int, OffsetSet]) -> Iterator[RecordSet]:
    place = part.covered
    for dataset, parts in sorted(met.items()):
        for row, offsets in sorted(by_number(parts).items()):
            gone = offsets - stays.get(row, OffsetSet())
            if gone.runs:
                yield RecordSet(place.topic, place.topic_id, place.partition, dataset, gone, row)


def wanted_batches(store: Store, part: QuarantinePart) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The wanted rows as the reader would hand them over, with the dataset they were meant for."""
    for piece in wanted_pieces(store, part, _COLUMNS):
        yield from _by_dataset(piece)


def _by_dataset(piece: WantedPiece) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The wanted rows of each dataset together; rows of forks, which stay such, for themselves."""
    offsets, numbers = piece.offsets, piece.numbers
    for dataset in sorted(piece.datasets):
        mine = piece.wanted & (piece.codes == piece.datasets.index(dataset))
        for some in (mine & (numbers < FORK_ROWS), mine & (numbers >= FORK_ROWS)):
            rows = np.flatnonzero(some)
            rows = rows[np.lexsort((numbers[rows], offsets[rows]))]
            if len(rows):
                yield dataset, _numbered(_as_read(piece.batch.take(pa.array(rows))), numbers[rows])


def _numbered(read: pa.RecordBatch, numbers: Rows) -> pa.RecordBatch:
    return with_numbers(read, numbers.astype(np.int64)) if numbers.any() else read


def _as_read(rows: pa.RecordBatch) -> pa.RecordBatch:
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
