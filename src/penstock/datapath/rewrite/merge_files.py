"""Many files of one directory become one: what a task does. Runs on executors.

    fetch    each input is copied to the task's own disk; its bytes must have the recorded checksum
    merge    rows get the columns of the newest input, and are sorted by their positions
    write    one file, on the task's own disk
    prove    the written file is read back: evidence, order, and the sum of all values
    stage    the bytes that were read back are handed to the store, and nothing is visible yet

The sum of the outputs is taken of the written file, because only that proves what readers will get:
a sum over what goes into the writer would say nothing of the writer. That of the inputs is taken of
their rows as they were read, before anything is done with them. And the store's checksum of what it
has staged, which the journal records, must be that of the bytes that were read back.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import cast

import pyarrow as pa

from penstock.api.file_format import (
    PIECE_BYTES,
    ByteStream,
    FileFormat,
    FileReader,
    FileUnreadable,
    FileWriter,
    TypelessFileFormat,
    WriteOptions,
)
from penstock.api.store import Store
from penstock.datapath.formats.arrow_errors import UNREADABLE, first_line
from penstock.datapath.rewrite.common_columns import NotCommon, common_schema, with_columns_of
from penstock.datapath.rewrite.errors import InputChanged, RewriteRefused, RowsDiffer
from penstock.datapath.rewrite.own_disk import OwnFile, Part
from penstock.datapath.rewrite.sorted_rows import SortedRows, keys_of
from penstock.datapath.stage.task import suit_worker
from penstock.evidence.position_columns import positions, split_by_place
from penstock.evidence.value_columns import MASK, Unhashable, value_sum
from penstock.model.evidence import Evidence
from penstock.model.fork import ROW_COLUMN
from penstock.model.manifest import ManifestFile
from penstock.model.ranges import OffsetRange
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.model.value import Value

GROUP_BYTES = 64 << 20  # of rows in memory that become a row group or a stripe at least


class MergeOrder(Value, frozen=True, kw_only=True):
    """One file to be made. `inputs` are as the journal records them, the newest schema first.

    `words` are the ranges as the file's footer has them.
    """

    feed: str
    window: str
    staging: str
    generation: int
    dataset: str
    final: str
    inputs: tuple[ManifestFile, ...]
    ranges: tuple[OffsetRange, ...]
    words: str
    format: FileFormat
    compression: str

    @property
    def evidence(self) -> Evidence:
        """Of all rows of the inputs, as the journal records it."""
        return Evidence.total(each.evidence for each in self.inputs)

    @property
    def directory(self) -> str:
        """Where the inputs lie, and where the file will."""
        return self.final.rpartition("/")[0]

    @property
    def size_bytes(self) -> int:
        """Of all inputs."""
        return sum(each.handle.size_bytes for each in self.inputs)


class MergedFile(Value, frozen=True):
    """One file that was made, the sum of all values of its rows, and that of its inputs."""

    file: ManifestFile
    value_sum: int
    input_sum: int


@dataclass(slots=True)
class _Sums:
    """What is counted of rows, wherever they are."""

    evidence: Evidence = field(default_factory=Evidence)
    values: int = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Count some rows."""
        self.values = (self.values + value_sum(rows)) & MASK
        offsets = rows["_offset"].to_numpy()
        numbers = rows[ROW_COLUMN].to_numpy() if ROW_COLUMN in rows.schema.names else None
        for topic, partition, chosen in split_by_place(rows["_topic"], rows["_partition"]):
            mine = None if numbers is None else numbers[chosen]
            self.evidence += positions(topic, partition, offsets[chosen], mine)


def merge_files(store: Store, attempt: str, order: MergeOrder) -> MergedFile:
    """Make one file of many, prove it, and stage it. `attempt` is a word of this attempt alone."""
    suit_worker()
    with ExitStack() as last:
        written = OwnFile()
        last.callback(written.close)
        rows = SortedRows()
        last.callback(rows.clear)
        before = _read_inputs(store, order, rows)
        if before.evidence != order.evidence:
            why = f"they have {before.evidence.count} rows, or others than those recorded"
            raise InputChanged(order.inputs[0].handle.final, why)
        _write(order, rows.in_order(), written)
        rows.clear()
        after = _read_back(order, written)
        _prove(order, before, after)
        handle = _stage(store, StagingSpot(order.staging, order.window, attempt), order, written)
    schema = max(each.schema for each in order.inputs)
    file = ManifestFile(order.dataset, handle, before.evidence, order.ranges, schema)
    return MergedFile(file, after.values, before.values)


def _read_inputs(store: Store, order: MergeOrder, rows: SortedRows) -> _Sums:
    """All rows of all inputs with the common columns; and what they were before."""
    sums, copies = _Sums(), OwnFile()
    try:
        parts = [_fetched(store, each, copies) for each in order.inputs]
        schema = _common(order, copies, parts)
        for each, part in zip(order.inputs, parts, strict=True):
            for piece in _pieces(each.handle.final, _opened(order, each, copies, part)):
                sums.add(piece)
                rows.add(with_columns_of(piece, schema))
    except Unhashable as error:
        raise RewriteRefused(order.directory, str(error)) from error
    finally:
        copies.close()
    return sums


