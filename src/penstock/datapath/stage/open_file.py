"""One file being written: buffered as Arrow, written in its format, staged through the store."""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.file_format import ByteStream, FileFormat, FileWriter, WriteOptions
from penstock.api.store import StagedWriter, Store
from penstock.datapath.stage.file_parts import FilePart
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.datapath.stage.spool import Place, Spool
from penstock.model.evidence import Evidence
from penstock.model.file_groups import ranges_as_words
from penstock.model.manifest import ManifestFile
from penstock.model.staged import StagedHandle

# A batch of records gives a file a few rows only. Many small arrays cost more than the rows in
# them and nobody counts it, so they are joined from time to time.
BATCHES_TO_JOIN = 16
# Files are written page by page, dozens of small pieces each.
WRITE_BYTES = 64 * 1024
# A file of no more than this is made in memory and handed to the store as one piece, which spares
# it the way of every piece through Python.
SMALL_BYTES = 1024 * 1024

POSITION = ("_partition", "_offset")  # the columns that a file is in order of
Spot = tuple[int, int]  # a partition and an offset


@dataclass(frozen=True, slots=True)
class FileTarget:
    """What a file shall be: rows of one dataset, one directory, one part of a file group."""

    dataset: str
    schema_version: int
    directory: str
    name: str
    part: FilePart
    format: FileFormat
    compression: str

    @property
    def final(self) -> str:
        """The name under which it will be published."""
        return f"{self.directory}/{self.name}"


class FileStarter:
    """Begins the files of one task attempt, and has the spool for rows that wait. One thread."""

    def __init__(self, store: Store, plan: ShredPlan, attempt: str) -> None:
        self._store = store
        self._plan = plan
        self._attempt = attempt
        self._opened = 0
        self._advice: dict[str, object] = {}
        self.spool = Spool()

    def look_at(self, dataset: str, rows: pa.RecordBatch) -> None:
        """See from a dataset's first rows how its files are best written."""
        if dataset not in self._advice:
            feed = self._plan.feed
            found = self._plan.format.advice((feed.name, dataset), rows, feed.compression)
            if found is not None:
                self._advice[dataset] = found

    def stage(self, target: FileTarget) -> StagedWriter:
        """Begin a staged file."""
        self._opened += 1
        spot = self._plan.order.spot(f"{self._attempt}-{self._opened}")
        return self._store.open_staged(target.final, spot)

    def begin(self, target: FileTarget, stream: ByteStream, schema: pa.Schema) -> FileWriter:
        """Begin a file in a stream, as is best for the rows of its dataset."""
        advice = self._advice.get(target.dataset)
        options = WriteOptions(target.compression, self._words(target), advice)
        return target.format.begin(stream, schema, options)

    def _words(self, target: FileTarget) -> dict[str, str]:
        """What a file says about itself to whoever finds it alone."""
        return {
            "penstock.feed": self._plan.order.feed,
            "penstock.window": self._plan.order.window,
            "penstock.generation": str(self._plan.order.generation),
            "penstock.ranges": ranges_as_words(target.part.ranges),
        }


