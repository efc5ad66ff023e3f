"""The rows of one record in one file of the lake. Reads the positions of all rows, in pieces."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from penstock.api.file_format import FileUnreadable
from penstock.api.store import Store
from penstock.audit.check_file import FileOrder, open_recorded
from penstock.audit.found_rows import FileRows, RowFound
from penstock.audit.positions import POSITION, NotOurs
from penstock.datapath.formats.arrow_errors import UNREADABLE, first_line
from penstock.datapath.formats.formats_by_ending import format_of_recorded_file
from penstock.model.fork import ROW_COLUMN
from penstock.model.record_position import Position

QUARANTINE_COLUMNS = ("dataset", "reason", "fingerprint")


def rows_at(
    store: Store, final: str, checksum: str, recorded_format: str, wanted: Position
) -> FileRows:
    """The rows of one record in a file that the journal lists; the feed has `recorded_format`.

    Raises the `PluginError` of a format that cannot be used here, and `StoreUnavailable`.
    """
    file = store.open_read(final)
    if file is None:
        return FileRows(problem="the file is gone")
    form = format_of_recorded_file(final, recorded_format)
    with file:
        try:
            opened = open_recorded(file, FileOrder(final=final, format=form, checksum=checksum))
            names = opened.schema.names
            absent = [name for name in POSITION if name not in names]
            if absent:
                return FileRows(problem=f"the file has no column {', '.join(absent)}")
            more = [name for name in (ROW_COLUMN, *QUARANTINE_COLUMNS) if name in names]
            return FileRows(tuple(_found(opened.pieces([*POSITION, *more]), more, wanted)))
        except (FileUnreadable, NotOurs) as error:
            return FileRows(problem=f"the file cannot be read: {error}", is_changed=True)
        except UNREADABLE as error:
            return FileRows(problem=f"the file cannot be read: {first_line(error)}")


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
