"""Output files: buffered as Arrow, written as row groups, staged through the store."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.model.manifest import ManifestFile
from penstock.model.ranges import OffsetRange
from penstock.store.protocol import StagedWriter, Store
from penstock.writer.dictionaries import repeating_columns
from penstock.writer.plan import ShredPlan
from penstock.writer.tally import Offsets, Tally

ROW_GROUP_ROWS = 200_000
# A batch of records gives a file a few rows only. Many small arrays cost more than the rows in
# them and nobody counts it, so they are joined from time to time.
PIECES = 16
# Parquet writes page by page, dozens of small pieces per file.
WRITE_BYTES = 64 * 1024


class _AsFile(io.RawIOBase):
    """A staged writer as Arrow wants files. Closing it is not finishing it."""

    def __init__(self, staged: StagedWriter) -> None:
        self._staged = staged

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._staged.write(data)


class Output:
    """One file to be: rows of one dataset, one directory, one Kafka partition."""

    def __init__(self, dataset: str, schema_version: int, final: str, covered: OffsetRange) -> None:
        self.dataset = dataset
        self.final = final
        self.covered = covered
        self.buffered_bytes = 0
        self._schema_version = schema_version
        self._tally = Tally(covered.topic, covered.partition)
        self._newest = -1
        self._is_mixed = False
        self._pieces: list[Any] = []
        self._batches: list[Any] = []
        self._staged: StagedWriter | None = None
        self._stream: Any = None
        self._parquet: Any = None

    def add(self, batch: Any, offsets: Offsets) -> int:
        """Buffer rows; returns how many bytes they hold."""
        size = int(batch.nbytes)
        self._pieces.append(batch)
        if len(offsets):
            self._is_mixed |= int(offsets[0]) < self._newest
            self._newest = max(self._newest, int(offsets[-1]))
        if len(self._pieces) == PIECES:
            self._join()
        self._tally.add(offsets)
        self.buffered_bytes += size
        return size

    def flush(self, sink: "Sink") -> int:
        """Write what is buffered as row groups; returns how many bytes were freed."""
        freed, self.buffered_bytes = self.buffered_bytes, 0
        self._join()
        if self._batches:
            table = pa.Table.from_batches(self._batches)
            self._batches = []
            if self._is_mixed:  # records that had to be looked at singly came after their batch
                table = table.take(pc.sort_indices(table["_offset"]))
                self._is_mixed = False
            if self._parquet is None:
                self._staged = sink.open(self)
                self._stream = pa.output_stream(_AsFile(self._staged), buffer_size=WRITE_BYTES)
                self._parquet = sink.parquet(self, self._stream, table)
            self._parquet.write_table(table, row_group_size=ROW_GROUP_ROWS)
        return freed

    def finish(self, sink: "Sink") -> ManifestFile:
        """Close the file, make it durable, and describe it."""
        self.flush(sink)
        if self._staged is None:
            raise ValueError(f"{self.final} has no rows")
        self._parquet.add_key_value_metadata(sink.footer(self))
        self._parquet.close()
        self._stream.close()
        handle = self._staged.finish()
        total = self._tally.total()
        return ManifestFile(self.dataset, handle, total, (self.covered,), self._schema_version)

    def _join(self) -> None:
        if self._pieces:
            self._batches.append(pa.concat_batches(self._pieces))
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
        self._outputs: dict[tuple[str, str, OffsetRange], Output] = {}
        self._buffered_bytes = 0
        self._opened = 0
        self._repeating: dict[str, list[str] | bool] = {}

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

    def add(self, output: Output, batch: Any, offsets: Offsets) -> None:
        """Buffer rows, and write the largest buffers when all together are too large."""
        self._buffered_bytes += output.add(batch, offsets)
        if self._buffered_bytes > self._plan.buffer_bytes:
            self._make_room()

    def finish_range(self, covered: OffsetRange) -> list[ManifestFile]:
        """Close the files of one range."""
        done = [key for key in self._outputs if key[2] == covered]
        files = []
        for key in sorted(done):
            output = self._outputs.pop(key)
            self._buffered_bytes -= output.buffered_bytes
            files.append(output.finish(self))
        return files

    def abandon(self) -> None:
        """Remove everything that was begun."""
        for output in self._outputs.values():
            output.abandon()
        self._outputs.clear()

    def open(self, output: Output) -> StagedWriter:
        """Begin a staged file."""
        self._opened += 1
        spot = self._plan.order.spot(f"{self._attempt}-{self._opened}")
        return self._store.open_staged(output.final, spot)

    def parquet(self, output: Output, stream: Any, first: Any) -> Any:
        """Begin Parquet in a stream; a dataset's first rows say how it is best written."""
        compression = self._plan.feed.compression
        known = self._repeating.get(output.dataset)
        if known is None or known is True:  # True: there were too few rows to tell
            known = self._repeating[output.dataset] = repeating_columns(first)
        return pq.ParquetWriter(
            stream,
            first.schema,
            compression=None if compression == "none" else compression,
            use_dictionary=known,
            store_schema=False,
        )

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
            if self._buffered_bytes <= self._plan.buffer_bytes // 2:
                return
            self._buffered_bytes -= output.flush(self)


def _by_size(output: Output) -> int:
    return -output.buffered_bytes