class OpenFile:
    """One file to be. Its rows wait in memory, or in the spool, until they are written."""

    def __init__(self, target: FileTarget, starter: FileStarter) -> None:
        self.target = target
        self.buffered_bytes = 0
        self._starter = starter
        self._evidence = Evidence()
        self._newest = (-1, -1)
        self._is_mixed = False
        self._pieces: list[pa.RecordBatch] = []
        self._batches: list[pa.RecordBatch] = []
        self._spooled: list[tuple[int, Place]] = []  # by partition
        self._staged: StagedWriter | None = None
        self._handle: StagedHandle | None = None
        self._stream: pa.NativeFile | None = None
        self._file: FileWriter | None = None

    def add(
        self, batch: pa.RecordBatch, span: tuple[Spot, Spot], evidence: Evidence, size_bytes: int
    ) -> None:
        """Buffer rows, which are in order, with the evidence of them and the bytes they hold.

        `span` are the positions of the first and of the last row.
        """
        self._pieces.append(batch)
        self._is_mixed |= span[0] < self._newest
        self._newest = max(self._newest, span[1])
        if len(self._pieces) == BATCHES_TO_JOIN:
            self._join()
        self._evidence += evidence
        self.buffered_bytes += size_bytes

    def flush(self, *, is_all: bool = False) -> int:
        """Write what is buffered as row groups; returns how many bytes were freed.

        `is_all` when no more rows will come. Until then rows are spooled if their format wants to
        write them at once, or if rows of an earlier partition may still come.
        """
        freed, self.buffered_bytes = self.buffered_bytes, 0
        self._join()
        table = self._in_order() if self._batches else None
        self._batches = []
        settled = self._settled(is_all=is_all)
        is_small = is_all and not self._spooled
        for rows in self._final_rows(table, settled):
            self._write(rows, freed if is_small else None)
        return freed

    def _settled(self, *, is_all: bool) -> float:
        """Rows of partitions up to this one can be written."""
        if is_all:
            return math.inf
        return -1 if self.target.format.traits.is_written_at_once else self.target.part.settled

    def _in_order(self) -> pa.Table:
        """What is buffered, in order of partitions and offsets.

        Records that had to be looked at singly came after their batch, and a source hands out the
        ranges of a group in any order.
        """
        table = pa.Table.from_batches(self._batches)
        if self._is_mixed:
            table = table.sort_by([(name, "ascending") for name in POSITION])
            self._is_mixed = False
        return table

    def _final_rows(self, table: pa.Table | None, settled: float) -> Iterator[pa.Table]:
        """The rows that can be written now, in order; all others go to the spool."""
        parts = [] if table is None else list(self._by_partition(table))
        ready = [(partition, place) for partition, place in self._spooled if partition <= settled]
        if not ready and all(partition <= settled for partition, _ in parts):
            if table is not None:
                yield table
            return
        self._spooled = [each for each in self._spooled if each[0] > settled]
        for partition, rows in parts:
            if partition > settled:
                self._spooled.append((partition, self._starter.spool.put(rows)))
        fresh = [(partition, rows) for partition, rows in parts if partition <= settled]
        yield from self._merged(ready, fresh)

    def _merged(
        self, ready: list[tuple[int, Place]], fresh: list[tuple[int, pa.Table]]
    ) -> Iterator[pa.Table]:
        """Rows of the spool and fresh ones, by partition; of one partition the spool is older."""
        ready.sort(key=lambda each: each[0])
        for partition, rows in fresh:
            while ready and ready[0][0] <= partition:
                yield self._starter.spool.get(ready.pop(0)[1])
            yield rows
        for _, place in ready:
            yield self._starter.spool.get(place)

    def _by_partition(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Ordered rows by partition."""
        if len(self.target.part.ranges) == 1:
            yield self.target.part.ranges[0].partition, table
            return
        numbers = table["_partition"].to_numpy()
        starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()]
        for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
            yield int(numbers[start]), table.slice(start, end - start)

    def _write(self, table: pa.Table, size_bytes: int | None) -> None:
        if self._file is None:
            self._staged = self._starter.stage(self.target)
            self._stream = _stream_to(self._staged, size_bytes)
            self._file = self._starter.begin(self.target, self._stream, table.schema)
        self._file.write(table)

    def close(self) -> None:
        """Write the rest; the file is whole then, and not durable yet."""
        self.flush(is_all=True)
        if self._staged is None or self._file is None or self._stream is None:
            raise ValueError(f"{self.target.final} has no rows")
        self._file.finish()
        self._file = None  # closed files wait for each other, and a writer may keep its buffers
        if isinstance(self._stream, pa.BufferOutputStream):
            self._staged.write(self._stream.getvalue().to_pybytes())
        else:
            self._stream.close()

    def sync(self) -> None:
        """Let the store do what takes long before the file is durable; safe to repeat."""
        if self._staged is not None:
            self._staged.sync()

    def make_durable(self) -> None:
        """Wait for the store; safe to repeat."""
        if self._staged is not None:
            self._handle = self._staged.finish()

    def described(self) -> ManifestFile:
        """The file as the journal will know it; only when it is durable."""
        if self._handle is None:
            raise ValueError(f"{self.target.final} is not durable")
        target = self.target
        return ManifestFile(
            target.dataset,
            self._handle,
            self._evidence,
            target.part.ranges,
            target.schema_version,
            target.part.group,
        )

    def _join(self) -> None:
        if len(self._pieces) > 1:
            self._batches.append(pa.concat_batches(self._pieces))
        else:
            self._batches += self._pieces
        self._pieces = []

    def abandon(self) -> None:
        """Remove what was written of it."""
        if self._staged is not None:
            self._staged.abandon()


class _AsFile(io.RawIOBase):
    """A staged writer as Arrow wants files. Closing it is not finishing it."""

    def __init__(self, staged: StagedWriter) -> None:
        self._staged = staged

    def writable(self) -> bool:
        return True

    # Any: whatever holds bytes; before Python 3.12 no type says that.
    def write(self, data: Any) -> int:
        return self._staged.write(data)


def _stream_to(staged: StagedWriter, size_bytes: int | None) -> pa.NativeFile:
    """Where a file goes: through a buffer to the file, or to memory if all of it is small."""
    if size_bytes is not None and size_bytes <= SMALL_BYTES:
        return pa.BufferOutputStream()
    return pa.output_stream(_AsFile(staged), buffer_size=WRITE_BYTES)
