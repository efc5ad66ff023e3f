"""The positions of rows: read from a file in pieces, and as sets to reckon with."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from penstock.errors import StoreUnavailable
from penstock.evidence.position_columns import (
    Hashes,
    Offsets,
    evidence_of,
    position_hashes,
    split_by_place,
)
from penstock.model.evidence import Evidence
from penstock.model.fork import ROW_COLUMN

BATCH_ROWS = 65_536
BUFFER_BYTES = 1 << 20
ORC = ".orc"
POSITION = ("_topic", "_partition", "_offset")
DATASET = "dataset"  # in quarantine files: the dataset that a record was meant for
TEXTS = ("_topic", DATASET)  # all other columns that are read here are whole numbers
# What reading a file that somebody else wrote may raise: damaged bytes give the first three, and
# columns that are put together in an odd way the others.
UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError)

PlaceName = tuple[str, int]
Mask = npt.NDArray[np.bool_]


class NotOurs(Exception):
    """A file without positions as we write them, or of another format than its name tells."""


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Some rows of a file that come from one partition."""

    topic: str
    partition: int
    offsets: Offsets
    rows: Offsets | None
    datasets: tuple[str, ...] = ()

    def hashes(self) -> Hashes:
        """The hashes of their positions."""
        return position_hashes(self.topic, self.partition, self.offsets, self.rows)


class ParquetRows:
    """A Parquet file with its footer read; pages are read as they are asked for."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = pq.ParquetFile(file, read_dictionary=["_topic"], buffer_size=BUFFER_BYTES)
        self.schema = self._file.schema_arrow
        self.footer: dict[bytes, bytes] = self._file.metadata.metadata or {}

    def batches(self, columns: list[str]) -> Iterator[Any]:
        """The rows, a few at a time, whatever the size of the row groups."""
        yield from self._file.iter_batches(BATCH_ROWS, columns=columns, use_threads=False)


class _Remembering:
    """A file that keeps why the store did not read it: Arrow's reader of ORC only hands on words.

    Without, a store that does not answer would be told as a damaged file.
    """

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._trouble: StoreUnavailable | None = None
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        try:
            return self._file.read(size)
        except StoreUnavailable as error:
            self._trouble = error
            raise

    @contextmanager
    def in_its_words(self) -> Iterator[None]:
        """Around reads by others: what the store has said is raised as it was said."""
        try:
            yield
        except UNREADABLE:
            if self._trouble is not None:
                raise self._trouble from None
            raise


class OrcRows:
    """An ORC file with its footer read; rows are read as they are asked for."""

    def __init__(self, file: BinaryIO) -> None:
        self._source = _Remembering(file)
        with self._source.in_its_words():
            self.schema = orc.ORCFile(self._source).schema
        self.footer: dict[bytes, bytes] = self.schema.metadata or {}

    def batches(self, columns: list[str]) -> Iterator[Any]:
        """The rows, a few at a time, whatever the size of the stripes."""
        dataset = import_module("pyarrow.dataset")  # not for every command: it takes pandas along
        found = dataset.OrcFileFormat().make_fragment(self._source)
        with self._source.in_its_words():
            yield from found.to_batches(
                columns=columns, batch_size=BATCH_ROWS, batch_readahead=1, use_threads=False
            )


RowsFile = ParquetRows | OrcRows


def open_rows(file: BinaryIO, name: str) -> RowsFile:
    """A file to read positions from, in the format that its name tells.

    An ORC file must be one of ours, byte by byte: Arrow's reader does not survive all others.
    """
    try:
        return OrcRows(file) if name.endswith(ORC) else ParquetRows(file)
    except KeyError as error:  # a list or a struct of that name has columns of other names
        raise NotOurs("its column _topic is nested") from error
    except UNREADABLE as error:
        raise NotOurs(first_words(error)) from error


def rows_of(opened: RowsFile, *, with_dataset: bool = False) -> Iterator[PlacedRows]:
    """Every row's position, a batch at a time."""
    try:
        wanted = _columns(opened.schema, with_dataset=with_dataset)
        for batch in opened.batches(wanted):
            yield from _placed(batch)
    except UNREADABLE as error:
        raise NotOurs(first_words(error)) from error


def _columns(schema: Any, *, with_dataset: bool) -> list[str]:
    """The columns to read: there once, and of the types that the writer gives them."""
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


def first_words(error: Exception) -> str:
    """What an error says, in a line of bearable length."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200].rstrip(".")


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions as columns. Two are the same when their hashes are.

    `places` are numbers of partitions; who makes several of these keeps one list for all.
    """

    hashes: Hashes
    places: npt.NDArray[np.int32]
    offsets: Offsets

    @classmethod
    def none(cls) -> "Positions":
        """No position at all."""
        return cls(np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.int64))

    @classmethod
    def joined(cls, parts: Iterable["Positions"]) -> "Positions":
        """All of them, one behind the other."""
        found = [cls.none(), *parts]
        return cls(
            np.concatenate([part.hashes for part in found]),
            np.concatenate([part.places for part in found]),
            np.concatenate([part.offsets for part in found]),
        )

    def __len__(self) -> int:
        return len(self.hashes)

    def only(self, chosen: Any) -> "Positions":
        """Those that a mask, or a list of numbers, chooses."""
        return Positions(self.hashes[chosen], self.places[chosen], self.offsets[chosen])

    def once(self) -> tuple["Positions", "Positions"]:
        """Each of them once; and each of those that are there more than once."""
        _, first, counts = np.unique(self.hashes, return_index=True, return_counts=True)
        return self.only(first), self.only(first[counts > 1])

    def among(self, others: "Positions") -> Mask:
        """A mask of those that are also among the others."""
        return np.isin(self.hashes, others.hashes)

    def without(self, others: "Positions") -> "Positions":
        """Those that are not among the others."""
        return self.only(~self.among(others))

    def both(self, others: "Positions") -> "Positions":
        """Those that are among the others too."""
        return self.only(self.among(others))

    def evidence(self) -> Evidence:
        """The evidence of a row at each."""
        return evidence_of(self.hashes)
