"""Rows on their way to files: gathered per dataset, then split by directory, many at a time.

A batch gives a dataset a few rows only when there are hundreds of datasets, and each of those a few
directories. Splitting costs the same for ten rows as for a thousand, so it waits for more.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress

import numpy as np
import pyarrow as pa

from penstock.datapath.shape.event_time.zones import Micros
from penstock.datapath.shape.route.directories import partition_directories
from penstock.datapath.shape.route.key_room import fitted, room_for_directories
from penstock.datapath.shape.route.router import members_by_name
from penstock.datapath.stage.file_parts import FilePart
from penstock.datapath.stage.open_file import SMALL_BYTES, FileTarget
from penstock.datapath.stage.open_files import OpenFiles
from penstock.datapath.stage.own_columns import row_column, with_meta_columns
from penstock.datapath.stage.record_rows import or_firsts
from penstock.datapath.stage.row_arrays import Column, Fields, Mask, Rows
from penstock.datapath.stage.shred_plan import ShredPlan, data_suffix
from penstock.evidence.position_columns import Hashes, Offsets, evidence_of, hashes_of_places
from penstock.model.fork import ROW_COLUMN
from penstock.model.schema import DatasetSchema
from penstock.model.spec import DatasetSpec, FeedSpec, PartitionKey

ENOUGH_ROWS = 32_768


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one dataset: where they come from, their columns, event times, fields by path.

    The values of a field are a list, or a column. `extras` are columns that a feed asked for.
    `rows` are the numbers of rows within their records; without, each is the first. `partitions`
    are those of the rows, where they are of several.
    """

    schema: DatasetSchema
    offsets: Offsets
    kafka_ms: Micros
    columns: pa.RecordBatch
    micros: Micros
    fields: Fields
    extras: dict[str, pa.Array] = field(default_factory=dict)
    rows: Offsets | None = None
    partitions: Offsets | None = None

    @property
    def size_bytes(self) -> int:
        """What it holds in memory, as far as that grows with the data."""
        times = self.offsets.nbytes + self.kafka_ms.nbytes + self.micros.nbytes
        return self.columns.nbytes + times + sum(each.nbytes for each in self.extras.values())

    def only(self, good: Mask) -> "Piece":
        """The rows that a mask keeps."""
        if good.all():
            return self
        mask = pa.array(good)
        return replace(
            self,
            offsets=self.offsets[good],
            kafka_ms=self.kafka_ms[good],
            columns=self.columns.filter(mask),
            micros=self.micros[good],
            fields={path: _filtered(values, good) for path, values in self.fields.items()},
            extras={name: column.filter(mask) for name, column in self.extras.items()},
            rows=None if self.rows is None else self.rows[good],
            partitions=None if self.partitions is None else self.partitions[good],
        )


def _filtered(values: Column, good: Mask) -> Column:
    if isinstance(values, pa.Array):
        return values.filter(pa.array(good))
    return list(compress(values, good))


class Splitter:
    """Gathers pieces of the ranges of a group and hands them to their files. One thread."""

    def __init__(
        self, plan: ShredPlan, topic: str, files: OpenFiles, declared: Mapping[str, DatasetSpec]
    ) -> None:
        self._plan = plan
        self._topic = topic
        self._files = files
        self._declared = declared
        self._suffix = data_suffix(plan)
        self._part: FilePart | None = None
        self._waiting: dict[str, list[tuple[int, Piece]]] = {}
        self._rows: dict[str, int] = {}
        self._bytes: dict[str, int] = {}

    def add(self, piece: Piece, partition: int, part: FilePart) -> None:
        """Take rows; split when a dataset has enough, or when all together are too large.

        What waits is of one part: rows of another one send it to its files.
        """
        if len(piece.offsets) == 0:
            return
        if part != self._part:
            self.split()
            self._part = part
        dataset = piece.schema.dataset
        self._waiting.setdefault(dataset, []).append((partition, piece))
        self._rows[dataset] = self._rows.get(dataset, 0) + len(piece.offsets)
        self._bytes[dataset] = self._bytes.get(dataset, 0) + piece.size_bytes
        if sum(self._bytes.values()) > self._plan.waiting_bytes:
            self.split()
        elif self._rows[dataset] >= ENOUGH_ROWS:
            self._split(dataset)

    def split(self) -> None:
        """Split whatever waits."""
        for dataset in sorted(self._waiting):
            self._split(dataset)

    def split_last(self) -> None:
        """Split whatever waits, when all files of the group are about to be closed.

        Then files may share memory: what waited is no more than what may wait, and goes soon.
        """
        for dataset in sorted(self._waiting):
            self._split(dataset, is_last=True)

    def forget(self) -> None:
        """Drop whatever waits: nothing of this group will be written."""
        self._waiting.clear()
        self._rows.clear()
        self._bytes.clear()

    def _split(self, dataset: str, *, is_last: bool = False) -> None:
        waiting = self._waiting.pop(dataset)
        del self._rows[dataset], self._bytes[dataset]
        keys = partition_keys(self._plan.feed, self._declared.get(dataset))
        pieces = [piece for _, piece in waiting]
        whole = _joined(pieces, [key.column for key in keys if not key.is_time])
        partitions = _partitions(waiting)
        zone = self._plan.feed.time.zone
        found = partition_directories(whole.micros, keys, zone, whole.fields)
        numbers, extras = whole.rows, whole.extras
        if self._plan.is_numbered:
            numbers = or_firsts(numbers, len(whole.offsets))
        if numbers is not None:
            extras = {**extras, ROW_COLUMN: row_column(numbers)}
        place = (self._topic, partitions)
        rows = with_meta_columns(
            self._plan, place, whole.columns, whole.offsets, whole.kafka_ms, extras
        )
        self._files.look_at(dataset, rows)
        hashes = self._hashes(waiting)
        base = f"{self._plan.order.feed}/{dataset}"
        room_bytes = room_for_directories(self._plan.longest_key_bytes, base)
        paths = [fitted(path, room_bytes) for path in found.paths]
        named = members_by_name(found.codes, paths)
        parts = [(path, _in_order(members, partitions, whole.offsets)) for path, members in named]
        cut = _slices if is_last else _copies
        cuts = cut(rows, [members for _, members in parts])
        for (path, members), (some, size) in zip(parts, cuts, strict=True):
            target = self._target(whole.schema, f"{base}/{path}" if path else base)
            first, last = int(members[0]), int(members[-1])
            span = (
                (int(partitions[first]), int(whole.offsets[first])),
                (int(partitions[last]), int(whole.offsets[last])),
            )
            self._files.add(target, some, span, evidence_of(hashes[members]), size)

    def _target(self, schema: DatasetSchema, directory: str) -> FileTarget:
        """The file for rows of a dataset in a directory, of the part that waits now."""
        if self._part is None:
            raise ValueError("rows were split before any came")
        return FileTarget(
            dataset=schema.dataset,
            schema_version=schema.version,
            directory=directory,
            name=self._part.file_name(self._plan.order, self._suffix),
            part=self._part,
            format=self._plan.format,
            compression=self._plan.feed.compression,
        )

    def _hashes(self, waiting: list[tuple[int, Piece]]) -> Hashes:
        """The hashes of all positions, in the order in which they came."""
        is_numbered = self._plan.is_numbered or any(p.rows is not None for _, p in waiting)
        return np.concatenate(
            [
                hashes_of_places(
                    self._topic,
                    _partitions([(partition, piece)]),
                    piece.offsets,
                    or_firsts(piece.rows, len(piece.offsets)) if is_numbered else None,
                )
                for partition, piece in waiting
            ]
        )


