"""One batch on its way into columns: the scanner, and the reference for whatever it refuses."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.datapath.codec.json.columns import columns_of
from penstock.datapath.codec.json.decode_plan import DecodePlan
from penstock.datapath.codec.json.payload import fault_of
from penstock.datapath.codec.json.reference import ReferenceDecoder
from penstock.datapath.codec.json.scan_tables import scan_plan
from penstock.datapath.codec.json.scanner import Payloads, Scanned, scan
from penstock.datapath.codec.json.value_count import has_too_many
from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.reasons import TOO_MANY, BadValue
from penstock.datapath.codec.shared.record_order import in_record_order
from penstock.datapath.codec.shared.value_count import too_many
from penstock.datapath.codec.shared.value_types import ParsedRecord
from penstock.model.bad_records import BadRecord
from penstock.model.pinned_types import TypeTree
from penstock.model.read_ways import NO_COLUMN, NOT_FITTING, OTHER_FORM, OTHER_TYPE, ReadCounts

# Small enough that objects stay in the processor's cache until they are columns.
_CHUNK = 2_048


@dataclass(frozen=True, slots=True)
class Decoded:
    """A batch of records as columns.

    `batch` holds the good records in their order and `good` says which they were; `bad` the
    others. `unknown` names fields that have no column and could get one, `unknown_at` the record
    that showed each of them first: a sample that has these records has all that is new. `counts`
    says which way the records were read, and what did not fit; `singly` are the records that the
    reference has read.
    """

    batch: pa.RecordBatch
    good: npt.NDArray[np.int64]
    bad: list[BadRecord]
    unknown: tuple[str, ...] = ()
    unknown_at: tuple[int, ...] = ()
    counts: ReadCounts = field(default_factory=ReadCounts)
    singly: tuple[int, ...] = ()


def decode(
    values: pa.Array,
    plan: DecodePlan,
    limits: Limits,
    exact_only: bool,
    types: TypeTree | None = None,
) -> Decoded:
    """Decode every record; a bad one never affects its neighbours."""
    tables = scan_plan(plan, limits)
    chunks: list[Scanned] = []
    left: Numbers = np.arange(len(values))
    if tables is not None and not exact_only and len(values):
        chunks = list(scan(Payloads.of(values), plan, tables, types))
        left = np.concatenate([chunk.left for chunk in chunks])
    reference = ReferenceDecoder(exact_only, types)
    judge = _Judge(plan, limits, reference, is_scannable=tables is not None)
    for start in range(0, len(left), _CHUNK):
        some = left[start : start + _CHUNK]
        judge.add(some, values.take(pa.array(some)).to_pylist())
    return _joined(chunks, judge, left)


def _joined(chunks: list[Scanned], judge: "_Judge", left: Numbers) -> Decoded:
    """What both ways have read, in the order of the records."""
    counts, unknown = judge.counts, judge.unknown
    for chunk in chunks:
        counts.fast += chunk.counts.fast
        counts.empty += chunk.counts.empty
        for misfit, (records, first) in chunk.counts.misfits.items():
            counts.add_misfit(misfit, int(chunk.members[first]), records)
        for path, place in chunk.unknown.items():
            at = int(chunk.members[place])
            unknown[path] = min(at, unknown.get(path, at))
    slow, slow_rows = judge.batch()
    fast, fast_rows = slow.slice(0, 0), np.empty(0, np.int64)
    if chunks:
        fast = pa.concat_batches([chunk.batch for chunk in chunks])
        fast_rows = np.concatenate([chunk.members for chunk in chunks])
    found = in_record_order(fast, fast_rows, slow, slow_rows, judge.bad)
    paths = sorted(unknown)
    return Decoded(
        batch=found.batch,
        good=found.good,
        bad=judge.bad,
        unknown=tuple(paths),
        unknown_at=tuple(unknown[path] for path in paths),
        counts=counts,
        singly=tuple(left.tolist()),
    )


class _Judge:
    """Lets the reference decide about single records, and gathers their columns."""

    def __init__(
        self, plan: DecodePlan, limits: Limits, reference: ReferenceDecoder, *, is_scannable: bool
    ) -> None:
        self._plan = plan
        self._limits = limits
        self._reference = reference
        self._is_scannable = is_scannable
        self.counts = reference.counts
        self.unknown = reference.unknown
        self._columns: list[list[pa.Array]] = [[] for _ in plan.schema]
        self._good: list[Numbers] = []
        self.bad: list[BadRecord] = []

    def add(self, rows: Numbers, payloads: list[bytes]) -> None:
        """Judge the records with these numbers."""
        objects: list[ParsedRecord] = []
        rests: list[str | None] = []
        good: list[int] = []
        for row, payload in zip(rows.tolist(), payloads, strict=True):
            judged = self._judge(row, payload)
            self._count(is_bad=judged is None)
            if judged is not None:
                good.append(row)
                objects.append(judged[0])
                rests.append(judged[1])
        pieces = [*columns_of(self._plan.root, objects), pa.array(rests, pa.string())]
        for column, piece in zip(self._columns, pieces, strict=True):
            column.append(piece)
        self._good.append(np.array(good, np.int64))

    def batch(self) -> tuple[pa.RecordBatch, Numbers]:
        """The good records so far, and their numbers."""
        schema = self._plan.schema
        arrays = [
            pa.concat_arrays(pieces) if pieces else pa.array([], column.type)
            for pieces, column in zip(self._columns, schema, strict=True)
        ]
        rows = np.concatenate(self._good) if self._good else np.empty(0, np.int64)
        return pa.RecordBatch.from_arrays(arrays, schema=schema), rows

    def _count(self, *, is_bad: bool) -> None:
        """Count a record that the reference has read, and why it had to."""
        self.counts.reference += 1
        misfit = next(iter(self._reference.misfits), None)
        if is_bad:
            self.counts.add_reason(self.bad[-1].reason)
        elif not self._is_scannable:
            self.counts.add_reason(OTHER_TYPE)
        elif misfit is not None:
            path, wanted, _ = misfit
            self.counts.add_reason(NOT_FITTING if wanted else NO_COLUMN, path)
        else:
            self.counts.add_reason(OTHER_FORM)

    def _judge(self, index: int, payload: bytes) -> tuple[ParsedRecord, str | None] | None:
        """An object of the plan and the rest of a record, or None when it is bad."""
        fault = fault_of(payload, self._limits)
        if fault is not None:
            self.bad.append(BadRecord(index, *fault))
            return None
        if has_too_many(payload, self._plan.fields, self._limits.max_values):
            self.bad.append(BadRecord(index, TOO_MANY, too_many(self._limits.max_values)))
            return None
        try:
            return self._reference.fit(self._plan, index, payload)
        except BadValue as bad_value:
            self.bad.append(BadRecord(index, bad_value.reason, str(bad_value)))
            return None
