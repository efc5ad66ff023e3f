"""Output files: buffered as Arrow, written as row groups, staged through the store."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.api.store import StagedWriter, Store
from penstock.datapath.formats.orc.orc_writer import OrcFile
from penstock.datapath.formats.parquet.column_encodings import Ways, usual_ways
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.datapath.stage.spool import Place, Spool
from penstock.evidence.position_columns import Offsets
from penstock.model.evidence import Evidence
from penstock.model.manifest import QUARANTINE, ManifestFile
from penstock.model.ranges import OffsetRange
from penstock.model.staged import StagedHandle
from penstock.runtime.surroundings import Beside

ROW_GROUP_ROWS = 200_000
# A batch of records gives a file a few rows only. Many small arrays cost more than the rows in
# them and nobody counts it, so they are joined from time to time.
PIECES = 16
# Files wait for the disk together; each of them holds a descriptor until it is durable.
OPEN_FILES = 128
# Files are written page by page, dozens of small pieces each.
WRITE_BYTES = 64 * 1024
# A file of no more than this is made in memory and handed to the store as one piece, which spares
# it the way of every piece through Python.
SMALL_BYTES = 1024 * 1024


class _AsFile(io.RawIOBase):
    """A staged writer as Arrow wants files. Closing it is not finishing it."""

    def __init__(self, staged: StagedWriter) -> None:
        self._staged = staged

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._staged.write(data)


def _stream_to(staged: StagedWriter, size_bytes: int | None) -> Any:
    """Where a file goes: through a buffer to the file, or to memory if all of it is small."""
    if size_bytes is not None and size_bytes <= SMALL_BYTES:
        return pa.BufferOutputStream()
    return pa.output_stream(_AsFile(staged), buffer_size=WRITE_BYTES)


class Output:
    """One file to be: rows of one dataset, one directory, one Kafka partition."""

    def __init__(self, dataset: str, schema_version: int, final: str, covered: OffsetRange) -> None:
        self.dataset = dataset
        self.final = final
        self.covered = covered
        self.buffered_bytes = 0
        self._schema_version = schema_version
        self._evidence = Evidence()
        self._newest = -1
        self._is_mixed = False
        self._pieces: list[Any] = []
        self._batches: list[Any] = []
        self._spooled: list[Place] = []
        self._staged: StagedWriter | None = None
        self._handle: StagedHandle | None = None
        self._stream: Any = None
        self._file: Any = None

    def add(self, batch: Any, offsets: Offsets, evidence: Evidence, size_bytes: int) -> None:
        """Buffer rows, with the evidence of them and the bytes that they hold."""
        self._pieces.append(batch)
        if len(offsets):
            self._is_mixed |= int(offsets[0]) < self._newest
            self._newest = max(self._newest, int(offsets[-1]))
        if len(self._pieces) == PIECES:
            self._join()
        self._evidence += evidence
        self.buffered_bytes += size_bytes

    def flush(self, sink: "Sink", *, is_all: bool = False) -> int:
        """Write what is buffered as row groups; returns how many bytes were freed.

        `is_all` when no more rows will come. Until then those of an ORC file are spooled.
        """
        freed, self.buffered_bytes = self.buffered_bytes, 0
        self._join()
        if self._batches:
            table = pa.Table.from_batches(self._batches)
            self._batches = []
            if self._is_mixed:  # records that had to be looked at singly came after their batch
                table = table.take(pc.sort_indices(table["_offset"]))
                self._is_mixed = False
            if sink.is_orc(self) and not is_all:
                self._spooled.append(sink.spool.put(table))
            else:
                self._write(sink, table, freed if is_all else None)
        return freed

    def _write(self, sink: "Sink", table: Any, size_bytes: int | None) -> None:
        if self._file is None:
            self._staged = sink.open(self)
            self._stream = _stream_to(self._staged, size_bytes)
            self._file = sink.begin(self, self._stream, table)
        self._file.write_table(table, row_group_size=ROW_GROUP_ROWS)

    def close(self, sink: "Sink") -> None:
        """Write the rest; the file is whole then, and not durable yet."""
        for place in self._spooled:
            self._write(sink, sink.spool.get(place), None)
        self.flush(sink, is_all=True)
        if self._staged is None:
            raise ValueError(f"{self.final} has no rows")
        self._file.add_key_value_metadata(sink.footer(self))
        self._file.close()
        self._file = None  # closed files wait for each other, and one of ORC keeps its buffers
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
            raise ValueError(f"{self.final} is not durable")
        return ManifestFile(
            self.dataset, self._handle, self._evidence, (self.covered,), self._schema_version
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


class Sink:
    """The open files of a task, within one budget of bytes whatever their number."""

    def __init__(self, store: Store, plan: ShredPlan, attempt: str) -> None:
        self._store = store
        self._plan = plan
        self._attempt = attempt
        self._limit_bytes = plan.buffer_bytes - plan.waiting_bytes
        self._outputs: dict[tuple[str, str, OffsetRange], Output] = {}
        self._buffered_bytes = 0
        self._opened = 0
        self._ways: dict[str, Ways] = {}
        self.spool = Spool()

    def output(
        self, dataset: str, version: int, directory: str, covered: OffsetRange, name: str
    ) -> Output:
        """The output for these rows; made when first asked for."""
        key = (dataset, directory, covered)
        found = self._outputs.get(key)
        if found is None:
            found = Output(dataset, version, f"{directory}/{name}", covered)
            self._outputs[key] = found
        return found

    def add(
        self, output: Output, batch: Any, offsets: Offsets, evidence: Evidence, size_bytes: int
    ) -> None:
        """Buffer rows, and write the largest buffers when all together are too large."""
        output.add(batch, offsets, evidence, size_bytes)
        self._buffered_bytes += size_bytes
        if self._buffered_bytes > self._limit_bytes:
            self._make_room()

    def finish_range(self, covered: OffsetRange) -> list[ManifestFile]:
        """Close the files of one range, and wait until the store has all of them for good."""
        outputs = [self._outputs[key] for key in sorted(self._outputs) if key[2] == covered]
        with Beside() as beside:
            for start in range(0, len(outputs), OPEN_FILES // 2):
                some = outputs[start : start + OPEN_FILES // 2]
                for output in some:
                    self._buffered_bytes -= output.buffered_bytes
                    output.close(self)
                beside.do([output.sync for output in some])
        # Only now, so that a store can make the names of all of them durable at once.
        for output in outputs:
            output.make_durable()
        self._outputs = {key: each for key, each in self._outputs.items() if key[2] != covered}
        if not self._outputs:
            self.spool.clear()
        return [output.described() for output in outputs]

    def abandon(self) -> None:
        """Remove everything that was begun."""
        for output in self._outputs.values():
            output.abandon()
        self._outputs.clear()
        self.spool.clear()

    def open(self, output: Output) -> StagedWriter:
        """Begin a staged file."""
        self._opened += 1
        spot = self._plan.order.spot(f"{self._attempt}-{self._opened}")
        return self._store.open_staged(output.final, spot)

    def is_orc(self, output: Output) -> bool:
        """True for a file of ORC, which holds up to a megabyte a column from its first row on.

        So it is begun when all of its rows are there, and one at a time.
        """
        return output.dataset != QUARANTINE and self._plan.feed.format == "orc"

    def begin(self, output: Output, stream: Any, first: Any) -> Any:
        """Begin a file in a stream, as is best for the rows of its dataset."""
        if self.is_orc(output):
            return OrcFile(stream, self._plan.feed.compression)
        ways = self._ways.get(output.dataset) or Ways(True, self._plan.feed.compression, True)
        return pq.ParquetWriter(
            stream,
            first.schema,
            compression=ways.compression,
            use_dictionary=ways.use_dictionary,
            write_statistics=ways.write_statistics,
            column_encoding=ways.encodings or None,
            store_schema=False,
        )

    def look_at(self, dataset: str, rows: Any) -> None:
        """See from a dataset's first rows how its files are best written."""
        if dataset not in self._ways:
            feed = self._plan.feed
            found = usual_ways(feed.name, dataset, rows, feed.compression)
            if found is not None:
                self._ways[dataset] = found

    def footer(self, output: Output) -> dict[str, str]:
        """What a file says about itself to whoever finds it alone."""
        covered = output.covered
        return {
            "penstock.feed": self._plan.order.feed,
            "penstock.window": self._plan.order.window,
            "penstock.generation": str(self._plan.order.generation),
            "penstock.ranges": f"{covered.topic}/{covered.partition}:{covered.start}-{covered.end}",
        }

    def _make_room(self) -> None:
        """Write the largest buffers until half of the budget is free."""
        for output in sorted(self._outputs.values(), key=_by_size):
            if self._buffered_bytes <= self._limit_bytes // 2:
                return
            self._buffered_bytes -= output.flush(self)


def _by_size(output: Output) -> int:
    return -output.buffered_bytes
