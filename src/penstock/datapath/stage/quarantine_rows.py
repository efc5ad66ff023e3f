"""The wanted rows of the quarantine's files, piece by piece: for replays, exports, corrections."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.file_format import FileUnreadable
from penstock.api.store import Store
from penstock.datapath.formats.quarantine_format import QUARANTINE_FORMAT
from penstock.datapath.stage.record_rows import or_firsts
from penstock.datapath.stage.row_arrays import Mask, Rows
from penstock.errors import StoreUnavailable
from penstock.evidence.position_columns import Offsets
from penstock.model.fork import ROW_COLUMN
from penstock.model.manifest import RecordSet
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.value import Value

Wanted = dict[tuple[str, int], OffsetSet]  # by dataset and number of the row


class QuarantinePart(Value, frozen=True):
    """The wanted records of one Kafka partition, and the files that hold them.

    With a `fingerprint` only those that are broken in that way.
    """

    covered: OffsetRange
    files: tuple[str, ...]
    wanted: tuple[RecordSet, ...]
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class WantedPiece:
    """Some rows of a file: which are wanted, their offsets, their numbers and their datasets.

    The dataset of a row is that with its code.
    """

    batch: pa.RecordBatch
    wanted: Mask
    offsets: Offsets
    numbers: Rows
    datasets: list[str]
    codes: npt.NDArray[np.int32]


def wanted_pieces(
    store: Store, part: QuarantinePart, columns: Sequence[str]
) -> Iterator[WantedPiece]:
    """The rows of all files of a part; `columns` are at least those that choose them."""
    wanted = {(each.dataset, each.row): each.offsets for each in part.wanted}
    for final in part.files:
        source = store.open_read(final)
        if source is None:
            raise StoreUnavailable("read", final, "this file of the quarantine is gone")
        with source:
            try:
                file = QUARANTINE_FORMAT.open(source)
                for batch in file.pieces([*columns, *({ROW_COLUMN} & set(file.schema.names))]):
                    yield _piece(batch, wanted, part)
            except FileUnreadable as error:
                raise StoreUnavailable("read", final, f"it is damaged: {error}") from error


def _piece(batch: pa.RecordBatch, wanted: Wanted, part: QuarantinePart) -> WantedPiece:
    offsets = batch["_offset"].to_numpy()
    names = batch["dataset"].fill_null("").dictionary_encode()
    datasets, codes = names.dictionary.to_pylist(), names.indices.to_numpy()
    has_rows = ROW_COLUMN in batch.schema.names
    numbers = or_firsts(batch[ROW_COLUMN].to_numpy() if has_rows else None, len(offsets))
    chosen = np.zeros(len(offsets), dtype=bool)
    here = batch["_partition"].to_numpy() == part.covered.partition
    for rows in _alike(codes, numbers):
        live = wanted.get((datasets[codes[rows[0]]], int(numbers[rows[0]])), OffsetSet())
        chosen[rows] = within(offsets[rows], live)
    chosen &= here  # a file may hold records of several partitions
    if part.fingerprint:
        chosen &= _equal(batch["fingerprint"], part.fingerprint)
    return WantedPiece(batch, chosen, offsets, numbers, datasets, codes)


def _alike(codes: npt.NDArray[np.int32], numbers: Rows) -> list[Rows]:
    """The rows of each dataset that have one number. There may be as many as an array is long."""
    order = np.lexsort((numbers, codes))
    is_new = (np.diff(codes[order]) != 0) | (np.diff(numbers[order]) != 0)
    return np.split(order, np.flatnonzero(is_new) + 1) if len(order) else []


def _equal(texts: pa.Array, text: str) -> Mask:
    found: Mask = pc.equal(texts, text).to_numpy(zero_copy_only=False)
    return found


def within(offsets: Offsets, chosen: OffsetSet) -> Mask:
    """A mask of the offsets that are in a set."""
    if not chosen.runs:
        return np.zeros(len(offsets), dtype=bool)
    starts, ends = (np.array(each, np.int64) for each in zip(*chosen.runs, strict=True))
    run = np.searchsorted(starts, offsets, side="right") - 1
    return (run >= 0) & (offsets < ends[np.maximum(run, 0)])
