"""The rows of one record in one file of the lake. Reads the positions of all rows, in pieces."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from penstock.api.file_format import FileUnreadable
from penstock.api.store import Store
from penstock.audit.check_file import (
    FileOrder,
    checksum_of,
    open_recorded,
    tells_count_alone,
)
from penstock.audit.found_rows import FileRows, RowFound
from penstock.audit.positions import POSITION, NotOurs, PlacedRows, rows_by_offset
from penstock.datapath.formats.arrow_errors import UNREADABLE, first_line
from penstock.datapath.formats.formats_by_ending import format_of_recorded_file
from penstock.evidence.position_columns import set_evidence
from penstock.model.fork import ROW_COLUMN
from penstock.model.manifest import ManifestFile
from penstock.model.ranges import OffsetSet
from penstock.model.record_position import Position

QUARANTINE_COLUMNS = ("dataset", "reason", "fingerprint")


def rows_at(
    store: Store,
    file: ManifestFile,
    recorded_format: str,
    wanted: Position,
    among: OffsetSet,
) -> FileRows:
    """The rows of one record in a file that the journal lists; the feed has `recorded_format`.

    `among` are the offsets of all rows that were written together with it; they are needed where
    rows do not say which records they are. Raises the `PluginError` of a format that cannot be used
    here, and `StoreUnavailable`.
    """
    final, checksum = file.handle.final, file.handle.checksum
    opened = store.open_read(final)
    if opened is None:
        return FileRows(problem="the file is gone")
    order = FileOrder(
        final=final,
        format=format_of_recorded_file(final, recorded_format),
        checksum=checksum,
        evidence=file.evidence,
        ranges=file.ranges,
    )
    with opened:
        try:
            return _rows_in(opened, order, wanted, among)
        except (FileUnreadable, NotOurs) as error:
            return FileRows(problem=f"the file cannot be read: {error}", is_changed=True)
        except UNREADABLE as error:
            return FileRows(problem=f"the file cannot be read: {first_line(error)}")


def _rows_in(file: BinaryIO, order: FileOrder, wanted: Position, among: OffsetSet) -> FileRows:
    if tells_count_alone(order):
        return _row_by_count(file, order, wanted, among)
    opened = open_recorded(file, order)
    names = opened.schema.names
    if order.format is not None and not order.format.traits.has_positions:
        return FileRows(tuple(_found_by_offset(rows_by_offset(opened, order.ranges), wanted)))
    absent = [name for name in POSITION if name not in names]
    if absent:
        return FileRows(problem=f"the file has no column {', '.join(absent)}")
    more = [name for name in (ROW_COLUMN, *QUARANTINE_COLUMNS) if name in names]
    return FileRows(tuple(_found(opened.pieces([*POSITION, *more]), more, wanted)))


def _found_by_offset(rows: Iterator[PlacedRows], wanted: Position) -> Iterator[RowFound]:
    before = 0
    for each in rows:
        if (each.topic, each.partition) == (wanted.topic, wanted.partition):
            for at in np.flatnonzero(each.offsets == wanted.offset).tolist():
                yield RowFound(before + at)
        before += len(each.offsets)


def _row_by_count(file: BinaryIO, order: FileOrder, wanted: Position, among: OffsetSet) -> FileRows:
    """The row of a record where row n is the nth record that was written.

    Offsets whose evidence is that of the file are those of its rows.
    """
    if checksum_of(file)[1] != order.checksum:
        return FileRows(problem="the file was changed, and nothing else proves its rows",
                        is_changed=True)  # fmt: skip
    covered = OffsetSet.from_runs((each.start, each.end) for each in order.ranges)
    possible = among & covered
    place = _place_of(possible, wanted)
    if place is None:
        return FileRows()
    is_all = set_evidence(wanted.topic, wanted.partition, possible) == order.evidence
    return FileRows((RowFound(place),)) if is_all else FileRows(is_untold=True)


def _place_of(offsets: OffsetSet, wanted: Position) -> int | None:
    """How many offsets of a set come before the wanted one; None if it is not there."""
    before = 0
    for start, end in offsets.runs:
        if start <= wanted.offset < end:
            return before + wanted.offset - start
        before += end - start
    return None


def _found(
    pieces: Iterator[pa.RecordBatch], more: Sequence[str], wanted: Position
) -> Iterator[RowFound]:
    before = 0
    for batch in pieces:
        offsets = batch["_offset"].to_numpy(zero_copy_only=False)
        for at in np.flatnonzero(offsets == wanted.offset).tolist():
            place = batch["_topic"][at].as_py(), batch["_partition"][at].as_py()
            if place == (wanted.topic, wanted.partition):
                values = {name: batch[name][at].as_py() for name in more}
                yield RowFound(
                    before + at,
                    values.get(ROW_COLUMN) or 0,
                    *(str(values.get(name) or "") for name in QUARANTINE_COLUMNS),
                )
        before += batch.num_rows