def _fetched(store: Store, file: ManifestFile, copies: OwnFile) -> Part:
    """An input on the own disk, byte by byte as the journal records it."""
    handle = file.handle
    source = store.open_read(handle.final)
    if source is None:
        raise InputChanged(handle.final, "it is gone")
    with source:
        part, checksum = copies.copy(source)
    if (part.size_bytes, checksum) != (handle.size_bytes, handle.checksum):
        why = f"its {part.size_bytes} bytes are not those that the journal records"
        raise InputChanged(handle.final, why)
    return part


def _common(order: MergeOrder, copies: OwnFile, parts: Sequence[Part]) -> pa.Schema:
    """The columns of all inputs; known before any row is read, because every row gets them."""
    found = zip(order.inputs, parts, strict=True)
    try:
        return common_schema(_opened(order, each, copies, part).schema for each, part in found)
    except NotCommon as error:
        raise RewriteRefused(order.directory, str(error)) from error


def _opened(order: MergeOrder, file: ManifestFile, copies: OwnFile, part: Part) -> FileReader:
    try:
        return order.format.open(copies.opened(part))
    except FileUnreadable as error:
        raise InputChanged(file.handle.final, str(error)) from error


def _pieces(final: str, reader: FileReader) -> Iterator[pa.RecordBatch]:
    """All columns of all rows of an input."""
    try:
        yield from reader.pieces(reader.schema.names, most_bytes=PIECE_BYTES)
    except FileUnreadable as error:
        raise InputChanged(final, str(error)) from error
    except UNREADABLE as error:
        raise InputChanged(final, first_line(error)) from error


def _write(order: MergeOrder, rows: Iterator[pa.RecordBatch], into: OwnFile) -> None:
    """Write rows, which are in order, as one file."""
    words = {
        "penstock.feed": order.feed,
        "penstock.window": order.window,
        "penstock.generation": str(order.generation),
        "penstock.ranges": order.words,
    }
    place = (order.feed, order.dataset)
    stream = into.stream()
    writer: FileWriter | None = None
    for group in _groups(rows):
        if writer is None:
            advice = order.format.advice(place, group.to_batches()[0], order.compression)
            options = WriteOptions(order.compression, words, advice)
            writer = _begun(order.format, stream, group.schema, options)
        writer.write(group)
    if writer is None:
        raise RewriteRefused(order.directory, "they have no rows")
    writer.finish()
    stream.close()


def _begun(
    form: FileFormat, stream: ByteStream, schema: pa.Schema, options: WriteOptions
) -> FileWriter:
    """A file of rows as they were read; where files tell no types, the texts of values."""
    if form.traits.has_types:
        return form.begin(stream, schema, options)
    return cast("TypelessFileFormat", form).begin_as_read(stream, schema, options)


def _groups(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together to tables that are worth a row group."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in rows:
        waiting.append(batch)
        size += batch.nbytes
        if size >= GROUP_BYTES:
            yield _joined(waiting)
            waiting, size = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches([pa.concat_batches(batches)])


def _read_back(order: MergeOrder, written: OwnFile) -> _Sums:
    """What the written file holds, read as any reader would; its rows must be in order."""
    sums, newest = _Sums(), (-1, -1, -1)
    try:
        reader = order.format.open(written.opened())
        for piece in reader.pieces(reader.schema.names, most_bytes=PIECE_BYTES):
            keys = keys_of(piece)
            if keys.at(0) < newest or not keys.are_in_order():
                raise RowsDiffer(order.final, "its rows are not in the order of their positions")
            newest = keys.at(-1)
            sums.add(piece)
    except (FileUnreadable, *UNREADABLE) as error:
        raise RowsDiffer(order.final, f"it cannot be read back, {first_line(error)}") from error
    return sums


def _prove(order: MergeOrder, before: _Sums, after: _Sums) -> None:
    """Refuse a file that does not hold what its inputs hold."""
    if after.evidence != before.evidence:
        why = f"it has {after.evidence.count} rows for {before.evidence.count}, or others"
        raise RowsDiffer(order.final, why)
    if after.values != before.values:
        why = f"the sum of its values is {after.values}, and that of theirs {before.values}"
        raise RowsDiffer(order.final, why)


def _stage(store: Store, spot: StagingSpot, order: MergeOrder, written: OwnFile) -> StagedHandle:
    """Hand the bytes that were proven to the store."""
    staged = store.open_staged(order.final, spot)
    try:
        checksum = written.send(staged)
        staged.sync()
        handle = staged.finish()
    except BaseException:
        staged.abandon()
        raise
    if handle.checksum != checksum:
        raise RowsDiffer(order.final, f"the store has staged {handle.checksum}, not {checksum}")
    return handle