def _joined(pieces: list[Piece], paths: list[str]) -> Piece:
    """Pieces of one dataset as one, with the fields of some paths."""
    if len(pieces) == 1:
        return pieces[0]
    first = pieces[0]
    return Piece(
        first.schema,
        np.concatenate([piece.offsets for piece in pieces]),
        np.concatenate([piece.kafka_ms for piece in pieces]),
        pa.concat_batches([piece.columns for piece in pieces]),
        np.concatenate([piece.micros for piece in pieces]),
        {path: list(chain.from_iterable(_values(p, path) for p in pieces)) for path in paths},
        {n: pa.concat_arrays([piece.extras[n] for piece in pieces]) for n in first.extras},
        _numbers(pieces),
    )


def _numbers(pieces: list[Piece]) -> Offsets | None:
    """The numbers of all rows, if any piece has them."""
    if all(piece.rows is None for piece in pieces):
        return None
    return np.concatenate([or_firsts(piece.rows, len(piece.offsets)) for piece in pieces])


def _values(piece: Piece, path: str) -> Sequence[object]:
    values = piece.fields[path]
    return values.to_pylist() if isinstance(values, pa.Array) else values


def _partitions(waiting: list[tuple[int, Piece]]) -> Offsets:
    """The partition of each row."""
    return np.concatenate(
        [
            np.full(len(piece.offsets), partition) if piece.partitions is None else piece.partitions
            for partition, piece in waiting
        ]
    )


def _in_order(members: Rows, partitions: Offsets, offsets: Offsets) -> Rows:
    """Some rows by partition and offset.

    Records that had to be looked at singly came after their batch, and partitions in any order.
    """
    mine, places = offsets[members], partitions[members]
    is_later = (places[1:] > places[:-1]) | ((places[1:] == places[:-1]) & (mine[1:] >= mine[:-1]))
    return members if bool(is_later.all()) else members[np.lexsort((mine, places))]


def _copies(rows: pa.RecordBatch, parts: list[Rows]) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Some rows, each part in memory of its own, and how many bytes that is.

    A slice would keep the rows of all directories in memory until the last of them is written.
    """
    for members in parts:
        some = _taken(rows, members)
        yield some, int(some.nbytes)


def _slices(rows: pa.RecordBatch, parts: list[Rows]) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The same, in memory that all parts share: in a fifth of the time.

    Weighing a small part takes as long as its copy. So little memory is shared out by numbers of
    rows; in much of it, few large rows would pass for a file that is small enough for memory.
    """
    ordered = _taken(rows, np.concatenate(parts))
    size = int(ordered.nbytes)
    start = 0
    for members in parts:
        some = ordered.slice(start, len(members))
        share = size * len(members) // rows.num_rows
        yield some, share if size <= SMALL_BYTES else int(some.nbytes)
        start += len(members)


def _taken(rows: pa.RecordBatch, members: Rows) -> pa.RecordBatch:
    """Some rows in an order; all of them as they are without a copy."""
    is_whole = len(members) == rows.num_rows and not bool((members[1:] < members[:-1]).any())
    return rows if is_whole else rows.take(pa.array(members))


def partition_keys(feed: FeedSpec, declared: DatasetSpec | None) -> tuple[PartitionKey, ...]:
    """A dataset's own partitioning, or the feed's."""
    if declared is not None and declared.partition is not None:
        return declared.partition
    return feed.partition
