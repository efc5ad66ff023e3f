"""The positions of rows: read from a file in pieces, and as sets."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.api.file_format import VALUE, FileFormat, FileReader, FileUnreadable
from penstock.datapath.formats.arrow_errors import UNREADABLE, first_line
from penstock.evidence.position_columns import (
    Hashes,
    Offsets,
    evidence_of,
    position_hashes,
    split_by_place,
)
from penstock.model.evidence import Evidence
from penstock.model.fork import ROW_COLUMN
from penstock.model.ranges import OffsetRange

POSITION = ("_topic", "_partition", "_offset")
DATASET = "dataset"  # in quarantine files: the dataset of a record
TEXTS = ("_topic", DATASET)  # all other columns that are read here are integers

PlaceName = tuple[str, int]
Mask = npt.NDArray[np.bool_]


class NotOurs(Exception):
    """A file whose rows cannot be placed: without positions, damaged, or of another format."""


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Some rows of a file that come from one partition."""

    topic: str
    partition: int
    offsets: Offsets
    rows: Offsets | None
    datasets: tuple[str, ...] = ()

    def hashes(self) -> Hashes:
        """The hashes of the rows' positions."""
        return position_hashes(self.topic, self.partition, self.offsets, self.rows)


def open_rows(file: BinaryIO, form: FileFormat | None) -> FileReader:
    """Open a file to read positions; `form` is the format of its name.

    If the reader of the format can crash on damage, the file must be unchanged.
    """
    if form is None:
        raise NotOurs("its name does not have the ending of a file format that can be used here")
    try:
        return form.open(file, as_dictionaries=("_topic",))
    except FileUnreadable as error:
        raise NotOurs(str(error)) from error


def rows_of(opened: FileReader, *, with_dataset: bool = False) -> Iterator[PlacedRows]:
    """Every row's position, a batch at a time."""
    try:
        wanted = _columns(opened.schema, with_dataset=with_dataset)
        for batch in opened.pieces(wanted):
            yield from _placed(batch)
    except FileUnreadable as error:
        raise NotOurs(str(error)) from error
    except UNREADABLE as error:
        raise NotOurs(first_line(error)) from error


def rows_by_offset(opened: FileReader, ranges: Sequence[OffsetRange]) -> Iterator[PlacedRows]:
    """Every row's position in a file that tells offsets only: all are of the partition it covers.

    A record is one row in such a file.
    """
    places = {(each.topic, each.partition) for each in ranges}
    if len(places) != 1:
        raise NotOurs("its rows tell their offsets, and not of which partition")
    ((topic, partition),) = places
    try:
        for batch in opened.pieces(["_offset"]):
            yield PlacedRows(topic, partition, batch["_offset"].to_numpy(), None)
    except FileUnreadable as error:
        raise NotOurs(str(error)) from error


def count_of(opened: FileReader) -> int:
    """How many rows a file has that says nothing else of them."""
    try:
        return sum(batch.num_rows for batch in opened.pieces([VALUE]))
    except FileUnreadable as error:
        raise NotOurs(str(error)) from error


def _columns(schema: Any, *, with_dataset: bool) -> list[str]:
    """The columns to read. Each must exist once, with the type that Penstock writes."""
    absent = [name for name in POSITION if name not in schema.names]
    if absent:
        raise NotOurs(f"it has no column {', '.join(absent)}")
    optional = (ROW_COLUMN, DATASET) if with_dataset else (ROW_COLUMN,)
    wanted = [*POSITION, *(name for name in optional if name in schema.names)]
    for name in wanted:
        if schema.names.count(name) > 1:
            raise NotOurs(f"it has the column {name} more than once")
        kind = schema.field(name).type
        if not (_is_text(kind) if name in TEXTS else pa.types.is_integer(kind)):
            raise NotOurs(f"its column {name} is of type {kind}")
    return wanted


def _is_text(kind: Any) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain))


def _placed(batch: Any) -> Iterator[PlacedRows]:
    if any(batch[name].null_count for name in batch.schema.names if name != DATASET):
        raise NotOurs("it has rows without a position")
    offsets = batch["_offset"].to_numpy()
    rows = batch[ROW_COLUMN].to_numpy() if ROW_COLUMN in batch.schema.names else None
    for topic, partition, chosen in split_by_place(batch["_topic"], batch["_partition"]):
        yield PlacedRows(
            topic,
            partition,
            offsets[chosen],
            None if rows is None else rows[chosen],
            _datasets(batch, chosen) if DATASET in batch.schema.names else (),
        )


def _datasets(batch: Any, chosen: Any) -> tuple[str, ...]:
    column = batch[DATASET]
    if not isinstance(chosen, slice):
        column = column.take(pa.array(chosen))
    return tuple(sorted(name or "" for name in column.unique().to_pylist()))


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions as columns. Two are the same when their hashes are.

    `places` are numbers of partitions; sets that are combined must share one list of them.
    """

    hashes: Hashes
    places: npt.NDArray[np.int32]
    offsets: Offsets

    @classmethod
    def none(cls) -> "Positions":
        """An empty set."""
        return cls(np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.int64))

    @classmethod
    def joined(cls, parts: Iterable["Positions"]) -> "Positions":
        """All of them, concatenated."""
        found = [cls.none(), *parts]
        return cls(
            np.concatenate([part.hashes for part in found]),
            np.concatenate([part.places for part in found]),
            np.concatenate([part.offsets for part in found]),
        )

    def __len__(self) -> int:
        return len(self.hashes)

    def only(self, chosen: Any) -> "Positions":
        """Those that a mask or a list of indices selects."""
        return Positions(self.hashes[chosen], self.places[chosen], self.offsets[chosen])

    def once(self) -> tuple["Positions", "Positions"]:
        """Each position once, and those that occur more than once."""
        _, first, counts = np.unique(self.hashes, return_index=True, return_counts=True)
        return self.only(first), self.only(first[counts > 1])

    def among(self, others: "Positions") -> Mask:
        """A mask of those that are also in the others."""
        return np.isin(self.hashes, others.hashes)

    def without(self, others: "Positions") -> "Positions":
        """Those that are not in the others."""
        return self.only(~self.among(others))

    def both(self, others: "Positions") -> "Positions":
        """Those that are also in the others."""
        return self.only(self.among(others))

    def evidence(self) -> Evidence:
        """The evidence of one row at each position."""
        return evidence_of(self.hashes)
