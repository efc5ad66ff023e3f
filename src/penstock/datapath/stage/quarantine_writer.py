"""Broken records: raw bytes, reason and position, so that each has a way back."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.datapath.formats.quarantine_format import QUARANTINE_FORMAT
from penstock.datapath.stage.broken_tally import BrokenTally
from penstock.datapath.stage.group_writer import GroupFiles
from penstock.datapath.stage.open_file import FileTarget
from penstock.datapath.stage.own_columns import TIMESTAMP, row_column
from penstock.datapath.stage.record_rows import numbers_of, or_firsts
from penstock.datapath.stage.row_arrays import BatchRows
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.evidence.position_columns import Offsets, positions
from penstock.model.bad_records import BadRecord
from penstock.model.broken_groups import range_bytes
from penstock.model.evidence import Evidence
from penstock.model.fork import ROW_COLUMN
from penstock.model.layout import Layout
from penstock.model.manifest import QUARANTINE, RecordSet
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.refused_records import Refused
from penstock.model.schema_merging import SCHEMA_INCOMPATIBLE
from penstock.model.spec import DatasetSpec

COMPRESSION = "zstd"  # whatever that of the data files is
_GUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_NUMBER = r"(?<!\w)\d\w*"  # also 1e400 or 16MiB; not the digit of a name, as in $.line1
_VALUES = re.compile(rf"{_GUID}|{_NUMBER}|'[^']*'|\"[^\"]*\"")

SCHEMA = pa.schema(
    [
        ("_topic", pa.string()),
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
        ("_timestamp", TIMESTAMP),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("fingerprint", pa.string()),
        ("dataset", pa.string()),
        ("owner", pa.string()),
    ]
)


def fingerprint(reason: str, detail: str, format_name: str) -> str:
    """The same for records that are broken in the same way, whatever their values."""
    shape = _VALUES.sub("?", detail)
    return hashlib.sha256(f"{reason}\0{shape}\0{format_name}".encode()).hexdigest()[:12]


class QuarantineRows:
    """The broken records of one range, by the dataset they were meant for: a file each.

    Their bytes go to the open files at once, so that they count within their budget.
    """

    def __init__(
        self,
        plan: ShredPlan,
        covered: OffsetRange,
        group: GroupFiles,
        declared: Mapping[str, DatasetSpec],
    ) -> None:
        self._order = plan.order
        self._format = plan.feed.decode.format
        self._covered = covered
        self._group = group
        self._declared = declared
        self._has_rows = plan.feed.has_rows
        self._met: dict[str, list[tuple[Offsets, Offsets]]] = {}  # offsets, and numbers of rows
        self.reasons: Counter[str] = Counter()
        self._refused: dict[str, Counter[str]] = {}  # the same by dataset
        self.misfits: Counter[str] = Counter()  # by dataset, those whose schema cannot be merged
        self.broken = BrokenTally(covered, range_bytes(len(plan.order.ranges)))

    def add(self, some: BatchRows, bad: list[BadRecord], dataset: str) -> None:
        """Take records of a batch; `bad` numbers them within the given rows."""
        if not bad:
            return
        chosen = some.rows[[record.index for record in bad]]
        order = np.argsort(chosen, kind="stable")
        taken = some.batch.take(pa.array(chosen[order]))
        reasons = [bad[int(i)] for i in order]
        self.reasons.update(record.reason for record in bad)
        self._refused.setdefault(dataset, Counter()).update(record.reason for record in bad)
        self.misfits[dataset] += sum(record.reason == SCHEMA_INCOMPATIBLE for record in bad)
        self._meet(dataset, taken)
        kinds = {(record.reason, record.detail) for record in bad}
        prints = {kind: fingerprint(*kind, self._format) for kind in kinds}
        fingerprints = [prints[record.reason, record.detail] for record in reasons]
        self.broken.add(taken, reasons, fingerprints, dataset)
        self._put(taken, reasons, fingerprints, dataset)

    def keep(self, reason: str, some: BatchRows) -> None:
        """Take records without writing them down."""
        self.reasons[reason] += len(some)
        self._refused.setdefault("", Counter())[reason] += len(some)
        self._meet("", some.batch.take(pa.array(some.rows)))

    def refused(self) -> Refused:
        """How many there are, by the dataset they were meant for, and by reason."""
        return {dataset: dict(reasons) for dataset, reasons in self._refused.items()}

    def offsets(self) -> dict[int, OffsetSet]:
        """All of them by their number in the record, whatever dataset they were meant for."""
        met = [part for parts in self._met.values() for part in parts]
        return by_number(met) if met else {}

    def _meet(self, dataset: str, taken: pa.RecordBatch) -> None:
        offsets = taken["offset"].to_numpy()
        numbers = or_firsts(numbers_of(taken, slice(None)), len(offsets))
        self._met.setdefault(dataset, []).append((offsets, numbers))

    def _put(
        self, taken: pa.RecordBatch, bad: list[BadRecord], fingerprints: list[str], dataset: str
    ) -> None:
        """Write them down."""
        offsets, numbers = self._met[dataset][-1]
        rows = self._rows(taken, bad, fingerprints, dataset)
        if self._has_rows:
            rows = rows.append_column(ROW_COLUMN, row_column(numbers))
        place = self._covered
        seen = positions(place.topic, place.partition, offsets, numbers)
        span = (place.partition, int(offsets[0])), (place.partition, int(offsets[-1]))
        self._group.files.add(self._target(dataset), rows, span, seen, int(rows.nbytes))

    def evidence(self) -> Evidence:
        """The positions of all of them."""
        place = self._covered
        return Evidence.total(
            positions(place.topic, place.partition, *part)
            for parts in self._met.values()
            for part in parts
        )

    def record_sets(self) -> tuple[RecordSet, ...]:
        """The records by name, as the journal holds them."""
        place = (self._covered.topic, self._covered.topic_id, self._covered.partition)
        return tuple(
            RecordSet(*place, dataset, offsets, row)
            for dataset, parts in sorted(self._met.items())
            for row, offsets in sorted(by_number(parts).items())
        )

    def _target(self, dataset: str) -> FileTarget:
        """The file of the records that were meant for a dataset."""
        suffix, part = QUARANTINE_FORMAT.suffixes[COMPRESSION], self._group.parts.now
        return FileTarget(
            dataset=QUARANTINE,
            schema_version=0,
            directory=Layout(self._order.feed).quarantine_of(self._team(dataset), dataset),
            name=part.file_name(self._order, suffix),
            part=part,
            format=QUARANTINE_FORMAT,
            compression=COMPRESSION,
        )

    def _team(self, dataset: str) -> str:
        declared = self._declared.get(dataset)
        return declared.team if declared is not None else ""

    def _rows(
        self, taken: pa.RecordBatch, bad: list[BadRecord], fingerprints: list[str], dataset: str
    ) -> pa.RecordBatch:
        count = len(bad)
        columns = {
            "_topic": _all(self._covered.topic, count),
            "_partition": taken["partition"],
            "_offset": taken["offset"],
            "_timestamp": taken["timestamp"],
            "key": taken["key"],
            "value": taken["value"],
            "headers": taken["headers"],
            "reason": pa.array([record.reason for record in bad], pa.string()),
            "detail": pa.array([record.detail for record in bad], pa.string()),
            "fingerprint": pa.array(fingerprints, pa.string()),
            "dataset": _all(dataset or None, count),
            "owner": _all(self._team(dataset) or None, count),
        }
        arrays = [_cast(columns[field.name], field.type) for field in SCHEMA]
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _all(text: str | None, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.string()), count)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)


class StayingRows(QuarantineRows):
    """Records that were in the quarantine already, and stay there as they are."""

    def _put(
        self, taken: pa.RecordBatch, bad: list[BadRecord], fingerprints: list[str], dataset: str
    ) -> None:
        """They have a row."""


def by_number(parts: list[tuple[Offsets, Offsets]]) -> dict[int, OffsetSet]:
    """Offsets by the number that a row has in its record."""
    offsets, numbers = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(numbers, kind="stable")
    found, firsts = np.unique(numbers[order], return_index=True)
    each_offsets = np.split(offsets[order], firsts)[1:]  # nothing lies before the first
    return {
        int(number): OffsetSet.of(mine.tolist())
        for number, mine in zip(found, each_offsets, strict=True)
    }
