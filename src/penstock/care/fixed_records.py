"""Corrected records: what was changed by a file, and their bytes in the lake for one replay.

The bytes are kept as files of the quarantine's form, so that a replay reads them like those. They
are created before the replay is decided, under the id of its window, and the entry names them with
their hashes. Files that no entry names mean nothing.
"""

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.api.file_format import WriteOptions
from penstock.api.store import Store
from penstock.care.errors import FixedRefused, LineMistake
from penstock.care.export_records import Row, waiting_rows
from penstock.care.fixed_file import FixedFile, RecordKey, record_sets
from penstock.care.quarantine_parts import quarantine_parts
from penstock.care.record_lines import Contents, contents_of
from penstock.care.replay import KeptRecords, live_files
from penstock.datapath.formats.quarantine_format import QUARANTINE_FORMAT
from penstock.datapath.stage.own_columns import TIMESTAMP
from penstock.datapath.stage.quarantine_rows import QuarantinePart
from penstock.datapath.stage.quarantine_writer import COMPRESSION, SCHEMA
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.entries import CorrectedFile, Corrections
from penstock.model.fork import ROW_COLUMN
from penstock.model.layout import Layout
from penstock.model.manifest import RecordSet
from penstock.model.ranges import OffsetRange
from penstock.ports.store.create_once import create_once
from penstock.protocol.feed_book.feed_journal import FeedFold

FILE_BYTES = 16 << 20  # of one file with corrected records, before compression
_SCHEMA = SCHEMA.append(pa.field(ROW_COLUMN, pa.int32()))


@dataclass(slots=True)
class FixedRecords:
    """The records that a file corrects, and why; `compare` finds out which these are."""

    file: FixedFile
    reason: str
    store: Store
    layout: Layout
    records: tuple[RecordSet, ...] = ()
    unchanged: list[int] = field(default_factory=list)  # numbers of lines

    @property
    def count(self) -> int:
        """How many records are changed."""
        return sum(len(each.offsets) for each in self.records)

    def compare(self, fold: FeedFold) -> None:
        """Find out which lines change their records; raises `FixedRefused`."""
        changed: list[RecordKey] = []
        met: set[RecordKey] = set()
        for part in self._parts(fold, self.file.records()):
            for key, before, after, _row in self._rows(part):
                met.add(key)
                if before == after:
                    self.unchanged.append(self.file.lines[key].number)
                else:
                    changed.append(key)
        absent = [at.number for key, at in self.file.lines.items() if key not in met]
        if absent:
            why = "its record is decided and not visible yet; try again later"
            mistakes = [LineMistake(number, why) for number in sorted(absent)]
            raise FixedRefused(self.file.path, mistakes)
        self.records = record_sets(changed)
        self.unchanged.sort()

    def keep(self, fold: FeedFold, window: str, topic_ids: frozenset[str]) -> KeptRecords:
        """Create the files with the corrected records of these topic ids, for one window.

        If that fails, what was created is removed, unless it is not known what was.
        """
        mine = tuple(each for each in self.records if each.topic_id in topic_ids)
        kept: list[CorrectedFile] = []
        files: list[tuple[str, tuple[OffsetRange, ...]]] = []
        try:
            for part in self._parts(fold, mine):
                for rows in _chunks(self._changed(part)):
                    kept.append(self._create(f"{window}-{len(kept)}", rows))
                    files.append((kept[-1].key, (part.covered,)))
        except OutcomeUnknown:
            raise
        except BaseException:
            for each in kept:
                self.store.delete(each.key)
            raise
        return KeptRecords(Corrections(self.reason, tuple(kept)), tuple(files))

    def _create(self, name: str, rows: list[Row]) -> CorrectedFile:
        data = _as_file(rows)
        key = f"{self.layout.corrections}/{name}.{QUARANTINE_FORMAT.suffixes[COMPRESSION]}"
        if create_once(self.store, key, data) is not None:
            raise StoreUnavailable("create", key, "there is another object of this name")
        return CorrectedFile(key, hashlib.sha256(data).hexdigest(), len(data), len(rows))

    def _parts(self, fold: FeedFold, records: tuple[RecordSet, ...]) -> list[QuarantinePart]:
        return quarantine_parts(records, live_files(fold))

    def _changed(self, part: QuarantinePart) -> Iterator[Row]:
        """The rows of a part with their corrected contents."""
        for _key, _before, after, row in self._rows(part):
            yield {**row, "key": after.key, "headers": after.headers, "value": after.value}

    def _rows(self, part: QuarantinePart) -> Iterator[tuple[RecordKey, Contents, Contents, Row]]:
        """The rows of a part: which record each is, and its contents before and after."""
        with self.file.open() as lines:
            for row in waiting_rows(self.store, part):
                place = (
                    row["_topic"],
                    part.covered.topic_id,
                    row["_partition"],
                    row["dataset"] or "",
                    row[ROW_COLUMN],
                )
                key = (place, row["_offset"])
                before = Contents(row["key"], row["headers"], row["value"])
                yield key, before, contents_of(self.file.read(lines, key), before), row


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Rows of about `FILE_BYTES` together."""
    some: list[Row] = []
    size = 0
    for row in rows:
        some.append(row)
        size += sum(len(row[name] or b"") for name in ("key", "headers", "value")) + 100
        if size >= FILE_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _as_file(rows: list[Row]) -> bytes:
    """Rows as a file of the quarantine."""
    arrays = [
        pa.array([row["stamp"] for row in rows], pa.int64()).view(TIMESTAMP)
        if each.name == "_timestamp"
        else pa.array([row[each.name] for row in rows], each.type)
        for each in _SCHEMA
    ]
    stream = io.BytesIO()
    writer = QUARANTINE_FORMAT.begin(stream, _SCHEMA, WriteOptions(COMPRESSION))
    writer.write(pa.Table.from_arrays(arrays, schema=_SCHEMA))
    writer.finish()
    return stream.getvalue()
