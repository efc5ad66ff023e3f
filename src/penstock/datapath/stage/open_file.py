"""One file being written: buffered as Arrow, written in its format, staged through the store."""

import io
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.file_format import ByteStream, FileFormat, FileWriter, WriteOptions
from penstock.api.store import StagedWriter, Store
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.datapath.stage.spool import Place, Spool
from penstock.evidence.position_columns import Offsets
from penstock.model.evidence import Evidence
from penstock.model.manifest import ManifestFile
from penstock.model.ranges import OffsetRange
from penstock.model.staged import StagedHandle

# A batch of records gives a file a few rows only. Many small arrays cost more than the rows in
# them and nobody counts it, so they are joined from time to time.
BATCHES_TO_JOIN = 16
# Files are written page by page, dozens of small pieces each.
WRITE_BYTES = 64 * 1024
# A file of no more than this is made in memory and handed to the store as one piece, which spares
# it the way of every piece through Python.
SMALL_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileTarget:
    """What a file shall be: rows of one dataset, one directory, one Kafka partition."""

    dataset: str
    schema_version: int
    directory: str
    name: str
    covered: OffsetRange
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
        covered = target.covered
        return {
            "penstock.feed": self._plan.order.feed,
            "penstock.window": self._plan.order.window,
            "penstock.generation": str(self._plan.order.generation),
            "penstock.ranges": f"{covered.topic}/{covered.partition}:{covered.start}-{covered.end}",
        }


class OpenFile:
    """One file to be. Its rows wait in memory, or in the spool, until they are written."""

    def __init__(self, target: FileTarget, starter: FileStarter) -> None:
        self.target = target
        self.buffered_bytes = 0
        self._starter = starter
        self._evidence = Evidence()
        self._newest = -1
        self._is_mixed = False
        self._pieces: list[pa.RecordBatch] = []
        self._batches: list[pa.RecordBatch] = []
        self._spooled: list[Place] = []
        self._staged: StagedWriter | None = None
        self._handle: StagedHandle | None = None
        self._stream: pa.NativeFile | None = None
        self._file: FileWriter | None = None

    def add(
        self, batch: pa.RecordBatch, offsets: Offsets, evidence: Evidence, size_bytes: int
    ) -> None:
        """Buffer rows, with the evidence of them and the bytes that they hold."""
        self._pieces.append(batch)
        if len(offsets):
            self._is_mixed |= int(offsets[0]) < self._newest
            self._newest = max(self._newest, int(offsets[-1]))
        if len(self._pieces) == BATCHES_TO_JOIN:
            self._join()
        self._evidence += evidence
        self.buffered_bytes += size_bytes

    def flush(self, *, is_all: bool = False) -> int:
        """Write what is buffered as row groups; returns how many bytes were freed.

        `is_all` when no more rows will come. Until then rows are spooled if their format wants to
        write them at once.
        """
        freed, self.buffered_bytes = self.buffered_bytes, 0
        self._join()
        if self._batches:
            table = pa.Table.from_batches(self._batches)
            self._batches = []
            if self._is_mixed:  # records that had to be looked at singly came after their batch
                table = table.take(pc.sort_indices(table["_offset"]))
                self._is_mixed = False
            if self.target.format.traits.is_written_at_once and not is_all:
                self._spooled.append(self._starter.spool.put(table))
            else:
                self._write(table, freed if is_all else None)
        return freed

    def _write(self, table: pa.Table, size_bytes: int | None) -> None:
        if self._file is None:
            self._staged = self._starter.stage(self.target)
            self._stream = _stream_to(self._staged, size_bytes)
            self._file = self._starter.begin(self.target, self._stream, table.schema)
        self._file.write(table)

    def close(self) -> None:
        """Write the rest; the file is whole then, and not durable yet."""
        for place in self._spooled:
            self._write(self._starter.spool.get(place), None)
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
            (target.covered,),
            target.schema_version,
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
