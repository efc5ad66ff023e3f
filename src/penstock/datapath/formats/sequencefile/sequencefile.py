"""Hadoop SequenceFile, for those whose jobs read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

from penstock.api.file_format import VALUE, ByteStream, FormatTraits, TableClause, WriteOptions
from penstock.api.later import Later
from penstock.model.bad_records import BadRecord

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from penstock.datapath.formats.sequencefile.sequence_reader import SequenceFileReader
    from penstock.datapath.formats.sequencefile.sequence_writer import SequenceFileWriter

# What is compressed, as Hadoop calls it: many records together, each value, or nothing.
_SUFFIXES = {"block": "block.seq", "record": "record.seq", "none": "seq"}
_CLAUSES: dict[str, TableClause] = {}
# Imported when the first file is written or read.
_without_value = Later("penstock.datapath.formats.written_values:without_value")
_writer = Later("penstock.datapath.formats.sequencefile.sequence_writer:SequenceFileWriter")
_reader = Later("penstock.datapath.formats.sequencefile.sequence_reader:SequenceFileReader")


class SequenceFileFormat:
    """SequenceFiles, as `penstock.api.file_format` asks for them.

    A key is the offset of its record, as Hadoop's long; with `has_kafka_keys`, it is a MessagePack
    map of the offset and of Kafka's key.
    """

    __slots__ = ("_has_kafka_keys", "_own", "name")

    traits = FormatTraits(positions="offset", has_columns=False, has_end=False)
    suffixes: Mapping[str, str] = _SUFFIXES
    endings = (".seq",)
    table_clauses: Mapping[str, TableClause] = _CLAUSES

    def __init__(self, name: str, own: str, *, has_kafka_keys: bool) -> None:
        self.name = name
        self._own = own
        self._has_kafka_keys = has_kafka_keys

    def refused(
        self,
        rows: pa.RecordBatch,
        kafka_ms: npt.NDArray[np.int64],  # noqa: ARG002  it is not written
    ) -> Sequence[BadRecord]:
        """Records without a value: Hadoop's bytes cannot be null."""
        found: Sequence[BadRecord] = _without_value(rows[VALUE])
        return found

    def advice(self, dataset: tuple[str, str], rows: pa.RecordBatch, compression: str) -> None:
        """There is one way to write it."""

    def begin(
        self,
        stream: ByteStream,
        schema: pa.Schema,  # noqa: ARG002  the columns that count are known
        options: WriteOptions,
    ) -> SequenceFileWriter:
        """Begin a file."""
        writer: SequenceFileWriter = _writer(stream, options, has_kafka_keys=self._has_kafka_keys)
        return writer

    def open(
        self,
        file: BinaryIO,
        as_dictionaries: Sequence[str] = (),  # noqa: ARG002  there are no columns of texts
    ) -> SequenceFileReader:
        """A file with its header read, with keys of either kind."""
        reader: SequenceFileReader = _reader(file)
        return reader

    def __reduce__(self) -> str:
        return self._own


FORMAT = SequenceFileFormat("sequencefile", "FORMAT", has_kafka_keys=False)
WITH_KEYS = SequenceFileFormat("sequencefile-msgpack", "WITH_KEYS", has_kafka_keys=True)
